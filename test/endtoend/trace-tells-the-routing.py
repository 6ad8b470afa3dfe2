# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""--trace: every layer of every call, the router's choices, what was missed, times that ascend; its sums are the
runtime's counters; the choices are the same under any budget; nothing is left of a run that fails."""
import os
import struct

from moectest import check, comma, compiled, expect_error, heldout_ids, run, run_json, scratch


def read_trace(path):
    with open(path, "rb") as file:
        data = file.read()
    names = ("magic", "version", "header_bytes", "layers", "experts", "top_k", "eviction", "slots", "slot_bytes",
             "records", "hits", "misses", "bytes_read", "used", "prediction", "prefetched")
    header = dict(zip(names, struct.unpack_from("<8s6I6Q2IQ", data)))
    at, records = header["header_bytes"], []
    for _ in range(header["records"]):
        layer, tokens, position, distinct, missed, size, begin, end = struct.unpack_from("<IIQIIQQQ", data, at)
        count = tokens * header["top_k"]
        ids = struct.unpack_from(f"<{count}h", data, at + 48)
        records.append((layer, tokens, position, distinct, missed, size, begin, end, ids))
        at += 48 + (2 * count + 7) // 8 * 8
    check(at == len(data), f"{len(data)} bytes, the records end at {at}")
    return header, records


PROMPT, GENERATED, CHUNK = 40, 9, 16
with scratch() as folder:
    prefix = compiled("int4")
    trace = os.path.join(folder, "trace")
    flags = ("--ids", comma(heldout_ids(PROMPT)), "--max-tokens", GENERATED, "--chunk", CHUNK, "--greedy")
    minimum = run_json(prefix, "--ids", "1", "--max-tokens", 1)["min_bytes"]
    found = {}
    for memory in ((), ("--memory", minimum), ("--memory", minimum, "--eviction", "lru")):
        facts = run_json(prefix, *flags, *memory, "--trace", trace)
        header, records = read_trace(trace)
        check(os.listdir(folder) == ["trace"], f"left behind: {os.listdir(folder)}")
        check((header["magic"], header["layers"], header["experts"], header["top_k"]) == (b"MOETRACE", 4, 16, 4),
              f"{header}")
        calls = [(layer, tokens, position) for layer, tokens, position, *_ in records]
        chunks = [(16, 0), (16, 16), (8, 32)] + [(1, PROMPT + i) for i in range(GENERATED - 1)]
        check(calls == [(layer, n, at) for n, at in chunks for layer in range(4)], f"{calls}")
        for _, tokens, _, distinct, missed, size, begin, end, ids in records:
            check(distinct == len(set(ids)) and 0 <= missed <= distinct and begin <= end, f"{ids}")
            check(size == missed * header["slot_bytes"], f"{missed} missed, {size} bytes")
        times = [time for record in records for time in record[6:8]]
        check(times == sorted(times), "times do not ascend")
        check(sum(record[4] for record in records) == header["misses"] == facts["expert_misses"], f"{facts}")
        check(sum(record[3] for record in records) == header["misses"] + header["hits"], f"{header}")
        check(header["eviction"] == (1 if "lru" in memory else 0), f"{header}")
        found[memory] = [record[8] for record in records]
    check(len({str(ids) for ids in found.values()}) == 1, "the routing depends on the budget")
    run_json(prefix, *flags, "--experts-used", 1, "--trace", trace)
    header, records = read_trace(trace)
    check(header["used"] == 1 and records[0][8][1:4] == (-1, -1, -1), f"{records[0]}")

    os.remove(trace)
    expect_error(run(prefix, "--ids", "99999999", "--trace", trace, code=1), "99999999")
    expect_error(run(prefix, "--ids", "1", "--trace", folder, code=1), "the trace", "folder")
    check("lru or lfu or faded" in run(prefix, "--ids", "1", "--eviction", "best", code=2).err, "--eviction best")
    same = run(prefix, "--ids", "1", "--trace", trace, "--logits", trace, code=2).err
    check("name the same file" in same, same)
    check("--trace and --doctor" in run(prefix, "--doctor", "--trace", trace, code=2).err, "--doctor --trace")
    check(os.listdir(folder) == [], f"left behind: {os.listdir(folder)}")
    run(prefix, "--bench", "-p", 0, "-n", 4, "-r", 1, "--trace", trace)
    check(read_trace(trace)[1], "no records of --bench")
