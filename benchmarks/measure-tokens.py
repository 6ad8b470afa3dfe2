#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures whole tokens of compiled models with random weights: in turns with a read loop and, where it is installed, a
peer, so that every figure is a ratio. Main source: docs/benchmarks.md.

Needs moec and read-bandwidth of the build, and plain Python. With --peer-python also an interpreter that has the
packages llama_cpp, gguf and numpy.

Examples:
  benchmarks/measure-tokens.py decode --models /var/tmp/models --json decode.json --peer-python venv/bin/python
  benchmarks/measure-tokens.py prefill --experts 128 --separate --models /var/tmp/models
  benchmarks/measure-tokens.py decode depth joins resident --models /var/tmp/models
  benchmarks/measure-tokens.py flagship-decode --layers 28 --experts 16 --models /var/tmp/models --peer-python ...
"""
import argparse
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "harness"))

import bars  # noqa: E402
import engines  # noqa: E402
import flagship  # noqa: E402
import models  # noqa: E402
import rows  # noqa: E402

BARS = {**bars.BARS, **flagship.BARS}
TINY = {"layers": 2, "experts": 4, "depth": 128, "prompts": [8, 16], "read_bytes": 65536, "repetitions": 1, "tokens": 2}


def numbers(text):
    return [engines.count(part) for part in text.split(",")]


def shape(text):
    layers, _, experts = text.partition("x")
    return engines.count(layers), engines.count(experts)


def shapes(text):
    return [shape(part) for part in text.split(",")]


def formats(text):
    if unknown := set(text.split(",")) - set(bars.DECODE_LEAST):
        raise argparse.ArgumentTypeError(f"expects some of {', '.join(bars.DECODE_LEAST)}, but got {min(unknown)!r}")
    return text.split(",")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("bars", nargs="+", choices=sorted(BARS), metavar="BAR", help=", ".join(BARS))
    add("--models", required=True, help="folder for models; what is there is used again")
    add("--json", help="file for the rows, one JSON object a line")
    add("--programs", default=os.path.join(engines.ROOT, "build", "bin"), help="where moec and read-bandwidth are")
    add("--target", default="host", help="for moec (host)")
    add("--commit", help="of the programs (default: that of the sources)")
    add("--layers", type=engines.count, default=28, help="layers of Qwen3-30B-A3B shapes (28)")
    add("--experts", type=engines.count, default=16, help="experts of a layer (16)")
    add("--quant", type=formats, default=list(bars.DECODE_LEAST),
        help=f"of decode: some of {','.join(bars.DECODE_LEAST)} (all)")
    add("--threads", type=numbers, default=[1, 2], help="thread counts (1,2)")
    add("--tokens", type=engines.count, default=16, help="decoded tokens of a repetition (16)")
    add("--prompts", type=numbers, default=[128, 512], help="lengths of prompts (128,512)")
    add("--depth", type=engines.count, default=2048, help="tokens before (2048)")
    add("--repetitions", type=engines.count, default=7, help="rounds after one that is not counted (7)")
    add("--read-bytes", type=engines.count, default=4 << 30, help="bytes of the read loop (4294967296)")
    add("--shapes", type=shapes, default=shapes("12x32,24x32,48x32,12x128,12x256"), help="of scaling: LAYERSxEXPERTS")
    add("--compile-shape", type=shape, default=(48, 112), help="of compile (48x112: 15 GB)")
    add("--delete", action="store_true", help="of scaling: delete each model after its rounds")
    add("--separate", action="store_true", help="of prefill: ours, then the peer, where both do not fit into memory")
    add("--tiny", action="store_true", help="tries the harness, measures nothing of worth: tiny shapes, 2 layers, 4 "
        "experts, depth 128, prompts 8,16, 2 tokens, 1 repetition, 65536 read bytes, where not given")
    add("--peer-python", help="an interpreter with llama_cpp, gguf and numpy (default: no peer)")
    add("--peer-type", default="Q4_K", help="the peer's type: Q4_K (its fastest), Q4_0, Q4_1, IQ4_NL, Q8_0")
    options = parser.parse_args(arguments)
    if options.tiny:
        parser.set_defaults(**TINY)
        options = parser.parse_args(arguments)
    return options


def main():
    options = parse(sys.argv[1:])
    results = rows.Rows(options.commit, options.json, judge=not options.tiny)
    store = models.Store(options.models, options.programs, options.target, options.tiny)
    bench = bars.Bench(options, store, results)
    if options.peer_python and not bench.has_peer:
        print(f"note: {options.peer_python} cannot import llama_cpp, gguf and numpy; measuring without a peer",
              file=sys.stderr)
    for bar in options.bars:
        BARS[bar](bench)
        results.write()


if __name__ == "__main__":
    engines.run_main(main)
