# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A disk that fills up, at every writer: one message that names the file, exit code 1, nothing left.

Two kinds of full disk: a limit on the size of a file, which everybody can set, and a small file system, for root.
"""
import os
import resource
import signal
import subprocess

from moectest import check, execute, expect_error, moec, program, scratch
from tinymodel import TinyModel


def limited(limit):
    def set_up():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return set_up


def run_limited(limit, command, stdout=None):
    completed = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=stdout or subprocess.PIPE,
                               stderr=subprocess.PIPE, preexec_fn=limited(limit), timeout=300, check=False)
    err = completed.stderr.decode("utf-8", "replace")
    signs = [sign for sign in ("LLVM ERROR", "Stack dump", "PLEASE submit", "Assertion") if sign in err]
    check(completed.returncode == 1 and not signs, f"{command} under {limit}: {completed.returncode}\n{err}")
    check(len([line for line in err.splitlines() if "error" in line or "cannot" in line]) == 1, err)
    return err


def compile_command(model, out, *flags):
    return [program("moec"), "compile", model, "--target", "host", "--quant", "int8", "--quiet", *flags, "-o", out]


with scratch() as folder:
    model = TinyModel(folder).write()
    kept, work = os.path.join(folder, "kept"), os.path.join(folder, "work")
    os.mkdir(kept)
    os.mkdir(work)
    good = os.path.join(kept, "m")
    moec(*compile_command(model, good, "--dump-phases-to", os.path.join(kept, "dump"))[1:])
    sizes = {suffix: os.path.getsize(good + suffix) for suffix in (".so", ".moepack", ".report.json")}
    # The pack is written first: the largest limit below it meets the pack, a limit below the library the link.
    for limit in sorted({0, 100, 20000, sizes[".moepack"] - 1, max(sizes.values()) - 1}):
        err = run_limited(limit, compile_command(model, os.path.join(work, "m")))
        check("m." in err, f"the message names no output: {err}")
        check(not os.listdir(work), f"limit {limit} left {os.listdir(work)}")
    plan = os.path.join(kept, "dump", "m.plan.mlir")
    for limit in (0, 5000):
        check(".mlir" in run_limited(limit, compile_command(model, os.path.join(work, "m"), "--to", "plan")), "name")
        check(not os.listdir(work), f"--to plan left {os.listdir(work)}")
    imported = [os.path.join(kept, "dump", name) for name in os.listdir(os.path.join(kept, "dump")) if "import" in name]
    npy = os.path.join(work, "logits.npy")
    for command in ([program("moe-run"), good + ".so", "--ids", "1,2,3", "--max-tokens", "2", "--logits", npy,
                     "--quiet"],
                    [program("moe-interpret"), imported[0], "--ids", "1,2,3", "--logits", npy]):
        for limit in (0, 200, 2000):
            check("logits.npy" in run_limited(limit, command), "the message names no file")
            check(not os.listdir(work), f"{command[0]} left {os.listdir(work)}")
    # What goes to stdout is an output too.
    for command in ([program("moec"), "report", good + ".so", "--json"],
                    [program("moe-pack"), "list", good + ".moepack"],
                    [program("moe-interpret"), imported[0], "--ids", "1", "--greedy", "8"],
                    [program("moe-run"), good + ".so", "--ids", "1,2,3", "--max-tokens", "2", "--json"]):
        with open(os.path.join(work, "stdout"), "w", encoding="utf-8") as file:
            run_limited(3, command, file)
        os.remove(os.path.join(work, "stdout"))
    small = os.path.join(folder, "small")
    os.mkdir(small)
    total = sum(sizes.values())
    for lacking in (total - 8192, total // 2, 12288, 4096) if os.geteuid() == 0 else ():
        size = (total + 12288 - lacking) // 4096 * 4096
        mounted = execute(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", small], code=None)
        if mounted.code != 0:
            print("no small file system is made here: mount is refused")
            break
        try:
            result = moec(*compile_command(model, os.path.join(small, "m"))[1:], code=None)
            left = sorted(os.listdir(small))
        finally:
            execute(["umount", small])
        if result.code != 0:
            expect_error(result, "m.")
            check(not left, f"a disk of {size} bytes: left {left}")
