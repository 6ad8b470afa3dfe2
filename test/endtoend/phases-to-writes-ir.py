# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""`--to STEP` writes OUT.STEP.mlir and nothing else; the stage run alone in moe-opt gives the same IR."""
import os

from moectest import DEMO, check, moec, moe_opt, scratch

STEPS = ("import", "graph", "quantize", "fuse", "plan", "lower")
FLAGS = ("--target", "host", "--quant", "mixed")
with scratch() as folder:
    previous = None
    for step in STEPS:
        out = os.path.join(folder, "model")
        moec("compile", DEMO, *FLAGS, "--to", step, "-o", out)
        written = f"{out}.{step}.mlir"
        check(os.path.exists(written), f"--to {step} wrote {os.listdir(folder)}")
        check(not os.path.exists(out + ".so"), f"--to {step} wrote a .so")
        if previous:
            text = moe_opt(f"--moe-stage={step}", previous).out
            check(text == moe_opt(written).out, f"moe-opt --moe-stage={step} differs from moec --to {step}")
        previous = written
