# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Layers with experts, a shared expert, a gate of attention, norms over all heads or with an offset, a rotation that is
stretched or of a part of each head, and a router without renormalization compute the interpreter's bits, under the
smallest budget, too."""
from graphmodel import GraphModel
from moectest import check, execute, program, report, run, same_files, scratch

IDS = ",".join(str((7 * i * i + 3) % 300) for i in range(21))
MODELS = {
    # As Qwen3-Next: every kind of feed-forward network, gates, offsets, and a quarter of each head rotated.
    "gated": GraphModel([{"ffn": "shared", "gate": True, "norms": "head"}, {"ffn": "dense", "gate": True},
                         {"ffn": "moe", "norms": "head"}], experts=4, top_k=2, expert_size=64, unit_offset=True, dim=4),
    # As OLMoE: odd numbers of experts, norms over all heads, weights that do not add up to 1.
    "full": GraphModel([{"ffn": "moe", "norms": "full", "renormalize": False},
                        {"ffn": "shared", "norms": "full", "renormalize": False, "bias": True}],
                       experts=37, top_k=5, expert_size=64, heads=4, kv_heads=1,
                       scaling="#moe.rope_scaling<kind = llama3, factor = 8.0 : f64, low = 1.0 : f64, "
                               "high = 4.0 : f64, original = 16>"),
    # Heads of 256.
    "wide": GraphModel([{"gate": True, "norms": "head"}], heads=2, kv_heads=1, head_dim=256, dim=64, unit_offset=True),
}
# A layer joins for QKV with its gate, attention, o, and once or twice for the feed-forward network: experts are one
# region, in which a shared expert's down is; its gate and up are in that of the router, which a router of more than 32
# experts needs anyway; a dense network has two regions. Attention with one KV head in one span does not join.
JOINS = {"gated": 5 + 5 + 4 + 1, "full": 4 + 4 + 1, "wide": 4 + 1}

with scratch() as folder:
    for name, quant, kv in (("gated", "f32", "f32"), ("gated", "mixed", "int8"), ("full", "f16", "f16"),
                            ("full", "int4", "int4"), ("wide", "int8m", "int4")):
        out, fused = MODELS[name].compile(folder, f"{name}-{quant}", "--target", "host", "--quant", quant, "--kv", kv)
        execute([program("moe-interpret"), fused, "--ids", IDS, "--greedy", "4", "--logits", out + ".expected.npy"])
        facts = report(out)
        memory = ["--memory", facts["min_bytes"]] if facts["expert_records"] else []
        for flags in (["--chunk", "16"], ["--chunk", "3", *memory]):
            run(out, "--ids", IDS, "--max-tokens", 4, "--greedy", *flags, "--logits", out + ".npy")
            check(same_files(out + ".npy", out + ".expected.npy"), f"{name} {quant} {flags}: logits differ")
        check(facts["joins_per_token"] == JOINS[name], f"{name}: {facts['joins_per_token']} joins a token")
