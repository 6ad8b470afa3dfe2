# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
# UNSUPPORTED: sanitizer
"""Any budget from the minimum up gives the same logits; misses grow as it falls, each reads one record, memory holds.

Budgets are min + f * (plan - min) for f = 1, 1/2, 1/4, 0. The process is also measured from outside: its peak resident
memory stays below the budget plus what the process had before it opened the model.
"""
import os
import subprocess

from moectest import check, comma, compiled, golden_prompts, program, report, run_json, same_files, scratch

prompt = comma(golden_prompts()["medium"]["prompt_ids"])


def peak_from_outside(command):
    """Largest resident set of the program in bytes, read from /proc while it runs.

    The kernel keeps the peak (VmHWM) of the program alone; wait4's ru_maxrss would hold this interpreter's size from
    before exec.
    """
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak, name = 0, os.path.basename(command[0])
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
                fields = dict(line.split(":", 1) for line in file)
        except (FileNotFoundError, ProcessLookupError):
            continue
        if fields["Name"].strip() == name and "VmHWM" in fields:
            peak = max(peak, int(fields["VmHWM"].split()[0]) * 1024)
    check(process.returncode == 0, f"status {process.returncode}: {command}")
    check(peak > 0, f"no peak read while it ran: {command}")
    return peak


with scratch() as folder:
    for quant in ("int8", "int4"):
        prefix = compiled(quant)
        facts = report(prefix)
        least, full = facts["min_bytes"], facts["plan_bytes"]
        check(0 < least < full, f"{quant}: min_bytes {least}, plan_bytes {full}")
        first, misses_before = None, -1
        for fraction in (1.0, 0.5, 0.25, 0.0):
            budget = least + int(fraction * (full - least))
            path = os.path.join(folder, f"{quant}-{fraction}.npy")
            flags = ["--ids", prompt, "--max-tokens", 24, "--greedy", "--threads", 2, "--memory", budget]
            found = run_json(prefix, *flags, "--logits", path)
            first = first or path
            misses = found["expert_misses"]
            print(quant, fraction, budget, misses, found["expert_bytes_read"])
            check(same_files(first, path), f"{quant}: logits differ under budget {budget}")
            check(found["budget_bytes"] == budget, f"{quant}: budget_bytes {found['budget_bytes']}, asked {budget}")
            check(found["plan_bytes"] <= full, f"{quant}: plan_bytes {found['plan_bytes']} at run time, {full} planned")
            if fraction <= 0.5:
                check(misses > 0 and misses > misses_before, f"{quant}: {misses} misses after {misses_before}")
            if misses:
                record, rest = divmod(found["expert_bytes_read"], misses)
                check(rest == 0 and record % 16384 == 0 and record > 0,
                      f"{quant}: {found['expert_bytes_read']} bytes for {misses} misses")
            misses_before = misses
            peak = peak_from_outside([program("moe-run"), prefix + ".so", *map(str, flags)])
            check(peak <= budget + found["baseline_rss_bytes"],
                  f"{quant}: peak {peak}, budget {budget} and baseline {found['baseline_rss_bytes']}")
