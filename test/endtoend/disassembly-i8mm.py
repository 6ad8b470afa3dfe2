# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""The i8mm build multiplies with smmla (many tokens) and sdot (one token), with few spills or none in those loops."""
import os
import re

from moectest import check, compiled, execute

LLVM = os.environ["MOEC_LLVM"]
listing = execute([os.path.join(LLVM, "bin", "llvm-objdump"), "-d", "--no-show-raw-insn",
                   compiled("mixed", "arm64-i8mm") + ".so"]).out
LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)\s*(.*)$")
code = [(int(m[1], 16), m[2], m[3]) for m in map(LINE.match, listing.splitlines()) if m]
index_of = {address: index for index, (address, _, _) in enumerate(code)}
BRANCH = re.compile(r"0x([0-9a-f]+)")


def loops():
    """Index ranges of innermost loops: a branch back over code that has no other branch back."""
    ranges = []
    for index, (_, name, operands) in enumerate(code):
        target = BRANCH.search(operands)
        if not target or not (name.startswith(("b.", "cb", "tb")) or name == "b"):
            continue
        begin = index_of.get(int(target[1], 16))
        if begin is not None and begin <= index:
            ranges.append((begin, index))
    return [r for r in ranges if not any(o != r and r[0] <= o[0] and o[1] <= r[1] for o in ranges)]


def is_frame_pointer(begin):
    """Whether x29 points into the stack at `begin`; without frame pointers it is a register like others."""
    for _, name, operands in reversed(code[:begin]):
        if operands.startswith("x29,") and not name.startswith("st"):
            return "sp" in operands
    return False


counts = {"smmla": 0, "sdot": 0}
for begin, end in loops():
    body = code[begin:end + 1]
    for wanted in counts:
        number = sum(name == wanted for _, name, _ in body)
        if number >= 4:
            counts[wanted] += 1
            stack = r"\[(sp|x29)\b" if is_frame_pointer(begin) else r"\[sp\b"
            if any(name.startswith("st") and not re.search(stack, operands) for _, name, operands in body):
                continue  # a loop over rows, which stores results: the one over K had a single round and is gone
            spills = [line for line in body if re.search(stack, line[2])]
            allowed = len(body) // 8 if wanted == "smmla" else 0  # limitation L14
            check(len(spills) <= allowed, f"{len(spills)} spills in a loop of {number} {wanted} at {body[0][0]:#x}")
            print(f"{wanted}: {number} in a loop of {len(body)} instructions at {body[0][0]:#x}")
for wanted, number in counts.items():
    check(number > 0, f"no inner loop with {wanted}")
check(" smmla" not in execute([os.path.join(LLVM, "bin", "llvm-objdump"), "-d", "--no-show-raw-insn",
                               compiled("mixed", "arm64-dotprod") + ".so"]).out.replace("\t", " "),
      "the dotprod build contains smmla")
