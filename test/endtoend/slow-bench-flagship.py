# SPDX-License-Identifier: Apache-2.0
# REQUIRES: slow
# RUN: %python %s
"""The harness measures the flagship's architecture: tiny shapes, no peer, rows with the recipe's active bytes."""
import json
import os
import sys

from moectest import BIN, SOURCE, check, execute, scratch

SCRIPT = os.path.join(SOURCE, "benchmarks", "measure-tokens.py")
with scratch() as folder:
    path = os.path.join(folder, "rows.json")
    execute([sys.executable, SCRIPT, "flagship-decode", "flagship-prefill", "--tiny", "--models", folder,
             "--programs", BIN, "--threads", "2", "--commit", "abc", "--json", path])
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    check([row["bar"] for row in rows] == ["decode", "prefill-8", "prefill-16"], f"bars: {rows}")
    with open(os.path.join(folder, "tiny-flagship-2x4.report.json"), encoding="utf-8") as file:
        token = json.load(file)["token_bytes"]
    check(rows[0]["active_bytes"] == token["weights"] + 3 * token["kv_per_position"] + token["state"], f"{rows[0]}")
