# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""benchmarks/measure-paging.py runs each bar but that of the mapped peer end to end, without a limit on memory."""
import json
import os
import sys

from moectest import BIN, SOURCE, check, execute, scratch

sys.path.insert(0, os.path.join(SOURCE, "benchmarks", "harness"))
import models  # noqa: E402

SCRIPT = os.path.join(SOURCE, "benchmarks", "measure-paging.py")
BARS = ("bound", "prediction", "memory", "prefill", "cold", "same")
# Answers like a peer that needs a tenth of a second for a token and reads 5 MB for it.
PEER = """import json, sys
print(json.dumps({"peer": " ".join(sys.argv[2:])}), flush=True)
for line in sys.stdin:
    tokens = json.loads(line)["tokens"]
    print(json.dumps({"seconds": 0.1 * tokens, "joins": None, "bytes_read": 5000000 * tokens}), flush=True)
"""
with scratch() as folder:
    prefix = models.Store(folder, BIN, "host", True).model(2, 8, "int4", 32)
    rows_path = os.path.join(folder, "rows.json")
    ran = execute([sys.executable, SCRIPT, *BARS, "--tiny", "--no-limit", "--model", prefix, "--budgets", "100,min",
                   "--prompt", "64", "--tokens", "3", "--prefill", "32", "--step", "128", "--loop-reads", "4",
                   "--cache-allowed", str(1 << 30), "--programs", BIN, "--memory-bytes", "1048576", "--commit", "abc",
                   "--json", rows_path])
    check("(bar:" not in ran.out, f"tiny figures are held against bars: {ran.out}")
    with open(rows_path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    found = [(row["bar"], row["budget"]) for row in rows]
    check(found == [("resident", "all"), *[(bar, budget) for budget in ("100", "min")
                                          for bar in ("bound", "bound-predicted")], ("prediction", "100"),
                    ("prediction", "min"), *[(bar, budget) for budget in ("100", "min")
                                             for bar in ("memory", "memory-cache") * 2],
                    ("prefill", "100"), ("prefill", "min"), *[(bar + kind, budget) for budget in ("100", "min")
                                                              for bar in ("cold-1", "cold-16")
                                                              for kind in ("", "-fresh")],
                    ("same", "all")], f"rows: {found}")
    by_name = {(row["bar"], row["budget"]): row for row in rows}
    check(by_name["same", "all"]["figure"] == 1 and by_name["same", "all"]["runs"] > 8, f"{by_name['same', 'all']}")
    check(by_name["prefill", "min"]["figure"] <= 1 and by_name["prefill", "min"]["read"] > 0, "prefill at the minimum")
    check(by_name["bound", "min"]["missed_MB_per_token"] > 0 and by_name["bound", "100"]["hit_rate"] == 1 and
          by_name["bound", "min"]["figure_at_memory_speed"] > 0 and by_name["resident", "all"]["memory_GB_per_s"] > 0,
          f"bounds: {by_name['bound', 'min']}")
    for row in rows:
        check(row["is_met"] is None and row["label"] == "measured" and row["commit"] == "abc", f"row: {row}")
    memory = by_name["memory", "min"]
    check(0 < memory["measured_bytes"] and memory["killed"] == 0 and memory["pack_cached_bytes"] >= 0, f"{memory}")

    peer = os.path.join(folder, "peer.py")
    with open(peer, "w", encoding="utf-8") as file:
        file.write(PEER)
    execute([sys.executable, SCRIPT, "peer-stream", "--tiny", "--no-limit", "--model", prefix, "--budgets", "100",
             "--our-budgets", "min", "--turns", "2", "--prompt", "64", "--tokens", "3", "--loop-reads", "4",
             "--cache-allowed", str(1 << 30), "--stream-peer", f"{sys.executable} {peer}", "--peer-model", peer,
             "--stream-fixed-bytes", "1", "--json", rows_path])
    with open(rows_path, encoding="utf-8") as file:
        row = json.load(file)
    check(row["budget"] == "100" and row["our_budget"] == "min" and row["missed_MB_per_token"] > 0, f"budgets: {row}")
    check(abs(row["peer_tokens_per_s"] - 10) < 1e-9 and len(row["peer_each"]) == 2 and len(row["each"]) == 3 and
          row["peer_read_MB_per_token"] == 5 and "--cache-mb" in row["peer"], f"peer: {row}")
    check(abs(row["figure"] - row["tokens_per_s"] / 10) < 1e-9 and row["reading_alone_x_peer"] > 0, f"figure: {row}")
