# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""report.json of every build follows the committed schema; its classes add up; `moec report --json` prints it."""
import json
import os

from jsonschema_subset import violations
from moectest import SOURCE, check, compiled, moec, report

with open(os.path.join(SOURCE, "docs", "reference", "report.schema.json"), encoding="utf-8") as file:
    schema = json.load(file)
for quant, target in (("f32", "host"), ("int4m", "host"), ("mixed", "arm64-dotprod")):
    prefix = compiled(quant, target)
    facts = report(prefix)
    found = violations(facts, schema)
    check(not found, f"{quant} {target}: " + "; ".join(found[:5]))
    check(facts["min_bytes"] <= facts["plan_bytes"], f"min {facts['min_bytes']}, plan {facts['plan_bytes']}")
    printed = moec("report", prefix + ".so", "--json").json()
    check(printed["plan_bytes"] == facts["plan_bytes"], "moec report --json prints another plan")
    text = moec("report", prefix + ".so").out
    check(len(text.splitlines()) > 4, f"moec report prints {text!r}")
