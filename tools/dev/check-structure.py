#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the rules that hold the source tree together; prints one line a finding, `file:line: text`.

usage: check-structure.py [--root DIR] [includes|style|definitions|contents]...

Without a name all groups are checked. Exit code 0: clean, 1: findings, 2: wrong usage.
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from checks import contents, definitions, includes, style  # noqa: E402
from checks.sources import Tree  # noqa: E402

GROUPS = {"includes": includes, "style": style, "definitions": definitions, "contents": contents}


def main(arguments):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if arguments[:1] == ["--root"] and len(arguments) > 1:
        root, arguments = arguments[1], arguments[2:]
    unknown = [name for name in arguments if name not in GROUPS]
    if unknown:
        print(f"unknown group {unknown[0]}, expected {', '.join(GROUPS)}\n{__doc__}", file=sys.stderr)
        return 2
    tree = Tree(root)
    num_findings = 0
    for name in arguments or GROUPS:
        for finding in GROUPS[name].check(tree):
            print(finding)
            num_findings += 1
    print(f"{num_findings} findings in {len(tree.paths)} files", file=sys.stderr)
    return 1 if num_findings else 0


sys.exit(main(sys.argv[1:]))
