# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Models with recurrent state: generate 100, rewind 50, continue gives the bits of a fresh run, with any number of
checkpoints and behind a window; a context that slides is a fresh one of what stays; the plan counts the state."""
import os

import architectures
from moectest import check, comma, compile_program, execute, moec, report, run_json, scratch

PROMPT = [(7 * i * i + 3 * i) % 300 for i in range(40)]
IDS = ("--ids", comma(PROMPT), "--greedy", "--max-tokens", 50)

with scratch() as folder:
    rewind = compile_program("Rewind.cpp", folder)
    for name, quant in (("qwen3_next", "f32"), ("qwen3_5_moe", "int8"), ("qwen3_5", "int4")):
        model = architectures.write(name, os.path.join(folder, name))
        with open(os.path.join(model, "generation_config.json"), "w", encoding="utf-8") as file:
            file.write('{"eos_token_id": []}')  # nothing ends a generation early
        prefix = os.path.join(folder, f"{name}-{quant}")
        moec("compile", model, "--target", "host", "--quant", quant, "-o", prefix)
        for window, checkpoints in ((0, 0), (0, 1), (0, 2), (0, 5), (40, 0), (100, 3)):
            told = execute([rewind, prefix + ".so", prefix + ".moepack", str(window), str(checkpoints)])
            check(told.out == "right\n" and not told.err, f"{name}, {window}, {checkpoints}: {told.out!r} {told.err!r}")

        # Of 40 tokens 30 are forgotten. A checkpoint is where they began; without, all is computed again.
        plain = run_json(prefix, *IDS)
        back = run_json(prefix, *IDS, "--rewind-after", 40, "--rewind-by", 30)
        none = run_json(prefix, *IDS, "--rewind-after", 40, "--rewind-by", 30, "--state-checkpoints", 0)
        check(plain["ids"] == back["ids"] == none["ids"], f"{name}: other tokens after going back")
        replayed = plain["tokens_replayed"], back["tokens_replayed"], none["tokens_replayed"]
        check(replayed == (0, 0, 50), f"{name}: {replayed} tokens were computed again")

        # The plan: the live state and the copies, each a little larger for its logits; measured is never more.
        live = none["state_bytes"]
        check(live > 0 and none["checkpoint_bytes"] == 0, f"{name}: {none}")
        check(plain["state_bytes"] - live == plain["checkpoint_bytes"] >= 2 * live, f"{name}: {plain['state_bytes']}")
        check(plain["plan_bytes"] - none["plan_bytes"] == plain["checkpoint_bytes"], f"{name}: {none}")
        check(report(prefix)["bytes_by_class"]["state"] == plain["state_bytes"], f"{name}: the report differs")
        for found in (plain, back, none):
            check(found["ledger_peak_bytes"] <= found["planned_bytes"], f"{name}: more than planned: {found}")

        # A context of 48 slides: 4 tokens and the latest 24 stay.
        slid = run_json(prefix, *IDS, "--context", 48, "--on-full", "slide")
        held = list(PROMPT)
        for index, expected in enumerate(slid["ids"]):
            if index in (8, 9, 28, 29, 49):
                fresh = run_json(prefix, "--ids", comma(held), "--max-tokens", 1, "--greedy")["ids"]
                check(fresh == [expected], f"{name}: {index} of a slid context is {expected}, of a fresh one {fresh}")
            if len(held) == 48:
                held = held[:4] + held[-24:]
            held.append(expected)
        check(slid["slides"] == 3, f"{name}: {slid['slides']} slides")
