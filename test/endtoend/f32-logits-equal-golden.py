# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Logits of the f32 build differ from the independent engine's by at most 2e-4 at the last token of every prompt.

Two independent engines agree within 1e-5 on this model, so 2e-4 leaves room for another order of summation only.
The golden rows of all positions are float16 (values below 16: half a unit in the last place is 2^-8).
"""
import os

from moectest import GOLDEN, check, comma, compiled, golden_prompts, largest_difference, read_npy, run, scratch

VOCABULARY = 2048
prefix = compiled("f32")
with scratch() as folder:
    for name, golden in golden_prompts().items():
        path = os.path.join(folder, name + ".npy")
        run(prefix, "--ids", comma(golden["prompt_ids"]), "--max-tokens", 1, "--greedy", "--logits", path)
        shape, values = read_npy(path)
        rows = len(golden["prompt_ids"])
        check(tuple(shape) == (rows, VOCABULARY), f"{name}: shape {shape}, expected {(rows, VOCABULARY)}")
        _, last = read_npy(os.path.join(GOLDEN, name + "_logits_last.npy"))
        difference = largest_difference(values[(rows - 1) * VOCABULARY:], last)
        print(f"{name}: largest logit difference at the last position {difference:.2e}")
        check(difference <= 2e-4, f"{name}: logits differ by {difference}")
        for position, ids in enumerate(golden["top10_ids_by_position"]):
            row = values[position * VOCABULARY:(position + 1) * VOCABULARY]
            wanted = golden["top10_logits_by_position"][position]
            worst = largest_difference([row[i] for i in ids], wanted)
            check(worst <= 2e-4 + 1e-5, f"{name}: top-10 logits at position {position} differ by {worst}")
        every = os.path.join(GOLDEN, name + "_logits_all.npy")
        if os.path.exists(every):
            difference = largest_difference(values, read_npy(every)[1])
            check(difference <= 2e-4 + 2.0 ** -8, f"{name}: logits of all positions differ by {difference}")
