#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what `moec estimate` says of this machine against what a model does: tokens per second under several budgets,
with the bandwidths of memory and disk measured in the same minute. Main source: docs/estimates.md.

Needs moec and read-bandwidth of the build, a compiled model with random weights and even routing, and plain Python.

Examples:
  benchmarks/measure-estimate.py --model q30 --config "qwen3-30b-a3b --quant int4 --group 32 --context 4096"
  benchmarks/measure-estimate.py --model flagship --budgets 50 --config "qwen3.6-35b-a3b --context 4096 --kv int8
    --plan-precision examples/flagship/precision.json" --json rows.json
"""
import argparse
import json
import os
import shlex
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "harness"))

import engines  # noqa: E402
import paging  # noqa: E402
import rows  # noqa: E402

LEAST, MOST = 0.85, 1.15


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--model", required=True, help="PREFIX of a compiled model: PREFIX.so, .moepack and .report.json")
    add("--config", type=shlex.split, required=True, help="what moec estimate needs of it: CONFIG and flags")
    add("--name", help="of the model in the rows (default: that of its config)")
    add("--json", help="file for the rows, one JSON object a line")
    add("--commit", help="of the model's runtime (default: that of the sources)")
    add("--programs", default=os.path.join(engines.ROOT, "build", "bin"), help="where moec and read-bandwidth are")
    add("--budgets", type=lambda text: text.split(","), default=["75", "50", "25"],
        help="percents of the plan with every expert in memory, or min (75,50,25)")
    add("--threads", type=engines.count, default=2, help="computing threads (2)")
    add("--lanes", type=engines.count, default=3, help="reader lanes, depth of the read loop (3)")
    add("--prompt", type=engines.count, default=128, help="tokens before the decoded ones, which fill the slots (128)")
    add("--tokens", type=engines.count, default=16, help="decoded tokens (16)")
    add("--prediction", default="off", choices=sorted(paging.PREDICTION), help="of experts (off)")
    add("--loop-reads", type=engines.count, default=128, help="reads of a pass of the loop of direct reads (128)")
    add("--read-bytes", type=engines.count, default=1 << 30, help="bytes of the memory's read loop (1073741824)")
    add("--cache-allowed", type=int, default=1 << 20, help="bytes that may stay cached after evicting (1048576)")
    add("--tiny", action="store_true", help="tries the harness: no figure is held against a bar")
    parser.set_defaults(eviction=0, no_limit=True)
    return parser.parse_args(arguments)


def estimate(options, budget, memory, flash):
    command = [os.path.join(options.programs, "moec"), "estimate", *options.config, "--target", "host", "--json",
               "--memory", budget, "--dram", int(memory), "--flash", int(flash),
               "--depth", options.prompt + options.tokens // 2]
    done = subprocess.run(list(map(str, command)), cwd=engines.ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def measure(bench, loop):
    """Estimated tokens/s / measured ones."""
    options = bench.options
    for name, budget in bench.budgets():
        with bench.opened(budget) as (worker, _):
            before = loop.bytes_per_s(options.threads)
            result = bench.decode(worker)
            memory = (before + loop.bytes_per_s(options.threads)) / 2
        found = estimate(options, budget, memory, result["bandwidth"])
        details = paging.io_details(bench, result)
        bench.add("estimate", name, found["tokens_per_s"] / details["tokens_per_s"], "estimated / measured", {
            **details, "estimated_tokens_per_s": found["tokens_per_s"], "estimated_hit_rate": found["hit_share"],
            "estimated_missed_MB_per_token": found["flash_bytes_per_token"] / 1e6, "memory_GB_per_s": memory / 1e9},
            least=LEAST, most=MOST)


def main():
    options = parse(sys.argv[1:])
    results = rows.Rows(options.commit, options.json, judge=not options.tiny)
    bench = paging.Bench(options, results)
    with engines.opened(engines.ReadLoop(options.programs, [options.threads], options.read_bytes)) as loop:
        measure(bench, loop)
    bench.reads.close()
    results.write()


if __name__ == "__main__":
    engines.run_main(main)
