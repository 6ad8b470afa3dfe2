# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A table of odd checkpoints: each ends in one message that names file and place, and leaves no output."""
import os
import struct

from brokenmodel import compile_broken
from moectest import check, expect_error, scratch
from tinymodel import TinyModel, compact, with_length

NORM, GATE, HEAD = "model.norm.weight", "model.layers.0.mlp.gate.weight", "lm_head.weight"
WEIGHTS = "model.safetensors"


def header_edit(edit):
    """Changes the header of the weights, as values."""
    def change(model):
        offset, header = 0, {}
        for name, (dtype, shape, data) in model.tensors.items():
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
            offset += len(data)
        edit(header)
        data = b"".join(data for _, _, data in model.tensors.values())
        model.raw[WEIGHTS] = with_length(compact(header).encode()) + data
    return change


def raw(name, content):
    return lambda model: model.raw.update({name: content})


def config(**changes):
    return lambda model: model.config.update(changes)


def tokenizer(edit):
    return lambda model: edit(model.tokenizer)


def values(name, kind, dtype, index, text):
    """Stores one value of a weight as bits."""
    def change(model):
        _, shape, data = model.tensors[name]
        count = len(data) // 2
        stored = bytearray(count * struct.calcsize(kind))
        struct.pack_into("<" + kind, stored, index * struct.calcsize(kind), text)
        model.tensors[name] = (dtype, shape, bytes(stored))
    return change


def shift(name, begin, end):
    def edit(header):
        offsets = header[name]["data_offsets"]
        header[name]["data_offsets"] = [offsets[0] + begin, offsets[1] + end]
    return header_edit(edit)


def index(edit):
    return lambda model: model.shard(edit)


