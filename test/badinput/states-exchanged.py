# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Fused IR whose functions answer states in another order than they take them is refused, not compiled to another
program than the interpreter runs."""
import os
import re

import architectures
from moectest import check, expect_error, moec, scratch

with scratch() as folder:
    model, out = os.path.join(folder, "model"), os.path.join(folder, "out")
    architectures.write("qwen3_next", model)
    moec("compile", model, "--target", "host", "--quant", "f32", "--to", "fuse", "-o", out)
    with open(out + ".fuse.mlir", encoding="utf-8") as file:
        text = file.read()
    decode = text.index("@decode")
    returned = re.compile(r"return (%\w+), (%q_updated\w*), (%k_updated\w*), ")
    states = re.compile(r"states\((%arg\d+), (%arg\d+), ")
    for pattern, change in ((returned, r"return \1, \3, \2, "), (returned, r"return \1, \2, \2, "),
                            (states, r"states(\2, \1, ")):
        edited = text[:decode] + pattern.sub(change, text[decode:], count=1)
        check(edited != text, "nothing was exchanged")
        with open(os.path.join(folder, "edited.mlir"), "w", encoding="utf-8") as file:
            file.write(edited)
        expect_error(moec("compile", "--from", "fuse", os.path.join(folder, "edited.mlir"), "-o", out, code=None),
                     "what became of the function's own state")
    check(not os.path.exists(out + ".so"), "a refused module left a library")
