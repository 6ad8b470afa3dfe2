# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""tools/dev/count-arm-instructions.py ends with one error where a program is missing or a flag is wrong, and leaves no
folder behind."""
import os
import sys

from moectest import SOURCE, check, execute, scratch

SCRIPT = os.path.join(SOURCE, "tools", "dev", "count-arm-instructions.py")


def refuse(folder, code, text, *flags):
    ran = execute([sys.executable, SCRIPT, *flags], code=code, env={"TMPDIR": folder, "PATH": folder})
    check(text in ran.err and "Traceback" not in ran.err, f"{flags}: {ran.err}")
    check(os.listdir(folder) == [], f"{flags} left {os.listdir(folder)}")


with scratch() as empty:
    refuse(empty, 1, "error: no-such-program cannot be run: No such file", "--objects", "no-such-program")
    refuse(empty, 1, "error: cc cannot be run: No such file", "--objects", "/bin/true")
    refuse(empty, 2, "--only matches no level", "--objects", "x", "--only", "sve")
    refuse(empty, 2, "--write and --check need all of it", "--objects", "x", "--only", "neon", "--check")
    refuse(empty, 2, "error: ", "--objects", "x", "--only", "[")
