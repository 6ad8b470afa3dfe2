# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""OLMoE, Qwen2-MoE, models with dense and expert layers: f32 builds and the interpreter give what transformers gives.

OLMoE: norms over all heads, fewer key heads, weights of experts not renormalized. Qwen2-MoE: biases, a gated shared
expert.
"""
from goldenlogits import expect_equal_to_transformers

expect_equal_to_transformers("olmoe", "qwen2_moe", "qwen2_moe-mixed", "qwen3_moe-mixed")
