#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a compiled model under a budget for the harness, and tells what each layer of each token did.

usage: paged_worker.py OUT.so [--threads N] [--budget BYTES] [--lanes N] [--delay-us N] [--buffered 0|1]
       [--eviction N] [--prediction N] [--trace 0|1] [--late 0|1]

With --late 1 the model is opened by the first request, and the first object says nothing about it.

Requests as in protocol.py, and
  {"do": "first", "tokens": N}                  seconds from opening the model to the first token behind N others
  {"do": "digest", "depth": D, "tokens": N}     a hash of all logits of N tokens behind D
  {"do": "plan"}                                moert_plan_info of the model
An answer to decode and prefill also has what the runtime counted meanwhile and, with --trace 1, what each layer of each
token did (bound.py).
"""
import argparse
import ctypes
import hashlib
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import moec_worker  # noqa: E402
import protocol  # noqa: E402


class Routing(ctypes.Structure):
    _fields_ = [("layer", ctypes.c_uint32), ("num_tokens", ctypes.c_uint32), ("position", ctypes.c_uint64),
                ("ids", ctypes.c_void_p), ("top_k", ctypes.c_uint32), ("num_distinct", ctypes.c_uint32),
                ("num_missed", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("bytes_read", ctypes.c_uint64),
                ("begin_ns", ctypes.c_uint64), ("end_ns", ctypes.c_uint64)]


ON_ROUTING = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Routing))


def fields(kind, names):
    return [(name, kind) for name in names.split()]


class OpenOptions(ctypes.Structure):
    _fields_ = [("struct_bytes", ctypes.c_uint32), ("threads", ctypes.c_uint32), ("pack_path", ctypes.c_char_p),
                ("pack_fd", ctypes.c_int32), ("reader_lanes", ctypes.c_uint32),
                *fields(ctypes.c_uint64, "pack_offset pack_bytes budget_bytes"),
                *fields(ctypes.c_uint32, "context max_sessions window sinks experts_used lock_memory"),
                ("cpus", ctypes.c_char_p),
                *fields(ctypes.c_uint32, "on_full keep state_checkpoints eviction prediction buffered_reads "
                                         "read_delay_us reserved"),
                ("on_routing", ON_ROUTING), ("routing_user", ctypes.c_void_p)]


class PlanInfo(ctypes.Structure):
    _fields_ = [*fields(ctypes.c_uint64, "plan_bytes min_bytes budget_bytes planned_bytes resident_bytes arena_bytes "
                                         "kv_bytes state_bytes slot_bytes num_slots num_experts min_slots code_bytes "
                                         "overhead_bytes checkpoint_bytes"),
                *fields(ctypes.c_double, "hit_rate tokens_per_second"),
                *fields(ctypes.c_uint64, "token_memory_bytes token_flash_bytes"), ("rest", ctypes.c_uint8 * 256)]


class Statistics(ctypes.Structure):
    _fields_ = [*fields(ctypes.c_uint64, "expert_hits expert_misses expert_bytes_read stall_ns joins tokens_prefilled "
                                         "tokens_decoded prefill_ns decode_ns ledger_bytes ledger_peak_bytes"),
                *fields(ctypes.c_uint32, "threads direct_io lossy experts_used"),
                *fields(ctypes.c_uint64, "locked_bytes lock_refused_bytes lock_limit_bytes slides"),
                *fields(ctypes.c_uint32, "pinned_cpus reserved"),
                *fields(ctypes.c_uint64, "tokens_replayed prefetch_issued prefetch_useful prefetch_late "
                                         "prefetch_cancelled prefetch_bytes_read predicted predicted_right"),
                ("rest", ctypes.c_uint8 * 1024)]


COUNTERS = ("expert_hits", "expert_misses", "expert_bytes_read", "stall_ns", "prefetch_issued", "prefetch_useful",
            "prefetch_late", "prefetch_cancelled", "prefetch_bytes_read", "predicted", "predicted_right")


class PagedModel(moec_worker.Model):
    def __init__(self, arguments):
        self.rows, self.tokens, self.arguments = [], [], arguments
        self.on_routing = ON_ROUTING(self.note) if arguments.trace else ON_ROUTING()
        super().__init__(arguments)
        self.logits = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(self.api.logits)

    def open_options(self, pack):
        a = self.arguments
        self.opened = time.perf_counter()
        return OpenOptions(struct_bytes=ctypes.sizeof(OpenOptions), threads=a.threads, pack_path=pack.encode(),
                           pack_fd=-1, reader_lanes=a.lanes, budget_bytes=a.budget, eviction=a.eviction,
                           prediction=a.prediction, buffered_reads=a.buffered, read_delay_us=a.delay_us,
                           on_routing=self.on_routing)

    def note(self, _, routing):
        r = routing.contents
        self.rows.append([r.begin_ns, r.end_ns, r.num_distinct, r.num_missed, r.bytes_read])

    def step(self):
        self.rows, begin = [], time.perf_counter_ns()
        super().step()
        self.tokens.append({"begin": begin, "end": time.perf_counter_ns(), "layers": [row[:4] for row in self.rows]})

    def statistics(self):
        statistics = Statistics()
        self.call("statistics", self.model, ctypes.byref(statistics))
        return statistics

    def counters(self):
        statistics = self.statistics()
        return {name: getattr(statistics, name) for name in COUNTERS}

    def plan(self, _):
        info = PlanInfo()
        self.call("model_plan", self.model, ctypes.byref(info))
        return {name: getattr(info, name) for name, _ in PlanInfo._fields_ if name != "rest"}

    def memory(self, _):
        return {**self.resident(), "is_direct": bool(self.statistics().direct_io)}

    def first(self, request):
        self.rows = []
        self.feed(request["tokens"])
        if not self.logits(self.session):
            sys.exit("no logits behind the prompt")
        seconds = time.perf_counter() - self.opened
        return {"seconds": seconds, "distinct": sum(row[2] for row in self.rows), **self.counters()}

    def digest(self, request):
        protocol.go_to(self, request["depth"])
        total = hashlib.sha256()
        for _ in range(request["tokens"]):
            self.step()
            total.update(ctypes.string_at(self.logits(self.session), 4 * self.vocab_size))
        return {"digest": total.hexdigest()}

    def measured(self, run):
        """Seconds of a call, and what the runtime counted meanwhile."""
        self.rows, self.tokens, before = [], [], self.counters()
        begin = time.perf_counter()
        run()
        seconds, after = time.perf_counter() - begin, self.counters()
        return {"seconds": seconds, **{name: after[name] - before[name] for name in COUNTERS}}

    def prefill(self, request):
        protocol.go_to(self, request["depth"])
        result = self.measured(lambda: self.feed(request["tokens"]))
        return {**result, "layers": self.rows}

    def decode_tokens(self, request):
        protocol.go_to(self, request["depth"])
        self.step()

        def steps():
            for _ in range(request["tokens"]):
                self.step()
        result = self.measured(steps)
        return {**result, "tokens": self.tokens}


class LateModel:
    """Opened by the first request."""

    def __init__(self, arguments):
        self.arguments, self.model = arguments, None

    def describe(self):
        return {"model": None}


REPLIES = {"first": PagedModel.first, "digest": PagedModel.digest, "plan": PagedModel.plan, "memory": PagedModel.memory,
           "prefill": PagedModel.prefill, "decode": PagedModel.decode_tokens}


def reply(model, request):
    if isinstance(model, LateModel):
        model.model = model.model or PagedModel(model.arguments)
        model = model.model
    return REPLIES[request["do"]](model, request)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("so")
    for name, default in (("threads", 1), ("chunk", 0), ("budget", 0), ("lanes", 0), ("delay-us", 0), ("buffered", 0),
                          ("eviction", 0), ("prediction", 0), ("trace", 0), ("late", 0)):
        parser.add_argument("--" + name, type=int, default=default)
    arguments = parser.parse_args()
    protocol.serve(LateModel(arguments) if arguments.late else PagedModel(arguments), reply)


if __name__ == "__main__":
    main()
