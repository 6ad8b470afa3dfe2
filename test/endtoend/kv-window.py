# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A sliding window with sinks: the logits of the interpreter, memory that stays constant, compiled or set at run time.

400 tokens are fed with a window of 50: eight times the window, and ring blocks are used again twice.
"""
import json
import os

from moectest import (DEMO, check, comma, compiled, execute, expect_error, heldout_ids, largest_difference, moec,
                      program, read_npy, report, run, run_json, same_files, scratch)

WINDOW, SINKS, TOKENS = 50, 4, 400
FLAGS = ("--window", WINDOW, "--sinks", SINKS)
prompt = comma(heldout_ids(TOKENS))


def logits(prefix, path, *flags):
    found = run_json(prefix, "--ids", prompt, "--max-tokens", 1, "--greedy", "--logits", path, *flags)
    return found


with scratch() as folder:
    def file(name):
        return os.path.join(folder, name)

    # The meaning, in f32. One unit of 2e-4 is what two orders of summation may differ by (f32-logits-equal-golden).
    moec("compile", DEMO, "--target", "host", "--quant", "f32", *FLAGS, "--to", "import", "-o", file("meaning"))
    execute([program("moe-interpret"), file("meaning.import.mlir"), "--ids", prompt, "--greedy", "0", "--logits",
             file("meaning.npy")])
    floats = compiled("f32", "host", *FLAGS)
    logits(floats, file("f32.npy"))
    wanted, found = read_npy(file("meaning.npy"))[1], read_npy(file("f32.npy"))[1]
    worst = largest_difference(wanted, found)
    print(f"largest difference to the interpreter: {worst:.2e}")
    check(worst <= 2e-4, f"logits differ from the interpreter's by {worst}")
    logits(compiled("f32"), file("all.npy"))
    seen = WINDOW * 2048
    everything = read_npy(file("all.npy"))[1]
    check(found[:seen] == everything[:seen], "the first 50 rows do not equal those without a window")
    check(largest_difference(found[seen:], everything[seen:]) > 0.01, "the window changes nothing")

    # Integer builds: the same bytes whether compiled or set at run time, for any threads and chunk.
    plain, built = compiled("int8"), compiled("int8", "host", *FLAGS)
    first = None
    for prefix, flags in ((built, ()), (plain, FLAGS), (plain, (*FLAGS, "--threads", 1, "--chunk", 1)),
                          (built, ("--threads", 3, "--chunk", 33))):
        path = file(f"{len(os.listdir(folder))}.npy")
        logits(prefix, path, *flags)
        first = first or path
        check(same_files(first, path), f"logits of {prefix} with {flags} differ")

    # One block of sinks; 50 positions and a chunk of 64, less one, touch at most 3.
    block = report(plain)["bytes_by_class"]["kv"] // 16
    check(report(built)["bytes_by_class"]["kv"] == 4 * block, f"kv {report(built)['bytes_by_class']['kv']}")
    full = run_json(plain, "--ids", prompt, "--max-tokens", 1)
    short = run_json(plain, "--ids", prompt, "--max-tokens", 1, *FLAGS)
    # Classes are rounded up to pages of 16 KiB.
    check(abs(full["plan_bytes"] - short["plan_bytes"] - 12 * block) <= 16384,
          f"plan {full['plan_bytes']} and with a window {short['plan_bytes']}, a block has {block}")

    # A checkpoint's own window is taken.
    os.mkdir(file("model"))
    for name in os.listdir(DEMO):
        os.symlink(os.path.join(DEMO, name), os.path.join(file("model"), name))
    with open(os.path.join(DEMO, "config.json"), encoding="utf-8") as stream:
        config = json.load(stream)
    os.remove(os.path.join(file("model"), "config.json"))
    with open(os.path.join(file("model"), "config.json"), "w", encoding="utf-8") as stream:
        json.dump({**config, "use_sliding_window": True, "sliding_window": 48}, stream)
    for flags, window in (((), 48), (FLAGS, WINDOW)):
        moec("compile", file("model"), "--target", "host", *flags, "--to", "import", "-o", file("own"))
        with open(file("own.import.mlir"), encoding="utf-8") as stream:
            check(f"window = {window}" in stream.read(), f"expected a window of {window} with {flags}")

    # No sinks are told from those that were compiled.
    for name, prefix, flags in (("none", built, ("--sinks", 0)), ("plain", plain, ("--window", WINDOW, "--sinks", 0))):
        check("window" in str(logits(prefix, file(name + ".npy"), *flags)["lossy"]), f"{name} does not say it is lossy")
    check(same_files(file("none.npy"), file("plain.npy")), "--sinks 0 on compiled sinks is not a window without sinks")
    check(not same_files(file("none.npy"), first), "--sinks 0 changes nothing")

    # A compiled window can only shrink.
    half = run_json(built, "--ids", prompt, "--max-tokens", 1, "--window", 25)
    check(half["plan_bytes"] <= short["plan_bytes"], f"plan {half['plan_bytes']} with half the window")
    wide, alone = (run(prefix, "--ids", "1,2", *flags, code=2).err
                   for prefix, flags in ((built, ("--window", 500)), (plain, ("--sinks", 4))))
    check("--window 500" in wide and "compiled window 50" in wide, wide)
    check("--sinks is 4 without a window" in alone, alone)
    expect_error(moec("compile", DEMO, "--target", "host", "--window", 2000, "-o", file("x"), code=None), "--window")
    expect_error(moec("compile", DEMO, "--target", "host", "--window", 9, "--sinks", 1024, "-o", file("x"), code=None),
                 "--sinks")
    check("--window" in moec("compile", DEMO, "--target", "host", "--sinks", 4, "-o", file("x"), code=2).err,
          "--sinks alone is wrong usage that names --window")
    check("--window" in moec("compile", DEMO, "--target", "host", "--window", 0, "-o", file("x"), code=2).err,
          "a window of 0 is wrong usage")
