# SPDX-License-Identifier: Apache-2.0
"""Decode and prefill of Qwen3.6-35B-A3B cut to fewer layers or experts, against the peer. Main source:
docs/flagship.md."""
import json
import os
import subprocess

import bars
import engines
import models
from rows import median

RECIPE = os.path.join(engines.ROOT, "examples", "flagship", "precision.json")
CONFIG = os.path.join(engines.ROOT, "lib", "Synth", "configs", "qwen3.6-35b-a3b.json")
# Small sizes of the same architecture, which try the harness.
TINY = {"hidden_size": 256, "vocab_size": 512, "bos_token_id": 1, "eos_token_id": 2, "moe_intermediate_size": 256,
        "shared_expert_intermediate_size": 256, "max_position_embeddings": 256,
        "full_attention_interval": 2, "num_experts_per_tok": 2}


class Store(models.Store):
    """The flagship with the recipe, or nearly so."""

    def name(self, layers, experts):
        return f"{'tiny-' if self.tiny else ''}flagship-{layers}x{experts}"

    def config(self, layers, experts):
        with open(CONFIG, encoding="utf-8") as file:
            config = json.load(file)
        config["text_config"].update({"max_position_embeddings": 4096, **(TINY if self.tiny else {}),
                                      "num_hidden_layers": layers, "num_experts": experts})
        path = os.path.join(self.folder, self.name(layers, experts) + ".json")
        with engines.replaced_file(path) as file:
            json.dump(config, file, indent=1)
        return config["text_config"], path

    def flagship(self, layers, experts):
        """The prefix of a compiled model."""
        _, config_path = self.config(layers, experts)
        prefix = os.path.join(self.folder, self.name(layers, experts))
        compiler = os.path.join(self.programs, "moec")
        if not os.path.exists(prefix + ".so") or os.path.getmtime(prefix + ".so") < os.path.getmtime(compiler):
            subprocess.run([compiler, "compile", "--random-weights", "--seed", "1", config_path, "--target",
                            self.target, "--plan-precision", RECIPE, "--kv", "int8", "-o", prefix, "--quiet"],
                           check=True)
        return prefix


def prepared(bench):
    """Prefix and number of bytes of a token; the store of the bench becomes one of flagships."""
    options, store = bench.options, bench.store
    bench.store = Store(store.folder, store.programs, store.target, store.tiny)
    return bench.store.flagship(options.layers, options.experts)


def measure_decode(bench):
    """The share of the bandwidth, and the peer's time over ours."""
    options, prefix = bench.options, prepared(bench)
    num_bytes = models.active_bytes(models.report_of(prefix), 1 + options.tokens // 2)
    with engines.opened(bench.read_loop(options.threads)) as loop, \
            engines.opened(bench.open_peer(options.layers, options.experts)) as peer:
        for threads in options.threads:
            with engines.opened(engines.open_model(prefix, threads)) as model:
                r = bars.rounds(bench, threads, loop, model, peer, 0, options.tokens)
                bars.report_decode(bench, model, prefix, threads, r, num_bytes, None, bench.peer_details(peer))


def measure_prefill(bench):
    """The peer's time of a prompt over ours."""
    options, prefix = bench.options, prepared(bench)
    with engines.opened(bench.open_peer(options.layers, options.experts)) as peer:
        for threads in options.threads:
            with engines.opened(engines.open_model(prefix, threads)) as model:
                for tokens in options.prompts:
                    report_prefill(bench, model, peer, prefix, threads, tokens)


def report_prefill(bench, model, peer, prefix, threads, tokens):
    ours, theirs = [], []
    for i in range(bench.options.repetitions + 1):
        for engine, times in ((model, ours), (peer, theirs)):
            if engine:
                seconds = engine.measure("prefill", 0, tokens, threads)["seconds"]
                times.extend([seconds] if i else [])
    rates = {"tokens_per_s": tokens / median(ours)}
    if theirs:
        rates["peer_tokens_per_s"] = tokens / median(theirs)
    bench.rows.add(f"prefill-{tokens}", "token", model.heads[0]["target"], os.path.basename(prefix), threads,
                   median(bars.ratios(theirs, ours)) if theirs else rates["tokens_per_s"],
                   "x peer" if theirs else "tokens/s", {**rates, **bench.peer_details(peer)},
                   least=3 if theirs else None)


BARS = {"flagship-decode": measure_decode, "flagship-prefill": measure_prefill}
