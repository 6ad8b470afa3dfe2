# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""moe-run: text alone on stdout; with --json one object that holds every key of the contract; finish reasons;
after an error nothing else."""
import json
import os
import re
import shutil

from moectest import check, comma, compiled, golden_prompts, moe_pack, run, run_json, scratch

KEYS = {"prompt_ids", "ids", "text", "prefill_tokens_per_s", "decode_tokens_per_s", "peak_rss_bytes",
        "baseline_rss_bytes", "plan_bytes", "budget_bytes", "expert_hits", "expert_misses", "expert_bytes_read",
        "stall_ms", "finish_reason"}
prefix = compiled("int8")
golden = golden_prompts()["short"]
text = run(prefix, "--prompt", golden["text"], "--max-tokens", 12, "--greedy")
found = run_json(prefix, "--prompt", golden["text"], "--max-tokens", 12, "--greedy")
check(KEYS <= found.keys(), f"missing keys {sorted(KEYS - found.keys())}")
check(found["prompt_ids"] == golden["prompt_ids"], f"{golden['text']!r} became {found['prompt_ids']}")
check(len(found["ids"]) == 12 and found["finish_reason"] == "length", f"{found['ids']}, {found['finish_reason']}")
check(text.out.rstrip("\n") == found["text"].rstrip("\n"), f"stdout {text.out!r}, text {found['text']!r}")
check(found["peak_rss_bytes"] > found["baseline_rss_bytes"] > 0, "memory figures are missing")
check(found["prefill_tokens_per_s"] > 0 and found["decode_tokens_per_s"] > 0, "speed figures are missing")

context = compiled("int8", "host", "--context", 64)
full = run_json(context, "--ids", comma(golden_prompts()["medium"]["prompt_ids"]), "--max-tokens", 100, "--greedy")
check(full["finish_reason"] == "context", f"finish_reason {full['finish_reason']} at the end of the context")
check(45 + len(full["ids"]) in (64, 65), f"{len(full['ids'])} tokens behind 45 in a context of 64")

for flags in (("--ids", "99999999"), ("--ids", "1", "--logits", os.path.join("no", "folder"))):
    for form in ((), ("--json",)):
        failed = run(prefix, *flags, *form, code=1)
        check(failed.out == "" and re.fullmatch("error: .*\n", failed.err), f"{failed.out!r} {failed.err!r}")

# Every expert is damaged, so the first that is read ends the run.
with scratch() as folder:
    pack = os.path.join(folder, "damaged.moepack")
    shutil.copy(prefix + ".moepack", pack)
    with open(pack, "r+b") as file:
        for record in json.loads(moe_pack("list", pack, "--json").out)["directory"]:
            if record["kind"] == "expert":
                file.seek(record["offset"])
                file.write(b"damaged")
    for form in ((), ("--json",)):
        failed = run(prefix, "--pack", pack, "--ids", "1,2,3", *form, code=1)
        check(failed.out == "" and re.fullmatch("error: .*expert .* is damaged.*\n", failed.err),
              f"{failed.out!r} {failed.err!r}")
