# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Over the first four windows: divergence from f32 is below 1e-3 for int8, and f16 < int8 < int6 < int4m < int4."""
import json
import os

from moectest import check, compiled, heldout_ids, moec, scratch

divergence, perplexity = {}, {}
with scratch() as folder:
    ids = os.path.join(folder, "ids.json")
    with open(ids, "w", encoding="utf-8") as file:
        json.dump({"ids": heldout_ids(4 * 512)}, file)
    reference = compiled("f32") + ".so"
    exact = moec("evaluate", reference, "--ids", ids, "--json").json()
    for quant in ("f16", "int8", "int8m", "int6", "mixed", "int4m", "int4"):
        found = moec("evaluate", compiled(quant) + ".so", "--ids", ids, "--reference", reference, "--json").json()
        check(found["positions"] == 4 * 511, f"{quant}: {found['positions']} positions, expected {4 * 511}")
        check(0 < found["top1_agreement"] <= 1, f"{quant}: top1_agreement {found['top1_agreement']}")
        divergence[quant], perplexity[quant] = found["kl_mean"], found["perplexity"]
print(divergence, perplexity, exact["perplexity"])
check(divergence["int8"] < 1e-3, f"int8 divergence {divergence['int8']}: a larger one is a bug in the forward pass")
check(divergence["int8m"] < 1e-3, f"int8m divergence {divergence['int8m']}")
check(divergence["f16"] < 1e-4, f"f16 divergence {divergence['f16']}")
for order in (("f16", "int8", "int6", "int4m", "int4"), ("int8", "mixed", "int4")):
    found = [divergence[quant] for quant in order]
    check(found == sorted(found), f"divergences of {order}: {found}")
check(perplexity["int4"] <= 1.05 * 44.867 / 44.296 * exact["perplexity"], f"int4 perplexity {perplexity['int4']}")
