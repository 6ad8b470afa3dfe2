# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Odd checkpoints that compile: what is left out or assumed is said; --strict refuses it. Outputs stay finite."""
import math
import os
import struct

from moectest import check, expect_error, moec, read_npy, run, scratch
from tinymodel import TinyModel

HEAD, EMBEDDING = "lm_head.weight", "model.embed_tokens.weight"
EXPERTS = [f"model.layers.0.mlp.experts.{expert}.gate_proj.weight" for expert in (0, 1)]


def compile_model(model, folder, *flags, code=0):
    out = os.path.join(folder, "out")
    return out, moec("compile", model.write(), "--target", "host", *flags, "-o", out, code=code)


def logits_of(out, folder):
    path = os.path.join(folder, "logits.npy")
    run(out, "--ids", "1,2,3,97,98", "--max-tokens", 1, "--greedy", "--logits", path, "--quiet")
    return read_npy(path)[1]


def check_finite(model, folder, *flags):
    out, _ = compile_model(model, folder, *flags, "--quiet")
    logits = logits_of(out, folder)
    check(all(map(math.isfinite, logits)), "a logit is not finite")
    return logits


# A tensor too many is a warning, and an error where the user asks for that.
with scratch() as folder:
    model = TinyModel(folder)
    model.tensors["model.layers.7.extra.weight"] = ("F32", [2], bytes(8))
    _, result = compile_model(model, folder, "--quant", "f32")
    check("warning" in result.err and "model.layers.7.extra.weight" in result.err, result.err)
with scratch() as folder:
    model = TinyModel(folder)
    model.tensors["model.layers.7.extra.weight"] = ("F32", [2], bytes(8))
    _, result = compile_model(model, folder, "--quant", "f32", "--strict", code=1)
    expect_error(result, "model.layers.7.extra.weight", "--strict")
    check(os.listdir(folder) == ["model"], f"left {os.listdir(folder)}")

# Tied heads: none stored, and one stored that differs (it is used).
with scratch() as folder:
    model = TinyModel(folder)
    untied = check_finite(model, folder, "--quant", "f32")
    model.config["tie_word_embeddings"] = True
    out, result = compile_model(model, folder, "--quant", "f32")
    check("warning" in result.err and HEAD in result.err, result.err)
    check(logits_of(out, folder) == untied, "the stored head is not used")
    del model.tensors[HEAD]
    tied = check_finite(model, folder, "--quant", "f32", "--strict")
    model.tensors[HEAD] = model.tensors[EMBEDDING]
    check(check_finite(model, folder, "--quant", "f32", "--strict") == tied, "a copy of the embedding changes the text")
    check(tied != untied, "the tied head is not used")

# A shard may be a link to anywhere, as in a download cache.
with scratch() as folder:
    model = TinyModel(folder)
    model.shard()
    model.write()
    os.rename(model.path("a.safetensors"), os.path.join(folder, "blob"))
    os.symlink("../blob", model.path("a.safetensors"))
    del model.raw["a.safetensors"]
    compile_model(model, folder, "--quant", "f32", "--quiet")


def rows_of(model, name, value_of):
    """Replaces a weight by F32 values: value_of(row, column)."""
    _, shape, _ = model.tensors[name]
    rows = (value_of(r, c) for r in range(shape[0]) for c in range(shape[1]))
    model.tensors[name] = ("F32", shape, b"".join(struct.pack("<f", value) for value in rows))


# Groups that are zero, constant, denormal, or have one outlier compile, and the result stays near that of f32.
KINDS = {"zero, constant, denormal": lambda r, c: (0.0, 0.01, 1e-40)[r % 3],
         "outlier": lambda r, c: 1e4 if c == r % 32 else 0.01}
for kind, value_of in KINDS.items():
    with scratch() as folder:
        model = TinyModel(folder)
        for name in (HEAD, "model.layers.0.self_attn.o_proj.weight", *EXPERTS):
            rows_of(model, name, value_of)
        exact = check_finite(model, folder, "--quant", "f32")
        near = check_finite(model, folder, "--quant", "int8")
        # Both operands of a product are off by half a step of 1/127 of their group's maximum: 32 columns, one head.
        largest = max(map(abs, exact))
        bound = 0.05 * largest + 1e-3
        worst = max(abs(a - b) for a, b in zip(exact, near))
        check(worst <= bound, f"{kind}: off by {worst}, expected at most {bound}")
