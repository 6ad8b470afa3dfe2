#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads records of a file into memory that was never touched: what a cold start takes at least on this machine.

usage: fresh_reads.py FILE READ_BYTES DEPTH NUM_READS MEMORY_BYTES

First prints one object; a line begins the reads, and is answered with their seconds. Memory that is smaller than what
is read is filled again from its begin.
"""
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pack_file  # noqa: E402


def main():
    path, (size, depth, count, memory) = sys.argv[1], map(int, sys.argv[2:])
    reads = pack_file.DirectReads(path, size, depth, count)
    places = [reads.random.randrange(reads.places) for _ in range(count)]
    print(json.dumps({"is_direct": reads.is_direct}), flush=True)
    sys.stdin.readline()
    begin = time.perf_counter()
    buffer = pack_file.huge_range(max(memory, size))
    buffers = [buffer[at:at + size] for at in range(0, len(buffer) - size + 1, size)]
    reads.run_threads([(places[i::depth], [buffers[k % len(buffers)] for k in range(i, count, depth)])
                       for i in range(depth)])
    print(json.dumps({"seconds": time.perf_counter() - begin}), flush=True)


if __name__ == "__main__":
    main()
