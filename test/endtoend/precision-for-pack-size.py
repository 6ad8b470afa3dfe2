# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""--pack-size: the pack has at most that size, sensitive weights keep more bits, rules stay, too little is refused.

The choice is a function of the model and the size: two targets that share no pack get one choice that fits both.
"""
import json
import os
import re

from moectest import DEMO, check, expect_error, moec, report, scratch


def encodings(*flags):
    """The encoding of each role of the demonstration model, which is the same in all layers."""
    plan = json.loads(moec("precision", DEMO, "--quiet", *flags).out)
    found = {}
    for line in plan["tensors"]:
        found.setdefault(line["role"], set()).add(line["encoding"])
    return {role: kinds.pop() for role, kinds in found.items() if len(kinds) == 1}


with scratch() as folder:
    def compiled_size(*flags):
        out = os.path.join(folder, "out")
        moec("compile", DEMO, "--target", "host", *flags, "-o", out)
        check(os.path.getsize(out + ".moepack") == report(out)["pack_bytes"], "the report has another size")
        return report(out)["pack_bytes"]

    for size in (7_000_000, 5_600_000):
        found = compiled_size("--pack-size", size)
        check(0.85 * size < found <= size, f"--pack-size {size} gives {found} bytes")

    seven = encodings("--pack-size", "7MB")
    check(seven["head"] == seven["embedding"] == seven["attention_v"] == "i8/32", f"7 MB: {seven}")
    check(seven["expert_gate"].startswith("i4m/") and seven["router"] == "f32", f"7 MB: {seven}")
    check(set(encodings("--pack-size", "1GB").values()) == {"i8/32", "f32"}, "int8 fits, but is not taken")
    fixed = encodings("--pack-size", "7MB", "--quant-role", "head=i4/128", "--group", "64")
    check(fixed["head"] == "i4/128" and fixed["embedding"] == "i8/64", f"rules and group do not stay: {fixed}")
    both = encodings("--pack-size", "6MB", "--target", "host,arm64-i8mm")
    check(both == encodings("--pack-size", "6MB", "--target", "arm64-i8mm,host"), "the order of the targets counts")

    result = moec("precision", DEMO, "--quiet", "--pack-size", "3MB", code=1)
    expect_error(result, "--pack-size is 3000000 bytes", "smallest pack", "router", "4 bits are the floor")
    smallest = int(re.search(r"smallest pack of this model has (\d+) bytes", result.err)[1])
    check(compiled_size("--pack-size", smallest) == smallest, "the smallest size cannot be had")
    expect_error(moec("precision", DEMO, "--quiet", "--pack-size", smallest - 1, code=1), str(smallest))
    wrong = moec("precision", DEMO, "--pack-size", "6MB", "--quant", "int8", code=2)
    check("leave one of them out" in wrong.err, wrong.err)
