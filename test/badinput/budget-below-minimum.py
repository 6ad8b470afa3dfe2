# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A budget below the minimum: needed, given, and the largest consumers, at run time and at compile time."""
import os

from moectest import DEMO, compiled, expect_error, moec, report, run, scratch

prefix = compiled("int8")
least = report(prefix)["min_bytes"]
CONSUMERS = ("resident", "expert", "kv", "arena")
for budget in (least - 1, least // 2, 1):
    result = run(prefix, "--prompt", "Once", "--max-tokens", 2, "--memory", budget, code=None)
    expect_error(result, "budget", CONSUMERS, *([str(budget)] if budget == least - 1 else []))
with scratch() as folder:
    result = moec("compile", DEMO, "--target", "host", "--quant", "int8", "--memory", "100KB", "-o",
                  os.path.join(folder, "small"), code=None)
    expect_error(result, "budget", CONSUMERS)
    if os.listdir(folder):
        raise SystemExit(f"a refused compile left {os.listdir(folder)}")
run(prefix, "--prompt", "Once", "--max-tokens", 2, "--memory", least)
