# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Exit codes: 0 right, 1 the input is at fault, 2 wrong usage; the message names the flag and the valid values."""
from moectest import DEMO, check, compiled, execute, moec, program, run

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
