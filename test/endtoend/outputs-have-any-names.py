# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""`.so` and pack may be renamed and moved: the pack is found through --pack, or by the names that a compile for
several targets gives."""
import os
import shutil

from moectest import check, comma, compiled, execute, heldout_ids, moec, program, run, scratch

prefix = compiled("int8")
FLAGS = ("--prompt", "Once", "--max-tokens", "4", "--greedy")
with scratch() as folder:
    shutil.copy(prefix + ".so", os.path.join(folder, "libstory.so"))
    shutil.copy(prefix + ".moepack", os.path.join(folder, "weights.bin"))
    moved = execute([program("moe-run"), os.path.join(folder, "libstory.so"), "--pack",
                     os.path.join(folder, "weights.bin"), *FLAGS])
    check(moved.out == run(prefix, *FLAGS).out, "the moved model writes another text")

with scratch() as folder:
    story = os.path.join(folder, "story.generic-v1.2")
    shutil.copy(prefix + ".so", story + ".so")
    shutil.copy(prefix + ".moepack", os.path.join(folder, "story.x86.moepack"))
    check(run(story, *FLAGS).out == moved.out, "the library of several targets writes another text")
    ids = os.path.join(folder, "ids.json")
    with open(ids, "w", encoding="utf-8") as file:
        file.write(f'{{"ids": [{comma(heldout_ids(40))}]}}')
    check(moec("evaluate", story + ".so", "--ids", ids, "--json").json()["positions"] == 39, "evaluate finds the pack")
