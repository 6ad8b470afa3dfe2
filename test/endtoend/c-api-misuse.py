# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Wrong calls of the C API on a real model end in a status, and the session works on."""
from moectest import check, compile_program, compiled, execute, scratch

prefix = compiled("int8")
with scratch() as folder:
    told = execute([compile_program("Misuse.cpp", folder), prefix + ".so", prefix + ".moepack"])
    check(told.out == "right\n" and not told.err, f"{told.out!r} {told.err!r}")
