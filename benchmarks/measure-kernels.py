#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rows of single kernels, one thread: what kernel-bandwidth and delta-bandwidth print, with commit and machine.

Build the programs with -DMOEC_BENCHMARKS=ON. Main source: docs/benchmarks.md.
Example: benchmarks/measure-kernels.py --json kernels.json
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "harness"))

import engines  # noqa: E402
import rows  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--programs", default=os.path.join(engines.ROOT, "build", "bin"), help="where the programs are")
    add("--isa", default="avx512vnni", choices=("avx2", "avxvnni", "avx512vnni"),
        help="instruction level (avx512vnni)")
    add("--commit", help="of the programs (default: that of the sources)")
    add("--json", help="file for the rows, one JSON object a line")
    options = parser.parse_args()
    results = rows.Rows(options.commit, options.json)
    for name in ("kernel-bandwidth", "delta-bandwidth"):
        command = [os.path.join(os.path.abspath(options.programs), name), options.isa]
        with tempfile.TemporaryDirectory() as folder:  # the programs leave their kernels where they run
            out = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
        for line in out.splitlines():
            row = json.loads(line)
            details = {"tokens": row["tokens"], "bytes": row["bytes"], "program": " ".join(command)}
            if row["loop"]:
                details = {"ratio": row["ratio"], "loop": row["loop"], **details}
            results.add("kernel", "kernel", row["isa"], row["kernel"], 1, row["figure"], row["unit"], details)
    results.write()


if __name__ == "__main__":
    engines.run_main(main)
