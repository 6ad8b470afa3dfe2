#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions and estimated cycles of the generated ARM64 linear kernels, as the table of docs/benchmarks-arm64.md.

Counts come from emulation with the plugin tools/dev/count-blocks.c: every instruction of one call of the kernel, the
whole loop nest, for a matrix of 768 rows and 2048 columns. Cycles are those of llvm-mca for each innermost loop, times
how often the loop's body ran. Both are divided by the weights (1 token) or by the multiply-accumulates (8 tokens).
"""
import argparse
import collections
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCUMENT = os.path.join(ROOT, "docs", "benchmarks-arm64.md")
BEGIN, END = "<!-- begin of the generated table -->", "<!-- end of the generated table -->"
ROWS, COLUMNS = 768, 2048
LEVELS = {"neon": "+neon", "dotprod": "+dotprod,+fullfp16", "i8mm": "+dotprod,+fullfp16,+i8mm"}
CORES = ("cortex-x4", "cortex-a720", "cortex-a510")
ENCODINGS = ["i4_g32", "i4_g64", "i4_g128", "i4m_g32", "i4m_g64", "i4m_g128", "i6_g32", "i6_g64", "i6_g128", "i8_g32",
             "i8_g64", "i8_g128", "i8m_g32", "i8m_g64", "i8m_g128", "f16"]
TOKENS = (1, 8)
TOLERANCE = 0.02

DRIVER = """
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
%(declarations)s
static unsigned char memory[8][1 << 23] __attribute__((aligned(4096)));
int main(int argc, char **argv) {
  long tokens = atol(argv[2]);
  void *w = memory[0], *a = memory[1], *b = memory[2], *c = memory[3], *y = memory[4];
  (void)argc;
%(calls)s
  return 1;
}
"""


def run(*command):
    try:
        completed = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    except OSError as error:
        sys.exit(f"error: {command[0]} cannot be run: {error.strerror}; needed are cc, aarch64-linux-gnu-gcc, "
                 "qemu-aarch64, the tools of LLVM and arm-kernel-objects of the build")
    if completed.returncode != 0:
        sys.exit(f"error: {' '.join(command)} ended with {completed.returncode}: {completed.stderr.decode()[-2000:]}")
    return completed.stdout.decode()


def tool(name):
    path = os.path.join(os.environ.get("MOEC_LLVM", "/usr/lib/llvm-22"), "bin", name)
    return path if os.path.exists(path) else name


def build_program(folder, level):
    """One program with all kernels of a level; main(NAME, TOKENS) calls one of them once."""
    declarations, calls = [], []
    for name in ENCODINGS:
        inputs = 1 if name == "f16" else 3
        parameters = ["void *"] * (2 + inputs) + ["long"] * 4
        declarations.append(f"void {name}({', '.join(parameters)});")
        arguments = ["w", *"abc"[:inputs], "y", "tokens", "0", "0", str(ROWS // 32)]
        calls.append(f'  if (!strcmp(argv[1], "{name}"))\n    return {name}({", ".join(arguments)}), 0;')
    source = os.path.join(folder, "driver.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(DRIVER % {"declarations": "\n".join(declarations), "calls": "\n".join(calls)})
    program = os.path.join(folder, level)
    run("aarch64-linux-gnu-gcc", "-O1", "-static", source, os.path.join(folder, level + ".o"), "-o", program)
    return program


def functions_of(program):
    result = {}
    for line in run(tool("llvm-nm"), "--print-size", program).splitlines():
        fields = line.split()
        if len(fields) == 4 and fields[3] in ENCODINGS:
            result[fields[3]] = (int(fields[0], 16), int(fields[1], 16))
    return result


def instructions_of(program, names):
    """Text of the instruction at each address of the kernels."""
    output = run(tool("llvm-objdump"), "-d", "--no-show-raw-insn", "--disassemble-symbols=" + ",".join(names), program)
    result = {}
    for line in output.splitlines():
        match = re.match(r"\s*([0-9a-f]+):\s+(.*)", line)
        if match:
            result[int(match.group(1), 16)] = re.sub(r"\s*(<.*>|//.*)$", "", match.group(2))
    return result


def blocks_of(plugin, program, name, tokens, folder):
    """Blocks (address, instructions) -> executions, of one call."""
    output = os.path.join(folder, "blocks.txt")
    run("qemu-aarch64", "-cpu", "max", "-plugin", f"{plugin},out={output}", program, name, str(tokens))
    blocks = collections.Counter()
    with open(output, encoding="utf-8") as file:
        for line in file:
            address, instructions, executions = map(int, line.split())
            blocks[address, instructions] += executions
    return blocks


def branch_target(text):
    match = re.search(r"0x([0-9a-f]+)$", text)
    return int(match.group(1), 16) if match and re.match(r"(b|b\..*|cbn?z|tbn?z)\s", text) else None


def innermost_loops(instructions, blocks, start, size):
    """Loops without loop inside: (texts of a body, how often it ran)."""
    backward = []
    for at in range(start, start + size, 4):
        target = branch_target(instructions[at])
        if target is not None and start <= target <= at:
            backward.append((target, at))
    loops = []
    for first, last in backward:
        if any(other != (first, last) and first <= other[0] and other[1] <= last for other in backward):
            continue
        ran = sum(n for (at, count), n in blocks.items() if at <= last < at + 4 * count)
        loops.append(([instructions[at] for at in range(first, last + 4, 4)], ran))
    return loops


def cycles(bodies, level, core, folder):
    """llvm-mca's cycles of one execution of each body, in the middle of many."""
    source = os.path.join(folder, "loops.s")
    with open(source, "w", encoding="utf-8") as file:
        for number, body in enumerate(bodies):
            file.write(f"# LLVM-MCA-BEGIN {number}\n")
            file.writelines(re.sub(r"0x[0-9a-f]+$", "-16", line) + "\n" if branch_target(line) else line + "\n"
                            for line in body)
            file.write("# LLVM-MCA-END\n")
    iterations = 50
    output = run(tool("llvm-mca"), "-mtriple=aarch64", f"-mcpu={core}", f"-mattr={LEVELS[level]}", "--json",
                 f"--iterations={iterations}", source)
    regions = json.loads(output)["CodeRegions"]
    return [region["SummaryView"]["TotalCycles"] / iterations for region in regions]


