# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""On a described machine (--root) without faults the doctor finds nothing; each injected state is found alone, with its
number and its remedy, and the exit code is 3 or 1. The table in docs/doctor.md lists exactly these findings."""
import os
import re
import shutil
import types

from machine import CPU, THERMAL, Machine, auxv, meminfo, mountinfo
from moectest import SOURCE, check, compiled, expect_error, run, scratch

PREFIX = compiled("mixed")
PACK_BYTES = os.path.getsize(PREFIX + ".moepack")
TINY = 3_000_000  # bytes, below the minimum


def table():
    """[(check, state, pattern of the remedy)] of the document."""
    rows = []
    with open(os.path.join(SOURCE, "docs", "doctor.md"), encoding="utf-8") as file:
        lines = file.read().split("<!-- findings:")[1].splitlines()[3:]
    for line in lines[:lines.index("")]:
        check_name, state, _, remedy = [cell.strip() for cell in line.strip("|").split(" | ")]
        rows.append((check_name.strip("`"), state, re.escape(remedy).replace("…", ".*")))
    return rows


ROWS = table()
SEEN = set()


def examine(machine, *flags, prefix=PREFIX):
    result = run(prefix, "--doctor", "--json", "--root", machine.root, *flags, code=None)
    report = result.json()
    check({entry["state"] for entry in report["passed"]} <= {"ok", "unknown"}, f"passed: {report['passed']}")
    return report, result.code


def expect(machine, check_name, state, value, *flags, text="", prefix=PREFIX):
    """Exactly one finding, which is a row of the table."""
    report, code = examine(machine, *flags, prefix=prefix)
    found = report["findings"]
    check(len(found) == 1 and found[0]["check"] == check_name and found[0]["state"] == state == report["state"],
          f"expected {check_name} {state}: {found}")
    check(code == {"warning": 3, "error": 1}[state], f"{check_name}: exit code {code}")
    check(value is None or found[0]["value"] == value, f"{check_name}: expected the number {value}: {found[0]}")
    check(text in found[0]["found"] and found[0]["needed"], f"{check_name}: {found[0]}")
    rows = [row for row in ROWS if row[:2] == (check_name, state) and re.fullmatch(row[2], found[0]["remedy"])]
    check(rows, f"docs/doctor.md has no such row: {found[0]}")
    SEEN.update(rows)
    return found[0]


def files(machine):
    """(file, content, check, state, value, flags, text)"""
    report = examine(machine)[0]
    planned, least = report["planned_bytes"], report["min_bytes"]
    tight = (planned + 2_000_000_000) // 1024
    fast = CPU.format(6) + "cpufreq/"
    return [
        ("proc/meminfo", meminfo(available_kib=tight - 1), "memory", "warning", (tight - 1) * 1024, (),
         "MiB available"),
        ("proc/meminfo", meminfo(available_kib=least // 1024 + 1), "memory", "warning", (least // 1024 + 1) * 1024,
         (), "MiB available"),
        ("proc/meminfo", meminfo(available_kib=least // 1024 + 1), "memory", "warning", (least // 1024 + 1) * 1024,
         ("--memory", least), "MiB available"),
        ("proc/meminfo", meminfo(available_kib=TINY // 1024), "memory", "error", TINY // 1024 * 1024, (), "2.9 MiB"),
        ("proc/meminfo", meminfo(swap_free_kib=3_000_000), "swap", "warning", 1_000_000 * 1024, (), "976.6 of 3906.2"),
        ("moec/free_bytes", PACK_BYTES - 1, "flash_space", "warning", PACK_BYTES - 1, (), "MB free"),
        ("moec/read_mbps", 499, "flash_random", "warning", 499, (), "499 MB/s"),
        ("moec/read_mbps", 499, "flash_random", "warning", 499, ("--memory", "5MB"), "499 MB/s"),
        ("proc/self/mountinfo", mountinfo("fuse"), "file_system", "warning", 0x65735546, (), "fuse, mounted at /"),
        ("proc/self/limits", "Max locked memory  65536  65536  bytes", "memory_lock", "warning", 65536, ("--lock",),
         "0.06 MiB"),
        (THERMAL + "thermal_zone0/temp", 80_001, "heat", "warning", 80.001, (), "at 85.0 C"),
        (THERMAL + "cooling_device1/cur_state", 3, "heat", "warning", 3, (), "thermal-cpufreq-0 at step 3 of 9"),
        (fast + "scaling_max_freq", 2_090_000, "frequency", "warning", 2_090_000, (),
         "cpu6 may run at 2.09 of 3.00"),
        (fast + "scaling_cur_freq", 1_500_000, "frequency", "warning", 1_500_000, (), "(50 %)"),
        ("proc/cpuinfo", "flags : fma f16c\nFeatures : asimddp", "cpu_features", "error", None, (), "lacks"),
        ("proc/self/auxv", auxv(16384), "page_size", "warning", 16384, (), "16384 bytes"),
        ("proc/self/auxv", auxv(65536), "page_size", "error", 65536, (), "65536 bytes"),
    ]


def bounds(machine):
    """Just inside: no finding."""
    tight = (examine(machine)[0]["planned_bytes"] + 2_000_000_000) // 1024 + 1
    slow = CPU.format(1) + "cpufreq/"
    for name, content, flags in (
            ("proc/meminfo", meminfo(available_kib=tight), ()), ("moec/free_bytes", PACK_BYTES, ()),
            ("proc/meminfo", meminfo(swap_free_kib=3_999_000), ()), ("moec/read_mbps", 500, ()),
            ("proc/self/limits", "Max locked memory  0  0  bytes", ()), (slow + "scaling_cur_freq", 300_000, ()),
            ("proc/self/limits", "Max locked memory  unlimited  unlimited  bytes", ("--lock",)),
            ("proc/self/status", "CapEff:\t0000000000004000", ("--lock",)), ("proc/self/auxv", None, ()),
            (THERMAL + "thermal_zone0/temp", 79_999, ()), (THERMAL + "thermal_zone0/temp", "none", ()),
            ("proc/meminfo", None, ()), ("proc/cpuinfo", "what", ()), ("proc/self/mountinfo", "27 1 0:1 / / rw", ()),
            ("proc/self/mountinfo", mountinfo() + "28 27 0:9 / /nowhere rw - fuse fuse rw", ())):
        with machine.changed(name, content):
            report, code = examine(machine, *flags)
            check(code == 0 and report["findings"] == [], f"{name} {content}: {report['findings']}")
    report, code = examine(machine, "--threads", 4)
    check(code == 0 and not report["findings"], f"as many threads as fast cores: {report['findings']}")


def advised_memory(machine):
    """Where the remedy has a budget, that budget has no finding; one byte below the least that has none, it says so."""
    report = examine(machine)[0]
    least = report["min_bytes"] + 2_000_000_000
    with machine.changed("proc/meminfo", meminfo(available_kib=-(-least // 1024))):
        remedy = expect(machine, "memory", "warning", None)["remedy"]
        found = examine(machine, "--memory", re.search(r"--memory (\d+)", remedy)[1])
        check(found[1] == 0 and not found[0]["findings"], f"{remedy}: {found}")
    with machine.changed("proc/meminfo", meminfo(available_kib=(least - 1) // 1024)):
        remedy = expect(machine, "memory", "warning", None)["remedy"]
        check(f"no --memory leaves 2 GB: with the minimum, --memory {report['min_bytes']}, 0.0 MiB" in remedy, remedy)


def groups(machine):
    """Of control groups the one with the least memory counts, parents included; what can be dropped is not used."""
    machine.write("proc/self/auxv", auxv(4096))
    for group, folder, limit, used, droppable in (
            ("0::/app/one", "sys/fs/cgroup/app/", "memory.max", "memory.current", "inactive_file 50"),
            ("9:memory:/app/one", "sys/fs/cgroup/memory/app/", "memory.limit_in_bytes", "memory.usage_in_bytes",
             "total_inactive_file 50")):
        machine.write("proc/self/cgroup", f"8:cpu:/\n{group}\n")
        machine.write(folder + "one/" + limit, "max" if limit == "memory.max" else 2**63 - 4096)
        machine.write(folder + "one/" + used, 100)
        machine.write(folder + limit, 1_000_000_000)
        machine.write(folder + used, 150)
        machine.write(folder + "memory.stat", f"anon 7\n{droppable}\n")
        expect(machine, "memory", "warning", 1_000_000_000 - 100, text="the limit of the control group /app")
        machine.write(folder + used, 999_999_000)
        expect(machine, "memory", "error", 1050, text="/app")
        machine.write(folder + limit, "max" if limit == "memory.max" else 2**63 - 4096)
        check(examine(machine)[1] == 0, "no limit")


with scratch() as folder:
    machine = Machine(os.path.join(folder, "root"))
    report, code = examine(machine, "--lock")
    check(code == 0 and report["state"] == "ok" and report["findings"] == [], f"clean machine: {report['findings']}")
    check({entry["state"] for entry in report["passed"]} == {"ok"}, f"something is unknown: {report['passed']}")
    for name, content, check_name, state, value, flags, text in files(machine):
        with machine.changed(name, content):
            expect(machine, check_name, state, value, *flags, text=text)
    expect(machine, "threads", "warning", 5, "--threads", 5, text="for 4 performance cores")
    expect(machine, "memory", "error", 1_000_000, "--memory", "1MB", text="budget is 1000000 bytes")
    alone = os.path.join(folder, "alone")
    shutil.copy(PREFIX + ".so", alone + ".so")
    expect(machine, "pack", "error", None, prefix=alone)
    check(SEEN == set(ROWS), f"rows of docs/doctor.md without a case: {set(ROWS) - SEEN}")
    advised_memory(machine)
    bounds(machine)
    machine.remove("proc/self/auxv")
    machine.write("proc/self/smaps", "00400000-00452000 r-xp\nSize: 328 kB\nKernelPageSize:       16 kB\n")
    expect(machine, "page_size", "warning", 16384)

    groups(machine)

    # A machine without any file: everything that is not the model's is unknown.
    empty = os.path.join(folder, "empty")
    os.mkdir(empty)
    report, code = examine(types.SimpleNamespace(root=empty))
    check(code == 0 and report["findings"] == [], f"an empty machine: {report['findings']}")
    for root, text in ((os.path.join(folder, "nowhere"), "--root: No such file"), (alone + ".so", "is a file")):
        expect_error(run(PREFIX, "--doctor", "--root", root, code=None), text)
    check("--root belongs to" in run(PREFIX, "--chat", "--root", empty, code=2).err, "a conversation with --root")
