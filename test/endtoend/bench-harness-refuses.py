# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""The programs of benchmarks/ end with one error where a flag, a folder or a program is wrong, and leave no file."""
import os
import sys

from moectest import BIN, SOURCE, check, execute, scratch


def refuse(folder, code, text, script, *flags):
    ran = execute([sys.executable, os.path.join(SOURCE, "benchmarks", script), *flags], code=code)
    check(text in ran.err and "Traceback" not in ran.err, f"{script} {flags}: {ran.err}")
    check(os.listdir(folder) == ["file"], f"{script} {flags} left {os.listdir(folder)}")


TOKENS = "measure-tokens.py"
with scratch() as parent:
    file, nowhere = os.path.join(parent, "file"), os.path.join(parent, "nowhere")
    with open(file, "w", encoding="utf-8"):
        pass
    below = os.path.join(file, "models")
    refuse(parent, 2, "invalid choice: 'speed'", TOKENS, "speed", "--models", below)
    for flag in ("--tokens", "--repetitions", "--threads", "--depth", "--prompts", "--read-bytes"):
        refuse(parent, 2, "expects a number from 1, but got '0'", TOKENS, "joins", "--models", below, flag, "0")
    refuse(parent, 2, "expects a number from 1, but got '3x4'", TOKENS, "scaling", "--models", below, "--shapes",
           "2x3x4")
    refuse(parent, 2, "but got 'int5/32'", TOKENS, "decode", "--models", below, "--quant", "int4/32,int5/32")
    refuse(parent, 1, f"error: {below}: Not a directory", TOKENS, "joins", "--models", below)
    refuse(parent, 1, "is not a folder", TOKENS, "joins", "--models", below, "--json", os.path.join(nowhere, "rows"))
    refuse(parent, 1, f"error: {nowhere}/kernel-bandwidth: No such file", "measure-kernels.py", "--programs", nowhere)
    refuse(parent, 1, "is not a folder", "layer-steps.py", "--models", below, "--json", os.path.join(nowhere, "rows"))
    refuse(parent, 1, "cannot open shared object file", "harness/moec_worker.py", nowhere)
    refuse(parent, 1, "cannot open shared object file", "harness/paged_worker.py", nowhere)
    PAGING = "measure-paging.py"
    refuse(parent, 2, "invalid choice: 'speed'", PAGING, "speed", "--model", nowhere)
    refuse(parent, 2, "peer-mmap needs --peer-python", PAGING, "peer-mmap", "--model", nowhere)
    refuse(parent, 2, "--our-budgets needs 2 as --budgets, but got 1", PAGING, "bound", "--model", nowhere, "--budgets",
           "50,min", "--our-budgets", "50")
    refuse(parent, 2, "peer-stream needs --peer-model", PAGING, "peer-stream", "--model", nowhere, "--stream-peer", "x")
    for value in ("0", "101", "half", ""):
        refuse(parent, 2, f"expects percents from 1 to 100 or 'min', but got '{value}'", PAGING, "bound", "--model",
               nowhere, "--budgets", f"50,{value}")
    refuse(parent, 1, f"error: {nowhere}.report.json: No such file", PAGING, "bound", "--model", nowhere)
    refuse(parent, 1, "is not a folder", PAGING, "bound", "--model", nowhere, "--json", os.path.join(nowhere, "rows"))

with scratch() as folder:
    models = os.path.join(folder, "models")
    for flags, text in ((("--target", "pdp11"), "error: ended with code 2: "),
                        (("--programs", folder), f"error: {folder}/moec: No such file")):
        ran = execute([sys.executable, os.path.join(SOURCE, "benchmarks", TOKENS), "joins", "--tiny", "--models",
                       models, "--programs", BIN, *flags], code=1)
        check(text in ran.err and "Traceback" not in ran.err, f"{flags}: {ran.err}")
        check(os.listdir(models) == ["tiny-q2e4.json"], f"{flags} left {os.listdir(models)}")
