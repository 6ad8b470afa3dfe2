# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""`.so` and pack may be renamed and moved: moe-run finds the pack through --pack."""
import os
import shutil

from moectest import check, compiled, execute, program, run, scratch

prefix = compiled("int8")
FLAGS = ("--prompt", "Once", "--max-tokens", "4", "--greedy")
with scratch() as folder:
    shutil.copy(prefix + ".so", os.path.join(folder, "libstory.so"))
    shutil.copy(prefix + ".moepack", os.path.join(folder, "weights.bin"))
    moved = execute([program("moe-run"), os.path.join(folder, "libstory.so"), "--pack",
                     os.path.join(folder, "weights.bin"), *FLAGS])
    check(moved.out == run(prefix, *FLAGS).out, "the moved model writes another text")
