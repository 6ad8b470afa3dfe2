# SPDX-License-Identifier: Apache-2.0
"""The flagship, Qwen3.6-35B-A3B, cut to two layers, one of each kind, a few experts and a small vocabulary.

All other shapes are those of the whole model, so kernels and layouts are its own.
"""
import json
import os

from moectest import SOURCE

RECIPE = os.path.join(SOURCE, "examples", "flagship", "precision.json")
FLAGS = ("--plan-precision", RECIPE, "--kv", "int8", "--context", 128, "--quiet")


def write_cut(path):
    """Writes the config of the cut to `path`; returns the path."""
    with open(os.path.join(SOURCE, "lib", "Synth", "configs", "qwen3.6-35b-a3b.json"), encoding="utf-8") as file:
        config = json.load(file)
    config["text_config"].update(num_hidden_layers=2, layer_types=["linear_attention", "full_attention"],
                                 num_experts=16, vocab_size=512, bos_token_id=300, eos_token_id=300)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)
    return path


def compile_cut(moec, folder, target, name):
    """Compiles the cut with the recipe and generated weights; returns the output prefix."""
    config = write_cut(os.path.join(folder, "cut.json"))
    prefix = os.path.join(folder, name)
    moec("compile", "--random-weights", "--seed", 1, config, "--target", target, *FLAGS, "-o", prefix)
    return prefix
