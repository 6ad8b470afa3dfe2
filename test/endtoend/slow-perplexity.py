# SPDX-License-Identifier: Apache-2.0
# REQUIRES: slow
# RUN: %python %s
"""Perplexity over all 20,480 held-out ids: f32 equal to four digits, int4 within 5 % of round-to-nearest."""
import json
import os

from moectest import GOLDEN, check, compiled, moec

with open(os.path.join(GOLDEN, "summary.json"), encoding="utf-8") as file:
    summary = json.load(file)
ids = os.path.join(GOLDEN, "heldout_ids.json")


def evaluate(quant, *flags):
    return moec("evaluate", compiled(quant) + ".so", "--ids", ids, *flags, "--json", timeout=3500).json()


reference = evaluate("f32")
check(reference["positions"] == summary["positions"], f"{reference['positions']} positions")
check(f"{reference['perplexity']:.2f}" == f"{summary['perplexity']:.2f}", f"f32 perplexity {reference['perplexity']}")
divergence = {}
for quant in ("f16", "int8", "int6", "mixed", "int4m", "int4"):
    found = evaluate(quant, "--reference", compiled("f32") + ".so")
    divergence[quant] = found["kl_mean"]
    print(quant, found)
    # f16 differs at a few positions only, where a router decides otherwise.
    check((quant == "f16" or found["kl_p99"] >= found["kl_mean"]) and found["kl_mean"] > 0,
          f"{quant}: kl_p99 {found['kl_p99']}, kl_mean {found['kl_mean']}")
    if quant == "int4":
        bound = 1.05 * summary["round_to_nearest_weight_only"]["int4_g32"]["perplexity"]
        check(found["perplexity"] <= bound, f"int4 perplexity {found['perplexity']}, bound {bound}")
check(divergence["int8"] < 1e-3, f"int8 divergence {divergence['int8']}")
check(divergence["int8"] < divergence["mixed"] < divergence["int4"], f"divergences {divergence}")
check(divergence["f16"] < divergence["int8"] < divergence["int6"] < divergence["int4m"] < divergence["int4"],
      f"divergences {divergence}")
