# SPDX-License-Identifier: Apache-2.0
"""The measurements of models whose experts are read from disk, one function a bar. Main source:
docs/benchmarks-paging.md, which defines each figure."""
import contextlib
import os
import shlex
import sys

import bound
import engines
import memory_group
import models
import pack_file
from engines import HERE
from rows import median

SLACK_BYTES = 32 << 20  # beside the budget: the worker itself, its files, page tables
PREDICTION = {"automatic": 0, "off": 1, "always": 2}


class Bench:
    """What all bars share: options, the model and its report, rows."""

    def __init__(self, options, rows):
        self.options, self.rows, self.prefix = options, rows, options.model
        self.report, self.pack = models.report_of(self.prefix), self.prefix + ".moepack"
        self.name, self.record_bytes = options.name or self.report["model"], self.report["expert_record_bytes"]
        self.reads = pack_file.DirectReads(self.pack, self.record_bytes, options.lanes, options.loop_reads)
        self.compute, self.compute_memory = None, None

    def budgets(self):
        """(name, bytes) of the budgets asked for: percents of the plan with every expert in memory, or the minimum."""
        return [(name, self.budget(name)) for name in self.options.budgets]

    def budget(self, name):
        return self.report["min_bytes"] if name == "min" else self.report["plan_bytes"] * int(name) // 100

    @contextlib.contextmanager
    def limited(self, command, budget):
        """A worker below a limit, and its group."""
        limit = None if self.options.no_limit or budget is None else budget + SLACK_BYTES
        with memory_group.memory_group(limit) as group:
            worker = engines.Engine(command, before_exec=group.join)
            try:
                yield worker, group
            finally:
                worker.close()

    def opened(self, budget, **settings):
        """Our model from a pack that is on disk only; settings as flags of paged_worker.py."""
        pack_file.evict(self.pack, self.options.cache_allowed)
        values = {"threads": self.options.threads, "budget": budget, "lanes": self.options.lanes, "trace": 1,
                  "prediction": PREDICTION[self.options.prediction], "eviction": self.options.eviction, **settings}
        command = [sys.executable, "-B", os.path.join(HERE, "paged_worker.py"), self.prefix + ".so"]
        for name, value in values.items():
            command += ["--" + name.replace("_", "-"), str(value)]
        return self.limited(command, budget)

    def decode(self, worker, tokens=None):
        """Tokens behind the prompt, with the disk's bandwidth just before and after."""
        before = self.reads.bytes_per_s()
        result = worker.request("decode", depth=self.options.prompt, tokens=tokens or self.options.tokens,
                                threads=self.options.threads)
        after = self.reads.bytes_per_s()
        return {**result, "bandwidths": (before, after), "bandwidth": (before + after) / 2}

    def decode_beside_memory(self, worker):
        """The same, and the bandwidth of memory before and after that."""
        with engines.opened(engines.ReadLoop(self.options.programs, [self.options.threads],
                                             self.options.memory_bytes)) as loop:
            before = loop.bytes_per_s(self.options.threads)
            result = self.decode(worker)
            return {**result, "memory_bandwidth": (before + loop.bytes_per_s(self.options.threads)) / 2}

    def compute_times(self):
        """Of the same tokens with every expert in memory; measured once."""
        if self.compute is None:
            with self.opened(self.report["plan_bytes"], prediction=PREDICTION["off"]) as (worker, _):
                result = self.decode_beside_memory(worker)
            self.compute, self.compute_memory = bound.compute_times(result["tokens"]), result["memory_bandwidth"]
            seconds = result["seconds"] / self.options.tokens
            self.add("resident", "all", 1 / seconds, "tokens/s", {
                "memory_GB_per_s": result["memory_bandwidth"] / 1e9,
                "dense_ms": sum(self.compute["dense"]) * 1e3, "experts_ms": sum(self.compute["experts"]) * 1e3,
                "head_ms": self.compute["head"] * 1e3})
        return self.compute

    def add(self, bar, budget, figure, unit, details, least=None, most=None):
        self.rows.add(bar, "token", self.report["target"], self.name, self.options.threads, figure, unit,
                      {"budget": budget, "reads_are_direct": self.reads.is_direct, **details}, least, most)


def io_details(bench, result):
    tokens = len(result["tokens"])
    routed = result["expert_hits"] + result["expert_misses"]
    return {"tokens_per_s": tokens / result["seconds"], "hit_rate": result["expert_hits"] / max(routed, 1),
            "missed_MB_per_token": result["expert_misses"] * bench.record_bytes / tokens / 1e6,
            "read_MB_per_token": result["expert_bytes_read"] / tokens / 1e6,
            "disk_GB_per_s": result["bandwidth"] / 1e9,
            "disk_before_and_after": rounded(value / 1e9 for value in result["bandwidths"])}


