# SPDX-License-Identifier: Apache-2.0
"""The measurements of whole tokens, one function a bar. Main source: docs/benchmarks.md, which defines each figure."""
import contextlib
import os
import subprocess
import time

import engines
import models
from rows import median


class Bench:
    """What all bars share: options, models, rows."""

    def __init__(self, options, store, rows):
        self.options, self.store, self.rows = options, store, rows
        self.has_peer = engines.can_import(options.peer_python, ("llama_cpp", "gguf", "numpy"))

    def read_loop(self, threads):
        return engines.ReadLoop(self.store.programs, threads, self.options.read_bytes)

    def open_peer(self, layers, experts, flash_attention=1):
        if not self.has_peer:
            return None
        path = self.store.peer_file(self.options.peer_python, layers, experts, self.options.peer_type)
        config, _ = self.store.config(layers, experts)
        return engines.open_peer(self.options.peer_python, path, flash_attention, config["max_position_embeddings"])

    def peer_details(self, peer):
        return {"peer": peer.heads[0]["peer"], "peer_type": self.options.peer_type,
                "peer_command": " ".join(peer.command)} if peer else {}


def rounds(bench, threads, loop, model, peer, depth, tokens):
    """Per round: seconds of one token of ours and of the peer, bandwidth by the loop before and after ours, joins."""
    result = {"ours": [], "peer": [], "bandwidth": [], "joins": []}
    for i in range(bench.options.repetitions + 1):
        before = loop.bytes_per_s(threads)
        ours = model.measure("decode", depth, tokens, threads)
        after = loop.bytes_per_s(threads)
        theirs = peer.measure("decode", depth, tokens, threads) if peer else None
        if i == 0:  # caches, page tables and clocks warm up
            continue
        result["ours"].append(ours["seconds"] / tokens)
        result["bandwidth"].append((before + after) / 2)
        result["joins"].append(ours["joins"] / tokens)
        if theirs:
            result["peer"].append(theirs["seconds"] / tokens)
    return result


def ratios(numerators, denominators):
    return [a / b for a, b in zip(numerators, denominators)]


# Weight formats of the decode bar, and the least share of the bandwidth.
DECODE_LEAST = {"int4/32": 0.80, "int4/128": 0.85, "int8/32": 0.85}


