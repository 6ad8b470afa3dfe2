# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Text prompts become the golden token ids, and special tokens in user text stay plain text."""
from moectest import check, compiled, golden_prompts, run_json

prefix = compiled("int8")
for name, golden in golden_prompts().items():
    found = run_json(prefix, "--prompt", golden["text"], "--max-tokens", 1, "--greedy")
    check(found["prompt_ids"] == golden["prompt_ids"], f"{name}: {found['prompt_ids']}")
# 2045 to 2047 are the special tokens of examples/demo-moe/tokenizer.json.
special = run_json(prefix, "--prompt", "<|endoftext|>", "--max-tokens", 1, "--greedy")["prompt_ids"]
check(all(i < 2045 for i in special) and len(special) > 1, f"special token taken from user text: {special}")
