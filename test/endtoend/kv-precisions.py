# SPDX-License-Identifier: Apache-2.0
# REQUIRES: qemu
# RUN: %python %s
"""KV caches in f16, int8, int4 cost less in that order; logits are the same bytes on every level, thread and chunk."""
import os
import platform

from moectest import check, comma, compiled, golden_prompts, report, run, same_files, scratch

TARGETS = ["host", "arm64-dotprod"] + (["x86-64-avx2"] if platform.machine() == "x86_64" else [])
prompt = comma(golden_prompts()["medium"]["prompt_ids"])
costs = []
with scratch() as folder:
    for kv, flags in (("f16", ("--kv", "f16")), ("int8", ()), ("int4", ("--kv", "int4"))):
        costs.append(report(compiled("int8", "host", *flags))["bytes_by_class"]["kv"])
        files = []
        for target, threads, chunk in [(target, 2, 64) for target in TARGETS] + [("host", 1, 1), ("host", 3, 17)]:
            files.append(os.path.join(folder, f"{kv}-{target}-{chunk}.npy"))
            run(compiled("int8", target, *flags), "--ids", prompt, "--max-tokens", 3, "--greedy", "--threads", threads,
                "--chunk", chunk, "--logits", files[-1], target=target)
            check(same_files(files[0], files[-1]), f"{kv}: logits of {target} with chunk {chunk} differ")
# 4 layers of 2 heads of 32, keys and values: 1024 positions in f16, with scales of 4 bytes, with scales of 2.
check(costs == [4 * 2 * 1024 * 2 * size for size in (64, 36, 18)], f"bytes of f16, int8, int4: {costs}")
