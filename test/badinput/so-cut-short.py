# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A .so that was cut short: run, report and evaluate name it in one message; none maps it and dies of a bus error."""
import os
import shutil

from moectest import compiled, execute, expect_error, moec, program, scratch

prefix = compiled("mixed")
whole = os.path.getsize(prefix + ".so")
with scratch() as folder:
    library, text = os.path.join(folder, "cut.so"), os.path.join(folder, "text.txt")
    with open(text, "w", encoding="utf-8") as file:
        file.write("Once upon a time there was a mongoose.")
    for size in (63, 1000, 4096, whole // 2, whole - 1):
        shutil.copy(prefix + ".so", library)
        os.truncate(library, size)
        pack = prefix + ".moepack"
        expect_error(execute([program("moe-run"), library, "--pack", pack, "--ids", "1"], code=None), "cut.so")
        expect_error(moec("report", library, code=None), "cut.so")
        expect_error(moec("evaluate", library, "--pack", pack, "--text", text, "--json", code=None), "cut.so")
