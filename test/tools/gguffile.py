# SPDX-License-Identifier: Apache-2.0
"""Writes gguf files of any content, and those of checkpoints: for tests and for the seeds of the fuzzers."""
import struct

# Name: number, values and bytes of a block.
TYPES = {"F32": (0, 1, 4), "F16": (1, 1, 2), "Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20), "Q8_0": (8, 32, 34),
         "Q4_K": (12, 256, 144), "Q6_K": (14, 256, 210), "BF16": (30, 1, 2)}
KINDS = {"u8": (0, "B"), "i8": (1, "b"), "u16": (2, "H"), "i16": (3, "h"), "u32": (4, "I"), "i32": (5, "i"),
         "f32": (6, "f"), "bool": (7, "?"), "u64": (10, "Q"), "i64": (11, "q"), "f64": (12, "d")}
LAYER = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
         "self_attn.k_norm": "attn_k_norm", "post_attention_layernorm": "ffn_norm", "mlp.gate": "ffn_gate_inp",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
GLOBAL = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}


def text(value):
    data = value.encode("utf-8", "surrogateescape")
    return struct.pack("<Q", len(data)) + data


def kind_of(value):
    return {bool: "bool", int: "u32", float: "f32", str: "str"}[type(value)]


def typed(value):
    """The kind and bytes of a Python value, or of a pair (kind, value); lists are arrays of one kind."""
    kind, value = value if isinstance(value, tuple) else (None, value)
    if isinstance(value, list):
        kind = kind or (kind_of(value[0]) if value else "u32")
        number = 8 if kind == "str" else KINDS[kind][0]
        return 9, struct.pack("<IQ", number, len(value)) + b"".join(typed((kind, one))[1] for one in value)
    kind = kind or kind_of(value)
    return (8, text(value)) if kind == "str" else (KINDS[kind][0], struct.pack("<" + KINDS[kind][1], value))


def gguf(metadata, tensors, version=3, alignment=32):
    """The bytes of a file; tensors are {name: (type, shape, bytes)} with the slowest dimension first."""
    header = struct.pack("<4sIQQ", b"GGUF", version, len(tensors), len(metadata))
    for key, value in metadata.items():
        number, data = typed(value)
        header += text(key) + struct.pack("<I", number) + data
    data = b""
    for name, (kind, shape, values) in tensors.items():
        data += bytes(-len(data) % alignment)
        header += text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        header += struct.pack("<IQ", kind if isinstance(kind, int) else TYPES[kind][0], len(data))
        data += values
    return header + bytes(-len(header) % alignment) + data


def pairs(values, rows, head_rows):
    """Rows i and i + half of each head next to each other, as llama.cpp's converter stores Q and K of llama."""
    size, half = len(values) // rows, head_rows // 2
    row = [values[i * size:(i + 1) * size] for i in range(rows)]
    return b"".join(row[first + i + part * half] for first in range(0, rows, head_rows)
                    for i in range(half) for part in (0, 1))


def metadata_of(architecture, config, tokenizer, pre="qwen2"):
    """Metadata of a config.json and of a tokenizer.json as dictionaries."""
    heads = config["num_attention_heads"]
    head = config.get("head_dim") or config["hidden_size"] // heads
    keys = {"block_count": config["num_hidden_layers"], "context_length": config["max_position_embeddings"],
            "embedding_length": config["hidden_size"], "attention.head_count": heads,
            "attention.head_count_kv": config["num_key_value_heads"], "attention.key_length": head,
            "attention.value_length": head, "attention.layer_norm_rms_epsilon": config["rms_norm_eps"],
            "rope.freq_base": config["rope_theta"], "rope.dimension_count": head}
    if "num_experts" in config:
        keys |= {"expert_count": config["num_experts"], "expert_used_count": config["num_experts_per_tok"],
                 "expert_feed_forward_length": config["moe_intermediate_size"]}
    else:
        keys["feed_forward_length"] = config["intermediate_size"]
    words = tokenizer["model"]["vocab"] | {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    tokens = [f"[PAD{i}]" for i in range(config["vocab_size"])]
    types = [5] * len(tokens)
    for word, index in words.items():
        tokens[index], types[index] = word, 1
    for token in tokenizer["added_tokens"]:
        types[token["id"]] = 3 if token.get("special") else 4
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in tokenizer["model"]["merges"]]
    metadata = {"general.architecture": architecture, "general.name": "test"}
    metadata |= {f"{architecture}.{key}": value for key, value in keys.items()}
    return metadata | {
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": pre, "tokenizer.ggml.tokens": ("str", tokens),
        "tokenizer.ggml.token_type": ("i32", types), "tokenizer.ggml.merges": ("str", merges),
        "tokenizer.ggml.eos_token_id": config["eos_token_id"], "tokenizer.ggml.add_bos_token": False}


def tensors_of(tensors, head_rows=0):
    """Tensors by their gguf names: experts of a layer in one, norms as F32. `head_rows` is for Q and K of llama."""
    result, experts = {}, {}
    for name, (dtype, shape, values) in tensors.items():
        module, part = name.rsplit(".", 1)
        if module in GLOBAL:
            target = GLOBAL[module]
        else:
            _, _, layer, module = module.split(".", 3)
            if module.startswith("mlp.experts."):
                _, _, expert, matrix = module.split(".")
                target = f"blk.{layer}.ffn_{matrix.removesuffix('_proj')}_exps.weight"
                experts.setdefault(target, {})[int(expert)] = (dtype, shape, values)
                continue
            target = f"blk.{layer}.{LAYER[module]}"
            if head_rows and module in ("self_attn.q_proj", "self_attn.k_proj"):
                values = pairs(values, shape[0], head_rows)
        if len(shape) == 1 and dtype == "BF16":
            values = b"".join(b"\0\0" + values[i:i + 2] for i in range(0, len(values), 2))
            dtype = "F32"
        result[f"{target}.{part}"] = (dtype, shape, values)
    for target, parts in experts.items():
        ordered = [parts[expert] for expert in sorted(parts)]
        result[target] = (ordered[0][0], [len(ordered), *ordered[0][1]], b"".join(values for _, _, values in ordered))
    return result


def blocks(kind, count, salt):
    """Blocks of a type with scales and codes that look random: their bytes, and their values as those of F32."""
    data, values = b"", b""
    for block in range(count // 32):
        scale, minimum = ((block * 37 + salt * 11) % 97 - 48) / 4096, ((block * 29 + salt) % 89 - 60) / 1024
        scale, minimum = struct.unpack("<2e", struct.pack("<2e", scale, minimum))
        raw = [((block + i) * (i + salt + 7) * 40503 >> 5) & 255 for i in range(32)]
        if kind == "Q8_0":
            codes = [byte - 128 for byte in raw]
            data += struct.pack("<e32b", scale, *codes)
            values += struct.pack("<32f", *(code * scale for code in codes))
            continue
        codes = [byte & 15 for byte in raw]
        packed = bytes(codes[i] | codes[i + 16] << 4 for i in range(16))
        if kind == "Q4_0":
            data += struct.pack("<e", scale) + packed
            values += struct.pack("<32f", *((code - 8) * scale for code in codes))
        else:
            data += struct.pack("<2e", scale, minimum) + packed
            values += struct.pack("<32f", *(code * scale + minimum for code in codes))
    return data, values
