# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Exit codes: 0 right, 1 the input or the machine is at fault, 2 wrong usage, 3 it will run badly; the message has the
flag and its valid values."""
import os

from machine import THERMAL, Machine
from moectest import DEMO, check, compiled, execute, moec, program, run, scratch

for name in ("moec", "moe-run", "moe-pack", "moe-opt"):
    shown = execute([program(name), "--help"])
    check(len(shown.out.splitlines()) > 5, f"{name} --help prints {shown.out!r}")
check("moec compile" in moec("--help").out, "moec --help shows no example")
check("moec compile" in moec("compile", "--help").out, "moec compile --help shows no example")

WRONG = (
    (moec("compile", DEMO, "--target", "host", "--quant", "int3", "-o", "x", code=2), ("--quant", "int4", "int8")),
    (moec("compile", DEMO, "--target", "toaster", "-o", "x", code=2), ("--target", "host", "arm64")),
    (moec("compile", DEMO, "--target", "host", "--kv", "f8", "-o", "x", code=2), ("--kv", "int8")),
    (moec("compile", DEMO, "--target", "host", "--to", "nowhere", "-o", "x", code=2), ("--to", "import", "link")),
    (moec("compile", DEMO, "--target", "host", "--memory", "10XB", "-o", "x", code=2), ("--memory", "10XB")),
    (moec("compile", DEMO, "--target", "host", "--bogus", "-o", "x", code=2), ("--bogus",)),
    (moec("compile", "--target", "host", "-o", "x", code=2), ("MODEL",)),
    (moec("frobnicate", code=2), ("frobnicate", "compile")),
    (run(compiled("mixed"), "--prompt", "a", "--threads", "none", code=2), ("--threads",)),
    (run(compiled("mixed"), "--prompt", "a", "--greedy", "--temperature", "1", code=2), ("--greedy", "--temperature")),
    (run(compiled("mixed"), "--prompt", "a", "--ids", "1", code=2), ("--prompt", "--ids")),
)
for result, texts in WRONG:
    for text in texts:
        check(text in result.err, f"the message lacks {text!r}: {result.command}\n{result.err}")
check(moec("compile", "/nowhere/model", "--target", "host", "-o", "x", code=1).err, "no message for a missing model")

with scratch() as folder:
    doctor = ("--doctor", "--root", os.path.join(folder, "root"))
    machine = Machine(doctor[2])
    run(compiled("mixed"), *doctor, code=0)
    run(compiled("mixed"), *doctor, "--memory", "1MB", code=1)
    run(compiled("mixed"), *doctor, "--prompt", "a", code=2)
    machine.write(THERMAL + "thermal_zone0/temp", 90_000)
    run(compiled("mixed"), *doctor, code=3)
