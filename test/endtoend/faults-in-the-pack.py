# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A pack that is replaced, cut short or damaged between tokens of a compiled model: the file's name, or no failure.

Afterwards it goes on with the same logits, bit for bit. One page slot above the minimum: experts are read again.
"""
import os
import re
import shutil

from moectest import check, compile_program, compiled, execute, scratch

prefix = compiled("int8")
with scratch() as folder:
    pack = os.path.join(folder, "copy.moepack")
    shutil.copy(prefix + ".moepack", pack)
    told = execute([compile_program("Faults.cpp", folder), prefix + ".so", pack])
    found = re.fullmatch(r"failed calls: replaced (\d+), cut (\d+), flipped (\d+)\n", told.out)
    check(found and not told.err, f"{told.out!r} {told.err!r}")
    replaced, cut, flipped = map(int, found.groups())
    print(told.out)
    check(replaced == 0 and cut >= 8 and flipped >= 8, told.out)
