# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A prompt longer than the context: both lengths, and nothing is computed."""
from moectest import comma, compiled, expect_error, heldout_ids, run

prefix = compiled("int8", "host", "--context", 64)
refused = run(prefix, "--ids", comma(heldout_ids(65)), "--max-tokens", 1, "--greedy", code=None)
expect_error(refused, "65", "64", "context")
# About as long as one argument can be. One word, for which the budget of a short context has no room.
expect_error(run(prefix, "--prompt", "\n" * 130000, "--max-tokens", 1, "--greedy", code=None), "130000 bytes", "budget")
