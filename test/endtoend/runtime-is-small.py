# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""moe-run holds no LLVM, and the runtime part of a `.so` stays under 300 KB."""
import glob
import os

from moectest import BIN, BUILD, check, execute

LLVM = os.environ["MOEC_LLVM"]
needed = execute([os.path.join(LLVM, "bin", "llvm-readelf"), "-d", os.path.join(BIN, "moe-run")]).out
check("LLVM" not in needed and "MLIR" not in needed, "moe-run is linked with LLVM")
archives = glob.glob(os.path.join(BUILD, "lib", "moert", "*", "libmoert.a"))
check(archives, "no runtime archive was built")
for archive in archives:
    rows = execute([os.path.join(LLVM, "bin", "llvm-size"), archive]).out.splitlines()[1:]
    total = sum(int(row.split()[0]) + int(row.split()[1]) + int(row.split()[2]) for row in rows if row.split())
    print(archive, total)
    check(0 < total < 300_000, f"{archive}: {total} bytes of code and data")
