# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""moe-run on a file that is no model, on a missing file and on a plain library: one message with the name."""
import glob
import os

from moectest import execute, expect_error, moec, program, scratch

with scratch() as folder:
    path = os.path.join(folder, "text.so")
    with open(path, "w", encoding="utf-8") as file:
        file.write("this is text\n")
    library = glob.glob("/lib/*/libm.so.6")[0]
    for name in (path, os.path.join(folder, "absent.so"), library):
        expect_error(execute([program("moe-run"), name, "--prompt", "a"], code=None), os.path.basename(name))
        expect_error(moec("report", name, code=None), os.path.basename(name))
