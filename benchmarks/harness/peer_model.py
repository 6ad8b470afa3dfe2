#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a gguf file of random weights with the shapes of a Qwen3-MoE or Qwen3.5-MoE config.json, for llama.cpp.

usage: peer_model.py CONFIG.json TYPE OUT.gguf [--routing zipf:S]        TYPE: Q4_0, Q4_1, IQ4_NL, Q4_K or Q8_0

All matrices but the routers are of TYPE, embedding and head included, as with `moec compile --quant int4`. Blocks hold
random codes and small scales, so that activations stay finite. With --routing, of Qwen3-MoE and Q4_K only, experts are
used like those of `moec synth` with the same flag. Needs the Python packages gguf and numpy. The file is written under
another name and renamed.
"""
import argparse
import contextlib
import json
import os
import sys

import gguf
import numpy

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import peer_hybrid  # noqa: E402
import peer_routing  # noqa: E402

CHUNK_BLOCKS = 1 << 18
# Offsets of the f16 scales in a block, and the value of one unit: codes of 4 bits spread by about 4.6, of 8 bits by 74.
# Q4_K multiplies them by scales and minima of 6 bits, here all 32: a minimum of 7.5 units, the mean of a code, keeps
# weights without a common part, which would route every token to the same experts.
SCALES = {"Q4_0": ((0, 0.0045),), "Q4_1": ((0, 0.0045), (2, -0.034)), "IQ4_NL": ((0, 0.0003),),
          "Q4_K": ((0, 0.00014), (2, 0.00105)), "Q8_0": ((0, 0.0003),)}
Q4_K_SCALES = bytes.fromhex("a0a0a0a0 a0a0a0a0 00000000")
# Some tensors are as much larger or smaller: what attention adds to a token's own embedding is common to all tokens and
# would route them all alike.
FACTORS = {"token_embd": 100, "attn_output": 0.05, "ssm_out": 0.05}


def factor_of(name):
    return FACTORS.get(name.split(".")[-2], 1)


def random_blocks(kind, count, factor=1):
    """`count` random blocks as bytes. Beyond a chunk they repeat: memory does not care, and numpy is slow."""
    _, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]]
    blocks = numpy.random.default_rng(1).integers(0, 256, (min(count, CHUNK_BLOCKS), size), dtype=numpy.uint8)
    for offset, unit in SCALES[kind]:
        blocks[:, offset:offset + 2] = numpy.frombuffer(numpy.float16(unit * factor).tobytes(), dtype=numpy.uint8)
    if kind == "Q4_K":
        blocks[:, 4:16] = numpy.frombuffer(Q4_K_SCALES, dtype=numpy.uint8)
    return blocks


def tensors_of(config):
    """(name, rows, columns) of every matrix and (name, columns) of every vector, routers last in a layer."""
    hidden, vocabulary = config["hidden_size"], config["vocab_size"]
    head = config["head_dim"]
    queries, keys = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    experts, inner = config["num_experts"], config["moe_intermediate_size"]
    yield "token_embd.weight", (vocabulary, hidden), True
    yield "output_norm.weight", (hidden,), False
    yield "output.weight", (vocabulary, hidden), True
    for layer in range(config["num_hidden_layers"]):
        prefix = f"blk.{layer}."
        for name, shape, is_quantized in (
                ("attn_norm", (hidden,), False), ("attn_q", (queries, hidden), True), ("attn_k", (keys, hidden), True),
                ("attn_v", (keys, hidden), True), ("attn_output", (hidden, queries), True),
                ("attn_q_norm", (head,), False), ("attn_k_norm", (head,), False), ("ffn_norm", (hidden,), False),
                ("ffn_gate_inp", (experts, hidden), False), ("ffn_gate_exps", (experts, inner, hidden), True),
                ("ffn_up_exps", (experts, inner, hidden), True), ("ffn_down_exps", (experts, hidden, inner), True)):
            yield f"{prefix}{name}.weight", shape, is_quantized


def add_metadata(writer, config):
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_expert_feed_forward_length(config["moe_intermediate_size"])
    writer.add_expert_count(config["num_experts"])
    writer.add_expert_used_count(config["num_experts_per_tok"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("none")


def write_repeated(writer, file, blocks, first, num_bytes):
    """Writes `num_bytes` of repeated blocks from the `first` on, then zeros up to the alignment of tensors."""
    left, flat = num_bytes, blocks.reshape(-1)
    start = first * blocks.shape[1]
    while left:
        part = flat[start:start + left]
        file.write(part.data)
        left -= part.size
        start = 0
    writer.write_padding(file, num_bytes)


def floats_of(name, shape, random, top_k, exponent):
    """Routers and convolutions spread around 0, norms are 1; what has few values is -1, as a decay is."""
    if exponent is not None and name.endswith(".ffn_gate_inp.weight"):
        return peer_routing.router(random, shape, top_k, exponent)
    if len(shape) > 1:
        return random.normal(0, 0.02, shape)
    return numpy.full(shape, -1.0 if shape[0] < 64 else 1.0)


def write_floats(writer, file, values):
    values.astype(numpy.float32).tofile(file)
    writer.write_padding(file, values.size * 4)


def write_model(config, kind, path, exponent=None):
    """`exponent` is that of the Zipf distribution that the routers follow, or None for plain random ones."""
    is_hybrid = config["model_type"].startswith("qwen3_5")
    temporary = f"{path}.{os.getpid()}.tmp"
    writer = gguf.GGUFWriter(temporary, peer_hybrid.ARCHITECTURE if is_hybrid else "qwen3moe")
    (peer_hybrid.add_metadata if is_hybrid else add_metadata)(writer, config)
    # (name, shape, type or False)
    tensors = [(name, shape, kind if of is True else of)
               for name, shape, of in (peer_hybrid.tensors_of if is_hybrid else tensors_of)(config)]
    for name, shape, of in tensors:
        count = int(numpy.prod(shape))
        if of:
            block, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[of]]
            stored = (*shape[:-1], shape[-1] // block * size)
            writer.add_tensor_info(name, stored, numpy.dtype(numpy.uint8), count // block * size,
                                   gguf.GGMLQuantizationType[of])
        else:
            writer.add_tensor_info(name, shape, numpy.dtype(numpy.float32), count * 4)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    random = numpy.random.default_rng(2)
    wanted = {(of, factor_of(name)) for name, _, of in tensors if of}
    blocks = {(of, factor): random_blocks(of, CHUNK_BLOCKS, factor) for of, factor in sorted(wanted)}
    file = writer.fout[0]
    writer.write_padding(file, file.tell())
    for name, shape, of in tensors:
        if not of:
            write_floats(writer, file, floats_of(name, shape, random, config.get("num_experts_per_tok"), exponent))
            continue
        block, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[of]]
        # From another block in each tensor: equal gates and ups would route every token alike.
        part = blocks[of, factor_of(name)]
        first = int(random.integers(len(part)))
        if exponent is not None and name == "token_embd.weight":
            peer_routing.mark_embeddings(part, shape[-1] // block)
            first = 0
        write_repeated(writer, file, part, first, int(numpy.prod(shape)) // block * size)
    writer.close()
    os.rename(temporary, path)


def zipf(text):
    kind, _, exponent = text.partition(":")
    with contextlib.suppress(ValueError):
        if kind == "zipf" and 0 <= float(exponent) <= 4:
            return float(exponent)
    raise argparse.ArgumentTypeError(f"expects zipf:S with S from 0 to 4, but got '{text}'")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", metavar="CONFIG.json")
    parser.add_argument("type", choices=sorted(SCALES))
    parser.add_argument("output", metavar="OUT.gguf")
    parser.add_argument("--routing", type=zipf, metavar="zipf:S", help="how evenly experts are used")
    options = parser.parse_args()
    with open(options.config, encoding="utf-8") as file:
        config = json.load(file)
    if options.routing is not None and (options.type != "Q4_K" or config["model_type"] != "qwen3_moe"):
        parser.error(f"--routing needs Q4_K and a model of type qwen3_moe, but got {options.type} and "
                     f"{config['model_type']}")
    write_model(config, options.type, options.output, options.routing)


if __name__ == "__main__":
    main()
