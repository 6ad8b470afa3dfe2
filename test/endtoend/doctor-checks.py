# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""moe-run --doctor names every check with a state, numbers and a remedy, and its exit code is the worst of them.

What it says of a pack is what a run says."""
import glob
import os
import shutil

from moectest import check, compiled, execute, program, run, scratch

CHECKS = {"kernel", "cores", "threads", "page_size", "cpu_features", "memory", "pack", "flash_sequential",
          "flash_random", "file_system", "flash_space", "swap", "memory_lock", "frequency", "heat"}
CODES = {"ok": 0, "warning": 3, "error": 1}
BY_SEVERITY = ("unknown", "ok", "warning", "error")


def examine(prefix, *flags):
    result = run(prefix, "--doctor", "--json", *flags, code=None)
    report = result.json()
    check(all(finding["state"] in ("warning", "error") for finding in report["findings"]), f"findings: {report}")
    report["findings"] += report["passed"]
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
    check(states["pack"] == "error" and "another model" in str(report), f"a foreign pack: {report}")
    with open(prefix + ".moepack", "rb") as whole, open(alone + ".moepack", "wb") as part:
        part.write(whole.read(100_000))
    report, states = examine(alone)
    check(states["pack"] == "error" and "truncated" in str(report), f"a pack cut short: {report}")

    # A pack of several parts, damaged in turn: a run refuses it with the words of the finding.
    parts, damaged = compiled("mixed", "host", "--part-size", "2MB"), os.path.join(folder, "damaged")
    shutil.copy(parts + ".so", damaged + ".so")

    def edited(part, change):
        for path in glob.glob(parts + ".moepack*"):
            copy = damaged + path.removeprefix(parts)
            if os.path.lexists(copy):
                os.remove(copy)
            shutil.copy(path, copy)
        change(f"{damaged}.moepack{part}")
        finding = next(f for f in examine(damaged)[0]["findings"] if f["check"] == "pack")
        refused = run(damaged, "--ids", "1,2", "--max-tokens", 1, code=None)
        check(finding["state"] == ("error" if refused.code else "ok"), f"{part}: {finding}, but {refused.err}")
        check(refused.code == 0 or finding["found"] in refused.err, f"{part}: {finding}, but {refused.err}")
        return finding["found"]

    def flipped(offset):
        def change(path):
            with open(path, "r+b") as file:
                file.seek(offset)
                byte = file.read(1)[0]
                file.seek(offset)
                file.write(bytes([byte ^ 4]))
        return change

    def lengthened(path):
        with open(path, "ab") as file:
            file.write(b"x")

    def piped(path):
        os.remove(path)
        os.mkfifo(path)

    for part, change, text in (
            ("", lambda path: None, "bytes in "), (".1", lambda path: os.truncate(path, 1000), "truncated"),
            (".1", os.remove, "cannot open part 1"), (".2", lengthened, "too long"), (".1", piped, "no regular file"),
            ("", flipped(8), "format version"), ("", flipped(140), "damaged header"),
            ("", flipped(16384 + 8), "directory of")):
        found = edited(part, change)
        check(text in found, f"{part}: {found!r} lacks {text!r}")

    # What is no pack: never a hang.
    piped(damaged + ".moepack")
    for pack, text in ((damaged + ".so", "not a weight pack"), (damaged + ".moepack", "no regular file"),
                       (folder, "a folder"), (damaged + "s", "No such file")):
        for flags in (("--doctor",), ("--ids", "1")):
            refused = execute([program("moe-run"), parts + ".so", "--pack", pack, *flags], code=1)
            check(text in refused.out + refused.err, f"{pack} {flags}: {refused.out} {refused.err}")

    # A pack inside a larger file.
    outer = damaged + ".apk"
    with open(prefix + ".moepack", "rb") as inner, open(outer, "wb") as file:
        size = os.path.getsize(prefix + ".moepack")
        file.write(bytes(4096) + inner.read() + b"what follows")
    for flags, state in ((("--pack-offset", 4096, "--pack-bytes", size), "ok"), (("--pack-offset", 4096), "ok"),
                         (("--pack-offset", 4095), "error"), (("--pack-bytes", size), "error")):
        _, states = examine(prefix, "--pack", outer, *flags)
        check(states["pack"] == state, f"{flags}: {states}")
