# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A resumed plan whose views reach beyond arena, resident segment or KV blocks is refused, not lowered."""
import os
import re

from moectest import DEMO, check, expect_error, moec, scratch

with scratch() as folder:
    out = os.path.join(folder, "model")
    moec("compile", DEMO, "--target", "host", "--quant", "int8", "--to", "plan", "-o", out)
    with open(out + ".plan.mlir", encoding="utf-8") as file:
        text = file.read()
    for view in ("arena", "resident", "kv"):
        edited, count = re.subn(rf"(rt\.{view} %\w+\[)\d+\]", r"\g<1>1000000000000]", text, count=1)
        check(count == 1, f"the plan has no rt.{view}")
        with open(os.path.join(folder, "edited.mlir"), "w", encoding="utf-8") as file:
            file.write(edited)
        expect_error(moec("compile", "--from", "plan", os.path.join(folder, "edited.mlir"), "-o", out, code=None),
                     f"rt.{view}")
    check(not os.path.exists(out + ".so"), "a refused plan left a library")
