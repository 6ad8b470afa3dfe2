# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""moe-run --doctor names every check with a state, numbers and a remedy, and its exit code is the worst of them."""
import os
import shutil

from moectest import check, compiled, run, scratch

CHECKS = {"kernel", "cores", "page_size", "cpu_features", "memory", "pack", "flash_sequential", "flash_random",
          "flash_space", "swap", "memory_lock", "heat"}
CODES = {"ok": 0, "warning": 3, "error": 1}
BY_SEVERITY = ("unknown", "ok", "warning", "error")


def examine(prefix, *flags):
    result = run(prefix, "--doctor", "--json", *flags, code=None)
    report = result.json()
    states = {finding["check"]: finding["state"] for finding in report["findings"]}
    check(set(states.values()) <= {"ok", "unknown", "warning", "error"}, f"states: {states}")
    worst = max([*states.values(), "ok"], key=BY_SEVERITY.index)
    check(report["state"] == worst and result.code == CODES[worst], f"{result.code}, {report}")
    for finding in report["findings"]:
        check(finding["found"] and (finding["remedy"] or finding["state"] in ("ok", "unknown")), f"{finding}")
    return report, states


prefix = compiled("mixed")
report, states = examine(prefix, "--memory", "5MB")
check(set(states) == CHECKS, f"checks: {sorted(states)}")
check(states["memory"] == "ok" and states["pack"] == "ok" and states["cpu_features"] == "ok", f"{states}")
check(report["planned_bytes"] <= 5_000_000 < report["plan_bytes"], f"plan: {report}")
random = next(finding for finding in report["findings"] if finding["check"] == "flash_random")
check("measured" in random["found"] and "estimated" in random["needed"], f"{random}")
check("this model runs here" in run(prefix, "--doctor", code=None).out, "no verdict in the text")

_, states = examine(prefix, "--memory", "1MB")
check(states["memory"] == "error", f"a budget below the minimum: {states}")
with scratch() as folder:
    alone = os.path.join(folder, "alone")
    shutil.copy(prefix + ".so", alone + ".so")
    _, states = examine(alone)
    check(states["pack"] == "error", f"a missing pack: {states}")
    shutil.copy(compiled("int4") + ".moepack", alone + ".moepack")
    report, states = examine(alone)
    check(states["pack"] == "error" and "another compile" in str(report), f"a foreign pack: {report}")
    with open(prefix + ".moepack", "rb") as whole, open(alone + ".moepack", "wb") as part:
        part.write(whole.read(100_000))
    report, states = examine(alone)
    check(states["pack"] == "error" and "cut short" in str(report), f"a pack cut short: {report}")
