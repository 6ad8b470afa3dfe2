# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A missing tensor is named, in the single file and where the index names a shard that lacks it."""
from brokenmodel import Checkpoint, compile_broken
from moectest import expect_error, scratch

for name in ("model.layers.2.mlp.experts.7.up_proj.weight", "model.norm.weight", "lm_head.weight"):
    with scratch() as folder:
        model = Checkpoint(folder)
        tensors = model.read_tensors()
        del tensors[name]
        model.write_tensors(tensors)
        expect_error(compile_broken(model.folder, folder), name)
