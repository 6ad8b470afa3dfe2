# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Checkpoints of each model family that ask for what is not built, or lack a tensor: one message, nothing left.

Also: experts in either spelling, text parts in either, and parts that are left out with a note.
"""
import json
import os

import architectures
from brokenmodel import compile_broken
from moectest import check, expect_error, moec, scratch
from tinymodel import safetensors


class Model:
    """A tiny checkpoint in memory, whose parts a case changes."""

    def __init__(self, name):
        self.name = name
        self.config = architectures.configs()[name]
        self.text = self.config.get("text_config", self.config)
        self.tensors = dict(architectures.tensors(name, self.config))

    def write(self, folder):
        path = architectures.write(self.name, os.path.join(folder, "model"))
        with open(os.path.join(path, "config.json"), "w", encoding="utf-8") as file:
            json.dump(self.config, file)
        with open(os.path.join(path, "model.safetensors"), "wb") as file:
            file.write(safetensors(self.tensors))
        return path


def text(**changes):
    return lambda model: model.text.update(changes)


def drop(name):
    return lambda model: model.tensors.pop(name)


def reshape(name):
    def change(model):
        dtype, shape, values = model.tensors[name]
        model.tensors[name] = (dtype, [shape[0] // 2, shape[1] * 2, *shape[2:]], values)
    return change


def respell(name, other):
    def change(model):
        model.tensors[other] = model.tensors.pop(name)
    return change


LAYER, NESTED = "model.layers.0.", "model.language_model.layers.0."
CASES = (
    ("llama", text(mlp_bias=True), "mlp_bias is true, expects false"),
    ("llama", text(rope_scaling={"rope_type": "yarn", "factor": 4.0}), "rope_scaling.rope_type is \"yarn\""),
    ("llama", text(rope_scaling={"rope_type": "llama3", "factor": 8.0}), "rope_scaling.low_freq_factor is missing"),
    ("llama", text(attention_bias=True), LAYER + "self_attn.q_proj.bias", "is missing"),
    ("llama", text(sliding_window=64), "sliding_window is 64, expects null"),
    ("qwen3", text(use_sliding_window=True, sliding_window=8, max_window_layers=1), "2 of 3 layers"),
    ("qwen3", drop(LAYER + "self_attn.q_norm.weight"), LAYER + "self_attn.q_norm.weight", "is missing"),
    ("qwen3", text(kv_lora_rank=64), "kv_lora_rank is 64, expects null"),
    ("olmoe", text(clip_qkv=8.0), "clip_qkv is 8.0, expects null"),
    ("olmoe", text(num_experts_per_tok=9), "num_experts_per_tok is 9, expects 1 to 8"),
    ("qwen2_moe", text(mlp_only_layers=[3]), "mlp_only_layers[0] is 3, expects 0 to 2"),
    ("qwen2_moe", drop(LAYER + "mlp.shared_expert_gate.weight"), "shared_expert_gate.weight' is missing"),
    ("qwen2_moe", text(qkv_bias=False), "k_proj.bias' [128] is not expected"),
    ("qwen3_next", text(linear_num_value_heads=3), "linear_num_value_heads 3"),
    ("qwen3_next", reshape(LAYER + "linear_attn.in_proj_qkvz.weight"), "in_proj_qkvz.weight", "expects ["),
    ("qwen3_5", text(output_gate_type="tanh"), "output_gate_type is \"tanh\""),
    ("qwen3_5", text(layer_types=["full_attention"]), "layer_types has 1 elements"),
    ("qwen3_5_moe", text(attention_bias=True), "attention_bias is true, expects false"),
    ("qwen3_5_moe", text(attn_output_gate=False), "attn_output_gate is false, expects true"),
    ("qwen3_5_moe", reshape(NESTED + "mlp.experts.gate_up_proj"), "mlp.experts.gate_up_proj", "expects ["),
    ("qwen3_5_moe", drop(NESTED + "mlp.experts.down_proj"), "mlp.experts.down_proj' is missing"),
    ("qwen3_5_moe", respell(NESTED + "mlp.experts.down_proj", NESTED + "mlp.experts.0.down_proj.weight"),
     "mlp.experts.down_proj' is missing", "0.down_proj.weight' is there", "partly fused and partly split"),
    ("qwen3_5_moe", drop(NESTED + "linear_attn.A_log"), "linear_attn.A_log' is missing"),
)
for name, change, *texts in CASES:
    with scratch() as folder:
        model = Model(name)
        change(model)
        result = compile_broken(model.write(folder), folder, "--to", "import", "--quiet")
        check(result.code == 1, f"{name}, {texts}: exit code {result.code}\n{result.err}")
        expect_error(result, *texts)
        check(os.listdir(folder) == ["model"], f"{name}: left {os.listdir(folder)}")
print(f"{len(CASES)} checkpoints refused")


def weights_of(path):
    """Names and offsets do not matter: how many weights of which shape and role."""
    with open(path, encoding="utf-8") as file:
        return [line.split(" source(")[0] for line in file if "moe.weight @" in line]


# The same model with an expert a tensor, below model., from a flat config: the same weights. One note, also if strict.
with scratch() as folder:
    model, out = Model("qwen3_5_moe"), os.path.join(folder, "out")
    result = moec("compile", model.write(folder), "--target", "host", "--to", "import", "--strict", "-o", out)
    check("note" in result.err and "model.visual." in result.err and "3 more" in result.err, result.err)
    first = weights_of(out + ".import.mlir")
    model.config = dict(model.text, tie_word_embeddings=model.config["tie_word_embeddings"])
    tensors = {}
    for name, (dtype, shape, values) in model.tensors.items():
        name = name.replace("model.language_model.", "model.")
        parts = dict(architectures.split_experts(name, dtype, shape, values)) if ".experts." in name else {}
        tensors |= parts or {name: (dtype, shape, values)}
    model.tensors = tensors
    moec("compile", model.write(os.path.join(folder, "flat")), "--target", "host", "--to", "import", "-o", out)
    check(weights_of(out + ".import.mlir") == first, "the spelling changes the weights")
