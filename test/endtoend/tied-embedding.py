# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A model whose head is its embedding (tie_word_embeddings) computes what the interpreter computes, bit for bit."""
import os
import sys

from moectest import DEMO, SOURCE, check, execute, moec, program, report, run, same_files, scratch

MODEL = ("--hidden", 64, "--layers", 2, "--heads", 2, "--kv-heads", 1, "--head-dim", 32, "--experts", 4, "--top-k", 2,
         "--moe-intermediate", 32, "--vocab", 2048, "--context", 64, "--tied", "--tokenizer-from", DEMO)
IDS = "46,1316,584,258,579"

with scratch() as folder:
    model = os.path.join(folder, "model")
    execute([sys.executable, os.path.join(SOURCE, "tools", "dev", "make-checkpoint.py"), *map(str, MODEL), model])
    for quant in ("f32", "int8", "mixed"):
        out = os.path.join(folder, quant)
        moec("compile", model, "--target", "host", "--quant", quant, "--dump-phases-to", folder, "-o", out)
        roles = {entry["role"]: entry for entry in report(out)["precision"]}
        check(roles["head"]["weights"] == roles["embedding"]["weights"] == 2048 * 64, f"{quant}: {roles}")
        logits, expected = out + ".npy", out + ".expected.npy"
        run(out, "--ids", IDS, "--max-tokens", 4, "--greedy", "--logits", logits)
        execute([program("moe-interpret"), os.path.join(folder, f"4-{quant}.fuse.mlir"), "--ids", IDS, "--greedy", "4",
                 "--logits", expected])
        check(same_files(logits, expected), f"{quant}: logits differ from the interpreter's")
