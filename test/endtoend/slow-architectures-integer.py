# SPDX-License-Identifier: Apache-2.0
# REQUIRES: slow, qemu
# RUN: %python %s
"""Integer builds of every model family and precision: the same bytes over chunks, threads, budgets, instructions."""
import architectures
from bitidentity import expect_same_bytes
from moectest import ARM64_TARGETS, X86_TARGETS

compared = 0
for name in architectures.configs():
    for quant in ("int8", "int4", "mixed", "int4m"):
        compared += expect_same_bytes(name, quant, targets=(*X86_TARGETS, *ARM64_TARGETS), thorough=True)
print(f"{compared} files of logits compared")
