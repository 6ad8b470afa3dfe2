# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Qwen3.5-MoE: f32 build and interpreter give what transformers gives, whatever the spelling of the checkpoint.

Once as published (nested config, fused experts, tensors of vision and multi-token prediction, of which the compiler
says that it leaves them out), once flat and with one tensor for each projection of each expert.
"""
import os

import architectures
from goldenlogits import expect_equal_to_transformers
from moectest import check, moec, scratch

with scratch() as folder:
    for name in ("qwen3_5_moe", "qwen3_5_moe-flat"):
        prefix = os.path.join(folder, name)
        checkpoint = architectures.write(name, prefix)
        text = moec("compile", checkpoint, "--target", "host", "--to", "import", "-o", prefix).err
        noted = "model.visual." in text and "multi-token prediction" in text
        check(noted == (name == "qwen3_5_moe"), f"{name}: unexpected notes: {text}")
expect_equal_to_transformers("qwen3_5_moe", "qwen3_5_moe-flat")
