# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A run says what slowed it down: experts that are read slowly, cores that others use, memory that is swapped, clocks
that are lowered; and nothing where nothing did. The last two come from a described machine."""
import os
import subprocess
import sys

from machine import CPU, Machine
from moectest import check, compiled, run, run_json, scratch

PREFIX = compiled("mixed")
FLAGS = ("--ids", "1,2,3", "--greedy")



def causes(*flags, tokens=16):
    slow = run_json(PREFIX, *FLAGS, "--max-tokens", tokens, *flags)["slow"]
    shares = [cause["share"] for cause in slow]
    check(shares == sorted(shares, reverse=True) and all(0.05 <= share <= 1 for share in shares), f"shares: {slow}")
    return {cause["cause"]: cause["share"] for cause in slow}


def besides_flash(found):
    """A model of this size is computed sooner than its experts are read, which is a cause of its own."""
    return [cause for cause in found if cause != "flash"]


with scratch() as folder:
    machine = Machine(os.path.join(folder, "root"))
    machine.write("proc/self/schedstat", "900000000 0 12")
    machine.write("proc/self/stat", "17 (moe-run) R 1 1 1 0 -1 4194304 900 0 0 0 3 1")
    quiet = ("--root", machine.root)
    found = causes(*quiet)
    check(besides_flash(found) == [], f"a clean run: {found}")
    text = run(PREFIX, *FLAGS, "--max-tokens", 4, *quiet).err
    check(not any(cause in text for cause in ("swap", "oversubscribed", "throttled")), f"a clean run: {text}")

    # Far more than the demo model can compute meanwhile.
    flash = causes("--memory", "4MB", "--delay-reads", 2000, *quiet)
    check(list(flash) == ["flash"] and flash["flash"] > 0.5, f"slow reads: {flash}")
    for name, content, cause in (
            ("proc/self/stat", "17 (moe-run) R 1 1 1 0 -1 4194304 900 0 1000000 0 3 1", "swap"),
            ("proc/self/schedstat", "900000000 99000000000 12", "oversubscribed"),
            (CPU.format(7) + "cpufreq/scaling_max_freq", 1_200_000, "throttled")):
        with machine.changed(name, content):
            found = causes(*quiet)
            check(besides_flash(found) == [cause], f"{name}: {found}")
            check(cause != "throttled" or abs(found[cause] - 0.6) < 1e-6, f"1.2 of 3 GHz: {found}")
            text = run(PREFIX, *FLAGS, "--max-tokens", 4, *quiet).err
            check("slowed down by: " in text and cause in text, text)
            bench = run(PREFIX, "--bench", "-p", 4, "-n", 4, "-r", 1, "--json", *quiet).json()
            check(besides_flash(entry["cause"] for entry in bench["slow"]) == [cause], f"--bench: {bench}")

    # Three programs that never rest, on the core of the run.
    core = min(os.sched_getaffinity(0))
    busy = [subprocess.Popen([sys.executable, "-c", f"import os; os.sched_setaffinity(0, [{core}])\nwhile 1: pass"])
            for _ in range(3)]
    try:
        found = causes("--cpus", core, "--threads", 1, tokens=900)
    finally:
        for program in busy:
            program.kill()
            program.wait()
    check(next(iter(found), None) == "oversubscribed", f"a core that others use: {found}")
