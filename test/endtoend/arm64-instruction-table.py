# SPDX-License-Identifier: Apache-2.0
# REQUIRES: qemu
# RUN: %python %s
"""The table of docs/benchmarks-arm64.md is what the kernels take: emulated and estimated again, within 2 %."""
import os
import sys

from moectest import BUILD, SOURCE, execute

OBJECTS = os.path.join(BUILD, "test", "unit", "arm-kernel-objects")
SCRIPT = os.path.join(SOURCE, "tools", "dev", "count-arm-instructions.py")
execute([sys.executable, SCRIPT, "--objects", OBJECTS, "--check"])
