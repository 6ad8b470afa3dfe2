# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""moe-run on a `.so` of another machine says so and prints the command for the emulator."""
from moectest import compiled, expect_error, run

expect_error(run(compiled("mixed", "arm64-dotprod"), "--prompt", "a", code=None), ("aarch64", "arm64"), "qemu-aarch64")
