# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Gated DeltaNet layers compute the interpreter's bits: many tokens and one, any chunk, any number of threads, key
heads read in groups or in turn, odd sizes; states are carried over calls and counted in the plan, and a decoded token
of a layer joins its threads five times: products, step, output, and twice in the feed-forward network."""
import os

from deltamodel import DeltaModel
from moectest import check, execute, moec, program, report, run, same_files, scratch

IDS = ",".join(str((7 * i * i + 3) % 300) for i in range(200))
COMMON = {"context": 256, "chunk": 200}
MODELS = {
    # As Qwen3-Next: three delta layers to one of attention.
    "mixed": (DeltaModel([{"delta": True}, {"delta": True}, {"delta": True}, {"gate": True}], **COMMON), "int8"),
    # Heads whose vectors cross row tiles, strips with a rest, odd numbers of heads.
    "odd": (DeltaModel([{"delta": True}, {"delta": True}, {}], key_heads=3, value_heads=9, key_dim=24, value_dim=40,
                       length=3, head_map="tiled", **COMMON), "f32"),
    # int4 products, a decay of each row, a norm of one group of codes.
    "rows": (DeltaModel([{}, {"delta": True, "sigmoid_gate": True}], per_channel=True, value_heads=2,
                        **COMMON), "int4"),
}
# Bytes of the states of a layer, each rounded up to 64: windows of q, k and v, and the matrices.
STATE_BYTES = {
    "mixed": 3 * (3 * 32 * 4 * 2 + 3 * 128 * 4 + 4 * 16 * 32 * 4),
    "odd": 2 * (2 * 72 * 4 * 2 + 2 * 360 * 4 + 9 * 24 * 40 * 4),
    "rows": 3 * 32 * 4 * 2 + 3 * 64 * 4 + 2 * 16 * 32 * 4,
}

with scratch() as folder:
    for name, (model, quant) in MODELS.items():
        flags = ("--target", "host", "--quant", quant)
        out, fused = model.compile(folder, name, *flags)
        with open(fused, encoding="utf-8") as file:
            text = file.read()
        check("moe.delta_step" in text and "moe.delta_rule" not in text, f"{name}: layers are not fused")
        plan = os.path.join(folder, name + "-plan")
        moec("compile", "--from", "fuse", fused, "--to", "plan", *flags, "-o", plan)
        with open(plan + ".plan.mlir", encoding="utf-8") as file:
            check(f"state_bytes = {STATE_BYTES[name]} : i64" in file.read(), f"{name}: other bytes of state")
        joins = report(out)["joins_per_token"]
        check(joins == 5 * len(model.layers) + 1, f"{name}: {joins} joins a token")
        expected = out + ".expected.npy"
        execute([program("moe-interpret"), fused, "--ids", IDS, "--greedy", "4", "--logits", expected])
        for chunk, threads in ((1, 3), (16, 1), (64, 2), (200, 2)):
            run(out, "--ids", IDS, "--max-tokens", 4, "--greedy", "--chunk", chunk, "--threads", threads, "--logits",
                out + ".npy")
            check(same_files(out + ".npy", expected), f"{name}, chunk {chunk}, threads {threads}: logits differ")
