# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""`moec estimate` gives the sizes of the pack and of the plan that compiling gives, from the config alone.

Exact but for the code: its size is known after linking only.
"""
import os

from moectest import DEMO, check, compiled, moec, report

EXACT = ("resident", "experts", "kv", "arena", "state")
CASES = (("host", "mixed", ()), ("host", "f32", ()), ("arm64-i8mm", "int8", ()))
for target, quant, flags in CASES:
    prefix = compiled(quant, target)
    facts = report(prefix)
    config = os.path.join(DEMO, "config.json")
    guess = moec("estimate", config, "--target", target, "--quant", quant, *flags, "--json").json()
    what = f"{target} {quant}: {guess}"
    check(guess["basis"] == "estimated" and guess["assumptions"], what)
    check(guess["pack_bytes"] == os.path.getsize(prefix + ".moepack"), f"pack of {what}")
    check(sum(entry["bytes"] for entry in guess["pack_classes"]) == guess["pack_bytes"], f"classes of {what}")
    for name in EXACT:
        check(guess["bytes_by_class"][name] == facts["bytes_by_class"][name], f"{name} of {what}")
    check(abs(guess["plan_bytes"] - facts["plan_bytes"]) < 2_000_000, f"plan of {what}")
    check(guess["tokens_per_s"] is None and guess["hit_share"] == 1, f"no bandwidth is known: {what}")
    token = facts["token_estimate"]
    check(token["memory_bytes"] == guess["dram_bytes_per_token"], f"{token} of {what}")
    check(token["flash_bytes"] == guess["flash_bytes_per_token"] and token["depth"] == guess["depth"], f"{token}")
    check(token["tokens_per_s"] is None and token["hit_rate"] == 1, f"{token}")
    check([entry["experts_used"] for entry in token["by_experts_used"]] == [4, 3, 2, 1], f"{token}")
    check(token["by_experts_used"] == guess["by_experts_used"], f"{token} of {what}")
    shown = moec("report", prefix + ".so").out
    check("tokens/s unknown" in shown and "by --experts-used" in shown, shown)

# Half of the experts: half of the uses miss. The formula itself has unit tests.
budget = guess["min_bytes"] + (guess["plan_bytes"] - guess["min_bytes"]) // 2
half = moec("estimate", DEMO, "--target", "host", "--quant", "int8", "--memory", budget, "--dram", "10GB", "--flash",
            "1GB", "--json").json()
check(0.4 < half["resident_share"] < 0.7 and half["hit_share"] == half["resident_share"], f"{half}")
uses = 4 * 4  # layers and experts per token
check(abs(half["expert_misses_per_token"] - uses * (1 - half["hit_share"])) < 1e-9, f"{half}")
seconds = half["dram_bytes_per_token"] / 9e9 + half["flash_bytes_per_token"] / 1e9
check(0.8 < half["tokens_per_s"] * seconds < 1.3, f"{half}")
check(half["tokens_per_s"] < half["tokens_per_s_overlapped"], f"{half}")


def changed(*flags):
    return moec("estimate", DEMO, "--target", "host", "--quant", "int8", "--memory", budget, "--dram", "10GB",
                "--flash", "1GB", "--json", *flags).json()


check(changed("--hit-rate", 1)["expert_misses_per_token"] == 0, "all hit")
check(changed("--hit-rate", 0.75)["tokens_per_s"] > half["tokens_per_s"], "hits cost nothing")
check(changed("--routing", "zipf:1.2")["hit_share"] > half["hit_share"] + 0.1, "skewed routing hits no more")
check(abs(changed("--routing", "zipf:0")["hit_share"] - half["hit_share"]) < 1e-9, "zipf:0 is even")
check(changed("--predicted", 1)["tokens_per_s"] > half["tokens_per_s"], "reads ahead gain nothing")
check(changed("--clock", 0.5)["tokens_per_s"] < half["tokens_per_s"], "the clock does not matter")
check(changed("--depth", 0)["dram_bytes_per_token"] < half["dram_bytes_per_token"], "the cache is free")
fewer = changed("--experts-used", 2)
check(fewer["expert_misses_per_token"] * 2 == half["expert_misses_per_token"], f"{fewer}")
check(fewer["plan_bytes"] == half["plan_bytes"] and fewer["by_experts_used"] == half["by_experts_used"], f"{fewer}")
check(next(entry for entry in half["by_experts_used"] if entry["experts_used"] == 2)["flash_bytes"] ==
      fewer["flash_bytes_per_token"], f"{fewer}")
phone = moec("estimate", DEMO, "--target", "snapdragon-8-gen3", "--quant", "int8", "--memory", budget, "--json").json()
check(phone["tokens_per_s"] > 0 and phone["flash_bytes_per_s"] == 2130000000, f"{phone}")
text = moec("estimate", "qwen3-30b-a3b", "--target", "arm64", "--quant", "int4", "--context", 4096).out
check("30532122624 weights" in text and "every number is estimated" in text, text)
# Counts as published: 34.7 B and 2.9 B; 79.7 B.
for model, weights, active in (("qwen3.6-35b-a3b", 34_660_610_688, 2_946_429_568),
                               ("qwen3-next-80b-a3b", 79_674_391_296, 3_563_764_480)):
    guess = moec("estimate", model, "--target", "arm64-i8mm", "--quant", "int4", "--context", 4096, "--json").json()
    check((guess["weights"], guess["active_weights"]) == (weights, active), f"{model}: {guess}")
    check(guess["bytes_by_class"]["state"] > 60 << 20, f"{model} keeps its state in f32: {guess}")
