# SPDX-License-Identifier: Apache-2.0
# REQUIRES: qemu
# RUN: %python %s
"""The ARM64 builds, too, give the same bytes with 1 and 3 threads and with chunks of 1, 16, 64."""
import os

from moectest import ARM64_TARGETS, check, comma, compiled, golden_prompts, run, same_files, scratch

prompt = comma(golden_prompts()["medium"]["prompt_ids"])
with scratch() as folder:
    for target in ARM64_TARGETS:
        first = None
        for threads, chunk in ((1, 1), (1, 16), (3, 64)):
            path = os.path.join(folder, f"{target}-{threads}-{chunk}.npy")
            run(compiled("mixed", target), "--ids", prompt, "--max-tokens", 2, "--greedy", "--threads", threads,
                "--chunk", chunk, "--logits", path, target=target)
            first = first or path
            check(same_files(first, path), f"{target}: logits differ with {threads} threads, chunk {chunk}")
