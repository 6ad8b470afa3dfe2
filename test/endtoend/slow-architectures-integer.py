# SPDX-License-Identifier: Apache-2.0
# REQUIRES: slow, qemu
# RUN: %python %s
"""Integer builds of every model family and precision: the same bytes over chunks, threads, budgets, instructions.

This machine's own level, AVX2, AVX-VNNI where the machine has it, and the three levels of ARM64.
"""
import architectures
from bitidentity import expect_same_bytes
from moectest import ARM64_TARGETS

compared = 0
for name in architectures.configs():
    for quant in ("int8", "int4", "mixed"):
        compared += expect_same_bytes(name, quant, ("x86-64-avx2", "x86-64-avxvnni", *ARM64_TARGETS), thorough=True)
print(f"{compared} files of logits compared")
