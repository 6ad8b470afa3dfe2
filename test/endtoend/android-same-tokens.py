# SPDX-License-Identifier: Apache-2.0
# REQUIRES: qemu
# RUN: %python %s
"""The files for Android, run on a C library that stands for bionic, give the bits of the build for Linux."""
import os

from moectest import compiled, run_json, same_files, check, scratch

GNU, ANDROID = "arm64-dotprod", "arm64-dotprod@android"
with scratch() as folder:
    results, files = [], []
    for target, flags in ((GNU, ()), (ANDROID, ()), (ANDROID, ("--memory", "5MB", "--threads", "3"))):
        files.append(os.path.join(folder, f"{len(files)}.npy"))
        results.append(run_json(compiled("mixed", target), "--prompt", "Once upon a time", "--greedy", "--max-tokens",
                                "8", "--quiet", "--logits", files[-1], *flags, target=target))
    check(results[2]["expert_misses"] > 0, "the small budget missed no expert")
    for result, file in zip(results[1:], files[1:]):
        check(result["ids"] == results[0]["ids"], f"other tokens: {result['ids']} against {results[0]['ids']}")
        check(same_files(files[0], file), "other logits")
