# SPDX-License-Identifier: Apache-2.0
# REQUIRES: slow, smollm2
# RUN: %python %s
"""A real model from a gguf file that scripts/get-smollm2.sh has fetched: perplexity as transformers has it on the same
weights (benchmarks/compare-with-transformers.py), little loss in the file's own quantization, and sensible answers."""
import os

from moectest import BUILD, DATA, check, moec, run, scratch

MODEL = os.path.join(BUILD, "models", "smollm2.gguf")
TRANSFORMERS = 29.394229  # 3,066 positions, torch 2.15.0, transformers 5.24.0

with scratch() as folder:
    def build(quant, kv):
        out = os.path.join(folder, quant)
        moec("compile", MODEL, "--target", "host", "--quant", quant, "--kv", kv, "--context", 1024, "-o", out)
        return out

    def evaluate(out, *flags):
        return moec("evaluate", out + ".so", "--text", os.path.join(DATA, "text", "heldout.txt"), "--max-tokens", 3072,
                    *flags, "--json", timeout=3500).json()

    exact = build("f32", "f32")
    found = evaluate(exact)
    check(found["positions"] == 3066 and abs(found["perplexity"] - TRANSFORMERS) < 1e-4, f"f32: {found}")
    kept = evaluate(build("source", "int8"), "--reference", exact + ".so")
    check(kept["kl_mean"] < 0.005 and abs(kept["perplexity"] / TRANSFORMERS - 1) < 0.002, f"source: {kept}")
    for prompt, answer in (("What is the capital of France?", "Paris"), ("Why is the sky blue?", "scatter")):
        text = run(exact, "--chat", "--prompt", prompt, "--greedy", "--max-tokens", 64).out
        check(answer in text, f"{prompt} {text}")
