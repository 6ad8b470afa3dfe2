# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Widths and groups that differ within a layer and between layers compute what the interpreter computes, bit for bit.

On this machine with its own instructions and with AVX2, and where there is an emulator on ARM64; with every expert
resident and with few page slots, although records of layers have different sizes.
"""
import json
import os
import shlex

from moectest import (DEMO, check, comma, execute, golden_prompts, moec, program, report, run, run_json, same_files,
                      scratch)

PROMPT = comma(golden_prompts()["short"]["prompt_ids"][:12])
RULES = [
    # Layer 0: gate and up of other widths and groups, down wider; Q, K, V of three kinds.
    {"roles": "expert_gate", "layers": "0", "encoding": "i4/32"},
    {"roles": "expert_up", "layers": "0", "encoding": "i8/64"},
    {"roles": "expert_down", "layers": "0", "encoding": "i8/128"},
    {"roles": "attention_q", "layers": "0", "encoding": "i4/128"},
    {"roles": "attention_k", "layers": "0", "encoding": "i8/128"},
    {"roles": "attention_v", "layers": "0", "encoding": "f16"},
    # Layer 1: floats meet codes in one record.
    {"roles": "expert_gate", "layers": "1", "encoding": "f16"},
    {"roles": "expert_up", "layers": "1", "encoding": "i4/32"},
    {"roles": "expert_down", "layers": "1", "encoding": "i4m/64"},
    # Layer 2: one group, other widths; a float down.
    {"roles": "expert_gate", "layers": "2", "encoding": "i6/32"},
    {"roles": "expert_up", "layers": "2", "encoding": "i8m/32"},
    {"roles": "expert_down", "layers": "2", "encoding": "f32"},
    {"roles": "embedding", "encoding": "i6/64"},
    {"roles": "head", "encoding": "i8/128"},
]

with scratch() as folder:
    plan = os.path.join(folder, "plan.json")
    with open(plan, "w", encoding="utf-8") as file:
        json.dump({"quant": "int4", "rules": RULES}, file)
    flags = ("--plan-precision", plan, "--context", 64)
    out = os.path.join(folder, "host")
    moec("compile", DEMO, "--target", "host", *flags, "--dump-phases-to", folder, "-o", out)
    rows = {(entry["role"], entry["encoding"]): entry for entry in report(out)["precision"]}
    check(rows["expert_up", "i8/64"]["layers"] == "0" and rows["expert_up", "i4/32"]["layers"] == "1,3", f"{rows}")
    check(report(out)["padding"]["slot_bytes"] > 0, "layers of other widths have records of one size")

    expected = os.path.join(folder, "expected.npy")
    for phase in ("3-host.quantize", "4-host.fuse"):
        logits = os.path.join(folder, phase + ".npy")
        execute([program("moe-interpret"), os.path.join(folder, phase + ".mlir"), "--ids", PROMPT, "--greedy", "3",
                 "--logits", logits])
        check(phase.startswith("3") or same_files(logits, expected), "fusion changes the logits")
        os.replace(logits, expected)

    least = report(out)["min_bytes"]
    small = run_json(out, "--ids", PROMPT, "--max-tokens", 1, "--greedy", "--memory", least)
    check(small["expert_misses"] > 0, "the smallest budget misses no expert")
    builds = [(out, "host", ()), (out, "host", ("--memory", least, "--threads", 2, "--chunk", 5))]
    has_emulator = os.path.exists(shlex.split(os.environ["MOEC_RUN_ARM64"])[0])
    for target in ("x86-64-avx2", *(["arm64-i8mm"] if has_emulator else [])):
        moec("compile", DEMO, "--target", target, *flags, "-o", f"{out}-{target}")
        builds.append((f"{out}-{target}", target, ()))
    for prefix, target, extra in builds:
        logits = os.path.join(folder, "logits.npy")
        run(prefix, "--ids", PROMPT, "--max-tokens", 3, "--greedy", "--logits", logits, *extra, target=target)
        check(same_files(logits, expected), f"{prefix} {extra}: logits differ from the interpreter's")
