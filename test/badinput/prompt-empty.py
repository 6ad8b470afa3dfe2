# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""An empty prompt, as text or as ids, is refused with one message."""
from moectest import check, compiled, expect_error, run

prefix = compiled("mixed")
expect_error(run(prefix, "--prompt", "", "--max-tokens", 2, code=None), "prompt", "empty")
ids = run(prefix, "--ids", "", "--max-tokens", 2, code=None)
check(ids.code in (1, 2) and ids.err.strip(), f"exit code {ids.code}, {ids.err!r}")
