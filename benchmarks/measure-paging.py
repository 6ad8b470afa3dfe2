#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures models whose experts are read from disk: under a limit on memory, from a pack that is not cached, in turns
with a loop of direct reads or with a peer, so that every figure is a ratio. Main source: docs/benchmarks-paging.md.

Needs plain Python and, for limits, root and Linux' control groups for memory (v1 or v2). Bars of peers also need an
interpreter with the package llama_cpp (--peer-python), or a program that speaks harness/protocol.py (--stream-peer).

Examples:
  benchmarks/measure-paging.py bound cold prefill --model q30 --json paging.json
  benchmarks/measure-paging.py memory --budgets 50,min --model q30
  benchmarks/measure-paging.py peer-mmap --budgets 50 --model q30 --peer-python venv/bin/python --peer-model q30.gguf
"""
import argparse
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "harness"))

import engines  # noqa: E402
import paging  # noqa: E402
import rows  # noqa: E402


def budgets(text):
    names = text.split(",")
    for name in names:
        if name != "min" and not (name.isdecimal() and 1 <= int(name) <= 100):
            raise argparse.ArgumentTypeError(f"expects percents from 1 to 100 or 'min', but got '{name}'")
    return names


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("bars", nargs="+", choices=sorted(paging.BARS), metavar="BAR", help=", ".join(paging.BARS))
    add("--model", required=True, help="PREFIX of a compiled model: PREFIX.so, .moepack and .report.json")
    add("--name", help="of the model in the rows (default: that of its config)")
    add("--json", help="file for the rows, one JSON object a line")
    add("--programs", default=os.path.join(engines.ROOT, "build", "bin"), help="where read-bandwidth is")
    add("--memory-bytes", type=engines.count, default=512 << 20,
        help="of bound and prediction: what a pass of the loop over memory reads (536870912)")
    add("--commit", help="of the model's runtime (default: that of the sources)")
    add("--budgets", type=budgets, default=budgets("100,75,50,25,min"),
        help="percents of the plan with every expert in memory, or min (100,75,50,25,min)")
    add("--no-limit", action="store_true", help="no control group: memory is not limited")
    add("--threads", type=engines.count, default=2, help="computing threads (2)")
    add("--lanes", type=engines.count, default=3, help="reader lanes of ours, depth of the read loop (3)")
    add("--prompt", type=engines.count, default=512, help="tokens before the decoded ones (512)")
    add("--tokens", type=engines.count, default=16, help="decoded tokens (16)")
    add("--prefill", type=engines.count, default=512, help="tokens of the prefill bar's chunk (512)")
    add("--step", type=engines.count, default=512, help="of memory: tokens fed at once (512)")
    add("--same-depth", type=engines.count, default=8, help="of same: tokens of its prompt (8)")
    add("--same-tokens", type=engines.count, default=8, help="of same: tokens behind it (8)")
    add("--eviction", type=int, default=0, choices=range(4), help="moert_eviction (0: default)")
    add("--prediction", default="automatic", choices=sorted(paging.PREDICTION),
        help="of all bars but bound (automatic)")
    add("--loop-reads", type=engines.count, default=128, help="reads of a pass of the read loop (128)")
    add("--cache-allowed", type=int, default=1 << 20, help="bytes that may stay cached after evicting (1048576)")
    add("--tiny", action="store_true", help="tries the harness: no figure is held against a bar")
    add("--peer-python", help="an interpreter with llama_cpp")
    add("--peer-model", help="a gguf file of the same shapes (harness/peer_model.py)")
    add("--peer-context", type=engines.count, default=512, help="of the peers (512)")
    add("--peer-warm", type=engines.count, default=16, help="tokens of the peers' prompt (16)")
    add("--peer-tokens", type=engines.count, default=8,
        help="decoded tokens of the peers, behind as many that are not counted (8)")
    add("--turns", type=engines.count, default=1, help="of the peers, between ours (1)")
    add("--our-budgets", type=budgets, help="of ours beside the peers', as many as --budgets (default: the same)")
    add("--stream-peer", help="program and flags; gets MODEL --cache-mb N --threads N --context N")
    add("--stream-fixed-bytes", type=engines.count, default=1300 << 20,
        help="bytes that the streaming peer needs beside its cache (1363148800)")
    options = parser.parse_args(arguments)
    options.our_budgets = options.our_budgets or options.budgets
    if len(options.our_budgets) != len(options.budgets):
        parser.error(f"--our-budgets needs {len(options.budgets)} as --budgets, but got {len(options.our_budgets)}")
    for bar, needed in (("peer-mmap", "peer_python"), ("peer-stream", "stream_peer")):
        for name in (needed, "peer_model"):
            if bar in options.bars and not getattr(options, name):
                parser.error(f"{bar} needs --{name.replace('_', '-')}")
    return options


def main():
    options = parse(sys.argv[1:])
    results = rows.Rows(options.commit, options.json, judge=not options.tiny)
    bench = paging.Bench(options, results)
    for bar in options.bars:
        paging.BARS[bar](bench)
        results.write()


if __name__ == "__main__":
    engines.run_main(main)
