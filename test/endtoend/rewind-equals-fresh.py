# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A session that was rewound gives the bits of a fresh one: generate 100, rewind 50, continue; float and integer
weights, with and without a window. `moe-run --rewind-by` changes no token."""
from moectest import check, comma, compile_program, compiled, execute, heldout_ids, run, run_json, scratch

with scratch() as folder:
    rewind = compile_program("Rewind.cpp", folder)
    for quant in ("f32", "int8"):
        prefix = compiled(quant)
        for window in (0, 40, 100):
            told = execute([rewind, prefix + ".so", prefix + ".moepack", str(window), "2"])
            check(told.out == "right\n" and not told.err, f"{quant}, window {window}: {told.out!r} {told.err!r}")

prefix = compiled("int8")
IDS = ("--ids", comma(heldout_ids(30)), "--greedy", "--max-tokens", 60)
plain = run_json(prefix, *IDS)
for after, by in ((50, 40), (20, 20), (60, 1), (1, 1)):
    back = run_json(prefix, *IDS, "--rewind-after", after, "--rewind-by", by)
    for key in ("ids", "text", "finish_reason", "state_bytes"):
        check(back[key] == plain[key], f"{key} differs with {after}, {by}: {back[key]} and {plain[key]}")
    check(back["tokens_replayed"] == int(by > 1), f"{back['tokens_replayed']} tokens, not only the last")
for flags, text in (
        (("--rewind-by", 3), "--rewind-after and --rewind-by need each other"),
        (("--rewind-by", 3, "--rewind-after", 2), "--rewind-by expects at most the 2 tokens of --rewind-after"),
        (("--rewind-by", 3, "--rewind-after", 61), "--rewind-after expects at most the 60 tokens of --max-tokens"),
        (("--rewind-by", 3, "--rewind-after", 6, "--on-full", "slide"), "exclude each other"),
        (("--state-checkpoints", 65), "--state-checkpoints expects a number of copies from 0 to 64, but got '65'")):
    refused = run(prefix, *IDS, *flags, code=2)
    check(text in refused.err, f"{flags}: {refused.err}")
