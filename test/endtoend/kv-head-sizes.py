# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Heads of 24 to 256, shared and not, with every cache: the interpreter's bytes on two levels.

A head without kernel is refused by name before anything is written.
"""
import os
import platform
import sys

from moectest import DEMO, SOURCE, check, comma, execute, expect_error, moec, program, run, same_files, scratch

IDS = comma([(7 * i + 3) % 500 for i in range(70)])
TARGETS = ["host"] + (["x86-64-avx2"] if platform.machine() == "x86_64" else [])


def make_model(folder, head_dim, heads, kv_heads):
    sizes = ("--hidden", 64, "--layers", 1, "--heads", heads, "--kv-heads", kv_heads, "--head-dim", head_dim,
             "--experts", 2, "--top-k", 1, "--moe-intermediate", 32, "--vocab", 2048, "--context", 128,
             "--tokenizer-from", DEMO)
    execute([sys.executable, os.path.join(SOURCE, "tools", "dev", "make-checkpoint.py"), *map(str, sizes), folder])


with scratch() as folder:
    # Multi-head, grouped-query and multi-query attention; heads * head_dim is a multiple of the weights' group of 32.
    for head_dim, heads, kv_heads, kv in ((24, 4, 4, "int4"), (80, 2, 1, "int8"), (112, 4, 2, "f16"),
                                          (256, 2, 1, "int4")):
        model, out = os.path.join(folder, f"model-{head_dim}"), os.path.join(folder, f"{head_dim}")
        make_model(model, head_dim, heads, kv_heads)
        flags = ("--quant", "int8", "--kv", kv)
        moec("compile", model, "--target", "host", *flags, "--to", "fuse", "-o", out)
        execute([program("moe-interpret"), out + ".fuse.mlir", "--ids", IDS, "--greedy", "0", "--logits", out + ".npy"])
        for target in TARGETS:
            moec("compile", model, "--target", target, *flags, "-o", f"{out}-{target}")
            path = f"{out}-{target}.npy"
            run(f"{out}-{target}", "--ids", IDS, "--max-tokens", 1, "--greedy", "--logits", path)
            check(same_files(out + ".npy", path), f"head_dim {head_dim}: {target} and interpreter differ")

    model, out = os.path.join(folder, "model-20"), os.path.join(folder, "20")
    make_model(model, 20, 2, 1)
    expect_error(moec("compile", model, "--target", "host", "--quant", "f32", "-o", out, code=None), "head_dim is 20",
                 "multiple of 8")
    check(not os.path.exists(out + ".so"), "a refused model left a library")
