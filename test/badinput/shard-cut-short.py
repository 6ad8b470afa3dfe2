# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A weight file cut by 1 and by 4096 bytes, single or in shards: the message names the file and both sizes."""
import os

from brokenmodel import Checkpoint, compile_broken
from moectest import expect_error, scratch

for num_bytes in (1, 4096):
    with scratch() as folder:
        model = Checkpoint(folder)
        whole = os.path.getsize(model.weights)
        model.cut(num_bytes)
        expect_error(compile_broken(model.folder, folder), "model.safetensors", str(whole - num_bytes), str(whole))
    with scratch() as folder:
        model = Checkpoint(folder)
        second = model.path(model.shard(3)[1])
        model.cut(num_bytes, second)
        expect_error(compile_broken(model.folder, folder), os.path.basename(second), str(os.path.getsize(second)))
