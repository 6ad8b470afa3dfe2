# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Without the runtime archive of the target's platform, compile names target and archive before it works."""
import os
import shutil

from moectest import DEMO, check, execute, expect_error, program, scratch

with scratch() as folder:
    # The archives are looked for beside the folder of the program.
    alone = os.path.join(folder, "bin", "moec")
    os.mkdir(os.path.dirname(alone))
    shutil.copy(program("moec"), alone)
    for target, triple in (("arm64@android", "aarch64-linux-android"), ("arm64-dotprod", "aarch64-linux-gnu")):
        result = execute([alone, "compile", DEMO, "--target", target, "-o", os.path.join(folder, "out")], code=None)
        expect_error(result, f"needs the runtime for {triple}", "libmoert.a", "NAME@linux-gnu")
        check("quantize" not in result.err, "the compile went on for some steps")
    check(os.listdir(folder) == ["bin"], f"left something behind: {os.listdir(folder)}")
