# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Two models, and one model twice, in one process give the tokens of each alone, interleaved and from two threads."""
from moectest import check, compile_program, compiled, execute, scratch

int8, int4 = compiled("int8"), compiled("int4")
with scratch() as folder:
    program = compile_program("TwoModels.cpp", folder)
    told = execute([program, int8 + ".so", int8 + ".moepack", int4 + ".so", int4 + ".moepack"])
    check(told.out == "right\n" and not told.err, f"{told.out!r} {told.err!r}")
