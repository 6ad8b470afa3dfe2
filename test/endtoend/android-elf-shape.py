# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Files for Android have the shape that its loader wants: 16 KiB segments, few libraries, no versions, no TLS."""
import os
import re

from moectest import check, compiled, execute

READELF = os.path.join(os.environ["MOEC_LLVM"], "bin", "llvm-readelf")
OBJDUMP = os.path.join(os.environ["MOEC_LLVM"], "bin", "llvm-objdump")
PAGE = 16384
SEGMENT = re.compile(r"^  (\w+) +0x\w+ (0x\w+) 0x\w+ 0x\w+ (0x\w+) (.{3}) (0x\w+)$", re.M)


def check_segments(path, text):
    segments = [(kind, int(address, 16), int(size, 16), flags, int(align, 16))
                for kind, address, size, flags, align in SEGMENT.findall(text)]
    loads = [segment for segment in segments if segment[0] == "LOAD"]
    check(len(loads) >= 3, f"{path}: {len(loads)} LOAD segments in\n{text}")
    pages = []
    for _, address, size, flags, align in loads:
        check(align % PAGE == 0 and align >= PAGE, f"{path}: a LOAD segment is aligned to {align}, needs {PAGE}")
        check("W" not in flags or "E" not in flags, f"{path}: a segment is writable and executable")
        pages.append((address // PAGE, (address + size - 1) // PAGE))
    for (_, last), (first, _) in zip(pages, pages[1:]):
        check(first > last, f"{path}: two LOAD segments share a page of {PAGE} bytes")
    check(not any(segment[0] == "TLS" for segment in segments), f"{path}: has a TLS segment")
    # The loader protects whole pages: nothing writable may follow on the last one.
    for _, address, size, _, _ in (segment for segment in segments if segment[0] == "GNU_RELRO"):
        owner = next(load for load in loads if load[1] <= address < load[1] + load[2])
        check(address == owner[1] and size == owner[2], f"{path}: RELRO covers a part of its segment only")


def check_file(path, needed, exports):
    text = execute([READELF, "-lW", path]).out
    check_segments(path, text)
    dynamic = execute([READELF, "-d", path]).out
    found = re.findall(r"Shared library: \[(.*?)\]", dynamic)
    check(sorted(found) == needed, f"{path}: needs {found}, expected {needed}")
    check("TEXTREL" not in dynamic, f"{path}: has text relocations")
    check("BIND_NOW" in dynamic, f"{path}: is bound lazily")
    versions = execute([READELF, "-V", path]).out
    check("GLIBC" not in versions and "Version needs" not in versions, f"{path}: needs versions:\n{versions}")
    symbols = execute([READELF, "--dyn-syms", "-W", path]).out
    defined = [line.split()[-1] for line in symbols.splitlines() if re.search(r"(GLOBAL|WEAK) +DEFAULT +\d", line)]
    check(sorted(defined) == exports, f"{path}: exports {defined}, expected {exports}")
    copies = execute([READELF, "-r", path]).out
    check("COPY" not in copies and "TLS" not in copies, f"{path}: has copy or TLS relocations")
    # Android keeps x18 for itself (shadow call stack).
    code = execute([OBJDUMP, "-d", "--no-show-raw-insn", path]).out
    check(not re.search(r"\b[wx]18\b", code), f"{path}: uses the register x18")


prefix = compiled("mixed", "arm64-dotprod@android")
check_file(prefix + ".so", ["libc.so"], ["moert_get_api", "moert_model_v1"])
check_file(os.path.join(prefix + ".run", "moe-run"), ["libc.so", "libdl.so"], [])
program = execute([READELF, "-lW", "--notes", os.path.join(prefix + ".run", "moe-run")]).out
check("/system/bin/linker64" in program, "moe-run has another interpreter")
check("Android" in program, "moe-run has no note of its API level")
