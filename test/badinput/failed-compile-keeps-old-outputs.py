# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Outputs appear together or not at all: a compile that fails leaves the earlier files as they were."""
import os

from brokenmodel import Checkpoint
from moectest import DEMO, check, expect_error, moec, scratch

with scratch() as folder:
    out = os.path.join(folder, "model")
    moec("compile", DEMO, "--target", "host", "--quant", "int8", "-o", out)
    facts = {name: os.stat(os.path.join(folder, name)).st_mtime_ns for name in os.listdir(folder)}
    check({"model.so", "model.moepack", "model.report.json"} == set(facts), f"wrote {sorted(facts)}")
    os.mkdir(os.path.join(folder, "broken"))
    broken = Checkpoint(os.path.join(folder, "broken"))
    tensors = broken.read_tensors()
    # An infinite weight is found only while the pack is written, the last step.
    dtype, shape, data = tensors["model.layers.3.mlp.experts.15.down_proj.weight"]
    tensors["model.layers.3.mlp.experts.15.down_proj.weight"] = (dtype, shape, data[:-2] + b"\x80\x7f")
    broken.write_tensors(tensors)
    expect_error(moec("compile", broken.folder, "--target", "host", "--quant", "int8", "-o", out, code=None),
                 "model.layers.3.mlp.experts.15.down_proj.weight")
    for name, time_ns in facts.items():
        check(os.stat(os.path.join(folder, name)).st_mtime_ns == time_ns, f"{name} was changed")
    left = set(os.listdir(folder)) - set(facts) - {"broken"}
    check(not left, f"left {sorted(left)}")
