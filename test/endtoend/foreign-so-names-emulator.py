# SPDX-License-Identifier: Apache-2.0
# REQUIRES: qemu
# RUN: %python %s
"""moe-run on a `.so` of another machine says so and prints the command for the emulator, or for a phone."""
from moectest import compiled, expect_error, run

expect_error(run(compiled("mixed", "arm64-dotprod"), "--prompt", "a", code=None), ("aarch64", "arm64"), "qemu-aarch64")
android = compiled("mixed", "arm64-dotprod@android")
for target in ("host", "arm64-dotprod"):
    refused = run(android, "--prompt", "a", target=target, code=None)
    expect_error(refused, "is for Android", android + ".run/run-on-device.sh")
