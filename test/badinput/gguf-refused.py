# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""gguf files that are not read are refused by what they hold, with what to take instead; broken ones too."""
import os

from brokenmodel import compile_broken
from gguffile import gguf, metadata_of, tensors_of
from moectest import expect_error, moec, scratch
from tinymodel import CONFIG, tensors, tokenizer

METADATA = metadata_of("qwen3moe", CONFIG, tokenizer())
TENSORS = tensors_of(tensors())


def refused(metadata, tensors, *parts, change=lambda content: content, isConfig=False):
    with scratch() as folder:
        path = os.path.join(folder, "model.gguf")
        with open(path, "wb") as file:
            file.write(change(gguf(metadata, tensors)))
        expect_error(compile_broken(path, folder), "model.gguf", *parts)
        if isConfig:
            expect_error(moec("estimate", path, "--target", "host", code=None), "model.gguf", *parts)


refused(METADATA, TENSORS | {"blk.0.ffn_down_exps.weight": ("Q4_K", [2, 32, 256], bytes(64 * 144))},
        "Q4_K of 'blk.0.ffn_down_exps.weight'", "read are F32, F16, Q4_0", "take the Q8_0 or the F16 file")
refused(METADATA | {"general.architecture": "gemma3"}, TENSORS, '"gemma3"', "read are: llama, qwen2, qwen3, qwen3moe")
refused(METADATA | {"split.count": 3}, TENSORS, "split.count is 3", "llama-gguf-split --merge")
refused(METADATA, TENSORS, "truncated", change=lambda content: content[:2000])
refused(METADATA, TENSORS, "ends behind the file", "download", change=lambda content: content[:-100])
refused({key: value for key, value in METADATA.items() if not key.endswith("block_count")}, TENSORS,
        "qwen3moe.block_count is missing", isConfig=True)
refused(METADATA | {"qwen3moe.expert_used_count": 3}, TENSORS,
        "qwen3moe.expert_used_count is 3, expects 1 to 2 (qwen3moe.expert_count)", isConfig=True)
refused(METADATA | {"general.sampling.temp": -1.0}, TENSORS, "general.sampling.temp is -1.0", isConfig=True)
refused(METADATA, {name: tensor for name, tensor in TENSORS.items() if name != "blk.0.attn_q.weight"},
        "tensor 'model.layers.0.self_attn.q_proj.weight' is missing")
refused(METADATA, TENSORS | {"blk.0.attn_sinks.weight": ("F32", [2], bytes(8))},
        "'blk.0.attn_sinks.weight'", "not known in the architecture qwen3moe")
refused(METADATA | {"general.architecture": "llama\n\x1b[31m"}, TENSORS, r'is "llama\n\u001b[31m", which')
refused(METADATA, TENSORS | {"blk.0.attn_q.weight": ("F32", [1], bytes(4))}, "has the shape [1]",
        "as the metadata says")
refused(METADATA | {"qwen3moe.rope.freq_base": -1.0}, TENSORS, "qwen3moe.rope.freq_base is -1.0, expects",
        isConfig=True)

# The tokenizer is checked at import, before anything is packed.
with scratch() as folder:
    path = os.path.join(folder, "model.gguf")
    with open(path, "wb") as file:
        file.write(gguf(METADATA | {"tokenizer.ggml.pre": "other"}, TENSORS))
    out = os.path.join(folder, "out")
    expect_error(moec("compile", path, "--target", "host", "--to", "import", "-o", out, code=1),
                 "model.gguf: tokenizer.ggml.pre", "other")
    expect_error(moec("synth", path, "--seed", "1", "-o", out, code=1), "synth takes a config", "model.gguf")
