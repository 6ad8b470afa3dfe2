# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A row length that the group does not divide is refused with tensor, length and group."""
from brokenmodel import Checkpoint, compile_broken
from moectest import expect_error, scratch

with scratch() as folder:
    model = Checkpoint(folder)
    model.edit_json("config.json", moe_intermediate_size=96)
    tensors = model.read_tensors()
    for name, (dtype, shape, data) in list(tensors.items()):
        if ".mlp.experts." in name and "down_proj" in name:
            rows = [data[r * 256:r * 256 + 192] for r in range(256)]
            tensors[name] = (dtype, [256, 96], b"".join(rows))
        elif ".mlp.experts." in name:
            tensors[name] = (dtype, [96, 256], data[:96 * 256 * 2])
    model.write_tensors(tensors)
    expect_error(compile_broken(model.folder, folder, "--quant", "int4", "--group", "64"), "down_proj", "96", "64")