def measure_bound(bench):
    """Least time of the tokens that the causal bound allows / their time, without prediction and with it."""
    compute = bench.compute_times()
    for name, budget in bench.budgets():
        with bench.opened(budget, prediction=PREDICTION["off"]) as (worker, _):
            result = bench.decode_beside_memory(worker)
        least = sum(bound.causal_bound(token, compute, bench.record_bytes, result["bandwidth"])
                    for token in result["tokens"])
        lost = [bound.losses(token, compute, bench.record_bytes, result["bandwidth"]) for token in result["tokens"]]
        scaled = bound.scaled(compute, bench.compute_memory / result["memory_bandwidth"])
        at_memory_speed = sum(bound.causal_bound(token, scaled, bench.record_bytes, result["bandwidth"])
                              for token in result["tokens"])
        bench.add("bound", name, least / result["seconds"], "of the causal bound", {
            **io_details(bench, result), "bound_tokens_per_s": len(lost) / least,
            "memory_GB_per_s": result["memory_bandwidth"] / 1e9,
            "figure_at_memory_speed": at_memory_speed / result["seconds"],
            **{f"lost_{key}_ms": 1e3 * sum(loss[key] for loss in lost) / len(lost) for key in lost[0]}}, least=0.90)
        with bench.opened(budget, prediction=PREDICTION["automatic"]) as (worker, _):
            predicted = bench.decode(worker)
        bench.add("bound-predicted", name, least / predicted["seconds"], "of the causal bound", {
            **io_details(bench, predicted), "bound_tokens_per_s": len(lost) / least, **prefetch_details(predicted)})


def measure_prediction(bench):
    """The longer of computing and reading, whatever is predicted / time of the tokens, with prediction."""
    compute = bench.compute_times()
    for name, budget in bench.budgets():
        with bench.opened(budget, prediction=PREDICTION[bench.options.prediction]) as (worker, _):
            result = bench.decode(worker)
        needed = (result["expert_misses"] + result["prefetch_useful"]) * bench.record_bytes
        least = bound.free_bound(result["tokens"], compute, needed, result["bandwidth"])
        bench.add("prediction", name, least / result["seconds"], "of the bound without causality", {
            **io_details(bench, result), "bound_tokens_per_s": len(result["tokens"]) / least,
            **prefetch_details(result)}, least=0.75)


def prefetch_details(result):
    return {"recall": result["predicted_right"] / max(1, result["expert_hits"] + result["expert_misses"]),
            "issued": result["prefetch_issued"], "useful": result["prefetch_useful"], "late": result["prefetch_late"],
            "cancelled": result["prefetch_cancelled"]}


def measure_prediction_gain(bench):
    """Tokens/s with prediction / without, in turns, with and without a delay of each read."""
    for name, budget in bench.budgets():
        for delay, least in ((2000, 1.1), (0, 0.98)):
            rates = {}
            for kind in ("off", "automatic", "off", "automatic"):
                with bench.opened(budget, prediction=PREDICTION[kind], delay_us=delay, trace=0) as (worker, _):
                    result = worker.request("decode", depth=bench.options.prompt, tokens=bench.options.tokens,
                                            threads=bench.options.threads)
                rates.setdefault(kind, []).append(bench.options.tokens / result["seconds"])
            bench.add("prediction-gain", name, median(rates["automatic"]) / median(rates["off"]), "x without",
                      {"delay_us": delay, **rates, **prefetch_details(result)}, least=least)


def measure_memory(bench):
    """Peak of resident memory - resident memory before opening, at full context, against the plan and the limit."""
    options, context = bench.options, bench.report["context"]
    for name, budget in bench.budgets():
        for buffered in (0, 1):
            details = {"buffered": buffered}
            with bench.opened(budget, buffered=buffered, trace=0) as (worker, group):
                plan, cached, killed = worker.request("plan")["planned_bytes"], 0, 0
                try:
                    for depth in range(0, context, options.step):
                        worker.request("prefill", depth=depth, tokens=min(options.step, context - depth),
                                       threads=options.threads)
                        cached = max(cached, pack_file.cached_bytes(bench.pack))
                    memory = worker.memory()
                except engines.Ended:
                    killed, memory = 1, {"before_bytes": 0, "peak_bytes": 0, "is_direct": False}
                details.update(group.counters())
            measured = memory["peak_bytes"] - memory["before_bytes"]
            details.update(plan_bytes=plan, budget_bytes=budget, measured_bytes=measured, killed=killed,
                           direct=memory["is_direct"], pack_cached_bytes=cached)
            bench.add("memory", name, plan / measured if measured else 0, "plan / measured", details, 1, 1.02)
            bench.add("memory-cache", name, cached / (1 << 20), "MiB of the pack cached", details, most=64)
            if not buffered and "limit_hits" in details:
                bench.add("memory-limit", name, details["limit_hits"], "times at the limit", details, most=0)


