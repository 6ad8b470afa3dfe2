# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""An output folder that cannot be written (missing, or a file stands in its place): the path, and nothing is left.

Root may write anywhere, so the folder's mode proves nothing; a file in its place stops everybody.
"""
import os

from moectest import DEMO, check, expect_error, moec, scratch

with scratch() as folder:
    blocker = os.path.join(folder, "blocker")
    with open(blocker, "w", encoding="utf-8") as file:
        file.write("a file\n")
    before = sorted(os.listdir(folder))
    for out in (os.path.join(blocker, "model"), "/proc/moec-no-such-folder/model"):
        expect_error(moec("compile", DEMO, "--target", "host", "-o", out, code=None), os.path.dirname(out))
    check(sorted(os.listdir(folder)) == before, f"left {os.listdir(folder)}")
