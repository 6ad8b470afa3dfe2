# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Qwen3-Next and dense Qwen3.5: f32 builds and the interpreter give what transformers gives.

Gated DeltaNet with as many and twice as many value heads as key heads, with values as wide and twice as wide as keys;
gated attention with partial rotation; nested and flat configs, tied and untied heads.
"""
from goldenlogits import expect_equal_to_transformers

expect_equal_to_transformers("qwen3_next", "qwen3_next-mixed", "qwen3_5", "qwen3_5-flat")
