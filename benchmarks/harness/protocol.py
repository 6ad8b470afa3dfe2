# SPDX-License-Identifier: Apache-2.0
"""What the two workers of the harness share: requests on stdin, answers on stdout, timing, token ids, memory.

A worker first prints one object that describes it. A request is one JSON object:
  {"do": "decode", "depth": D, "tokens": N, "threads": T}    one token, not counted, behind D, then N timed one by one
  {"do": "prefill", "depth": D, "tokens": N, "threads": T}   N tokens behind D, timed together
  {"do": "memory"}                                           resident bytes before loading and at most
and its answer one object with `seconds` and `bytes_read`, what the process read from disks meanwhile (and `joins`,
where the engine counts them).
"""
import json
import sys
import time


def token_ids(vocabulary, count):
    """The same pseudorandom ids for every engine: a linear congruence of 31 bits."""
    ids, state = [], 1
    for _ in range(count):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        ids.append((state >> 8) % vocabulary)
    return ids


def bytes_read():
    """Bytes that this process read from disks, page faults of mapped files included; 0 where nothing counts them."""
    try:
        with open("/proc/self/io", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("read_bytes:"))
    except OSError:
        return 0


def status_bytes(field):
    """A field of /proc/self/status, which counts in KiB; 0 where there is none."""
    try:
        with open("/proc/self/status", encoding="ascii") as file:
            for line in file:
                if line.startswith(field + ":"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def resident_bytes():
    return status_bytes("VmRSS")


def peak_bytes():
    return status_bytes("VmHWM")


def go_to(engine, depth):
    """Leaves the engine with the first `depth` tokens; what it holds already is kept."""
    if engine.length > depth:
        engine.truncate(depth)
    if engine.length < depth:
        engine.feed(depth - engine.length)


def answer(engine, request):
    if request["do"] == "memory":
        return engine.resident()
    engine.set_threads(request["threads"])
    go_to(engine, request["depth"])
    if request["do"] == "prefill":
        joins, read, start = engine.joins(), bytes_read(), time.perf_counter()
        engine.feed(request["tokens"])
    else:
        engine.step()
        joins, read, start = engine.joins(), bytes_read(), time.perf_counter()
        for _ in range(request["tokens"]):
            engine.step()
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "bytes_read": bytes_read() - read,
            "joins": None if joins is None else engine.joins() - joins}


def serve(engine, reply=answer):
    print(json.dumps(engine.describe()), flush=True)
    for line in sys.stdin:
        print(json.dumps(reply(engine, json.loads(line))), flush=True)
