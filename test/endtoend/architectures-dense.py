# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Qwen3 and Llama, also with scaled rotation: f32 builds and the interpreter give what transformers gives."""
from goldenlogits import expect_equal_to_transformers

expect_equal_to_transformers("qwen3", "llama", "llama-scaled")