def measure_decode(bench):
    """Active bytes of a token over its time, over the bandwidth of the read loop; and the peer's time over ours."""
    options = bench.options
    for name in options.quant:
        quant, group = name.split("/")
        least = DECODE_LEAST[name]
        prefix = bench.store.model(options.layers, options.experts, quant, group)
        num_bytes = models.active_bytes(models.report_of(prefix), 1 + options.tokens // 2)
        with engines.opened(bench.read_loop(options.threads)) as loop, \
                engines.opened(bench.open_peer(options.layers, options.experts) if name == "int4/32"
                               else None) as peer:
            for threads in options.threads:
                with engines.opened(engines.open_model(prefix, threads)) as model:
                    r = rounds(bench, threads, loop, model, peer, 0, options.tokens)
                    report_decode(bench, model, prefix, threads, r, num_bytes, least, bench.peer_details(peer))


def report_decode(bench, model, prefix, threads, r, num_bytes, least, peer_details):
    name, target = os.path.basename(prefix), model.heads[0]["target"]
    shares = [num_bytes / seconds / bandwidth for seconds, bandwidth in zip(r["ours"], r["bandwidth"])]
    details = {"active_bytes": num_bytes, "tokens_per_s": 1 / median(r["ours"]),
               "bandwidth_GB_per_s": median(r["bandwidth"]) / 1e9, "lowest": min(shares), "highest": max(shares),
               "joins_per_token": median(r["joins"])}
    bench.rows.add("decode", "token", target, name, threads, median(shares), "of bandwidth", details, least=least)
    if r["peer"]:
        bench.rows.add("decode-peer", "token", target, name, threads, median(ratios(r["peer"], r["ours"])),
                       "x peer", {"peer_tokens_per_s": 1 / median(r["peer"]), "tokens_per_s": 1 / median(r["ours"]),
                                  "limit_by_bandwidth": median(
                                      [b / num_bytes * p for b, p in zip(r["bandwidth"], r["peer"])]),
                                  **peer_details}, least=1.8)


def measure_depth(bench):
    """Time that a token takes longer behind 2048 others, over the time to read their KV cache."""
    options = bench.options
    prefix = bench.store.model(options.layers, options.experts, "int4", 32)
    kv_bytes = options.depth * models.report_of(prefix)["token_bytes"]["kv_per_position"]
    with engines.opened(bench.read_loop(options.threads)) as loop:
        for threads in options.threads:
            with engines.opened(engines.open_model(prefix, threads)) as near, \
                    engines.opened(engines.open_model(prefix, threads)) as far:
                added, bandwidths, times = [], [], []
                for i in range(options.repetitions + 1):
                    first = near.measure("decode", 0, options.tokens, threads)
                    second = far.measure("decode", options.depth, options.tokens, threads)
                    bandwidth = loop.bytes_per_s(threads)
                    if i:
                        times.append(second["seconds"] / options.tokens)
                        added.append(times[-1] - first["seconds"] / options.tokens)
                        bandwidths.append(bandwidth)
                figure = median([a / (kv_bytes / b) for a, b in zip(added, bandwidths)])
                bench.rows.add("depth", "token", near.heads[0]["target"], os.path.basename(prefix), threads, figure,
                               "x time to read the KV cache",
                               {"depth": options.depth, "kv_bytes": kv_bytes, "added_ms": median(added) * 1e3,
                                "tokens_per_s": 1 / median(times), "bandwidth_GB_per_s": median(bandwidths) / 1e9,
                                "joins_per_token": second["joins"] / options.tokens}, most=2.5)


def measure_prefill(bench):
    """Tokens per second of a prompt against the peer's. Where both do not fit into memory, one after the other."""
    options = bench.options
    prefix = bench.store.model(options.layers, options.experts, "int4", 32)
    cases = [(threads, tokens) for threads in options.threads for tokens in options.prompts]
    ours, theirs, details = {case: [] for case in cases}, {case: [] for case in cases}, {}

    def measure(engine, times, threads):
        for case in cases:
            if case[0] in threads:
                times[case].append(engine.measure("prefill", 0, case[1], case[0])["seconds"])

    for threads in options.threads:
        with engines.opened(engines.open_model(prefix, threads)) as model, \
                engines.opened(None if options.separate else bench.open_peer(options.layers, options.experts)) as peer:
            target = model.heads[0]["target"]
            for _ in range(options.repetitions + 1):
                measure(model, ours, [threads])
                if peer:
                    measure(peer, theirs, [threads])
                    details = bench.peer_details(peer)
    if options.separate:
        with engines.opened(bench.open_peer(options.layers, options.experts)) as peer:
            for _ in range(min(options.repetitions, 3) + 1 if peer else 0):
                measure(peer, theirs, options.threads)
                details = bench.peer_details(peer)
    for threads, tokens in cases:
        seconds, other = ours[threads, tokens][1:], theirs[threads, tokens][1:]
        rates = {"tokens_per_s": tokens / median(seconds)}
        if other:
            rates["peer_tokens_per_s"] = tokens / median(other)
        bench.rows.add(f"prefill-{tokens}", "token", target, os.path.basename(prefix), threads,
                       median(other) / median(seconds) if other else rates["tokens_per_s"],
                       "x peer" if other else "tokens/s",
                       {**rates, "in_turns": not options.separate, **(details if other else {})},
                       least=3 if other else None)


def measure_busy(bench):
    """Two threads while another process keeps one core busy, over one thread; beside it one thread under that load, and
    the same with a process that the system may move to another core."""
    options = bench.options
    prefix = bench.store.model(options.layers, options.experts, "int4", 32)
    with engines.opened(engines.open_model(prefix, 1)) as one, engines.opened(engines.open_model(prefix, 2)) as two, \
            engines.opened(bench.open_peer(options.layers, options.experts)) as peer:
        cases = (("ours", one, 1), ("ours", two, 2), ("peer", peer, 1), ("peer", peer, 2))
        times = {}  # by (engine, threads, load)
        for i in range(options.repetitions + 1):
            for load in ("none", "pinned", "free"):
                with contextlib.nullcontext() if load == "none" else engines.busy_core(load == "pinned"):
                    for name, engine, threads in cases:
                        if engine and (name == "ours" or load != "free"):
                            seconds = engine.measure("decode", 0, options.tokens, threads)["seconds"]
                            if i:
                                times.setdefault((name, threads, load), []).append(seconds)

        def gain(name, load, base="none"):
            return ratios(times[name, 1, base], times[name, 2, load])
        details = {"lowest": min(gain("ours", "pinned")),
                   "of_one_thread_under_load": median(gain("ours", "pinned", "pinned")),
                   "unpinned_load": median(gain("ours", "free")), "no_load": median(gain("ours", "none")),
                   "one_thread_tokens_per_s": options.tokens / median(times["ours", 1, "none"])}
        if peer:
            details.update(peer_figure=median(gain("peer", "pinned")), peer_no_load=median(gain("peer", "none")),
                           **bench.peer_details(peer))
        bench.rows.add("busy", "token", two.heads[0]["target"], os.path.basename(prefix), 2,
                       median(gain("ours", "pinned")), "x one thread", details, least=0.9)


def measure_joins(bench):
    """Joins of a decoded token by the pool's counter, over layers; behind `depth` tokens attention may be split."""
    options = bench.options
    prefix = bench.store.model(options.layers, options.experts, "int4", 32)
    for depth, most in ((0, 5), (options.depth, 6)):
        with engines.opened(engines.open_model(prefix, 2)) as model:
            model.measure("prefill", 0, depth + options.tokens, 2)  # experts that are read behind opening are there
            joins = model.measure("decode", depth, options.tokens, 2)["joins"] / options.tokens
            bench.rows.add("joins", "token", model.heads[0]["target"], os.path.basename(prefix), 2,
                           joins / options.layers, "joins a layer", {"depth": depth, "joins_per_token": joins},
                           most=most)


def measure_resident(bench):
    """Growth of the process from before opening to its peak, with every expert in memory, over the pack's size."""
    options = bench.options
    prefix = bench.store.model(options.layers, options.experts, "int4", 32)
    pack_bytes = os.path.getsize(prefix + ".moepack")

    def growth(engine):
        engine.measure("prefill", 0, max(options.prompts), 2)  # so many tokens use every expert
        engine.measure("decode", max(options.prompts), options.tokens, 2)
        memory = engine.memory()
        return memory["peak_bytes"] - memory["before_bytes"]

    with engines.opened(engines.open_model(prefix, 2)) as model:
        grown, target = growth(model), model.heads[0]["target"]
    details = {"grown_bytes": grown, "pack_bytes": pack_bytes}
    with engines.opened(bench.open_peer(options.layers, options.experts)) as peer:
        if peer:
            details["peer_figure"] = growth(peer) / os.path.getsize(bench.store.peer_file(
                options.peer_python, options.layers, options.experts, options.peer_type))
            details.update(bench.peer_details(peer))
    bench.rows.add("resident", "token", target, os.path.basename(prefix), 2, grown / pack_bytes, "of the pack", details,
                   most=1.05)


def measure_scaling(bench):
    """The share of the bandwidth for models of other depths and widths: highest over lowest."""
    options = bench.options
    with engines.opened(bench.read_loop(options.threads)) as loop:
        found = {threads: {} for threads in options.threads}
        for layers, experts in options.shapes:
            prefix = bench.store.model(layers, experts, "int4", 32)
            num_bytes = models.active_bytes(models.report_of(prefix), 1 + options.tokens // 2)
            for threads in options.threads:
                with engines.opened(engines.open_model(prefix, threads)) as model:
                    r = rounds(bench, threads, loop, model, None, 0, options.tokens)
                    target = model.heads[0]["target"]
                share = median([num_bytes / s / b for s, b in zip(r["ours"], r["bandwidth"])])
                found[threads][bench.store.name(layers, experts)] = share
            if options.delete:
                bench.store.remove(prefix)
        for threads, shares in found.items():
            bench.rows.add("scaling", "token", target, " ".join(shares), threads,
                           max(shares.values()) / min(shares.values()), "highest over lowest share of bandwidth",
                           shares, most=1.1)


def measure_compile(bench):
    """Bytes of the pack over the time of the whole compilation, and the compiler's peak of resident memory."""
    options = bench.options
    layers, experts = options.compile_shape
    _, config_path = bench.store.config(layers, experts)
    prefix = os.path.join(bench.store.folder, "compile")
    command = bench.store.compile_command(config_path, prefix, "int4", 32, threads=2)
    start = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"error: ended with code {process.returncode}: {' '.join(command)}")
    report, num_bytes = models.report_of(prefix), os.path.getsize(prefix + ".moepack")
    bench.store.remove(prefix)
    details = {"pack_bytes": num_bytes, "seconds": seconds, "processor_seconds": usage.ru_utime + usage.ru_stime,
               "compile_command": " ".join(command)}
    name = os.path.basename(config_path)
    bench.rows.add("compile", "token", report["target"], name, 2, num_bytes / seconds / 1e6, "MB/s", details, least=300)
    bench.rows.add("compile-memory", "token", report["target"], name, 2, usage.ru_maxrss / 1e6 * 1.024, "GB resident",
                   {"pack_bytes": num_bytes}, most=1.5)


BARS = {"decode": measure_decode, "depth": measure_depth, "prefill": measure_prefill, "busy": measure_busy,
        "joins": measure_joins, "resident": measure_resident, "scaling": measure_scaling, "compile": measure_compile}
