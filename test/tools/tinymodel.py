# SPDX-License-Identifier: Apache-2.0
"""A complete checkpoint of 60 KB: for tests that start many programs, and for the seeds of the fuzzers."""
import json
import os
import struct

CONFIG = {
    "model_type": "qwen3_moe", "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 16, "moe_intermediate_size": 32, "num_experts": 2,
    "num_experts_per_tok": 1, "norm_topk_prob": True, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
    "vocab_size": 320, "max_position_embeddings": 128, "eos_token_id": 260}
GENERATION = {"do_sample": True, "temperature": 0.6, "top_k": 20, "top_p": 0.95, "eos_token_id": [260, 261]}
PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
           r"\s+(?!\S)|\s+")


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def safetensors(tensors, metadata=None):
    """The bytes of a file with {name: (dtype, shape, bytes)}."""
    header = {"__metadata__": metadata} if metadata else {}
    data = b""
    for name, (dtype, shape, values) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    return with_length(compact(header).encode()) + data


def with_length(header):
    return struct.pack("<Q", len(header)) + header


def tokenizer(normalizer=None):
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}
    vocab = {letters[byte]: byte for byte in range(256)} | {"ab": 256, "abc": 257, "bc": 258, letters[32] + "a": 259}
    return {
        "added_tokens": [{"id": 260, "content": "<s>", "special": True, "normalized": False},
                         {"id": 261, "content": "<t>", "special": False, "normalized": False}],
        "normalizer": normalizer,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated", "invert": False},
            {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}]},
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": vocab, "merges": ["a b", ["b", "c"], "ab c", letters[32] + " a"]}}


def tensors():
    """{name: (dtype, shape, bytes)}; BF16 values between 2^-8 and 2^-6."""
    hidden, width, rows = CONFIG["hidden_size"], CONFIG["moe_intermediate_size"], CONFIG["vocab_size"]
    layer = "model.layers.0."
    shapes = {"model.embed_tokens.weight": [rows, hidden], "model.norm.weight": [hidden],
              "lm_head.weight": [rows, hidden]}
    for name, shape in (("input_layernorm", [hidden]), ("post_attention_layernorm", [hidden]),
                        ("self_attn.q_proj", [32, hidden]), ("self_attn.k_proj", [16, hidden]),
                        ("self_attn.v_proj", [16, hidden]), ("self_attn.o_proj", [hidden, 32]),
                        ("self_attn.q_norm", [16]), ("self_attn.k_norm", [16]),
                        ("mlp.gate", [CONFIG["num_experts"], hidden])):
        shapes[layer + name + ".weight"] = shape
    for expert in range(CONFIG["num_experts"]):
        base = f"{layer}mlp.experts.{expert}."
        shapes |= {base + "gate_proj.weight": [width, hidden], base + "up_proj.weight": [width, hidden],
                   base + "down_proj.weight": [hidden, width]}
    result = {}
    for salt, (name, shape) in enumerate(shapes.items()):
        count = shape[0] * (shape[1] if len(shape) == 2 else 1)
        values = bytes(byte for i in range(count)
                       for byte in ((i * 7 + salt * 31) % 251, (0x3B, 0x3C, 0xBB, 0xBC)[(i * i + salt) % 4]))
        result[name] = ("BF16", shape, values)
    return result


class TinyModel:
    """A model whose parts a test changes before it calls `write`."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, "model")
        self.config, self.generation = dict(CONFIG), dict(GENERATION)
        self.tokenizer, self.tensors = tokenizer(), tensors()
        self.raw = {}  # file name: bytes that are written instead

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self):
        os.makedirs(self.folder, exist_ok=True)
        contents = {"config.json": compact(self.config).encode(),
                    "generation_config.json": compact(self.generation).encode(),
                    "tokenizer.json": compact(self.tokenizer).encode(),
                    "model.safetensors": safetensors(self.tensors)} | self.raw
        for name, content in contents.items():
            if content is not None:
                with open(self.path(name), "wb") as file:
                    file.write(content)
        return self.folder

    def shard(self, edit=lambda weight_map: None):
        """Two shards and their index, which `edit` may change."""
        names = list(self.tensors)
        parts = {"a.safetensors": names[:8], "b.safetensors": names[8:]}
        weight_map = {name: file for file, own in parts.items() for name in own}
        edit(weight_map)
        self.raw |= {file: safetensors({name: self.tensors[name] for name in own}) for file, own in parts.items()}
        self.raw["model.safetensors"] = None
        self.raw["model.safetensors.index.json"] = compact({"weight_map": weight_map}).encode()
