# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""The commands that README.md, docs/first-read.md and examples/README.md show run as they stand."""
import os
import re

from moectest import BUILD, SOURCE, check, execute, scratch

DOCUMENTS = ("README.md", "docs/first-read.md", "examples/README.md")
# Installing, building and the whole test run have their own tests.
PROGRAMS = ("build/bin/", "/usr/lib/llvm-22/bin/")

for document in DOCUMENTS:
    with open(os.path.join(SOURCE, document), encoding="utf-8") as file:
        blocks = re.findall(r"^```\n(.*?)^```", file.read(), re.S | re.M)
    commands = [line for block in blocks for line in block.splitlines() if line.startswith(PROGRAMS)]
    check(commands, f"{document} shows no command")
    with scratch() as folder:
        os.symlink(BUILD, os.path.join(folder, "build"))
        os.symlink(os.path.join(SOURCE, "examples"), os.path.join(folder, "examples"))
        for command in commands:
            print(document, command)
            result = execute(["bash", "-o", "pipefail", "-c", command], cwd=folder)
            check(result.out.strip() or "compile" in command, f"{document}: no output from {command}")
