# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""--lock, --cpus, --threads auto and --on-full slide keep the tokens; a pack may lie inside of an archive."""
import ctypes
import os
import resource
import subprocess

from moectest import check, comma, compiled, heldout_ids, program, run, run_json, scratch

prefix = compiled("int8")
IDS = ("--ids", comma(heldout_ids(60)), "--max-tokens", 12, "--greedy")
plain = run_json(prefix, *IDS)
first = min(os.sched_getaffinity(0))
pinned = run_json(prefix, *IDS, "--cpus", first, "--threads", "auto")
check(pinned["ids"] == plain["ids"] and pinned["threads"] == 1 and pinned["pinned_cpus"] == 1, f"{pinned}")

PR_CAPBSET_DROP, CAP_IPC_LOCK = 24, 14


def without_privilege():
    """The limit holds for root too once the capability cannot be had."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))


locked = run_json(prefix, *IDS, "--lock")
check(locked["ids"] == plain["ids"], "locking changed the tokens")
check(locked["locked_bytes"] + locked["lock_refused_bytes"] > 0.9 * plain["ledger_peak_bytes"] - 4_000_000, f"{locked}")
limited = subprocess.run([program("moe-run"), prefix + ".so", *map(str, IDS), "--lock", "--quiet"], check=False,
                         capture_output=True, preexec_fn=without_privilege)
text = limited.stderr.decode()
check(limited.returncode == 0, f"exit code {limited.returncode}: {text}")
check("warning: --lock: the system locked " in text and "RLIMIT_MEMLOCK is 65536 bytes" in text, f"{text!r}")

# A context of 64 that slides: 4 and the latest 32 tokens stay, as in a fresh session that is fed those.
slid = run_json(prefix, *IDS[:2], "--max-tokens", 40, "--greedy", "--context", 64, "--on-full", "slide")
check(len(slid["ids"]) == 40 and slid["slides"] == 2 and slid["finish_reason"] == "length", f"{slid}")
held = heldout_ids(60)
for expected in slid["ids"]:
    if len(held) in (37, 50):
        fresh = run_json(prefix, "--ids", comma(held), "--max-tokens", 1, "--greedy")["ids"]
        check(fresh == [expected], f"a fresh session of {len(held)} tokens gives {fresh}, the slid one {expected}")
    if len(held) == 64:
        held = held[:4] + held[-32:]
    held.append(expected)

with scratch() as folder:
    with open(prefix + ".moepack", "rb") as file:
        pack = file.read()
    for offset in (4096, 1000):
        archive = os.path.join(folder, "archive")
        with open(archive, "wb") as file:
            file.write(b"x" * offset + pack + b"the end")
        place = ("--pack", archive, "--pack-offset", offset, "--pack-bytes", len(pack), "--memory", plain["min_bytes"])
        inside = run_json(prefix, *IDS, *place)
        check(inside["ids"] == plain["ids"], f"other tokens from a pack at offset {offset}")
        check(not inside["direct_io"] or offset == 4096, f"direct reads at offset {offset}")
    refused = run(prefix, *IDS, "--pack", archive, "--pack-offset", 999, code=1)
    check("has no weight pack at offset 999" in refused.err, refused.err)
