# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Every step of passes/Phases.def is named by docs/architecture.md and by docs/command-line.md, in that order."""
import os
import re

from moectest import SOURCE, check

with open(os.path.join(SOURCE, "passes", "Phases.def"), encoding="utf-8") as file:
    steps = re.findall(r"^\w*PHASE\w*\(\s*\"?(\w+)", file.read(), re.M)
check(len(steps) >= 6, f"passes/Phases.def has {len(steps)} steps: {steps}")
for name in ("architecture.md", "command-line.md"):
    with open(os.path.join(SOURCE, "docs", name), encoding="utf-8") as file:
        text = file.read().lower()
    for step in steps:
        check(re.search(rf"\b{step.lower()}\b", text), f"docs/{name} does not name the step {step}")
