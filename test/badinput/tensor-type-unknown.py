# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A weight type that is not read yet is refused by name."""
from brokenmodel import Checkpoint, compile_broken
from moectest import expect_error, scratch

NAME = "model.layers.0.self_attn.q_proj.weight"
with scratch() as folder:
    model = Checkpoint(folder)
    tensors = model.read_tensors()
    _, shape, data = tensors[NAME]
    tensors[NAME] = ("F8_E4M3", shape, data[:len(data) // 2])
    model.write_tensors(tensors)
    expect_error(compile_broken(model.folder, folder), NAME, "F8_E4M3")
