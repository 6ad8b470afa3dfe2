# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Logits of integer builds are the same bytes with 1, 2, 3 threads and with prefill chunks of 1, 16, 64."""
import os

from moectest import check, comma, compiled, golden_prompts, run, same_files, scratch

prompt = comma(golden_prompts()["long"]["prompt_ids"][:100])
with scratch() as folder:
    for quant in ("int8", "int4"):
        first = None
        for threads in (1, 2, 3):
            for chunk in (1, 16, 64):
                path = os.path.join(folder, f"{quant}-{threads}-{chunk}.npy")
                run(compiled(quant), "--ids", prompt, "--max-tokens", 8, "--greedy", "--threads", threads,
                    "--chunk", chunk, "--logits", path)
                first = first or path
                check(same_files(first, path), f"{quant}: logits differ with {threads} threads, chunk {chunk}")
