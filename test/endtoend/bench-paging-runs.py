# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""benchmarks/measure-paging.py runs each bar that needs no peer end to end, without a limit on memory."""
import json
import os
import sys

from moectest import BIN, SOURCE, check, execute, scratch

sys.path.insert(0, os.path.join(SOURCE, "benchmarks", "harness"))
import models  # noqa: E402

SCRIPT = os.path.join(SOURCE, "benchmarks", "measure-paging.py")
BARS = ("bound", "prediction", "memory", "prefill", "cold", "same")
with scratch() as folder:
    prefix = models.Store(folder, BIN, "host", True).model(2, 8, "int4", 32)
    rows_path = os.path.join(folder, "rows.json")
    ran = execute([sys.executable, SCRIPT, *BARS, "--tiny", "--no-limit", "--model", prefix, "--budgets", "100,min",
                   "--prompt", "64", "--tokens", "3", "--prefill", "32", "--step", "128", "--loop-reads", "4",
                   "--cache-allowed", str(1 << 30), "--commit", "abc", "--json", rows_path])
    check("(bar:" not in ran.out, f"tiny figures are held against bars: {ran.out}")
    with open(rows_path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    found = [(row["bar"], row["budget"]) for row in rows]
    check(found == [("resident", "all"), ("bound", "100"), ("bound", "min"), ("prediction", "100"),
                    ("prediction", "min"), *[(bar, budget) for budget in ("100", "min")
                                             for bar in ("memory", "memory-cache") * 2],
                    ("prefill", "100"), ("prefill", "min"), ("cold-1", "100"), ("cold-16", "100"), ("cold-1", "min"),
                    ("cold-16", "min"), ("same", "all")], f"rows: {found}")
    by_name = {(row["bar"], row["budget"]): row for row in rows}
    check(by_name["same", "all"]["figure"] == 1 and by_name["same", "all"]["runs"] > 8, f"{by_name['same', 'all']}")
    check(by_name["prefill", "min"]["figure"] <= 1 and by_name["prefill", "min"]["read"] > 0, "prefill at the minimum")
    check(by_name["bound", "min"]["missed_MB_per_token"] > 0 and by_name["bound", "100"]["hit_rate"] == 1,
          f"bounds: {by_name['bound', 'min']}")
    for row in rows:
        check(row["is_met"] is None and row["label"] == "measured" and row["commit"] == "abc", f"row: {row}")
    memory = by_name["memory", "min"]
    check(0 < memory["measured_bytes"] and memory["killed"] == 0 and memory["pack_cached_bytes"] >= 0, f"{memory}")
