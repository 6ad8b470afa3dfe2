# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A tensor whose shape contradicts config.json: its name, the shape found and the shape expected."""
from brokenmodel import Checkpoint, compile_broken
from moectest import expect_error, scratch

NAME = "model.layers.1.mlp.gate.weight"
with scratch() as folder:
    model = Checkpoint(folder)
    tensors = model.read_tensors()
    dtype, (rows, columns), data = tensors[NAME]
    tensors[NAME] = (dtype, [rows // 2, columns], data[:len(data) // 2])
    model.write_tensors(tensors)
    expect_error(compile_broken(model.folder, folder), NAME, str(rows), str(rows // 2), str(columns))
