# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""moe-run --bench measures prefill and decode, labelled as measured, and refuses what the context does not hold."""
from moectest import check, compiled, expect_error, run, run_json

prefix = compiled("mixed")
result = run_json(prefix, "--bench", "-p", "20", "-n", "3", "-d", "5", "-r", "2", "--memory", "5MB", "--threads", "2")
check(result["label"] == "measured" and result["threads"] == 2 and result["repetitions"] == 2, f"head: {result}")
check([(test["test"], test["tokens"], test["depth"]) for test in result["tests"]] ==
      [("prefill", 20, 5), ("decode", 3, 5)], f"tests: {result['tests']}")
for test in result["tests"]:
    rates = test["tokens_per_s"]
    check(len(rates) == 2 and min(rates) > 0, f"rates: {rates}")
    check(abs(test["tokens_per_s_mean"] - sum(rates) / 2) < 0.01 * max(rates), f"mean: {test}")
    check(test["expert_hits"] + test["expert_misses"] > 0, f"no expert was used: {test}")
check(result["tests"][0]["expert_misses"] > 0, "the small budget missed no expert")
only = run_json(prefix, "--bench", "-p", "0", "-n", "1", "-r", "1")
check([test["test"] for test in only["tests"]] == ["decode"], f"tests: {only['tests']}")
table = run(prefix, "--bench", "-p", "2", "-n", "0", "-r", "1").out
check("pp 2 @ 0" in table and "(measured)" in table and "tg" not in table, table)
for flags, text in ((("--bench", "-p", "100000"), "context"), (("--bench", "-p", "0", "-n", "0"), "both 0"),
                    (("--bench", "--prompt", "a"), "--bench takes no --prompt"), (("-r", "2", "--ids", "1"), "--bench"),
                    (("--bench", "--doctor"), "exclude"), (("--bench", "-r", "0"), "-r expects"),
                    (("--bench", "-d", "1024"), "-d expects a number of tokens from 0 to 1023"),
                    (("--bench", "--logits", "x.npy"), "--bench takes no --logits"),
                    (("--bench", "--max-tokens", "2"), "--bench takes no --max-tokens"),
                    (("--doctor", "--logits", "x.npy"), "--doctor takes no --logits")):
    refused = run(prefix, *flags, code=2)
    check(text in refused.err, f"{flags}: {refused.err}")
expect_error(run(prefix, "--bench", "--memory", "1MB", code=None), "needs")
