# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Generated weights of hybrid, shared-expert and dense models: packs as from the written checkpoint, sane logits.

Weights that are parts of a tensor (query and gate rows, fused experts) have names of their own in a precision plan.
"""
import json
import math
import os

import architectures
from moectest import check, moec, read_npy, run, same_files, scratch

FLAGS = ("--target", "host", "--quant", "mixed", "--quiet")
for name in ("qwen3_5_moe", "qwen3_next", "qwen2_moe-mixed", "llama"):
    with scratch() as folder:
        def path(file):
            return os.path.join(folder, file)

        with open(path("config.json"), "w", encoding="utf-8") as file:
            json.dump(architectures.configs()[name], file)
        moec("synth", path("config.json"), "--seed", 7, "-o", path("model"))
        moec("compile", path("model"), *FLAGS, "-o", path("file"))
        moec("compile", "--random-weights", "--seed", 7, path("config.json"), *FLAGS, "-o", path("random"))
        check(same_files(path("file.moepack"), path("random.moepack")), f"{name}: other packs")
        run(path("random"), "--ids", "1,2,3,97,98", "--max-tokens", 8, "--greedy", "--logits", path("logits.npy"),
            "--quiet")
        logits = read_npy(path("logits.npy"))[1]
        check(all(map(math.isfinite, logits)) and 0.5 < max(map(abs, logits)) < 20, f"{name}: {max(map(abs, logits))}")

        parts = ("--quant-tensor=*:gate=i8/32",) if name.startswith("qwen3") else ()
        moec("precision", path("model"), "--quant", "int4", *parts, "-o", path("first.json"))
        moec("precision", path("model"), "--plan-precision", path("first.json"), "-o", path("second.json"))
        check(same_files(path("first.json"), path("second.json")), f"{name}: the plan changes when read and written")
        with open(path("first.json"), encoding="utf-8") as file:
            lines = [line["tensor"] for line in json.load(file)["tensors"]]
        tied = architectures.configs()[name]["tie_word_embeddings"]
        check(len(set(lines)) == len(lines) - tied, f"{name}: a tensor has two lines")
