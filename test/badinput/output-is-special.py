# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""An output that is a pipe (as a device would be) is refused and stays; -o that names a folder is wrong usage."""
import os
import stat

from moectest import DEMO, check, compiled, execute, expect_error, moec, program, scratch

with scratch() as folder:
    pipe = os.path.join(folder, "pipe")
    os.mkfifo(pipe)
    prefix = os.path.join(folder, "model")
    expect_error(moec("compile", DEMO, "--target", "host", "--pack", pipe, "-o", prefix, code=None), pipe,
                 "expects a file")
    expect_error(execute([program("moe-run"), compiled("mixed") + ".so", "--ids", "1", "--logits", pipe], code=None),
                 pipe, "expected a file")
    expect_error(execute([program("moe-run"), compiled("mixed") + ".so", "--ids", "1", "--logits", ""], code=None),
                 "no name")
    check(stat.S_ISFIFO(os.stat(pipe).st_mode), "the pipe was replaced")
    check(os.listdir(folder) == ["pipe"], f"left {os.listdir(folder)}")
    for out in (folder + "/", ".", "..", folder + "/.."):
        found = moec("compile", DEMO, "--target", "host", "-o", out, code=2, cwd=folder)
        check("expects the prefix of the outputs" in found.err, found.err)
    check(os.listdir(folder) == ["pipe"], f"left {os.listdir(folder)}")
