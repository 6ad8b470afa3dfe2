# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Text on which MLIR's parser would end with a signal is refused with file and line, by every program that reads it."""
import os

from moectest import expect_error, execute, program, scratch

DEEP = 200000
TEXTS = (
    ("module attributes {a =\n" + "[" * DEEP, "nested deeper than 200"),
    ("module {\n" + "module {" * DEEP, "nested deeper than 200"),
    ("module attributes {\na = affine_map<(d0) -> (" + "-" * DEEP + "d0)>} {}", "nested deeper than 200"),
    ("module attributes {\na = array <index: 1>} {}", "array<index>"),
)
with scratch() as folder:
    path = os.path.join(folder, "deep.mlir")
    for text, found in TEXTS:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        for command in (["moec", "compile", "--from", "plan", path, "-o", os.path.join(folder, "out")],
                        ["moe-opt", path], ["moe-interpret", path]):
            expect_error(execute([program(command[0]), *command[1:]], code=None), "deep.mlir:2: ", found)