def measure_prefill(bench):
    """Reads of an expert that a chunk of the prompt touches: at most one."""
    options = bench.options
    for name, budget in bench.budgets():
        with bench.opened(budget) as (worker, _):
            worker.request("prefill", depth=0, tokens=options.prefill, threads=options.threads)
            before = bench.reads.bytes_per_s()
            result = worker.request("prefill", depth=options.prefill, tokens=options.prefill, threads=options.threads)
            bandwidth = (before + bench.reads.bytes_per_s()) / 2
        touched, missed = (sum(layer[i] for layer in result["layers"]) for i in (2, 3))
        reads = result["expert_bytes_read"] / bench.record_bytes
        bench.add("prefill", name, reads / touched, "reads of a touched expert", {
            "touched": touched, "missed_when_routed": missed, "read": reads, "layers": len(result["layers"]),
            "most_of_a_layer": max(layer[4] / bench.record_bytes / layer[2] for layer in result["layers"]),
            "tokens_per_s": options.prefill / result["seconds"], "of_reading_alone":
            result["expert_bytes_read"] / bandwidth / result["seconds"], "disk_GB_per_s": bandwidth / 1e9}, most=1)


def measure_cold(bench):
    """Time from opening to the first token / time to read what that needs: at the disk's bandwidth, and into memory
    that is as fresh."""
    for name, budget in bench.budgets():
        for tokens in (1, 16):
            fixed = bench.report["plan_bytes"] - bench.report["bytes_by_class"]["experts"]
            memory = min(budget, fixed + tokens * bench.report["token_bytes"]["experts"])
            before = bench.reads.bytes_per_s()
            with bench.opened(budget, late=1) as (worker, _), warm_memory(worker, memory) as warmed:
                result = worker.request("first", tokens=tokens)
            bandwidth = (before + bench.reads.bytes_per_s()) / 2
            needed = bench.report["bytes_by_class"]["resident"] + result["distinct"] * bench.record_bytes
            fresh = fresh_bytes_per_s(bench, needed, memory)
            details = {"seconds": result["seconds"], "needed_MB": needed / 1e6, "distinct_experts": result["distinct"],
                       "read_experts": result["expert_bytes_read"] / bench.record_bytes,
                       "disk_GB_per_s": bandwidth / 1e9, "fresh_GB_per_s": fresh / 1e9,
                       "memory_came_at_GB_per_s": warmed}
            bench.add(f"cold-{tokens}", name, result["seconds"] / (needed / bandwidth), "x time to read it", details,
                      most=1.2)
            bench.add(f"cold-{tokens}-fresh", name, result["seconds"] / (needed / fresh),
                      "x time to read it into fresh memory", details)


@contextlib.contextmanager
def warm_memory(worker, size_bytes):
    """Makes sure that what a worker takes from now on is there. Gives the GB/s at which the host gave it."""
    command = [sys.executable, "-B", os.path.join(HERE, "warm_memory.py"), size_bytes]
    with engines.opened(engines.Worker(command)) as memory:
        memory.ask(str(worker.process.pid))
        yield memory.heads[0]["bytes"] / memory.heads[0]["seconds"] / 1e9