NESTED = b'{"a":' * 100000
CASES = {
    # safetensors
    "seven bytes": (raw(WEIGHTS, b"1234567"), WEIGHTS, "found 7 bytes", "at least 8"),
    "header length 2^63": (raw(WEIGHTS, struct.pack("<Q", 2 ** 63) + b"{}"), WEIGHTS, str(2 ** 63)),
    "header beyond the file": (raw(WEIGHTS, struct.pack("<Q", 100) + b"{}"), WEIGHTS, "found 10 bytes", "108"),
    "overlap": (shift(GATE, -64, -64), GATE, "overlaps"),
    "gap": (shift(GATE, 2, 2), GATE, "belong to no tensor"),
    "reversed offsets": (header_edit(lambda h: h[GATE]["data_offsets"].reverse()), GATE, "data_offsets"),
    "past the end": (header_edit(lambda h: h.update(zz={"dtype": "F32", "shape": [2 ** 20], "data_offsets":
                                                        [61120, 61120 + 2 ** 22]})), WEIGHTS),
    "trailing bytes": (lambda model: (header_edit(lambda h: None)(model),
                                      model.raw.update({WEIGHTS: model.raw[WEIGHTS] + b"x"})), "belongs to no tensor"),
    "shape is not the extent": (header_edit(lambda h: h[GATE].update(shape=[3, 32])), GATE, "[3, 32]", "192"),
    "shape of 2^64": (header_edit(lambda h: h[GATE].update(shape=[2 ** 40, 2 ** 40])), GATE, "2^64"),
    "shape is text": (header_edit(lambda h: h[GATE].update(shape=["2", 32])), GATE, "\"2\""),
    "unknown dtype": (header_edit(lambda h: h[GATE].update(dtype="F4")), GATE, "'F4'"),
    "dtype of no weight": (lambda m: m.tensors.update({NORM: ("I64", [32], bytes(256))}), NORM, "I64"),
    "tensor twice": (raw(WEIGHTS, with_length(b'{"a":1,"a":2}')), WEIGHTS, "duplicate", "\"a\""),
    "name with a zero": (header_edit(lambda h: h.update({"a\0b": h.pop(GATE)})), GATE, "missing"),
    "header of bad UTF-8": (raw(WEIGHTS, with_length(b'{"\xff":1}')), WEIGHTS, "UTF-8"),
    "header nested": (raw(WEIGHTS, with_length(NESTED)), WEIGHTS, "nested"),
    "bias": (lambda m: m.tensors.update({GATE[:-6] + "bias": ("BF16", [2], bytes(4))}), "mlp.gate.bias"),
    # shards
    "missing shard": (index(lambda m: m.update({NORM: "c.safetensors"})), "'c.safetensors' is missing"),
    "shard above": (index(lambda m: m.update({NORM: "../a.safetensors"})), "../a.safetensors", NORM),
    "absolute shard": (index(lambda m: m.update({NORM: "/etc/passwd"})), "/etc/passwd", NORM),
    "shard is a number": (index(lambda m: m.update({NORM: 7})), NORM, "is 7"),
    # config.json
    "numbers as text": (config(hidden_size="32"), "hidden_size", "\"32\""),
    "null": (config(num_experts=None), "num_experts is null"),
    "list": (config(vocab_size=[320]), "vocab_size is an array"),
    "duplicate key": (raw("config.json", b'{"a":1,"a":1}'), "config.json", "duplicate", "\"a\""),
    "nested": (raw("config.json", NESTED), "config.json", "nested"),
    "bad UTF-8": (raw("config.json", b'{"model_type":"\xc3\x28"}'), "config.json", "UTF-8"),
    "zero byte": (raw("config.json", b'{"model_type"\0:"qwen3_moe"}'), "config.json", "parse error"),
    "empty file": (raw("config.json", b""), "config.json", "parse error"),
    "infinite number": (raw("config.json", b'{"rms_norm_eps":1e999}'), "config.json"),
    "heads do not divide": (config(num_attention_heads=3, num_key_value_heads=2), "num_key_value_heads", "3"),
    "no head size": (lambda m: (m.config.pop("head_dim"), m.config.update(num_attention_heads=3)), "32 / 3"),
    "two rope bases": (config(rope_parameters={"rope_theta": 5.0}), "rope_parameters.rope_theta is 5.0", "10000.0"),
    "scaled rope": (config(rope_scaling={"type": "dynamic", "factor": 2}), "rope_scaling.type", "dynamic"),
    "no head, untied": (lambda m: m.tensors.pop(HEAD), HEAD, "tie_word_embeddings"),
    "generation of text": (lambda m: m.generation.update(top_k="20"), "generation_config.json", "top_k", "\"20\""),
    # tokenizer.json
    "merge of nothing": (tokenizer(lambda t: t["model"]["merges"].append("ab zz")), "model.merges[4]", "zz"),
    "merge twice": (tokenizer(lambda t: t["model"]["merges"].append("a b")), "merges[4]", "merges[0]"),
    "id twice": (tokenizer(lambda t: t["model"]["vocab"].update(abcd=256)), "abcd", "256"),
    "id too high": (tokenizer(lambda t: t["model"]["vocab"].update(abcd=2 ** 31 - 1)), "abcd", str(2 ** 31 - 1)),
    "token twice": (raw("tokenizer.json", b'{"model":{"vocab":{"a":0,"a":1}}}'), "tokenizer.json", "duplicate"),
    "tokenizer of bad UTF-8": (raw("tokenizer.json", b'{"\xed\xa0\x80":1}'), "tokenizer.json", "UTF-8"),
    "vocabulary with a hole": (tokenizer(lambda t: t["model"]["vocab"].update(abcd=300)), "id 262"),
    # values
    "not a number": (values(NORM, "f", "F32", 5, float("nan")), NORM, "nan", "column 5"),
    "infinity": (values(GATE, "H", "BF16", 40, 0xFF80), GATE, "-infinity", "row 1, column 8"),
    "too large for a scale": (values(HEAD, "f", "F32", 64, 3e38), HEAD, "65504", "row 2"),
}

for case, (change, *texts) in CASES.items():
    with scratch() as folder:
        model = TinyModel(folder)
        change(model)
        result = compile_broken(model.write(), folder, "--quant", "int8", "--quiet")
        check(result.code == 1, f"{case}: exit code {result.code}\n{result.err}")
        expect_error(result, *texts)
        check(len(result.err.splitlines()) == 1, f"{case}: not one line: {result.err}")
        check(os.listdir(folder) == ["model"], f"{case}: left {os.listdir(folder)}")
print(f"{len(CASES)} checkpoints refused")
