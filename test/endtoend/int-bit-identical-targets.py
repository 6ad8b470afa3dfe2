# SPDX-License-Identifier: Apache-2.0
# REQUIRES: qemu
# RUN: %python %s
"""Logits of mixed builds are the same bytes on every instruction level, each ARM64 one on the oldest core that has it;
those of int8 and int4 builds on this machine, on dotprod and on i8mm."""
import os

from moectest import ARM64_TARGETS, X86_TARGETS, check, comma, compiled, golden_prompts, run, same_files, scratch

CPUS = {"arm64-neon": "cortex-a57", "arm64-dotprod": "cortex-a76"}
prompt = comma(golden_prompts()["medium"]["prompt_ids"])
with scratch() as folder:
    for quant in ("int8", "mixed", "int4"):
        first = None
        for target in ("host", *ARM64_TARGETS, *X86_TARGETS):
            if quant != "mixed" and target in ("arm64-neon", *X86_TARGETS):
                continue
            logits = os.path.join(folder, f"{quant}-{target}.npy")
            result = run(compiled(quant, target), "--ids", prompt, "--max-tokens", 6, "--greedy", "--logits", logits,
                         target=target, cpu=CPUS.get(target, "max"), code=None)
            if target in X86_TARGETS and "this CPU lacks the feature" in result.err:
                print(f"{target} is not compared: {result.err.strip()}")
                continue
            check(result.code == 0, f"{quant} on {target}: {result.err}")
            first = first or logits
            check(same_files(first, logits), f"{quant}: logits of {target} differ from this machine's")
