# SPDX-License-Identifier: Apache-2.0
# REQUIRES: slow, qemu
# RUN: %python %s
"""Every precision with every KV cache: logits are the same bytes on all six instruction levels."""
import os

from moectest import ARM64_TARGETS, DEMO, X86_TARGETS, check, comma, golden_prompts, moec, run, same_files, scratch

CPUS = {"arm64-neon": "cortex-a57", "arm64-dotprod": "cortex-a76"}
TARGETS = (*X86_TARGETS, *ARM64_TARGETS)
prompt = comma(golden_prompts()["medium"]["prompt_ids"])
compared, lacking = 0, set()
for quant in ("int8", "int6", "int4", "int4m", "int8m", "mixed"):
    for kv in ("f16", "int8", "int4"):
        with scratch() as folder:
            prefix, first = os.path.join(folder, "model"), None
            moec("compile", DEMO, "--target", ",".join(TARGETS), "--quant", quant, "--kv", kv, "-o", prefix)
            for target in TARGETS:
                logits = os.path.join(folder, target + ".npy")
                result = run(f"{prefix}.{target}", "--ids", prompt, "--max-tokens", 4, "--greedy", "--logits", logits,
                             target=target, cpu=CPUS.get(target, "max"), code=None)
                if target in X86_TARGETS and "this CPU lacks the feature" in result.err:
                    lacking.add(target)
                    continue
                check(result.code == 0, f"{quant}, KV {kv} on {target}: {result.err}")
                first = first or logits
                check(same_files(first, logits), f"{quant}, KV {kv}: logits of {target} differ")
                compared += 1
print(f"{compared} files of logits compared; this machine lacks {sorted(lacking) or 'no level'}")
