# SPDX-License-Identifier: Apache-2.0
"""Compares the logits of integer builds of the tiny models byte by byte over everything that must not matter."""
import os

import architectures
from moectest import X86_TARGETS, check, comma, execute, moec, program, report, run, same_files, scratch

CPUS = {"arm64-neon": "cortex-a57", "arm64-dotprod": "cortex-a76"}
CHUNKS, THREADS = (1, 16, 64, 200), (1, 2, 3)
PROMPT = [(i * i * 7 + i) % 256 for i in range(200)]


def settings(facts, thorough):
    """Flags of moe-run that must not change a bit: pairs of chunk and threads, budgets from the plan to the minimum."""
    if thorough:
        pairs = [(chunk, threads) for chunk in CHUNKS for threads in THREADS]
    else:
        pairs = [(chunk, THREADS[index % len(THREADS)]) for index, chunk in enumerate(CHUNKS)]
    flags = [["--chunk", chunk, "--threads", threads] for chunk, threads in pairs]
    least, full = facts["min_bytes"], facts["plan_bytes"]
    if facts["min_bytes"] < facts["plan_bytes"]:
        flags += [["--memory", least + int(fraction * (full - least)), "--threads", 2] for fraction in (0.5, 0.0)]
    return flags


def expect_same_bytes(name, quant, targets, thorough=False):
    """Logits of 200 tokens and 4 decoded are one file, whatever the settings and in the interpreter; those of `targets`
    are the same, of 20 tokens unless the test is `thorough`. Returns how many files were compared."""
    with scratch() as folder:
        checkpoint = architectures.write(name, os.path.join(folder, "model"))
        prefix, compared = os.path.join(folder, "out"), 0
        first, first_short = os.path.join(folder, "first.npy"), os.path.join(folder, "first-short.npy")
        common = [checkpoint, "--quant", quant, "--kv", "int8", "--chunk", CHUNKS[-1], "-o", prefix]
        moec("compile", *common, "--target", ",".join(("host", *targets)))
        host = prefix + ".host" if targets else prefix
        prompt = ["--ids", comma(PROMPT), "--max-tokens", 4, "--greedy", "--logits"]
        short = prompt if thorough else ["--ids", comma(PROMPT[:20]), *prompt[2:]]
        run(host, *prompt, first)
        run(host, *short, first_short)
        for number, flags in enumerate(settings(report(host), thorough)):
            logits = os.path.join(folder, f"{number}.npy")
            run(host, *prompt, logits, *flags)
            check(same_files(first, logits), f"{name}, {quant}: logits differ with {flags}")
            compared += 1
        for target in targets:
            logits = os.path.join(folder, target + ".npy")
            result = run(f"{prefix}.{target}", *short, logits, target=target, cpu=CPUS.get(target, "max"), code=None)
            if target in X86_TARGETS and "this CPU lacks the feature" in result.err:
                print(f"{target} is not compared: {result.err.strip()}")
                continue
            check(result.code == 0, f"{name}, {quant} on {target}: {result.err}")
            check(same_files(first_short, logits), f"{name}, {quant}: logits of {target} differ from this machine's")
            compared += 1
        moec("compile", *common, "--target", "host", "--to", "fuse")
        logits = os.path.join(folder, "interpreter.npy")
        execute([program("moe-interpret"), prefix + ".fuse.mlir", *map(str, ["--ids", comma(PROMPT), "--greedy", 4]),
                 "--logits", logits])
        check(same_files(first, logits), f"{name}, {quant}: logits of the interpreter differ from this machine's")
        print(f"{name}, {quant}: {compared + 1} files of logits are the same")
        return compared + 1
