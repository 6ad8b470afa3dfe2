# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A tensor stored twice, in one header or in two shards, is refused by name."""
from brokenmodel import Checkpoint, compile_broken, write_safetensors
from moectest import expect_error, scratch

NAME = "model.layers.3.self_attn.o_proj.weight"
with scratch() as folder:
    model = Checkpoint(folder)
    write_safetensors(model.weights, model.read_tensors(), repeat_key=NAME)
    expect_error(compile_broken(model.folder, folder), NAME, ("twice", "duplicate", "second time"))
with scratch() as folder:
    model = Checkpoint(folder)
    model.shard(3, also_in_first=[NAME])
    expect_error(compile_broken(model.folder, folder), NAME, ("twice", "duplicate", "two", "both", "second time"))
