# SPDX-License-Identifier: Apache-2.0
"""A memory control group (cgroup v1 or v2) that a worker is started in, and what the system counted for it. Needs root,
or a delegated v2 group. Main source: docs/benchmarks-paging.md."""
import contextlib
import os
import time


def mounted(kind, option=None):
    """Where a file system of a kind (with an option) is mounted, or None."""
    with open("/proc/mounts", encoding="utf-8") as file:
        for line in file:
            _, folder, found, options = line.split()[:4]
            if found == kind and (option is None or option in options.split(",")):
                return folder
    return None


def read_number(path, key=None):
    """A file's number, or the one behind `key` in a file of lines with a name and a number."""
    with open(path, encoding="ascii") as file:
        text = file.read()
    if key is None:
        return int(text)
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name == key:
            return int(value)
    return 0


class MemoryGroup:
    """A group with a limit and without swap. `join` is for the child, between fork and exec."""

    def __init__(self, limit):
        v1, v2 = mounted("cgroup", "memory"), mounted("cgroup2")
        parent = v1 or v2
        if not parent:
            raise SystemExit("error: no control groups for memory are mounted below /sys/fs/cgroup; --no-limit "
                             "measures without a limit")
        self.is_v1, self.path = bool(v1), os.path.join(parent, f"moec-paging-{os.getpid()}")
        try:
            if not v1:
                self.write("cgroup.subtree_control", "+memory", parent)
            os.makedirs(self.path, exist_ok=True)
            self.write("memory.limit_in_bytes" if v1 else "memory.max", limit)
            with contextlib.suppress(FileNotFoundError):  # a system without swap accounting
                self.write("memory.swappiness" if v1 else "memory.swap.max", 0)
        except OSError as error:
            raise SystemExit(f"error: {error.filename}: {error.strerror}; limiting memory needs root and control of "
                             f"{parent}; --no-limit measures without a limit") from None

    def write(self, name, value, folder=None):
        path = os.path.join(folder or self.path, name)
        try:
            with open(path, "w", encoding="ascii") as file:
                file.write(str(value))
        except OSError as error:  # of a write the system names no file
            raise type(error)(error.errno, error.strerror, path) from None

    def join(self):
        self.write("cgroup.procs", os.getpid())

    def counters(self):
        """Times that the limit was hit, processes killed, most bytes ever charged, bytes of files charged now."""
        names = {"limit_hits": ("memory.failcnt", None), "kills": ("memory.oom_control", "oom_kill"),
                 "peak_bytes": ("memory.max_usage_in_bytes", None), "file_bytes": ("memory.stat", "cache")} \
            if self.is_v1 else {
                "limit_hits": ("memory.events", "max"), "kills": ("memory.events", "oom_kill"),
                "peak_bytes": ("memory.peak", None), "file_bytes": ("memory.stat", "file")}
        result = {}
        for name, (file, key) in names.items():
            with contextlib.suppress(FileNotFoundError):  # memory.peak came late
                result[name] = read_number(os.path.join(self.path, file), key)
        return result

    def remove(self):
        for _ in range(100):  # the system may still take an ended process' pages back
            try:
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.05)


class NoGroup:
    """In place of a group where memory is not limited."""

    join = None

    def counters(self):
        return {}

    def remove(self):
        pass


@contextlib.contextmanager
def memory_group(limit):
    """A group with a limit in bytes, or none for None."""
    group = NoGroup() if limit is None else MemoryGroup(limit)
    try:
        yield group
    finally:
        group.remove()
