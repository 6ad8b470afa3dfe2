# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""`moec evaluate` gives the perplexity that one computes by hand from the logits of moe-run."""
import json
import math
import os

from moectest import check, comma, compiled, heldout_ids, moec, read_npy, run, scratch

WINDOW = 256
ids = heldout_ids(2 * WINDOW)
prefix = compiled("f32")
with scratch() as folder:
    total, positions = 0.0, 0
    for start in (0, WINDOW):
        window = ids[start:start + WINDOW]
        path = os.path.join(folder, "logits.npy")
        run(prefix, "--ids", comma(window), "--max-tokens", 1, "--greedy", "--logits", path)
        (rows, vocabulary), values = read_npy(path)
        check(rows == WINDOW, f"{rows} rows for {WINDOW} tokens")
        # The first token of a window is not predicted, the last row predicts nothing.
        for position in range(WINDOW - 1):
            row = values[position * vocabulary:(position + 1) * vocabulary]
            largest = max(row)
            total += largest + math.log(math.fsum(math.exp(x - largest) for x in row)) - row[window[position + 1]]
            positions += 1
    ids_file = os.path.join(folder, "ids.json")
    with open(ids_file, "w", encoding="utf-8") as file:
        json.dump({"ids": ids}, file)
    found = moec("evaluate", prefix + ".so", "--ids", ids_file, "--window", WINDOW, "--json").json()
    many = moec("evaluate", prefix + ".so", "--ids", ids_file, "--window", WINDOW, "--experts-used", 9, code=1).err
check("--experts-used is 9, expected" in many and "options." not in many, many)
check(found["positions"] == positions, f"{found['positions']} positions, expected {positions}")
check(abs(found["nll"] - total / positions) < 1e-5, f"nll {found['nll']}, expected {total / positions}")
check(abs(found["perplexity"] - math.exp(total / positions)) < 1e-3, f"perplexity {found['perplexity']}")
