# SPDX-License-Identifier: Apache-2.0
"""Writes a Qwen3-MoE checkpoint of any size with seeded random weights, for tests of memory and time."""
import json
import os
import random
import shutil

from brokenmodel import write_safetensors
from moectest import DEMO

# A bfloat16's upper byte: random signs, exponents around 2^-7, so that no activation overflows.
UPPER = bytes(0x3C if value < 128 else 0xBC for value in range(256))


def random_bf16(source, count):
    data = bytearray(source.randbytes(2 * count))
    data[1::2] = bytes(data[1::2]).translate(UPPER)
    return bytes(data)


class Sizes:
    """302 M parameters by default: 6 layers of 32 experts of 3 * 512 * 1024 weights."""

    def __init__(self, hidden=1024, inner=512, layers=6, experts=32, heads=16, kv_heads=4, head_dim=64, context=512):
        self.hidden, self.inner, self.layers, self.experts = hidden, inner, layers, experts
        self.heads, self.kv_heads, self.head_dim, self.context = heads, kv_heads, head_dim, context


def tensors_of(sizes, vocabulary=2048):
    """Yields name and shape of every tensor."""
    yield "model.embed_tokens.weight", [vocabulary, sizes.hidden]
    yield "lm_head.weight", [vocabulary, sizes.hidden]
    yield "model.norm.weight", [sizes.hidden]
    for layer in range(sizes.layers):
        prefix = f"model.layers.{layer}."
        yield prefix + "input_layernorm.weight", [sizes.hidden]
        yield prefix + "post_attention_layernorm.weight", [sizes.hidden]
        yield prefix + "self_attn.q_proj.weight", [sizes.heads * sizes.head_dim, sizes.hidden]
        yield prefix + "self_attn.k_proj.weight", [sizes.kv_heads * sizes.head_dim, sizes.hidden]
        yield prefix + "self_attn.v_proj.weight", [sizes.kv_heads * sizes.head_dim, sizes.hidden]
        yield prefix + "self_attn.o_proj.weight", [sizes.hidden, sizes.heads * sizes.head_dim]
        yield prefix + "self_attn.q_norm.weight", [sizes.head_dim]
        yield prefix + "self_attn.k_norm.weight", [sizes.head_dim]
        yield prefix + "mlp.gate.weight", [sizes.experts, sizes.hidden]
        for expert in range(sizes.experts):
            yield f"{prefix}mlp.experts.{expert}.gate_proj.weight", [sizes.inner, sizes.hidden]
            yield f"{prefix}mlp.experts.{expert}.up_proj.weight", [sizes.inner, sizes.hidden]
            yield f"{prefix}mlp.experts.{expert}.down_proj.weight", [sizes.hidden, sizes.inner]


def write_large_model(folder, sizes=None, seed=1):
    """One shard a layer and one for the rest, so that memory stays small while writing."""
    sizes = sizes or Sizes()
    source = random.Random(seed)
    os.makedirs(folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        shutil.copy(os.path.join(DEMO, name), folder)
    with open(os.path.join(DEMO, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    config.update(hidden_size=sizes.hidden, moe_intermediate_size=sizes.inner, num_hidden_layers=sizes.layers,
                  num_experts=sizes.experts, num_attention_heads=sizes.heads, num_key_value_heads=sizes.kv_heads,
                  head_dim=sizes.head_dim, max_position_embeddings=sizes.context, max_window_layers=sizes.layers)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    shards = {}
    for name, shape in tensors_of(sizes):
        key = int(name.split(".")[2]) + 1 if name.startswith("model.layers.") else 0
        shards.setdefault(key, []).append((name, shape))
    weight_map = {}
    for key, entries in shards.items():
        file_name = f"model-{key + 1:05d}-of-{len(shards):05d}.safetensors"
        tensors = {}
        for name, shape in entries:
            count = shape[0] * (shape[1] if len(shape) == 2 else 1)
            data = b"\x80\x3f" * count if len(shape) == 1 else random_bf16(source, count)
            tensors[name] = ("BF16", shape, data)
            weight_map[name] = file_name
        write_safetensors(os.path.join(folder, file_name), tensors)
    with open(os.path.join(folder, "model.safetensors.index.json"), "w", encoding="utf-8") as file:
        json.dump({"metadata": {}, "weight_map": weight_map}, file)
