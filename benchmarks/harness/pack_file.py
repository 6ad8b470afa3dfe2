# SPDX-License-Identifier: Apache-2.0
"""A big file on its disk: how much of it is in the page cache, taking it out, and a loop of direct reads of it."""
import contextlib
import ctypes
import itertools
import mmap
import os
import random
import threading
import time

PAGE = mmap.PAGESIZE


def cached_bytes(path):
    """Bytes of a file that are in the page cache."""
    size = os.path.getsize(path)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    file = os.open(path, os.O_RDONLY)
    try:
        address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, file, 0)
    finally:
        os.close(file)
    if address == ctypes.c_void_p(-1).value:
        raise SystemExit(f"error: {path}: cannot be mapped: {os.strerror(ctypes.get_errno())}")
    pages = ctypes.create_string_buffer((size + PAGE - 1) // PAGE)
    failed = libc.mincore(address, size, pages)
    libc.munmap(address, size)
    if failed:
        raise SystemExit(f"error: {path}: mincore: {os.strerror(ctypes.get_errno())}")
    return (len(pages.raw) - pages.raw.count(0)) * PAGE


def evict(path, allowed=1 << 20):
    """Takes a file out of the page cache and makes sure of it."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fdatasync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(file)
    if (left := cached_bytes(path)) > allowed:
        raise SystemExit(f"error: {path}: {left} bytes stay in the page cache; end the programs that map the file")


def huge_range(size):
    """Memory that nobody touched, in huge pages where the system has some, as the runtime's slots: into small pages a
    read has many parts, and takes up to three times as long."""
    huge = 2 << 20
    mapped = mmap.mmap(-1, size + 2 * huge, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without
            mapped.madvise(mmap.MADV_HUGEPAGE)
    start = -ctypes.addressof(ctypes.c_char.from_buffer(mapped)) % huge
    return memoryview(mapped)[start:start + size]


def huge_buffer(size):
    """The same, touched."""
    buffer = huge_range(size)
    buffer[:] = bytes(size)
    return buffer


class DirectReads:
    """A loop of direct reads of one size at random places of a file, `depth` at a time."""

    def __init__(self, path, size, depth, count):
        self.size, self.depth, self.count = size, depth, max(count, depth)
        self.places = os.path.getsize(path) // size
        if not self.places:
            raise SystemExit(f"error: {path} is smaller than one read of {size} bytes")
        try:
            self.file, self.is_direct = os.open(path, os.O_RDONLY | os.O_DIRECT), True
            os.preadv(self.file, [huge_buffer(size)], 0)
        except OSError:  # a file system without direct reads: the rows say so
            self.file, self.is_direct = os.open(path, os.O_RDONLY), False
        self.random, self.buffers = random.Random(1), [huge_buffer(size) for _ in range(depth)]

    def run(self, places, buffers):
        for place, buffer in zip(places, buffers):
            if os.preadv(self.file, [buffer], place * self.size) != self.size:
                raise SystemExit("error: a direct read came back short")

    def bytes_per_s(self):
        parts = [[self.random.randrange(self.places) for _ in range(self.count // self.depth)]
                 for _ in range(self.depth)]
        begin = time.perf_counter()
        self.run_threads([(part, itertools.repeat(buffer)) for part, buffer in zip(parts, self.buffers)])
        return self.size * sum(map(len, parts)) / (time.perf_counter() - begin)

    def run_threads(self, pairs):
        """Reads (places, buffers) of each thread, all at a time."""
        threads = [threading.Thread(target=self.run, args=pair) for pair in pairs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def close(self):
        os.close(self.file)
