# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Flags out of range, of a wrong kind, or given twice: exit code 2 and one message with the flag and what it takes."""
import os

from moectest import check, compiled, execute, program, scratch

prefix = compiled("mixed")
LIBRARY, PACK = prefix + ".so", prefix + ".moepack"
COMPILE = ("compile", "model", "--target", "host", "-o", "out")
RUN = (LIBRARY, "--prompt", "a")
CASES = (
    ("moec", (*COMPILE, "--threads", "0"), "--threads", "1 to 256"),
    ("moec", (*COMPILE, "--context", "0"), "--context", "1 to"),
    ("moec", (*COMPILE, "--context", str(2 ** 40)), "--context", str(2 ** 40)),
    ("moec", (*COMPILE, "--context", "64", "--chunk", "65"), "--chunk is 65", "--context 64"),
    ("moec", (*COMPILE, "--chunk", "-1"), "--chunk"),
    ("moec", (*COMPILE, "--memory", "0"), "--memory"),
    ("moec", (*COMPILE, "--memory", "1e99GB"), "--memory"),
    ("moec", (*COMPILE, "--group", "48"), "--group", "48"),
    ("moec", (*COMPILE, "--quant", "int4", "--quant", "int8"), "--quant is given twice"),
    ("moec", (*COMPILE, "--strict", "--strict"), "--strict is given twice"),
    ("moec", (*COMPILE, "--target", "host"), "--target is given twice"),
    ("moec", (*COMPILE, "--part-size"), "--part-size", "expects 1 value"),
    ("moe-run", (*RUN, "--threads", "0"), "--threads", "1 to 64"),
    ("moe-run", (*RUN, "--threads", "65"), "--threads", "1 to 64"),
    ("moe-run", (*RUN, "--lanes", "17"), "--lanes", "1 to 16"),
    ("moe-run", (*RUN, "--context", "0"), "--context"),
    ("moe-run", (*RUN, "--context", str(2 ** 40)), "--context"),
    ("moe-run", (*RUN, "--chunk", "65"), "--chunk", "64"),
    ("moe-run", (*RUN, "--temperature", "nan"), "--temperature"),
    ("moe-run", (*RUN, "--seed", str(2 ** 64)), "--seed"),
    ("moe-run", (*RUN, "--seed", "1", "--seed", "2"), "--seed is given twice"),
    ("moe-run", (*RUN, "--json", "--json"), "--json is given twice"),
    ("moe-run", (*RUN, "--prompt", "b"), "--prompt is given twice"),
    ("moe-run", (LIBRARY, "--ids", "1,,2"), "--ids", "1,,2"),
    ("moe-run", (LIBRARY, "--ids", "1,2,"), "--ids", "1,2,"),
    ("moe-run", (LIBRARY, "--ids", ",1"), "--ids", ",1"),
    ("moe-run", (LIBRARY, "--ids", "1 2"), "--ids", "1 2"),
    ("moe-run", (LIBRARY, "--ids", "0x10"), "--ids", "0x10"),
    ("moe-run", (LIBRARY, "--ids", str(2 ** 31)), "--ids", str(2 ** 31)),
    ("moe-pack", ("verify", PACK, "--threads", "0"), "--threads", "1 to 256"),
    ("moe-pack", ("verify", PACK, "--json", "--json"), "--json is given twice"),
    ("moe-pack", ("verify", PACK, "--threads", "1", "--threads", "2"), "--threads is given twice"),
    ("moe-interpret", ("m.mlir", "--ids", "1,,2"), "--ids", "1,,2"),
    ("moe-interpret", ("m.mlir", "--greedy", "1", "--greedy", "2"), "--greedy is given twice"),
)
with scratch() as folder:
    for name, arguments, *texts in CASES:
        result = execute([program(name), *arguments], code=2, cwd=folder)
        check(not result.out, f"stdout is not empty: {result.command}")
        check(len(result.err.splitlines()) <= 2, f"more than one message: {result.command}\n{result.err}")
        for text in texts:
            check(text in result.err, f"the message lacks {text!r}: {result.command}\n{result.err}")
    check(not os.listdir(folder), f"left {os.listdir(folder)}")
# A space behind a comma is not worth a message; spaces alone are an empty prompt.
execute([program("moe-run"), LIBRARY, "--ids", " 1, 2 ,3 ", "--max-tokens", "1", "--quiet"])
execute([program("moe-run"), LIBRARY, "--ids", " ", "--quiet"], code=1)
