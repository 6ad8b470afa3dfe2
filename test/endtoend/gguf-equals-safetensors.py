# SPDX-License-Identifier: Apache-2.0
# REQUIRES: qemu
# RUN: %python %s
"""A gguf file computes what the safetensors checkpoint of the same values computes, bit for bit: weights of every type,
experts in one tensor, Q and K of llama in pairs, the tokenizer from metadata."""
import os

from gguffile import blocks, gguf, metadata_of, tensors_of
from moectest import ARM64_TARGETS, check, execute, moec, program, report, run, run_json, same_files, scratch
from tinymodel import CONFIG, TinyModel

TYPES = ("BF16", "Q8_0", "Q4_0", "Q4_1")
TARGETS = ("x86-64-avx2", *ARM64_TARGETS)
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


def build(folder, name, source, quant):
    """Compiles; gives the results of a run, and checks that its logits are the interpreter's."""
    out = os.path.join(folder, name)
    moec("compile", source, "--target", "host", "--quant", quant, "--dump-phases-to", folder, "-o", out)
    results = run_json(out, "--prompt", TEXT, "--max-tokens", 8, "--greedy", "--logits", out + ".npy")
    ids = ",".join(map(str, results["prompt_ids"]))
    execute([program("moe-interpret"), os.path.join(folder, f"4-{name}.fuse.mlir"), "--ids", ids, "--greedy", "8",
             "--logits", out + ".expected.npy"])
    check(same_files(out + ".npy", out + ".expected.npy"), f"{source} {quant}: the interpreter's logits differ")
    return out, results


def compare(architecture, config, shapes):
    with scratch() as folder:
        model, path = write_both(folder, architecture, config, shapes)
        first, results = build(folder, "a", model, "f32")
        second, others = build(folder, "b", path, "f32")
        check(results["prompt_ids"] == others["prompt_ids"], f"{architecture}: the tokenizers differ")
        check(same_files(first + ".npy", second + ".npy"), f"{architecture}: the logits differ")
        kept, results = build(folder, "kept", path, "source")
        ids = ",".join(map(str, results["prompt_ids"]))
        # Codes -128 and -8 exist in such files only.
        for target in TARGETS if architecture == "qwen3moe" else ():
            out = os.path.join(folder, target)
            moec("compile", path, "--target", target, "--quant", "source", "-o", out)
            run(out, "--ids", ids, "--max-tokens", 8, "--greedy", "--logits", out + ".npy", target=target)
            check(same_files(kept + ".npy", out + ".npy"), f"{target}: the logits differ from the host's")
        return {(entry["source"], entry["encoding"], entry["verbatim"]) for entry in report(kept)["precision"]}


def without_experts(shapes, has_norms):
    """The tensors of the dense relative: one network, and no norms of heads for llama."""
    result = {}
    for name, tensor in shapes.items():
        if ".experts.0." in name:
            result[name.replace("experts.0.", "")] = tensor
        elif ".experts." not in name and ".mlp.gate." not in name and (has_norms or "_norm." not in name):
            result[name] = tensor
    return result


SHAPES = TinyModel("").tensors
DENSE = {key: value for key, value in CONFIG.items() if "expert" not in key and key != "norm_topk_prob"}
DENSE |= {"intermediate_size": DENSE.pop("moe_intermediate_size")}
kinds = compare("qwen3moe", CONFIG, SHAPES)
for architecture in ("llama", "qwen2", "qwen3"):
    shapes = without_experts(SHAPES, architecture == "qwen3")
    if architecture == "qwen2":
        for name in ("q", "k", "v"):
            _, shape, values = shapes[f"model.layers.0.self_attn.{name}_proj.weight"]
            shapes[f"model.layers.0.self_attn.{name}_proj.bias"] = ("BF16", shape[:1], values[:2 * shape[0]])
    kinds |= compare(architecture, DENSE | {"model_type": architecture}, shapes)
expected = {("q8_0", "i8/32", True), ("q4_0", "i4/32", True), ("q4_1", "i4m/32", True), ("bf16", "f32", False)}
check(expected <= kinds, f"--quant source gives {kinds}")
