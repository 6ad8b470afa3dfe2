# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""The program of docs/c-api.md compiles as C and writes what moe-run writes."""
import os

from moectest import SOURCE, check, compiled, execute, run, scratch

prefix = compiled("int8")
with scratch() as folder:
    app = os.path.join(folder, "story-app")
    execute(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(SOURCE, "include"),
             os.path.join(SOURCE, "examples", "c-api", "story.c"), "-ldl", "-o", app])
    told = execute([app, prefix + ".so", prefix + ".moepack", "Once upon a time"])
    expected = [run(prefix, "--prompt", "Once upon a time", "--max-tokens", 24, *flags).out
                for flags in (["--greedy"], ["--temperature", 0.8, "--top-k", 0, "--top-p", 1, "--seed", 1])]
    check(told.out == "\n".join([*expected, ""]), f"the program wrote {told.out!r}, moe-run {expected}")
    refused = execute([app, prefix + ".so", "/nowhere.moepack", "x"], code=1)
    check("nowhere.moepack" in refused.err, f"the message lacks the file: {refused.err!r}")
