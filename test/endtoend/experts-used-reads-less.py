# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""--experts-used K: a quarter of the experts is asked for and about a quarter of their bytes read; the meaning is the
interpreter's, on every instruction set; half of the context is half of the KV cache."""
import os
import sys

from moectest import DATA, DEMO, SOURCE, check, comma, compiled, execute, heldout_ids, moec, program, read_npy, run
from moectest import run_json, scratch

# 8 of 32 experts in 3 layers; a token's experts are new ones most of the time.
MODEL = ("--hidden", 64, "--layers", 3, "--heads", 2, "--kv-heads", 1, "--head-dim", 32, "--experts", 32, "--top-k", 8,
         "--moe-intermediate", 64, "--vocab", 2048, "--context", 4096, "--shards", 1, "--tokenizer-from", DEMO)
with scratch() as folder:
    model = os.path.join(folder, "model")
    execute([sys.executable, os.path.join(SOURCE, "tools", "dev", "make-checkpoint.py"), *map(str, MODEL), model])
    out = os.path.join(folder, "random")
    moec("compile", model, "--target", "host", "--quant", "int8", "-o", out)
    minimum = run_json(out, "--ids", "1", "--max-tokens", 1)["min_bytes"]
    flags = ("--ids", comma(heldout_ids(64)), "--max-tokens", 1, "--chunk", 1, "--greedy", "--memory", minimum)
    found = {used: run_json(out, *flags, "--experts-used", used) for used in (8, 4, 2, 1)}
    for used, facts in found.items():
        uses = facts["expert_hits"] + facts["expert_misses"]
        share = facts["expert_bytes_read"] / found[8]["expert_bytes_read"]
        print(f"{used} of 8: {uses} uses, {facts['expert_bytes_read']} bytes, {share:.3f} of all")
        check(uses == 64 * 3 * used, f"{uses} uses of experts with {used} of 8")
        check(share <= 1.15 * used / 8, f"{share:.3f} of the bytes with {used} of 8")
        check(facts["lossy"] == (["experts-used"] if used < 8 else []), f"lossy: {facts['lossy']}")
        check(facts["experts_used"] == used, f"experts_used: {facts['experts_used']}")
    whole, half = (run_json(out, "--ids", "1", "--max-tokens", 1, "--context", n) for n in (4096, 2048))
    check(whole["kv_bytes"] == 2 * half["kv_bytes"], f"KV of 4096 {whole['kv_bytes']}, of 2048 {half['kv_bytes']}")
    saved = whole["plan_bytes"] - half["plan_bytes"]
    check(half["kv_bytes"] <= saved <= half["kv_bytes"] + 20 * 2048 + 16384, f"the plan fell by {saved}")

    # The meaning, by the interpreter, on the model before and after quantization.
    ids = comma(heldout_ids(12))
    logits = [os.path.join(folder, name) for name in ("a.npy", "b.npy", "c.npy")]
    for quant in ("int8", "f32"):
        prefix = compiled(quant)
        fused = os.path.join(folder, quant)
        moec("compile", DEMO, "--target", "host", "--quant", quant, "--to", "fuse", "-o", fused)
        for used in (4, 2, 1):
            told = execute([program("moe-interpret"), fused + ".fuse.mlir", "--ids", ids, "--greedy", "0",
                            "--experts-used", str(used), "--logits", logits[0]])
            run(prefix, "--ids", ids, "--max-tokens", 1, "--experts-used", used, "--logits", logits[1], "--threads", 2)
            check(read_npy(logits[0]) == read_npy(logits[1]), f"{quant}, {used} of 4: other logits than by meaning")
    arm = compiled("int8", "arm64-dotprod")
    for used in (2, 1):
        flags = ("--ids", ids, "--max-tokens", 1, "--experts-used", used)
        run(arm, *flags, "--logits", logits[2], target="arm64-dotprod")
        run(compiled("int8"), *flags, "--logits", logits[1], "--chunk", 5, "--threads", 1)
        check(read_npy(logits[1]) == read_npy(logits[2]), f"{used} of 4: ARM64 gives other logits")
    heldout = os.path.join(DATA, "golden", "heldout_ids.json")
    sweep = moec("evaluate", compiled("int8") + ".so", "--ids", heldout, "--max-tokens", 300, "--experts-used-sweep",
                 "--json").json()
    one = moec("evaluate", compiled("int8") + ".so", "--ids", heldout, "--max-tokens", 300, "--experts-used", 2,
               "--json").json()
    rows = sweep["experts_used_sweep"]
    check([row["experts_used"] for row in rows] == [4, 2, 1] and rows[1]["perplexity"] == one["perplexity"], f"{sweep}")
    check(rows[0]["perplexity"] == sweep["perplexity"] < rows[1]["perplexity"] < rows[2]["perplexity"], f"{sweep}")
    refused = execute([program("moe-interpret"), fused + ".fuse.mlir", "--ids", ids, "--experts-used", "5"], code=1)
    check("has 4 experts for each token, expects at least the 5" in refused.err, refused.err)
