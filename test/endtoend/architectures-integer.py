# SPDX-License-Identifier: Apache-2.0
# REQUIRES: qemu
# RUN: %python %s
"""Integer builds of the new families give the same bytes over chunks, threads, budgets, instructions and interpreter.

A sample; every model with every precision on every instruction level is in slow-architectures-integer.py.
"""
from bitidentity import expect_same_bytes

expect_same_bytes("qwen3_5_moe", "mixed", targets=("arm64-i8mm",))
expect_same_bytes("qwen3_next-mixed", "int8", targets=("x86-64-avx2",))
expect_same_bytes("qwen2_moe-mixed", "int4", targets=())
expect_same_bytes("llama-scaled", "int4", targets=())
