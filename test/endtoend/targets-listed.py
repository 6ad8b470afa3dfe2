# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""`moec targets` has a line for each target; with --json, each number of a machine has a basis and a source."""
import json

from moectest import check, moec

lines = moec("targets").out.splitlines()
targets = json.loads(moec("targets", "--json").out)
names = [target["name"] for target in targets]
check(names == [line.split()[0] for line in lines], f"{names} against {lines}")
check(names[0] == "host" and "snapdragon-8-elite" in names and "generic-armv8.2" in names, f"targets are {names}")
for target, line in zip(targets, lines):
    if "unavailable" in target:
        continue
    for key in ("triple", "isa", "summary"):
        check(target[key] in line, f"{key} of {target['name']} is not in '{line}'")
    machine = dict(target.get("machine", {}))
    check(machine.pop("cores", {"source": "-"})["source"], f"{target['name']}: cores without a source")
    for key, number in machine.items():
        is_sourced = number["basis"] in ("cited", "estimated") and number["source"]
        check(is_sourced, f"{target['name']}: {key} without a source")
moec("targets", "x", code=2)
