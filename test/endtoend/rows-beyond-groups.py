# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""With --group auto, matrices whose rows 32 does not divide are f16, beside integer ones, and compute the same bits."""
import os
import sys

from moectest import DEMO, SOURCE, check, execute, moec, program, report, run, same_files, scratch

# Rows of 80 (hidden) and 48 (expert width) values; those of O have 2 * 32.
MODEL = ("--hidden", 80, "--layers", 1, "--heads", 2, "--kv-heads", 1, "--head-dim", 32, "--experts", 4, "--top-k", 2,
         "--moe-intermediate", 48, "--vocab", 2048, "--context", 64, "--tokenizer-from", DEMO)

with scratch() as folder:
    model, out = os.path.join(folder, "model"), os.path.join(folder, "out")
    execute([sys.executable, os.path.join(SOURCE, "tools", "dev", "make-checkpoint.py"), *map(str, MODEL), model])
    moec("compile", model, "--target", "host", "--quant", "int4", "--dump-phases-to", folder, "-o", out)
    encodings = {entry["role"]: entry["encoding"] for entry in report(out)["precision"]}
    check(encodings["expert_down"] == encodings["head"] == "f16", f"{encodings}")
    check(encodings["attention_o"] == "i4/32", f"{encodings}")
    run(out, "--ids", "46,1316,584", "--max-tokens", 3, "--greedy", "--logits", out + ".npy")
    execute([program("moe-interpret"), os.path.join(folder, "4-out.fuse.mlir"), "--ids", "46,1316,584", "--greedy", "3",
             "--logits", out + ".expected.npy"])
    check(same_files(out + ".npy", out + ".expected.npy"), "logits differ from the interpreter's")
    wrong = moec("compile", model, "--target", "host", "--quant", "int4", "--group", "32", "-o", out, code=1)
    check("80 columns, which group 32 does not divide" in wrong.err, wrong.err)
