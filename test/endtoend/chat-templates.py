# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Templates of each kind are recognized; the format gives the texts and refusals of jinja2 on 2,000 conversations."""
import json
import os

from chatconversations import hashes, rendered
from moectest import BUILD, DATA, check

FOLDER = os.path.join(DATA, "chat")
with open(os.path.join(FOLDER, "hashes.json"), encoding="ascii") as file:
    golden = json.load(file)
for name in ("chatml", "default-system", "thinking-stripped", "thinking-qwen3", "thinking-qwen35", "headers"):
    found = hashes(rendered(BUILD, os.path.join(FOLDER, name + ".jinja"), 2000))
    check(found == golden[name], f"{name}: other texts than by {golden['package']}")
