# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A gguf file computes what the safetensors checkpoint of the same values computes, bit for bit: weights of every type,
experts in one tensor, Q and K of llama in pairs, the tokenizer from metadata."""
import os

from gguffile import blocks, gguf, metadata_of, tensors_of
from moectest import check, moec, program, execute, run, run_json, same_files, scratch
from tinymodel import CONFIG, TinyModel

TYPES = ("BF16", "Q8_0", "Q4_0", "Q4_1")
TEXT = "abc ab a<s> it's<t>"


def write_both(folder, architecture, config, shapes):
    """The same model twice: matrices in turn of every type, in the checkpoint as F32."""
    model = TinyModel(folder)
    model.config = config
    model.generation = {"eos_token_id": config["eos_token_id"]}
    model.tensors, stored = {}, {}
    for salt, (name, (dtype, shape, values)) in enumerate(shapes.items()):
        # The experts of a layer are one tensor in the gguf file, so they have one type.
        kind = TYPES[(2 if ".experts." in name else salt) % len(TYPES)]
        if len(shape) == 1 or kind == "BF16":
            model.tensors[name] = stored[name] = (dtype, shape, values)
        else:
            data, values = blocks(kind, shape[0] * shape[1], salt)
            model.tensors[name], stored[name] = ("F32", shape, values), (kind, shape, data)
    path = os.path.join(folder, "model.gguf")
    head_rows = config["head_dim"] if architecture == "llama" else 0
    with open(path, "wb") as file:
        file.write(gguf(metadata_of(architecture, config, model.tokenizer), tensors_of(stored, head_rows)))
    return model.write(), path


def compare(architecture, config, shapes, quant):
    with scratch() as folder:
        model, path = write_both(folder, architecture, config, shapes)
        logits, results = [], []
        for name, source in (("a", model), ("b", path)):
            out = os.path.join(folder, name)
            moec("compile", source, "--target", "host", "--quant", quant, "--dump-phases-to", folder, "-o", out)
            logits.append(out + ".npy")
            run(out, "--prompt", TEXT, "--max-tokens", 8, "--greedy", "--logits", logits[-1])
            results.append(run_json(out, "--prompt", TEXT, "--max-tokens", 8, "--greedy"))
        first, second = results
        check(first["prompt_ids"] == second["prompt_ids"], f"{architecture}: the tokenizers differ: {results}")
        check(same_files(*logits), f"{architecture} {quant}: the logits differ")
        expected = os.path.join(folder, "expected.npy")
        execute([program("moe-interpret"), os.path.join(folder, "4-b.fuse.mlir"), "--ids",
                 ",".join(map(str, second["prompt_ids"])), "--greedy", "8", "--logits", expected])
        check(same_files(logits[1], expected), f"{architecture} {quant}: the interpreter's logits differ")


SHAPES = TinyModel("").tensors
for quant in ("f32", "int8"):
    compare("qwen3moe", CONFIG, SHAPES, quant)
