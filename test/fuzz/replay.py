# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""The readers survive the fuzzers' seeds and everything that the fuzzers ever found (test/fuzz, docs/debugging.md)."""
import glob
import os

from moectest import BUILD, SOURCE, check, execute

FUZZ = os.path.join(SOURCE, "test", "fuzz")
for target in ("safetensors", "gguf", "config", "tokenizer", "pack", "module"):
    files = sorted(glob.glob(os.path.join(FUZZ, "c*", target, "*")))
    check(files, f"no seeds for {target}")
    execute([os.path.join(BUILD, "test", "unit", "fuzz-replay"), target, *files])
