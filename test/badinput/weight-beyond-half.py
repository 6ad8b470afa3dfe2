# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A weight that no f16 can hold is named with its row and column; the same checkpoint compiles with f32 and int8."""
from brokenmodel import Checkpoint, compile_broken
from moectest import expect_error, scratch

NAME = "model.layers.0.self_attn.q_proj.weight"
with scratch() as folder:
    model = Checkpoint(folder)
    tensors = model.read_tensors()
    dtype, (rows, columns), data = tensors[NAME]
    at = 2 * (columns + 3)
    tensors[NAME] = (dtype, [rows, columns], data[:at] + b"\xc3\x47" + data[at + 2:])  # bf16 99840
    model.write_tensors(tensors)
    expect_error(compile_broken(model.folder, folder, "--quant", "f16"), NAME, "99840", "row 1, column 3", "65504")
