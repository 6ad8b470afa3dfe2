# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""moe-run --bench measures prefill and decode, labelled as measured, and refuses what the context does not hold."""
from moectest import check, compiled, expect_error, report, run, run_json

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

lists = run_json(prefix, "--bench", "-p", "4,0,2", "-n", "2", "-d", "0,6", "-t", "1,2", "-r", "2", "--bandwidth", "1GB")
check([(test["threads"], test["test"], test["tokens"], test["depth"]) for test in lists["tests"]] ==
      [(threads, *rest) for threads in (1, 2) for rest in (
          ("prefill", 4, 0), ("prefill", 2, 0), ("decode", 2, 1),
          ("prefill", 4, 6), ("prefill", 2, 6), ("decode", 2, 6))],
      f"lists: {lists['tests']}")
token = report(prefix)["token_bytes"]
for test in lists["tests"]:
    # One thread joins nobody.
    check((test["joins_per_token"] > 0) == (test["threads"] > 1), f"joins: {test}")
    check(("bytes_per_token" in test) == (test["test"] == "decode"), f"bytes: {test}")
    if test["test"] == "decode":
        # Tokens behind 1 and 2, or 6 and 7 others, see those and themselves.
        bytes_of = token["weights"] + (test["depth"] + 1.5) * token["kv_per_position"]
        check(abs(test["bytes_per_token"] - bytes_of) < 1, f"{bytes_of} bytes: {test}")
        check(abs(test["bandwidth_share"] - bytes_of * test["tokens_per_s_mean"] / 1e9) < 1e-3, f"share: {test}")
pruned = run_json(prefix, "--bench", "-p", "0", "-n", "1", "-r", "1", "--experts-used", "1")["tests"][0]
used = 1 / 4  # of the four experts of a token
check(abs(pruned["bytes_per_token"] - (token["weights"] - (1 - used) * token["experts"] +
                                       2 * token["kv_per_position"])) < 1, f"one expert: {pruned}")
table = run(prefix, "--bench", "-p", "0", "-n", "2", "-t", "1,2", "-r", "1", "--bandwidth", "1GB").out.splitlines()
check("of memory" in table[1] and len(table) == 4 and all("%" in line for line in table[2:]), f"table: {table}")
for flags, text in ((("--bench", "-p", "100000"), "context"), (("--bench", "-p", "0", "-n", "0"), "both 0"),
                    (("--bench", "--prompt", "a"), "--bench takes no --prompt"), (("-r", "2", "--ids", "1"), "--bench"),
                    (("--bench", "--doctor"), "exclude"), (("--bench", "-r", "0"), "-r expects"),
                    (("--bench", "-d", "1024"), "-d expects a number of tokens from 0 to 1023"),
                    (("--bench", "--logits", "x.npy"), "--bench takes no --logits"),
                    (("--bench", "-p", "2,"), "-p expects up to 16 numbers"),
                    (("--bench", "-t", "0"), "-t expects up to 16 numbers"),
                    (("--bench", "-n", ",".join("1" * 17)), "-n expects up to 16 numbers"),
                    (("--bench", "-t", "1", "--threads", "1"), "exclude"), (("--ids", "1", "-t", "1"), "--bench"),
                    (("--bench", "-n", "2,2000", "-p", "0"), "-n 2000 behind a depth of 1 needs a context of 2001"),
                    (("--bench", "--max-tokens", "2"), "--bench takes no --max-tokens"),
                    (("--doctor", "--logits", "x.npy"), "--doctor takes no --logits")):
    refused = run(prefix, *flags, code=2)
    check(text in refused.err, f"{flags}: {refused.err}")
expect_error(run(prefix, "--bench", "--memory", "1MB", code=None), "needs")
