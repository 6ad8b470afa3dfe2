# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Checkpoints that are not read yet are refused by name, with what to download instead."""
import os

from brokenmodel import Checkpoint, compile_broken
from moectest import expect_error, scratch

for method in ("awq", "gptq", "fp8", "compressed-tensors", "bitsandbytes"):
    with scratch() as folder:
        model = Checkpoint(folder)
        model.edit_json("config.json", quantization_config={"quant_method": method, "bits": 4})
        expect_error(compile_broken(model.folder, folder), method, "download", ("bf16", "safetensors"))

with scratch() as folder:
    model = Checkpoint(folder)
    os.rename(model.weights, model.path("model.gguf"))
    expect_error(compile_broken(model.folder, folder), "give the gguf file itself")

with scratch() as folder:
    model = Checkpoint(folder)
    os.rename(model.weights, model.path("pytorch_model.bin"))
    expect_error(compile_broken(model.folder, folder), "pytorch_model.bin", "download", "safetensors")
