# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""benchmarks/measure-tokens.py runs end to end without a peer, its rows say of what they are, and the bytes of a token
that it divides by are those of the compiler's report and of a count from the shapes alone."""
import json
import os
import sys

from moectest import BIN, SOURCE, check, execute, run, scratch

sys.path.insert(0, os.path.join(SOURCE, "benchmarks", "harness"))
import models  # noqa: E402

SCRIPT = os.path.join(SOURCE, "benchmarks", "measure-tokens.py")


def measure(folder, *bars):
    """The finished process and its rows."""
    rows_path = os.path.join(folder, "rows.json")
    ran = execute([sys.executable, SCRIPT, *bars, "--tiny", "--models", folder, "--programs", BIN, "--quant",
                   "int4/32", "--depth", "32", "--commit", "abc", "--json", rows_path, "--peer-python",
                   os.path.join(folder, "no-python")])
    with open(rows_path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    os.remove(rows_path)
    return ran, rows


def joins_of(rows):
    return [row["joins_per_token"] for row in rows if row["bar"] == "joins"]


with scratch() as folder:
    ran, rows = measure(folder, "decode", "depth", "prefill", "joins", "resident")
    check("measuring without a peer" in ran.err, f"a peer that is not there: {ran.err}")
    check("(bar:" not in ran.out, f"tiny figures are held against bars: {ran.out}")
    names = {name for name in os.listdir(folder) if name.endswith((".so", ".json"))}
    check(names == {"tiny-q2e4.json", "tiny-q2e4-int4-32.so", "tiny-q2e4-int4-32.report.json"}, f"files: {names}")
    check([row["bar"] for row in rows] == ["decode"] * 2 + ["depth"] * 2 + ["prefill-8", "prefill-16"] * 2 +
          ["joins"] * 2 + ["resident"], f"bars: {rows}")
    for row in rows:
        for key in ("label", "date", "commit", "machine", "command", "target", "model", "threads", "unit"):
            check(row[key], f"{key} is missing: {row}")
        check(isinstance(row["figure"], (int, float)), f"the figure is missing: {row}") # of a run this short: any
        check(row["is_met"] is None, f"a tiny figure is held against a bar: {row}")
        check(row.get("depth", 0) in (0, 32), f"an explicit flag wins over --tiny: {row}")
        check(row["label"] == "measured" and row["commit"] == "abc" and row["level"] == "token", f"row: {row}")
    # A thread that has to wait for a group of experts joins once more, as it may where other programs take its core:
    # never fewer than the compiler counts, and just as many as soon as nothing disturbs.
    report = models.report_of(os.path.join(folder, "tiny-q2e4-int4-32"))
    runs = [joins_of(rows)]
    while runs[-1][0] != report["joins_per_token"] and len(runs) < 10:
        runs.append(joins_of(measure(folder, "joins")[1]))
    check(all(least >= report["joins_per_token"] for joins in runs for least in joins) and
          runs[-1][0] == report["joins_per_token"], f"joins: {runs}, report: {report}")

    config = models.config_of(2, 4, models.TINY)
    counted = models.active_weight_bytes(config, 4.5)
    experts = 2 * 2 * 3 * 128 * 128 * 4.5 / 8
    check(report["token_bytes"] == {"weights": counted, "experts": experts,
                                    "kv_per_position": 2 * 2 * 2 * (32 + 4), "state": 0},
          f"{counted} bytes counted: {report}")
    check(models.active_bytes(report, 9) == counted + 10 * 288, "KV cache of the token itself and 9 before it")
    check(rows[0]["active_bytes"] == counted + 3 * 288, f"decode: {rows[0]}")

loops = [json.loads(line) for line in execute(
    [os.path.join(BIN, "read-bandwidth"), "--threads", "1", "--bytes", "65536", "--repetitions", "1"]).out.splitlines()]
check({loop["pages"] for loop in loops} == {"small", "huge"} and all(loop["bytes_per_s"] > 0 for loop in loops),
      f"loops: {loops}")
for flags in (("--threads", "0"), ("--bytes", "x"), ("--bytes",), ("--bytes", "600", "--threads", "2"),
              ("--other", "1")):
    refused = execute([os.path.join(BIN, "read-bandwidth"), *flags], code=2)
    check(refused.err.startswith("usage:"), refused.err)