def measure(objects, folder):
    run(objects, folder)
    plugin = os.path.join(folder, "count-blocks.so")
    run("cc", "-O1", "-shared", "-fPIC", os.path.join(ROOT, "tools", "dev", "count-blocks.c"), "-o", plugin)
    rows = []
    for level in LEVELS:
        program = build_program(folder, level)
        functions = functions_of(program)
        instructions = instructions_of(program, functions)
        cases, bodies = [], []
        for name in ENCODINGS:
            start, size = functions[name]
            for tokens in TOKENS:
                blocks = blocks_of(plugin, program, name, tokens, folder)
                total = sum(count * n for (at, count), n in blocks.items() if start <= at < start + size)
                loops = [loop for loop in innermost_loops(instructions, blocks, start, size) if loop[1] > 0]
                cases.append((name, tokens, total, [(len(bodies) + i, loop[1]) for i, loop in enumerate(loops)]))
                bodies.extend(body for body, _ in loops)
        estimates = {core: cycles(bodies, level, core, folder) for core in CORES}
        for name, tokens, total, loops in cases:
            work = ROWS * COLUMNS * tokens
            rows.append((level, name, tokens, total / work,
                         *(sum(estimates[core][i] * n for i, n in loops) / work for core in CORES)))
    return rows


def table_of(rows):
    lines = ["| level | encoding | tokens | instructions | cycles X4 | A720 | A510 |", "|---|---|---|---|---|---|---|"]
    for level, name, tokens, *figures in rows:
        numbers = " | ".join(f"{figure:.4f}" for figure in figures)
        lines.append(f"| {level} | `{name.replace('_g', '/')}` | {tokens} | {numbers} |")
    return "\n".join(lines) + "\n"


def compare(old, new):
    """Lines that differ by more than the tolerance."""
    wrong = []
    old_lines, new_lines = old.strip().splitlines(), new.strip().splitlines()
    if len(old_lines) != len(new_lines):
        return [f"{len(old_lines)} lines in the document, {len(new_lines)} now"]
    for before, after in zip(old_lines, new_lines):
        left, right = ([field.strip() for field in line.strip("|").split("|")] for line in (before, after))
        same = left[:3] == right[:3]
        for a, b in zip(left[3:], right[3:]):
            try:
                same = same and abs(float(a) - float(b)) <= TOLERANCE * float(a) + 0.00005
            except ValueError:
                same = same and a == b
        if not same:
            wrong.append(f"document: {before}\nnow:      {after}")
    return wrong


def pattern(text):
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"is no regular expression: {error}") from None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", required=True, help="the program arm-kernel-objects of the build")
    parser.add_argument("--write", action="store_true", help="write the table into docs/benchmarks-arm64.md")
    parser.add_argument("--check", action="store_true", help="compare it with the document's, within 2 %%")
    parser.add_argument("--only", type=pattern, help="regular expression over levels")
    parser.add_argument("--keep", default="", help="folder for the objects and programs, which stays")
    arguments = parser.parse_args()
    if arguments.only and (arguments.write or arguments.check):
        parser.error("--only measures a part of the table, but --write and --check need all of it")
    for level in list(LEVELS):
        if arguments.only and not arguments.only.search(level):
            del LEVELS[level]
    if not LEVELS:
        parser.error(f"--only matches no level, expects some of neon, dotprod and i8mm: {arguments.only.pattern}")
    if arguments.keep:
        os.makedirs(arguments.keep, exist_ok=True)
    with contextlib.nullcontext(arguments.keep) if arguments.keep else tempfile.TemporaryDirectory() as folder:
        table = table_of(measure(arguments.objects, folder))
    if not (arguments.write or arguments.check):
        print(table, end="")
        return
    with open(DOCUMENT, encoding="utf-8") as file:
        head, rest = file.read().split(BEGIN)
    old, tail = rest.split(END)
    if arguments.write:
        with open(DOCUMENT + ".partial", "w", encoding="utf-8") as file:
            file.write(f"{head}{BEGIN}\n{table}{END}{tail}")
        os.replace(DOCUMENT + ".partial", DOCUMENT)
    elif wrong := compare(old, table):
        sys.exit("\n".join(wrong) + f"\n{len(wrong)} rows of docs/benchmarks-arm64.md differ by more than 2 %; if this "
                 "is meant, run tools/dev/count-arm-instructions.py with --write")


if __name__ == "__main__":
    main()
