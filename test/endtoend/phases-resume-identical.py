# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Dumping every phase and resuming from each gives the same object and the same pack, byte for byte."""
import os

from moectest import DEMO, check, moec, moe_opt, same_files, scratch

PHASES = ("import", "graph", "quantize", "fuse", "plan", "lower")
FLAGS = ("--target", "host", "--quant", "mixed")
with scratch() as folder:
    whole = os.path.join(folder, "whole")
    dump = os.path.join(folder, "phases")
    moec("compile", DEMO, *FLAGS, "--dump-phases-to", dump, "-o", whole)
    moec("compile", DEMO, *FLAGS, "--to", "object", "-o", os.path.join(folder, "object"))
    wanted = os.path.join(folder, "object.o")
    check(os.path.exists(wanted), f"--to object wrote no object.o: {os.listdir(folder)}")
    for phase in PHASES:
        found = [name for name in os.listdir(dump) if name.endswith(".mlir") and phase in name]
        check(len(found) == 1, f"{len(found)} dumps of phase {phase}: {sorted(os.listdir(dump))}")
        source = os.path.join(dump, found[0])
        once = moe_opt(source).out
        again = os.path.join(folder, "again.mlir")
        with open(again, "w", encoding="utf-8") as file:
            file.write(once)
        check(moe_opt(again).out == once, f"moe-opt does not round-trip phase {phase}")
        resumed = os.path.join(folder, "from-" + phase)
        moec("compile", *FLAGS, "--from", phase, source, "-o", resumed)
        check(same_files(whole + ".moepack", resumed + ".moepack"), f"the pack resumed from {phase} differs")
        moec("compile", *FLAGS, "--from", phase, source, "--to", "object", "-o", resumed + "-object")
        check(same_files(wanted, resumed + "-object.o"), f"the object resumed from {phase} differs")