def fresh_bytes_per_s(bench, needed, memory):
    """Bandwidth of the same reads into as much memory as a cold start fills, which it then has to clear."""
    count = -(-needed // bench.record_bytes)
    command = [sys.executable, "-B", os.path.join(HERE, "fresh_reads.py"), bench.pack, bench.record_bytes,
               bench.options.lanes, count, min(memory, count * bench.record_bytes)]
    with engines.opened(engines.Worker(command)) as reader, warm_memory(reader, memory):
        return count * bench.record_bytes / reader.ask("")["seconds"]


def measure_same(bench):
    """Kinds of logits among budgets, lanes, delays, policies and ways to read: one."""
    options, digests = bench.options, {}
    for name, budget in bench.budgets():
        for settings in ({}, {"lanes": 1}, {"delay_us": 500}, {"lanes": 1, "delay_us": 2000}, {"eviction": 1},
                         {"eviction": 2}, {"prediction": 2}, {"prediction": 1}, {"buffered": 1}):
            with bench.opened(budget, trace=0, **settings) as (worker, _):
                answer = worker.request("digest", depth=options.same_depth, tokens=options.same_tokens)
            digests[name, str(settings)] = answer["digest"]
    bench.add("same", "all", len(set(digests.values())), "different logits", {"runs": len(digests)}, most=1)


def ours_beside_a_peer(bench, budget):
    with bench.opened(budget) as (worker, _):
        return bench.decode(worker)


def tokens_of_peer(bench, command, budget):
    """Seconds of a peer's tokens, bytes that it read for them, and how often it hit the limit meanwhile."""
    options = bench.options
    pack_file.evict(options.peer_model, options.cache_allowed)
    with bench.limited(command, budget) as (peer, group):
        # What the peer needs until its memory is as full as in the long run: a prompt, and tokens one by one.
        peer.measure("decode", options.peer_warm, options.peer_tokens, options.threads)
        before, depth = group.counters().get("limit_hits", 0), options.peer_warm + 1 + options.peer_tokens
        theirs = peer.measure("decode", depth, options.peer_tokens, options.threads)
        return {**theirs, "limit_hits": group.counters().get("limit_hits", 0) - before, "peer": peer.heads[0]["peer"]}


def compare(bench, bar, least, command, name, budget, details):
    """Our tokens/s / those of a peer below the same limit, in turns that begin and end with ours."""
    options = bench.options
    our_name = options.our_budgets[options.budgets.index(name)]
    our_budget = bench.budget(our_name)
    ours, theirs = [ours_beside_a_peer(bench, our_budget)], []
    for _ in range(options.turns):
        theirs.append(tokens_of_peer(bench, command, budget))
        ours.append(ours_beside_a_peer(bench, our_budget))
    rates = [len(run["tokens"]) / run["seconds"] for run in ours]
    peer_rates = [options.peer_tokens / run["seconds"] for run in theirs]
    needed = [needed_bytes(bench, run) for run in ours]
    bench.add(bar, name, median(rates) / median(peer_rates), "x peer", {
        "our_budget": our_name, **io_details(bench, ours[-1]), "tokens_per_s": median(rates),
        "peer_tokens_per_s": median(peer_rates), "each": rounded(rates), "peer_each": rounded(peer_rates),
        "needed_MB_per_token": median(needed) / 1e6, "reading_alone_x_peer": median(
            [run["bandwidth"] for run in ours]) / median(needed) / median(peer_rates),
        "peer": theirs[0]["peer"], "peer_limit_hits": median([run["limit_hits"] for run in theirs]),
        "peer_read_MB_per_token": median([run.get("bytes_read", 0) for run in theirs]) / options.peer_tokens / 1e6,
        **details}, least=least)


def needed_bytes(bench, run):
    """Bytes of a token's experts that were not in memory, read ahead or when needed."""
    return (run["expert_misses"] + run["prefetch_useful"]) * bench.record_bytes / len(run["tokens"])


def rounded(values):
    return [round(value, 3) for value in values]


def measure_peer_mmap(bench):
    """Against llama.cpp with its file mapped."""
    options = bench.options
    command = [options.peer_python, "-B", os.path.join(HERE, "peer_worker.py"), options.peer_model, "--mapped", "1",
               "--context", str(options.peer_context)]
    for name, budget in bench.budgets():
        compare(bench, "peer-mmap", 15 if name == "50" else None, command, name, budget, {})


def measure_peer_stream(bench):
    """Against a program that streams experts from the peer's file."""
    options = bench.options
    for name, budget in bench.budgets():
        # What is left for its cache of experts, by its own account of the rest.
        cache = max(0, budget - options.stream_fixed_bytes) >> 20
        command = [*shlex.split(options.stream_peer), options.peer_model, "--cache-mb", str(cache), "--threads",
                   str(options.threads), "--context", str(options.peer_context)]
        compare(bench, "peer-stream", 2, command, name, budget, {"peer_cache_MiB": cache})


BARS = {"bound": measure_bound, "prediction": measure_prediction, "prediction-gain": measure_prediction_gain,
        "memory": measure_memory, "prefill": measure_prefill, "cold": measure_cold, "same": measure_same,
        "peer-mmap": measure_peer_mmap, "peer-stream": measure_peer_stream}
