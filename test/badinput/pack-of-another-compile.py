# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A pack of another format, of another compile, or none: which one, what it is, what to do. Verify stays short."""
import os
import shutil
import struct

from moectest import check, compiled, execute, expect_error, moe_pack, moec, program, run, scratch
from tinymodel import TinyModel

PAGE_BYTES, RECORD_BYTES, EXPERT = 16384, 48, 2


def damage_every_expert(path):
    """Changes the first byte of each expert; returns how many there are."""
    with open(path, "r+b") as file:
        header = file.read(144)
        num_records = struct.unpack_from("<Q", header, 40)[0]
        directory = (file.seek(PAGE_BYTES), file.read(num_records * RECORD_BYTES))[1]
        offsets = [struct.unpack_from("<Q", directory, at + 16)[0] for at in range(0, len(directory), RECORD_BYTES)
                   if struct.unpack_from("<I", directory, at)[0] == EXPERT]
        for offset in offsets:
            file.seek(offset)
            byte = file.read(1)[0]
            file.seek(offset)
            file.write(bytes([byte ^ 1]))
    return len(offsets)


prefix = compiled("mixed")
with scratch() as folder:
    out = os.path.join(folder, "m")
    shutil.copy(prefix + ".so", out + ".so")
    expect_error(run(out, "--ids", "1", code=None), "found no pack", out + ".moepack", "--pack")
    for offset, text in ((8, "format version 77"), (12, "abi version 77")):
        shutil.copy(prefix + ".moepack", out + ".moepack")
        with open(out + ".moepack", "r+b") as file:
            file.seek(offset)
            file.write(struct.pack("<I", 77))
        for result in (run(out, "--ids", "1", code=None), moe_pack("verify", out + ".moepack", code=None),
                       moe_pack("list", out + ".moepack", code=None)):
            expect_error(result, text, "compile the model again")
    # The same model with another weight: the plan is the same, the weights are not.
    tiny = TinyModel(folder)
    for name in ("one", "two"):
        moec("compile", tiny.write(), "--target", "host", "--quant", "int8", "--quiet", "-o",
             os.path.join(folder, name))
        dtype, shape, data = tiny.tensors["model.layers.0.self_attn.o_proj.weight"]
        tiny.tensors["model.layers.0.self_attn.o_proj.weight"] = (dtype, shape, bytes(2) + data[2:])
    mixed = execute([program("moe-run"), os.path.join(folder, "one.so"), "--pack", os.path.join(folder, "two.moepack"),
                     "--ids", "1"], code=None)
    expect_error(mixed, "another model", "two.moepack")
    # Ten faults, then their number.
    shutil.copy(prefix + ".moepack", out + ".moepack")
    num_experts = damage_every_expert(out + ".moepack")
    result = moe_pack("verify", out + ".moepack", code=None)
    expect_error(result, "expert 0 of layer 0", f"and {num_experts - 10} more")
    check(len(result.err.splitlines()) == 11, f"{len(result.err.splitlines())} lines")
    faults = moe_pack("verify", out + ".moepack", "--json", code=1).json()["faults"]
    check(len(faults) == num_experts, f"--json has {len(faults)} faults")
