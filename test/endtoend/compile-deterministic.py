# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Compiling twice gives the same `.so` and the same pack, byte for byte."""
import os

from moectest import DEMO, check, compiled, moec, same_files, scratch

first = compiled("int4")
with scratch() as folder:
    # Same file names, so that no name inside the outputs may differ.
    second = os.path.join(folder, os.path.basename(first))
    moec("compile", DEMO, "--target", "host", "--quant", "int4", "-o", second)
    for suffix in (".so", ".moepack"):
        check(same_files(first + suffix, second + suffix), f"{suffix} differs between two compiles")
