# SPDX-License-Identifier: Apache-2.0
"""Models of random weights to measure, their peers' files, and the bytes that one token of them needs."""
import json
import os
import re
import subprocess

from engines import HERE, replaced_file

SHAPES = {  # Qwen3-30B-A3B; layers and experts are chosen for each measurement
    "architectures": ["Qwen3MoeForCausalLM"], "attention_bias": False, "bos_token_id": 1, "eos_token_id": 2,
    "decoder_sparse_step": 1, "head_dim": 128, "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 6144,
    "max_position_embeddings": 4096, "mlp_only_layers": [], "model_type": "qwen3_moe", "moe_intermediate_size": 768,
    "norm_topk_prob": True, "num_attention_heads": 32, "num_experts_per_tok": 8, "num_key_value_heads": 4,
    "rms_norm_eps": 1e-06, "rope_scaling": None, "rope_theta": 1000000.0, "tie_word_embeddings": False,
    "torch_dtype": "bfloat16", "vocab_size": 151936}
TINY = {"hidden_size": 128, "head_dim": 32, "num_attention_heads": 4, "num_key_value_heads": 2,
        "intermediate_size": 128, "moe_intermediate_size": 128, "vocab_size": 512,
        "num_experts_per_tok": 2, "max_position_embeddings": 256}


def config_of(layers, experts, changes=None):
    return {**SHAPES, **(changes or {}), "num_hidden_layers": layers, "num_experts": experts}


class Store:
    """Compiled models and peers' files in a folder; what is there is used again. Names tell tiny shapes from others and
    models for other targets from those for this machine."""

    def __init__(self, folder, programs, target, tiny):
        self.folder, self.programs, self.target, self.tiny = folder, programs, target, tiny
        os.makedirs(folder, exist_ok=True)

    def name(self, layers, experts):
        return f"{'tiny-' if self.tiny else ''}q{layers}e{experts}"

    def config(self, layers, experts):
        config = config_of(layers, experts, TINY if self.tiny else None)
        path = os.path.join(self.folder, self.name(layers, experts) + ".json")
        with replaced_file(path) as file:
            json.dump(config, file, indent=1)
        return config, path

    def compile_command(self, config_path, prefix, quant, group, threads=None):
        command = [os.path.join(self.programs, "moec"), "compile", "--random-weights", "--seed", "1", config_path,
                   "--target", self.target, "--quant", quant, "--group", str(group), "-o", prefix, "--quiet"]
        return command + (["--threads", str(threads)] if threads else [])

    def model(self, layers, experts, quant, group):
        """The prefix of a compiled model. It is compiled again when the compiler is newer."""
        _, config_path = self.config(layers, experts)
        target = "" if self.target == "host" else "-" + re.sub(r"[^\w.+-]", "-", self.target)
        prefix = os.path.join(self.folder, f"{self.name(layers, experts)}-{quant}-{group}{target}")
        library = prefix + ".so"
        compiler = os.path.join(self.programs, "moec")
        if not os.path.exists(library) or os.path.getmtime(library) < os.path.getmtime(compiler):
            subprocess.run(self.compile_command(config_path, prefix, quant, group), check=True)
        return prefix

    def peer_file(self, python, layers, experts, kind):
        _, config_path = self.config(layers, experts)
        path = os.path.join(self.folder, f"{self.name(layers, experts)}-{kind}.gguf")
        if not os.path.exists(path):
            subprocess.run([python, "-B", os.path.join(HERE, "peer_model.py"), config_path, kind, path], check=True)
        return path

    def remove(self, prefix):
        for end in (".so", ".moepack", ".report.json"):
            if os.path.exists(prefix + end):
                os.remove(prefix + end)


def report_of(prefix):
    with open(prefix + ".report.json", encoding="utf-8") as file:
        return json.load(file)


def active_bytes(report, depth):
    """Bytes that the token behind `depth` others needs, by the compiler's count: weights used, each once, in the stored
    bits of their format without padding; the KV cache that it sees; recurrent state."""
    token = report["token_bytes"]
    seen = depth + 1
    if report["window"]:
        seen = min(seen, report["window"] + report["sinks"])
    return token["weights"] + seen * token["kv_per_position"] + token["state"]


def active_weight_bytes(config, bits):
    """The same for the weights of a Qwen3-MoE config whose matrices have `bits` bits a weight, counted from the shapes
    alone. Routers and norms are f32."""
    hidden, head = config["hidden_size"], config["head_dim"]
    queries, keys = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    expert = 3 * hidden * config["moe_intermediate_size"]
    layer = 2 * hidden * queries + 2 * hidden * keys + config["num_experts_per_tok"] * expert
    matrices = config["num_hidden_layers"] * layer + (config["vocab_size"] + 1) * hidden
    floats = config["num_hidden_layers"] * (config["num_experts"] * hidden + 2 * hidden + 2 * head) + hidden
    return matrices * bits // 8 + floats * 4
