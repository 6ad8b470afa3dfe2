# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Token ids -1 and 2048 (the vocabulary size) are refused with the id and the valid range."""
from moectest import compiled, expect_error, run

prefix = compiled("mixed")
for bad in (-1, 2048, 2 ** 31 - 1):
    refused = run(prefix, "--ids", f"46,{bad},258", "--max-tokens", 2, "--greedy", code=None)
    expect_error(refused, str(bad), ("2047", "2048"))
