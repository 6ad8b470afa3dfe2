# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""The f32 build continues all three golden prompts with the very same 64 tokens."""
from moectest import check, comma, compiled, golden_prompts, run_json

prefix = compiled("f32")
for name, golden in golden_prompts().items():
    found = run_json(prefix, "--ids", comma(golden["prompt_ids"]), "--max-tokens", 64, "--greedy")
    check(found["prompt_ids"] == golden["prompt_ids"], f"{name}: prompt_ids differ")
    check(found["ids"] == golden["greedy_ids"], f"{name}: expected {golden['greedy_ids']}, got {found['ids']}")
    check(found["text"] == golden["greedy_text"], f"{name}: expected {golden['greedy_text']!r}, got {found['text']!r}")
    check(found["finish_reason"] == "length", f"{name}: finish_reason is {found['finish_reason']}")
