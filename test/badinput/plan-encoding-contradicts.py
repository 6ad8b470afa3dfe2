# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A resumed plan whose steps name an encoding that their views do not have is refused, not lowered."""
import os
import re

from moectest import DEMO, check, expect_error, moec, scratch

with scratch() as folder:
    out = os.path.join(folder, "model")
    moec("compile", DEMO, "--target", "host", "--quant", "int4m", "--to", "plan", "-o", out)
    with open(out + ".plan.mlir", encoding="utf-8") as file:
        text = file.read()
    linear = re.search(r"rt\.compute +linear", text).start()
    for encoding, message in (("i4/32", "contradicts its spec"), ("i8m/32", "contradicts its spec"),
                              ("f16", "contradicts its spec"), ("i5/32", "found 'i5/32'")):
        edited = text[:linear] + text[linear:].replace('"i4m/32"', f'"{encoding}"')
        check(edited != text, "no step of the plan names its encoding")
        with open(os.path.join(folder, "edited.mlir"), "w", encoding="utf-8") as file:
            file.write(edited)
        expect_error(moec("compile", "--from", "plan", os.path.join(folder, "edited.mlir"), "-o", out, code=None),
                     "rt.compute", message)
    check(not os.path.exists(out + ".so"), "a refused plan left a library")
