# SPDX-License-Identifier: Apache-2.0
# REQUIRES: qemu
# RUN: %python %s
"""A described phone whose processor lacks i8mm: the doctor says so of an i8mm build, and nothing of a dotprod build."""
import os

from machine import ARM, Machine
from moectest import check, compiled, run, scratch


def findings(level, root, code):
    target = f"arm64-{level}"
    return run(compiled("mixed", target), "--doctor", "--json", "--root", root, target=target,
               code=code).json()["findings"]


with scratch() as folder:
    machine = Machine(os.path.join(folder, "root"))
    check(findings("i8mm", machine.root, 0) == [], "a clean phone")
    machine.write("proc/cpuinfo", f"processor\t: 0\nFeatures\t: {ARM.replace(' i8mm', '')}\n")
    found = findings("i8mm", machine.root, 1)
    check(len(found) == 1 and found[0]["check"] == "cpu_features" and found[0]["state"] == "error", f"{found}")
    check("lacks 1 of" in found[0]["found"] and found[0]["found"].endswith(": i8mm"), f"{found}")
    check(found[0]["limit"] - found[0]["value"] == 1 and "such as arm64-dotprod" in found[0]["remedy"], f"{found}")
    check(findings("dotprod", machine.root, 0) == [], "a dotprod build needs no i8mm")
