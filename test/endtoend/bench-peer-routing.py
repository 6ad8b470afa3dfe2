# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""The peer's routers (benchmarks/harness/peer_routing.py) use experts as often as docs/synthetic-models.md says."""
import os
import sys

from moectest import SOURCE, check

sys.path.insert(0, os.path.join(SOURCE, "benchmarks", "harness"))
import peer_routing  # noqa: E402

shares = peer_routing.used_shares(128, 8, 1.0)
check(abs(sum(shares) - 8) < 1e-9, f"zipf:1 uses {sum(shares)} experts a token")
# The row "zipf:1, by the formula" of docs/synthetic-models.md: ranks 1, 2, 4 to 64, and the first 32 of all uses.
found = [round(shares[rank - 1], 2) for rank in (1, 2, 4, 8, 16, 32, 64)]
check(found == [0.84, 0.60, 0.36, 0.20, 0.11, 0.06, 0.03], f"zipf:1: {found}")
check(round(sum(shares[:32]) / 8, 2) == 0.69, f"zipf:1, first 32: {sum(shares[:32]) / 8}")
# 1 / 16 of the tokens use each expert where all are alike, which a normal deviate exceeds from 1.534 on.
check({round(score, 3) for score in peer_routing.scores(128, 8, 0.0)} == {-1.534}, "zipf:0")
