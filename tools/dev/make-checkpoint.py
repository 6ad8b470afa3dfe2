#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a random qwen3_moe checkpoint in BF16: for tests of memory, streaming and shapes, not of text.

The same arguments give the same bytes. Linear weights are spread around zero with a magnitude of 1/sqrt(columns), norm
weights lie between 0.96 and 1.06, so that activations and router probabilities stay in a plausible range.

Example, about 320 MB:
  tools/dev/make-checkpoint.py --hidden 512 --layers 8 --heads 8 --kv-heads 2 --head-dim 64 --experts 32 --top-k 4 \\
      --moe-intermediate 384 --vocab 2048 --context 1024 --shards 2 --tokenizer-from examples/demo-moe OUT_FOLDER
"""
import argparse
import json
import math
import os
import random
import shutil
import struct
import sys
import time

PIECE_VALUES = 1 << 20


def linear_table(columns):
    """Maps a random byte to the upper byte of a BF16: a sign and seven of the eight bits of the exponent.

    The lowest bit of the exponent and the mantissa come from another random byte. Half of the values get the upper two
    binades, a quarter the two below, and so on: a narrow peak as of trained weights, root mean square 1/sqrt(columns)
    times 0.6 to 2.2.
    """
    top = max(1, min(125, (127 + round(math.log2(1 / math.sqrt(columns)))) // 2))
    table = bytearray(256)
    for byte in range(256):
        level, rest = 0, byte & 127
        while rest < (64 >> level) and level < 6:
            level += 1
        table[byte] = (byte & 128) | max(0, top - level)
    return bytes(table)


# Lower byte of a norm weight: 0x3F78 = 0.96875 to 0x3F87 = 1.0546875.
NORM_TABLE = bytes(0x78 + (byte & 15) for byte in range(256))


def tensor_pieces(name, shape, seed):
    """Yields the bytes of a tensor in pieces. Every tensor has its own stream, so shards and order do not matter."""
    source = random.Random(f"{seed}:{name}")
    count = math.prod(shape)
    is_norm = len(shape) == 1
    table = NORM_TABLE if is_norm else linear_table(shape[1])
    while count:
        values = min(count, PIECE_VALUES)
        data = bytearray(2 * values)
        if is_norm:
            data[0::2] = source.randbytes(values).translate(table)
            data[1::2] = b"\x3f" * values
        else:
            data[0::2] = source.randbytes(values)
            data[1::2] = source.randbytes(values).translate(table)
        yield data
        count -= values


def tensor_shapes(args):
    """Yields (name, shape) in the order of computation."""
    query, kv = args.heads * args.head_dim, args.kv_heads * args.head_dim
    yield "model.embed_tokens.weight", [args.vocab, args.hidden]
    for layer in range(args.layers):
        prefix = f"model.layers.{layer}."
        yield prefix + "input_layernorm.weight", [args.hidden]
        yield prefix + "self_attn.q_proj.weight", [query, args.hidden]
        yield prefix + "self_attn.k_proj.weight", [kv, args.hidden]
        yield prefix + "self_attn.v_proj.weight", [kv, args.hidden]
        yield prefix + "self_attn.q_norm.weight", [args.head_dim]
        yield prefix + "self_attn.k_norm.weight", [args.head_dim]
        yield prefix + "self_attn.o_proj.weight", [args.hidden, query]
        yield prefix + "post_attention_layernorm.weight", [args.hidden]
        yield prefix + "mlp.gate.weight", [args.experts, args.hidden]
        for expert in range(args.experts):
            base = f"{prefix}mlp.experts.{expert}."
            yield base + "gate_proj.weight", [args.moe_intermediate, args.hidden]
            yield base + "up_proj.weight", [args.moe_intermediate, args.hidden]
            yield base + "down_proj.weight", [args.hidden, args.moe_intermediate]
    yield "model.norm.weight", [args.hidden]
    if not args.tied:
        yield "lm_head.weight", [args.vocab, args.hidden]


def write_safetensors(path, tensors, seed):
    """Writes [(name, shape)] under a temporary name and renames. Returns the bytes of data."""
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in tensors:
        size = 2 * math.prod(shape)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path + ".partial", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, shape in tensors:
            for piece in tensor_pieces(name, shape, seed):
                file.write(piece)
    os.replace(path + ".partial", path)
    return offset


def split_shards(tensors, num_shards):
    """Splits into runs of about the same size; every shard holds at least one tensor."""
    total = sum(math.prod(shape) for _, shape in tensors)
    shards, done = [[]], 0
    for index, (name, shape) in enumerate(tensors):
        missing = num_shards - len(shards)
        if shards[-1] and missing and (done >= total * len(shards) / num_shards or len(tensors) - index <= missing):
            shards.append([])
        shards[-1].append((name, shape))
        done += math.prod(shape)
    return shards


def write_weights(args):
    tensors = list(tensor_shapes(args))
    if args.shards > len(tensors):
        sys.exit(f"make-checkpoint: --shards {args.shards} is more than the {len(tensors)} tensors")
    if args.shards == 1:
        return write_safetensors(os.path.join(args.folder, "model.safetensors"), tensors, args.seed)
    total, weight_map = 0, {}
    for index, shard in enumerate(split_shards(tensors, args.shards)):
        name = f"model-{index + 1:05d}-of-{args.shards:05d}.safetensors"
        total += write_safetensors(os.path.join(args.folder, name), shard, args.seed)
        weight_map.update({tensor: name for tensor, _ in shard})
        print(f"make-checkpoint: wrote {name}", file=sys.stderr)
    with open(os.path.join(args.folder, "model.safetensors.index.json"), "w", encoding="utf-8") as file:
        json.dump({"metadata": {"total_size": total}, "weight_map": dict(sorted(weight_map.items()))}, file, indent=2)
    return total


def tokenizer_size(folder):
    """The smallest vocabulary that the tokenizer of `folder` fits in."""
    with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as file:
        content = json.load(file)
    ids = list(content["model"]["vocab"].values()) + [token["id"] for token in content.get("added_tokens", [])]
    return max(ids) + 1


def write_configs(args):
    eos = args.vocab - 1
    if args.tokenizer_from:
        size = tokenizer_size(args.tokenizer_from)
        if args.vocab < size:
            sys.exit(f"make-checkpoint: --vocab {args.vocab} is less than the {size} tokens of {args.tokenizer_from}")
        for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
            if os.path.exists(os.path.join(args.tokenizer_from, name)):
                shutil.copyfile(os.path.join(args.tokenizer_from, name), os.path.join(args.folder, name))
        source = os.path.join(args.tokenizer_from, "config.json")
        if os.path.exists(source):
            with open(source, encoding="utf-8") as file:
                eos = json.load(file).get("eos_token_id", eos)
    config = {
        "architectures": ["Qwen3MoeForCausalLM"], "attention_bias": False, "decoder_sparse_step": 1,
        "eos_token_id": eos, "head_dim": args.head_dim, "hidden_act": "silu", "hidden_size": args.hidden,
        "intermediate_size": 4 * args.hidden, "max_position_embeddings": args.context, "mlp_only_layers": [],
        "model_type": "qwen3_moe", "moe_intermediate_size": args.moe_intermediate, "norm_topk_prob": True,
        "num_attention_heads": args.heads, "num_experts": args.experts, "num_experts_per_tok": args.top_k,
        "num_hidden_layers": args.layers, "num_key_value_heads": args.kv_heads, "rms_norm_eps": 1e-6,
        "rope_scaling": None, "rope_theta": 10000.0, "tie_word_embeddings": args.tied, "torch_dtype": "bfloat16",
        "use_sliding_window": False, "vocab_size": args.vocab,
    }
    with open(os.path.join(args.folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=2)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag, default in (("hidden", 256), ("layers", 4), ("heads", 8), ("kv-heads", 2), ("head-dim", 32),
                          ("experts", 16), ("top-k", 4), ("moe-intermediate", 128), ("vocab", 2048),
                          ("context", 1024), ("shards", 1)):
        parser.add_argument("--" + flag, type=int, default=default, help=f"default {default}")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tied", action="store_true", help="no lm_head: the embedding is used twice")
    parser.add_argument("--tokenizer-from", metavar="FOLDER", help="where to copy tokenizer.json from")
    parser.add_argument("folder", help="is made if it does not exist")
    args = parser.parse_args()
    for name, value in vars(args).items():
        if isinstance(value, int) and name not in ("seed", "tied") and value < 1:
            parser.error(f"--{name.replace('_', '-')} is {value}, expects at least 1")
    if args.top_k > args.experts:
        parser.error(f"--top-k is {args.top_k}, expects at most {args.experts} (--experts)")
    if args.heads % args.kv_heads:
        parser.error(f"--kv-heads is {args.kv_heads}, expects a divisor of {args.heads} (--heads)")
    return args


def main():
    args = parse_arguments()
    os.makedirs(args.folder, exist_ok=True)
    begin = time.monotonic()
    write_configs(args)
    total = write_weights(args)
    rate = total / 1e6 / max(time.monotonic() - begin, 1e-9)
    print(f"make-checkpoint: {total} bytes of weights in {args.folder}, {rate:.0f} MB/s", file=sys.stderr)


if __name__ == "__main__":
    main()
