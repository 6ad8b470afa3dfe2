# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
# UNSUPPORTED: sanitizer
"""moe-run with too little address space, memory, descriptors or threads: the right text, or one message.

Limits go up from what lets the program start to more than it needs. As root the limit on threads holds for nobody else
but an ordinary user, so the program then runs as one. Where a memory control group can be made, the model also runs
inside its budget and 32 MiB.
"""
import os
import resource
import subprocess

from moectest import check, comma, compiled, golden_prompts, program, report

prefix = compiled("int8")
prompt = comma(golden_prompts()["medium"]["prompt_ids"])
budget = report(prefix)["min_bytes"] + 4 * (1 << 20)
MIB = 1 << 20
ORDINARY_USER = 65534


def start(limit=None, value=0, user=None, before=None):
    """Runs the model; `limit` holds from the start of the program on."""
    def prepare():
        if before:
            before()
        if limit is not None:
            resource.setrlimit(limit, (value, value))
        if user is not None:
            os.setuid(user)

    command = [program("moe-run"), prefix + ".so", "--ids", prompt, "--max-tokens", "8", "--greedy", "--quiet",
               "--threads", "3", "--memory", str(budget)]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, preexec_fn=prepare, timeout=120,
                          check=False)


clean = start()
check(clean.returncode == 0 and clean.stdout, f"without a limit: {clean}")


def sweep(name, limit, values, user=None):
    """Both ends must be reached: a refusal and the right text. Below that the loader may refuse the program."""
    refused, right, messages = 0, 0, set()
    for value in values:
        found = start(limit, value, user)
        where = f"{name} {value}: {found}"
        if found.returncode == 127 and b"error while loading shared libraries" in found.stderr:
            continue
        if found.returncode == 0:
            check(found.stdout == clean.stdout, f"other text: {where}")
            right += 1
            continue
        check(found.returncode == 1, where)
        check(found.stderr.startswith(b"error: ") and found.stderr.count(b"\n") == 1, f"not one message: {where}")
        check(clean.stdout.startswith(found.stdout), f"other text: {where}")
        messages.add(found.stderr.decode().strip())
        refused += 1
    print(name, f"refused {refused}, right {right}")
    for message in sorted(messages):
        print("   ", message)
    check(right, f"{name}: never ran")
    return refused


half_mib = MIB // 2
check(sweep("address space", resource.RLIMIT_AS, range(8 * half_mib, 40 * half_mib, 3 * half_mib)), "no refusal")
check(sweep("data", resource.RLIMIT_DATA, range(half_mib, 30 * half_mib, 2 * half_mib)), "no refusal")
# Where the loader can open the libraries, the pack can be opened, too; there may be none left for direct reads.
sweep("descriptors", resource.RLIMIT_NOFILE, range(3, 8))
user = ORDINARY_USER if os.geteuid() == 0 else None
if start(user=user).returncode == 0:
    sweep("threads", resource.RLIMIT_NPROC, range(1, 9), user)
else:
    print("an ordinary user cannot read the model; the limit on threads was left out")

group = f"/sys/fs/cgroup/memory/moec-test-{os.getpid()}"
try:
    os.mkdir(group)
except OSError as error:
    print(f"no memory control group ({error}); that part was left out")
else:
    try:
        with open(os.path.join(group, "memory.limit_in_bytes"), "w", encoding="ascii") as file:
            file.write(str(budget + 32 * MIB))

        def enter():
            with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as file:
                file.write(str(os.getpid()))

        found = start(before=enter)
        check(found.returncode == 0 and found.stdout == clean.stdout, f"in a control group: {found}")
    finally:
        os.rmdir(group)
