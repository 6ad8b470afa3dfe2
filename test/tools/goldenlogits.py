# SPDX-License-Identifier: Apache-2.0
"""Compares compiled models and the interpreter with the goldens of test/data/architectures."""
import json
import os

import architectures
from moectest import check, comma, execute, largest_difference, moec, program, read_npy, run_json, scratch

# Two independent f32 engines differ by 1e-4 at most on these models (largest_stepwise_difference in goldens.json:
# one engine against itself, all tokens at once against one by one); a wrong operation shows as 1e-1 and more.
TOLERANCE = 2e-3


def goldens(name):
    name = architectures.SAME_VALUES.get(name, name)
    with open(os.path.join(architectures.FOLDER, "goldens.json"), encoding="utf-8") as file:
        golden = json.load(file)["models"][name]
    shape, values = read_npy(os.path.join(architectures.FOLDER, name + ".npy"))
    check(shape[0] == len(golden["rows"]), f"{name}: {shape[0]} rows for {len(golden['rows'])} places")
    width = shape[1]
    golden["logits"] = [values[row * width:(row + 1) * width] for row in range(shape[0])]
    return golden


def expect_golden(name, engine, golden, length, ids, logits):
    """The 32 greedy ids are those of transformers; every golden row of this prompt is within the tolerance."""
    wanted = golden["greedy"][length]
    (rows, width), values = read_npy(logits)
    check(rows == int(length) + len(wanted) - 1, f"{name}, {engine}, prompt of {length}: {rows} rows of logits")
    largest = (0.0, None)
    for (prompt, position), row in zip(golden["rows"], golden["logits"]):
        if prompt == int(length):
            own = values[position * width:(position + 1) * width]
            finite = all(value - value == 0 for value in own)  # max would pass over a NaN
            largest = max(largest, (largest_difference(own, row) if finite else float("inf"), position))
    check(largest[0] <= TOLERANCE,
          f"{name}, {engine}, prompt of {length}: logits differ by {largest[0]:.3g} at position {largest[1]}")
    check(ids == wanted, f"{name}, {engine}, prompt of {length}: expected {wanted}, got {ids}")
    return largest[0]


def expect_equal_to_transformers(*names):
    """The f32 build and the interpreter of each model give the logits and the greedy tokens of transformers."""
    for name in names:
        golden = goldens(name)
        with scratch() as folder:
            checkpoint, prefix = architectures.write(name, os.path.join(folder, name)), os.path.join(folder, "out")
            logits = os.path.join(folder, "logits.npy")
            for phase in (["--to", "import"], []):
                moec("compile", checkpoint, "--target", "host", "--quant", "f32", *phase, "-o", prefix)
            largest = {"compiled": 0.0, "interpreter": 0.0}
            for length, prompt in golden["prompts"].items():
                found = run_json(prefix, "--ids", comma(prompt), "--max-tokens", 32, "--greedy", "--logits", logits)
                difference = expect_golden(name, "compiled", golden, length, found["ids"], logits)
                largest["compiled"] = max(largest["compiled"], difference)
                text = execute([program("moe-interpret"), prefix + ".import.mlir", "--ids", comma(prompt), "--greedy",
                                "32", "--logits", logits]).out
                ids = [int(part) for part in text.split(",")]
                difference = expect_golden(name, "interpreter", golden, length, ids, logits)
                largest["interpreter"] = max(largest["interpreter"], difference)
            print(f"{name}: largest difference compiled {largest['compiled']:.2e}, "
                  f"interpreter {largest['interpreter']:.2e}")
