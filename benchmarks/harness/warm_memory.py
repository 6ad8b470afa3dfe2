#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds memory that the host of a virtual machine has really given, and hands it to another process as that one grows.

usage: warm_memory.py BYTES

Hosts take memory away that a guest does not use, within seconds, and give it back much slower than a disk reads. Memory
that was in use a moment ago is there. First prints one object; a line with the number of a process begins the handing
out, and is answered when the first part is free.
"""
import json
import mmap
import os
import select
import sys
import time

PIECE_BYTES = 64 << 20
# So much more than the other process took is free: less than what hosts leave alone, more than it takes in between.
AHEAD_BYTES = 640 << 20
PERIOD_SECONDS = 0.002


def touched_piece():
    piece = mmap.mmap(-1, PIECE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        piece.madvise(mmap.MADV_HUGEPAGE)
    for offset in range(0, PIECE_BYTES, mmap.PAGESIZE):
        piece[offset] = 1
    return piece


def resident_bytes(process):
    """Of another process; 0 when it has ended."""
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * mmap.PAGESIZE
    except OSError:
        return 0


def available_bytes():
    with open("/proc/meminfo", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:"))


def hand_out(pieces, process):
    """Until the process has ended, nothing is left, or stdin says so."""
    start, released, is_answered = resident_bytes(process), 0, False
    while pieces and os.path.exists(f"/proc/{process}"):
        wanted = resident_bytes(process) - start + AHEAD_BYTES
        while pieces and released < wanted:
            pieces.pop().close()
            released += PIECE_BYTES
        if not is_answered:
            print(json.dumps({"released": released}), flush=True)
            is_answered = True
        if select.select([sys.stdin], [], [], PERIOD_SECONDS)[0]:
            break
    if not is_answered:
        print(json.dumps({"released": released}), flush=True)


def main():
    # What is free all the time is taken away again, and is not what the other process gets.
    begin, wanted = time.perf_counter(), min(int(sys.argv[1]) + AHEAD_BYTES, available_bytes() * 9 // 10)
    pieces = [touched_piece() for _ in range(wanted // PIECE_BYTES)]
    print(json.dumps({"bytes": wanted, "seconds": time.perf_counter() - begin}), flush=True)
    line = sys.stdin.readline()
    if line:
        hand_out(pieces, int(line))
    sys.stdin.read()


if __name__ == "__main__":
    main()
