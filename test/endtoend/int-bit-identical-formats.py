# SPDX-License-Identifier: Apache-2.0
# REQUIRES: qemu
# RUN: %python %s
"""Logits of int6, int4m and int8m builds are the same bytes on this machine, on ARM64 dotprod and on ARM64 i8mm."""
import os

from moectest import ARM64_TARGETS, check, comma, compiled, golden_prompts, run, same_files, scratch

prompt = comma(golden_prompts()["medium"]["prompt_ids"][:11])
with scratch() as folder:
    for quant, flags in (("int6", ()), ("int4m", ("--group", 64)), ("int8m", ())):
        files = {}
        for target in ("host", *ARM64_TARGETS):
            files[target] = os.path.join(folder, f"{quant}-{target}.npy")
            run(compiled(quant, target, *flags), "--ids", prompt, "--max-tokens", 2, "--greedy", "--logits",
                files[target], target=target)
        for target in ARM64_TARGETS:
            check(same_files(files["host"], files[target]), f"{quant}: logits of {target} differ from this machine's")
