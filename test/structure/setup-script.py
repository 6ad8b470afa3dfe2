# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""setup.sh on machines that lack packages: one line for the administrator, suites named, sizes first, no question.

apt-get, apt-cache, dpkg-query, id and sudo are small scripts here; nothing is installed.
"""
import os

from moectest import SOURCE, check, execute, scratch

SETUP = os.path.join(SOURCE, "scripts", "setup.sh")
DPKG_ALL, DPKG_NONE = "echo installed", "exit 1"
FOUND, ABSENT = 'echo "  Candidate: 1.0"', 'echo "  Candidate: (none)"'
APT = 'echo "apt-get $*" >> "$LOG"; case "$*" in *--assume-no*) echo "Need to get 325 MB of archives.";; esac'
FAILING_APT = 'echo "apt-get $*" >> "$LOG"; exit 100'


def setup(folder, dpkg, cache, apt=APT, uid="0", sudo=None, flags=("--no-build",), code=0):
    """Runs setup.sh with the given stand-ins; returns the result and what apt-get was asked for."""
    tools = {"dpkg-query": dpkg, "apt-cache": cache, "apt-get": apt, "id": f"echo {uid}"}
    if sudo:
        tools["sudo"] = sudo
    programs = os.path.join(folder, "programs")
    os.makedirs(programs, exist_ok=True)
    for name in os.listdir(programs):
        os.remove(os.path.join(programs, name))
    for name, body in tools.items():
        with open(os.path.join(programs, name), "w", encoding="utf-8") as file:
            file.write(f"#!/bin/bash\n{body}\n")
        os.chmod(os.path.join(programs, name), 0o755)
    if not sudo:
        # Ordinary programs without sudo, wherever this machine has it.
        for name in ("bash", "awk", "sed", "env", "uname", "grep", "dirname", "cat", "nproc", "printf"):
            link = os.path.join(programs, name)
            if not os.path.exists(link):
                os.symlink(os.path.realpath(f"/usr/bin/{name}"), link)
    log = os.path.join(folder, "log")
    open(log, "w", encoding="utf-8").close()
    path = programs if not sudo else programs + ":/usr/bin:/bin"
    result = execute(["/bin/bash", SETUP, *flags], env={"PATH": path, "LOG": log}, code=code)
    with open(log, encoding="utf-8") as file:
        return result, file.read()


with scratch() as folder:
    _, asked = setup(folder, DPKG_ALL, FOUND)
    check(asked == "", f"nothing is missing, but apt-get was called: {asked}")

    result, asked = setup(folder, DPKG_NONE, FOUND)
    check("325 MB" in result.out, f"the download size is not stated: {result.out}")
    installs = [line for line in asked.splitlines() if " -y " in line]
    check(len(installs) == 1 and "libmlir-22-dev" in installs[0], f"asked {asked}")
    check("update" not in asked, "apt-get update ran although every package is known")
    check(result.out.index("325 MB") < result.out.index("installed in"), "the size is stated after the installation")

    result, asked = setup(folder, DPKG_NONE, ABSENT, code=1)
    check("update" in asked, "the package lists were not refreshed")
    check("llvm-22-dev: in Debian 12's security suite (bookworm-security" in result.err, result.err)
    check("cmake: in Debian 12's main suite (bookworm" in result.err, result.err)
    check(" -y " not in asked, "apt-get install ran although packages are unknown")

    result, asked = setup(folder, DPKG_NONE, FOUND, apt=FAILING_APT, code=1)
    check("apt-get install failed" in result.err, result.err)

    result, asked = setup(folder, DPKG_NONE, FOUND, uid="1000", code=1)
    line = [line for line in result.err.splitlines() if line.startswith("apt-get update && apt-get install -y")]
    check(len(line) == 1 and asked == "", f"expected one line for the administrator: {result.err} {asked}")

    result, asked = setup(folder, DPKG_NONE, FOUND, uid="1000", sudo='[ "$1" = -n ] && shift; "$@"')
    check(" -y " in asked, f"sudo was not used: {asked}")

    result, _ = setup(folder, DPKG_NONE, FOUND, flags=("--check",), code=1)
    check("libmlir-22-dev" in result.out, result.out)
    check("libclang-rt" not in result.out, "an optional package is asked for")
    result, _ = setup(folder, DPKG_NONE, FOUND, flags=("--check", "--sanitizers"), code=1)
    check("libclang-rt-22-dev" in result.out, result.out)
    setup(folder, DPKG_ALL, FOUND, flags=("--bogus",), code=2)
