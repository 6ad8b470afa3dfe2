# SPDX-License-Identifier: Apache-2.0
# REQUIRES: qemu
# RUN: %python %s
"""On a Cortex-A76 the i8mm build is refused by the name of the missing feature, the dotprod build runs."""
from moectest import check, compiled, expect_error, run

FLAGS = ("--prompt", "Once upon a time", "--max-tokens", 2, "--greedy")
refused = run(compiled("mixed", "arm64-i8mm"), *FLAGS, target="arm64-i8mm", cpu="cortex-a76", code=None)
expect_error(refused, "i8mm")
check("Illegal instruction" not in refused.err, refused.err)
small = run(compiled("mixed", "arm64-dotprod"), *FLAGS, target="arm64-dotprod", cpu="cortex-a76")
large = run(compiled("mixed", "arm64-dotprod"), *FLAGS, target="arm64-dotprod")
check(small.out == large.out and small.out, f"text on a Cortex-A76 {small.out!r}, on a newer core {large.out!r}")
