# SPDX-License-Identifier: Apache-2.0
# REQUIRES: qemu
# RUN: %python %s
"""The cut flagship gives the same logits on ARM64 (i8mm, emulated) as on this machine, bit for bit."""
import os

from flagship import compile_cut
from moectest import check, moec, run, same_files, scratch

with scratch() as folder:
    logits = {}
    for target in ("host", "arm64-i8mm"):
        prefix = compile_cut(moec, folder, target, target)
        logits[target] = prefix + ".npy"
        run(prefix, "--ids", "1,2,3,97,98,200", "--max-tokens", 2, "--greedy", "--logits", logits[target],
            target=target)
    check(same_files(logits["host"], logits["arm64-i8mm"]), "logits differ from this machine's")
