# SPDX-License-Identifier: Apache-2.0
# REQUIRES: slow
# RUN: %python %s
"""On a model of more than 300 MB: measured <= plan <= 1.02 * measured, and half of a budget still holds.

Plan: everything resident, full context, largest chunk. Measured: peak resident memory minus resident memory just before
open, in a run that fills the context. After a short run: measured <= plan - 0.9 * unused KV.
"""
import os
import sys

from moectest import DEMO, SOURCE, check, comma, execute, moec, report, run_json, scratch

CONTEXT = 512
# 302 M parameters: 6 layers of 32 experts of 3 * 512 * 1024 weights, and attention; int8: more than 300 MB.
MODEL = ("--hidden", 1024, "--layers", 6, "--heads", 16, "--kv-heads", 4, "--head-dim", 64, "--experts", 32,
         "--top-k", 4, "--moe-intermediate", 512, "--vocab", 2048, "--context", CONTEXT, "--shards", 2,
         "--tokenizer-from", DEMO)
with scratch() as folder:
    model = os.path.join(folder, "model")
    execute([sys.executable, os.path.join(SOURCE, "tools", "dev", "make-checkpoint.py"), *map(str, MODEL), model])
    out = os.path.join(folder, "large")
    moec("compile", model, "--target", "host", "--quant", "int8", "-o", out, timeout=3000)
    facts = report(out)
    check(os.path.getsize(out + ".moepack") >= 300_000_000, f"{os.path.getsize(out + '.moepack')} bytes of weights")
    ids = [(i * 131) % 2000 for i in range(CONTEXT - 8)]

    full = run_json(out, "--ids", comma(ids), "--max-tokens", 64, "--greedy", timeout=3000)
    check(full["finish_reason"] == "context", f"the run did not fill the context: {full['finish_reason']}")
    measured, plan = full["peak_rss_bytes"] - full["baseline_rss_bytes"], full["plan_bytes"]
    print(f"plan {plan}, measured {measured}, ratio {plan / measured:.4f}")
    check(measured <= plan <= 1.02 * measured, f"plan {plan}, measured {measured}, ratio {plan / measured:.4f}")
    check(plan <= facts["plan_bytes"], f"plan at run time {plan}, at compile time {facts['plan_bytes']}")

    short = run_json(out, "--ids", comma(ids[:16]), "--max-tokens", 4, "--greedy", timeout=3000)
    used = short["peak_rss_bytes"] - short["baseline_rss_bytes"]
    unused_kv = facts["bytes_by_class"]["kv"] * (1 - 64 / CONTEXT)
    check(used <= plan - 0.9 * unused_kv, f"after a short run {used}, plan {plan}, unused KV {unused_kv:.0f}")

    budget = facts["min_bytes"] + (facts["plan_bytes"] - facts["min_bytes"]) // 2
    half = run_json(out, "--ids", comma(ids), "--max-tokens", 64, "--greedy", "--memory", budget, timeout=3000)
    check(half["ids"] == full["ids"], "half of the budget writes other tokens")
    check(half["expert_misses"] > 0, "half of the budget misses no expert")
    check(half["peak_rss_bytes"] - half["baseline_rss_bytes"] <= budget, f"above the budget {budget}: {half}")
