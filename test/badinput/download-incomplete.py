# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Git-LFS pointer files, missing shards and partial downloads are told apart from damaged files."""
import os

from brokenmodel import Checkpoint, compile_broken
from moectest import expect_error, scratch

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 16055224\n"

with scratch() as folder:
    model = Checkpoint(folder)
    with open(model.weights, "wb") as file:
        file.write(POINTER)
    expect_error(compile_broken(model.folder, folder), "model.safetensors", "lfs", "16055224")

with scratch() as folder:
    model = Checkpoint(folder)
    last = model.shard(3)[2]
    os.remove(model.path(last))
    expect_error(compile_broken(model.folder, folder), last, ("download", "missing"))

with scratch() as folder:
    model = Checkpoint(folder)
    last = model.shard(3)[2]
    os.rename(model.path(last), model.path(last + ".incomplete"))
    expect_error(compile_broken(model.folder, folder), last, ("download", "incomplete"))

with scratch() as folder:
    model = Checkpoint(folder)
    os.remove(model.weights)
    expect_error(compile_broken(model.folder, folder), "safetensors", ("download", "no weights", "missing"))
