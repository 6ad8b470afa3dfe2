# SPDX-License-Identifier: Apache-2.0
# REQUIRES: qemu
# RUN: %python %s
"""Logits of int6, int4m, int8m and f16 builds are the same bytes here, on AVX2, on ARM64 and in the interpreter."""
import os
import platform

from moectest import (ARM64_TARGETS, DEMO, check, comma, compiled, execute, golden_prompts, moec, program, run,
                      same_files, scratch)

X86_TARGETS = ("x86-64-avx2",) if platform.machine() == "x86_64" else ()
prompt = comma(golden_prompts()["medium"]["prompt_ids"][:9])
with scratch() as folder:
    for quant, targets in (("int6", (*X86_TARGETS, *ARM64_TARGETS)), ("int4m", (*X86_TARGETS, *ARM64_TARGETS)),
                           ("int8m", (*X86_TARGETS, "arm64-i8mm")), ("f16", ("arm64-dotprod",))):
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
