# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""The packs of all ARM64 builds are the same bytes; `--target A,B` writes one pack and two `.so`."""
import os

from moectest import ARM64_TARGETS, DEMO, check, compiled, moec, same_files, scratch

neon, dotprod, i8mm = (compiled("mixed", target) + ".moepack" for target in ARM64_TARGETS)
for other in (neon, i8mm):
    check(same_files(dotprod, other), f"{dotprod} and {other} differ")
with scratch() as folder:
    targets = ",".join(ARM64_TARGETS[1:])
    moec("compile", DEMO, "--target", targets, "--quant", "mixed", "-o", os.path.join(folder, "both"))
    names = sorted(os.listdir(folder))
    packs = [name for name in names if name.endswith(".moepack")]
    objects = [name for name in names if name.endswith(".so")]
    check(len(packs) == 1 and len(objects) == 2, f"wrote {names}")
    check(same_files(os.path.join(folder, packs[0]), dotprod), "the shared pack differs from the single build's")
