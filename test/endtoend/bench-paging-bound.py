# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""The bounds that benchmarks/measure-paging.py divides by are those of its page, replayed from traces by hand."""
import os
import sys

from moectest import SOURCE, check

sys.path.insert(0, os.path.join(SOURCE, "benchmarks", "harness"))
import bound  # noqa: E402

MS = 1_000_000


def token(layers):
    """A token of two layers: dense 1 ms, experts as given in ms, head 2 ms. A layer is (experts, distinct, missed)."""
    at, result = 0, []
    for milliseconds, distinct, missed in layers:
        begin = at + MS
        at = begin + milliseconds * MS
        result.append([begin, at, distinct, missed])
    return {"begin": 0, "end": at + 2 * MS, "layers": result}


resident = [token([(8, 8, 0), (8, 8, 0)]), token([(8, 8, 0), (8, 8, 0)]), token([(9, 8, 0), (7, 8, 0)])]
compute = bound.compute_times(resident)
check(compute == {"dense": [0.001, 0.001], "experts": [0.008, 0.008], "head": 0.002}, f"compute: {compute}")

check(bound.scaled(compute, 2) == {"dense": [0.002, 0.002], "experts": [0.016, 0.016], "head": 0.004}, "scaled")

# All there: 2 dense layers of 1 ms, twice 8 ms of experts, 2 ms of head.
check(abs(bound.causal_bound(resident[0], compute, 1000, 1e6) - 0.020) < 1e-12, "nothing is missed")
# 2 of 8 missed in the first layer, 1 ms of reading each: 6 ms of hits hide that, then one expert. The second layer
# reads 8 ms and computes nothing meanwhile.
paged = token([(10, 8, 2), (12, 8, 8)])
least = 0.002 + (0.001 + 0.006 + 0.001) + (0.001 + 0.008 + 0.001)
found = bound.causal_bound(paged, compute, 1000, 1e6)
check(abs(found - least) < 1e-12, f"{found}, expected {least}")

lost = bound.losses(paged, compute, 1000, 1e6)
total = (paged["end"] - paged["begin"]) / 1e9 - least
check(abs(sum(lost.values()) - total) < 1e-12 and abs(lost["missing"] - 0.006) < 1e-12, f"losses: {lost}")
for num_bytes, expected in ((10000, 0.020), (30000, 0.030)):  # computing takes longer, reading does
    found = bound.free_bound([paged], compute, num_bytes, 1e6)
    check(abs(found - expected) < 1e-12, f"{found}, expected {expected}")

for tokens, text in (([], "has no tokens"), ([paged], "missed some")):
    try:
        bound.compute_times(tokens)
        check(False, f"not refused: {text}")
    except SystemExit as error:
        check(text in str(error), str(error))
