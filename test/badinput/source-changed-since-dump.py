# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Resuming from a phase after a weight file changed is an error that names the file."""
import os

from brokenmodel import Checkpoint
from moectest import expect_error, moec, scratch

with scratch() as folder:
    model = Checkpoint(folder)
    out = os.path.join(folder, "out")
    moec("compile", model.folder, "--target", "host", "--quant", "int8", "--to", "plan", "-o", out)
    with open(model.weights, "r+b") as file:
        file.seek(-100, os.SEEK_END)
        file.write(b"\x01\x02")
    expect_error(moec("compile", "--target", "host", "--quant", "int8", "--from", "plan", out + ".plan.mlir", "-o", out,
                      code=None), "model.safetensors", "changed")
