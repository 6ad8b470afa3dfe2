# SPDX-License-Identifier: Apache-2.0
# REQUIRES: qemu
# RUN: %python %s
"""Logits of int6, int4m, int8m and f16 builds are the same bytes here, on ARM64 levels and in the interpreter."""
import os

from moectest import (ARM64_TARGETS, DEMO, check, comma, compiled, execute, golden_prompts, moec, program, run,
                      same_files, scratch)

prompt = comma(golden_prompts()["medium"]["prompt_ids"][:9])
with scratch() as folder:
    for quant, targets in (("int6", ARM64_TARGETS), ("int4m", ARM64_TARGETS), ("int8m", ARM64_TARGETS[1:]),
                           ("f16", ARM64_TARGETS[:1])):
        files = {}
        for target in ("host", *targets):
            files[target] = os.path.join(folder, f"{quant}-{target}.npy")
            run(compiled(quant, target), "--ids", prompt, "--max-tokens", 2, "--greedy", "--logits",
                files[target], target=target)
        prefix = os.path.join(folder, quant)
        moec("compile", DEMO, "--target", "host", "--quant", quant, "--to", "fuse", "-o", prefix)
        files["interpreter"] = prefix + ".npy"
        execute([program("moe-interpret"), prefix + ".fuse.mlir", "--ids", prompt, "--greedy", "2", "--logits",
                 files["interpreter"]])
        for name, file in files.items():
            check(same_files(files["host"], file), f"{quant}: logits of {name} differ from this machine's")
