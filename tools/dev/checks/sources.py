# SPDX-License-Identifier: Apache-2.0
"""The files of the project as the rules see them."""
import os
import re
import subprocess

SKIPPED_FOLDERS = ("build", ".git", "out", "__pycache__")
CXX = (".cpp", ".h", ".c", ".def", ".inc")


class Tree:
    """All files under `root` that are tracked or could be added; paths are relative, with `/`."""

    def __init__(self, root):
        self.root = root
        self.paths = sorted(path for path in self._list() if os.path.isfile(os.path.join(root, path)))
        self._texts = {}

    def _list(self):
        try:
            listing = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=self.root, check=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            if os.path.isdir(os.path.join(self.root, ".git")):
                return sorted(set(listing.stdout.decode().splitlines()))
        except (OSError, subprocess.CalledProcessError):
            pass  # no git, or a clone of another user: walk, as in an unpacked archive
        found = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if not name.startswith(SKIPPED_FOLDERS)]
            found += [os.path.relpath(os.path.join(folder, name), self.root) for name in names]
        return found

    def text(self, path):
        if path not in self._texts:
            with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
                self._texts[path] = file.read()
        return self._texts[path]

    def lines(self, path):
        return self.text(path).split("\n")

    def select(self, *prefixes, ends=()):
        """Paths that start with one of `prefixes` and end with one of `ends`."""
        return [path for path in self.paths if path.startswith(prefixes) and (not ends or path.endswith(tuple(ends)))]

    def is_generated(self, path):
        return "generated" in self.lines(path)[0].lower() or "generated" in "".join(self.lines(path)[1:2]).lower()


def is_source(path):
    """Written by hand and subject to the style rules (data, prose and JSON are not)."""
    if path.startswith(("test/data/", "examples/")):
        return False
    name = os.path.basename(path)
    ends = CXX + (".td", ".py", ".sh", ".cmake", ".mlir", ".test", ".cfg.py", ".py.in")
    return name == "CMakeLists.txt" or path == ".ci/run" or name.endswith(ends)


def kebab(name):
    """FuseMultiLinear -> fuse-multi-linear."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()
