#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the time of a decoded token goes: microseconds, gigabytes per second and share of the bandwidth for each step.

Samples a worker of the harness by `perf record` while it decodes, adds up the samples of each generated kernel, and
scales them to the time of a token, measured without perf in turns. One thread, so that a step's time is its own; the
bytes of a step are those of the compiler's report. Names of kernels tell what they are: run_linear_5_6 is a product,
and its place among the others (before attention, behind it, before the router's choice, last) which. Needs Linux'
perf and the right to sample (kernel.perf_event_paranoid). Main source: docs/benchmarks.md.

Example: benchmarks/layer-steps.py --models /var/tmp/models --depth 2048 --json steps.json
"""
import argparse
import collections
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "harness"))

import engines  # noqa: E402
import models  # noqa: E402
import rows  # noqa: E402

# Which weights a step reads. A product's step is found by its place.
ROLES = {"qkv": ("attention_q", "attention_k", "attention_v", "attention_gate"), "o": ("attention_o",),
         "router": ("router",), "gate_up": ("expert_gate", "expert_up"), "down": ("expert_down",), "head": ("head",),
         "experts": ("expert_gate", "expert_up", "expert_down")}


def bytes_of_roles(report, config):
    """Bytes that a token reads, by role: of experts those that it uses."""
    result = collections.Counter()
    for entry in report["precision"]:
        role = entry["role"]
        used = config["num_experts_per_tok"] / config["num_experts"] if role.startswith("expert_") else 1
        result[role] += entry["weights"] * entry["bits_per_weight"] / 8 * used
    return result


def kernels_of(library):
    """Names of the kernels of decode, in the order of its steps: the second of two sets that begin with `embed`."""
    text = subprocess.run(["nm", library], check=True, capture_output=True, text=True).stdout
    names = [line.split()[-1] for line in text.splitlines()]
    found = [match for match in (re.fullmatch(r"run_([a-z_]+?)_\d+_(\d+)", name) for name in names) if match]
    found.sort(key=lambda match: int(match.group(2)))
    begins = [i for i, match in enumerate(found) if match.group(1) == "embed"]
    return [(match.group(0), match.group(1)) for match in found[begins[1] if len(begins) > 1 else 0:]]


def steps_of(library):
    """Step of each kernel's name. Products are told apart by what came before."""
    result, before = {}, ""
    for name, kind in kernels_of(library):
        step = kind
        if kind == "linear":
            step = "o" if "attention" in before else "head" if "combine" in before else \
                "router" if before.count("norm") > 1 else "qkv"
        before += " " + kind
        if step == "o":
            before = before.replace("attention", "attended")
        result[name] = step
    return result


def wait_for_perf(perf, data):
    """Returns once perf has written its header: it samples from then on, and an interrupt leaves a whole file."""
    end = time.monotonic() + 10
    while not (os.path.exists(data) and os.path.getsize(data)):
        if perf.poll() is not None:
            raise SystemExit(f"error: perf record ended with code {perf.returncode}")
        if time.monotonic() > end:
            perf.kill()
            raise SystemExit("error: perf record wrote nothing in 10 seconds")
        time.sleep(0.01)


def sample(worker, request, samples_per_s):
    """Samples of each symbol while the worker answers, and all samples of its process."""
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "perf.data")
        try:
            perf = subprocess.Popen(["perf", "record", "-q", "-e", "cpu-clock", "-F", str(samples_per_s), "-p",
                                     str(worker.process.pid), "-o", data], stdout=subprocess.DEVNULL)
        except OSError as error:
            raise SystemExit(f"error: perf cannot be run: {error.strerror}") from None
        wait_for_perf(perf, data)
        request()
        perf.send_signal(signal.SIGINT)
        perf.wait()
        report = subprocess.run(["perf", "report", "-i", data, "--stdio", "-n", "--sort", "symbol", "--percent-limit",
                                 "0"], check=False, capture_output=True, text=True)
    if report.returncode != 0:
        reason = (report.stderr.strip().splitlines() or [f"code {report.returncode}"])[-1]
        raise SystemExit(f"error: perf report failed: {reason}; longer runs (--tokens) give perf more to sample")
    counts = collections.Counter()
    for line in report.stdout.splitlines():
        match = re.match(r"\s*[\d.]+%\s+(\d+)\s+\[[.k]\]\s+(\S+)", line)
        if match:
            counts[match.group(2)] += int(match.group(1))
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--models", required=True, help="folder for models")
    add("--programs", default=os.path.join(engines.ROOT, "build", "bin"), help="where moec and read-bandwidth are")
    add("--target", default="host", help="for moec (host)")
    add("--commit", help="of the programs (default: that of the sources)")
    add("--layers", type=engines.count, default=28, help="layers of Qwen3-30B-A3B shapes (28)")
    add("--experts", type=engines.count, default=16, help="experts of a layer (16)")
    add("--quant", default="int4", help="for moec (int4)")
    add("--group", type=engines.count, default=32, help="for moec (32)")
    add("--depth", type=int, default=0, help="tokens before (0)")
    add("--tokens", type=engines.count, default=16, help="decoded tokens of a repetition (16)")
    add("--repetitions", type=engines.count, default=7, help="rounds (7)")
    add("--read-bytes", type=engines.count, default=4 << 30, help="bytes of the read loop (4294967296)")
    add("--samples", type=engines.count, default=5000, help="samples a second (5000)")
    add("--json", help="file for the rows, one JSON object a line")
    options = parser.parse_args()

    results = rows.Rows(options.commit, options.json)
    store = models.Store(options.models, options.programs, options.target, False)
    prefix = store.model(options.layers, options.experts, options.quant, options.group)
    config, _ = store.config(options.layers, options.experts)
    measure(options, prefix, config, results)
    results.write()


def measure(options, prefix, config, results):
    report = models.report_of(prefix)
    steps, role_bytes, counts = steps_of(prefix + ".so"), bytes_of_roles(report, config), collections.Counter()
    seconds, bandwidths = [], []
    with engines.opened(engines.ReadLoop(options.programs, [1], options.read_bytes)) as loop, \
            engines.opened(engines.open_model(prefix, 1)) as model:
        def decode():
            return model.measure("decode", options.depth, options.tokens, 1)["seconds"] / options.tokens
        decode()
        for _ in range(options.repetitions):
            bandwidths.append(loop.bytes_per_s(1))
            seconds.append(decode())
            for symbol, count in sample(model, decode, options.samples).items():
                counts[steps.get(symbol, "runtime and system")] += count
    token, bandwidth, total = rows.median(seconds), rows.median(bandwidths), sum(counts.values())
    if not total:
        raise SystemExit("error: perf took no samples; longer runs (--tokens) give it more")
    for step, count in counts.most_common():
        time = token * count / total
        num_bytes = sum(role_bytes[role] for role in ROLES.get(step, ()))
        if step == "attention":
            num_bytes = (options.depth + options.tokens / 2) * report["token_bytes"]["kv_per_position"]
        details = {"depth": options.depth, "share_of_time": count / total, "bytes": int(num_bytes)}
        if num_bytes:
            details.update(GB_per_s=num_bytes / time / 1e9, share_of_bandwidth=num_bytes / time / bandwidth)
        results.add(f"step-{step}", "layer", report["target"], os.path.basename(prefix), 1, time * 1e6, "us a token",
                    details)


if __name__ == "__main__":
    engines.run_main(main)
