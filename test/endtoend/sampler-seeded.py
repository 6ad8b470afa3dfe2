# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Sampling is a function of the seed; without sampler flags it follows generation_config.json with seed 0."""
from moectest import check, compiled, run_json

prefix = compiled("int8")
BASE = ("--prompt", "The old man", "--max-tokens", 24)


def sampled(*flags):
    return run_json(prefix, *BASE, *flags)["ids"]


# examples/demo-moe/generation_config.json: temperature 0.8, top_k 40, top_p 0.95.
plain = sampled()
check(plain == sampled("--temperature", 0.8, "--top-k", 40, "--top-p", 0.95, "--seed", 0), "defaults are not applied")
check(plain == sampled("--threads", 1), "the sample depends on the number of threads")
seven = sampled("--temperature", 0.8, "--seed", 7)
check(seven == sampled("--temperature", 0.8, "--seed", 7), "the same seed gave two texts")
check(seven != sampled("--temperature", 0.8, "--seed", 8), "two seeds gave one text")
check(sampled("--greedy") == sampled("--temperature", 1, "--top-k", 1), "top-k 1 is not greedy")
