# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A weight file whose header is too long, no JSON, or points outside the file ends in a message, never in a crash."""
import struct

from brokenmodel import Checkpoint, compile_broken
from moectest import expect_error, scratch

NAME = b"model.norm.weight"


def header_of(model):
    with open(model.weights, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        return size, file.read(size)


def overwrite(model, offset, data):
    with open(model.weights, "r+b") as file:
        file.seek(offset)
        file.write(data)


CASES = (
    (0, struct.pack("<Q", 2 ** 63)),
    (0, struct.pack("<Q", 0)),
    (8, b"["),
)
for offset, data in CASES:
    with scratch() as folder:
        model = Checkpoint(folder)
        overwrite(model, offset, data)
        expect_error(compile_broken(model.folder, folder), "model.safetensors")

with scratch() as folder:
    model = Checkpoint(folder)
    size, header = header_of(model)
    begin = header.index(b'"data_offsets":[', header.index(NAME)) + len(b'"data_offsets":[')
    end = header.index(b"]", begin)
    # The same length, but offsets far behind the end of the file.
    digits = (end - begin - 1) // 2
    overwrite(model, 8 + begin, (b"9" * digits + b"," + b"9" * (end - begin - 1 - digits)))
    expect_error(compile_broken(model.folder, folder), "model.safetensors", NAME.decode())
