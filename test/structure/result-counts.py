# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""The closing line counts failures as failures: unlisted skips on CI, time-outs, and a run in which nothing ran."""
import json
import os
import sys

from moectest import SOURCE, check, execute, scratch

SCRIPT = os.path.join(SOURCE, "tools", "dev", "count-results.py")
SKIP = {"name": "moec :: a/x.py", "code": "UNSUPPORTED",
        "output": "Test requires the following unavailable features: qemu"}
GOOD = {"name": "moec :: a/y.py", "code": "PASS", "output": ""}
LATE = {"name": "moec :: a/z.py", "code": "TIMEOUT", "output": ""}
CASES = (
    ([GOOD], "", [], 0, "1 passed, 0 failed"),
    ([GOOD, SKIP], "", [], 0, "1 passed, 0 failed, 1 skipped"),
    ([GOOD, SKIP], "", ["--enforce-skips"], 1, "1 passed, 1 failed"),
    ([GOOD, SKIP], "a/x.py | no emulator", ["--enforce-skips"], 0, "1 passed, 0 failed, 1 skipped"),
    ([GOOD, dict(SKIP, output="")], "", [], 1, "1 passed, 1 failed"),
    ([GOOD, LATE], "", [], 1, "1 passed, 1 failed"),
    ([], "", [], 1, "0 passed, 1 failed"),
)
with scratch() as folder:
    results, allowed = os.path.join(folder, "results.json"), os.path.join(folder, "allowed.txt")
    for tests, patterns, flags, code, line in CASES:
        with open(results, "w", encoding="utf-8") as file:
            json.dump({"tests": tests}, file)
        with open(allowed, "w", encoding="utf-8") as file:
            file.write(patterns + "\n")
        found = execute([sys.executable, SCRIPT, results, allowed, *flags], code=code)
        check(found.out.splitlines()[-1] == line, f"expected {line!r}, got {found.out!r}")
        check("SKIP" not in found.out or "needs qemu" in found.out, f"no reason printed: {found.out!r}")
