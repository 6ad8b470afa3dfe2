# SPDX-License-Identifier: Apache-2.0
# REQUIRES: qemu
# RUN: %python %s
"""On a Cortex-A76 the i8mm build is refused by the name of the missing feature, the dotprod build runs; on a Cortex-A57
the dotprod build is refused and the baseline build runs."""
from moectest import check, compiled, expect_error, run

FLAGS = ("--prompt", "Once upon a time", "--max-tokens", 2, "--greedy")
newest = run(compiled("mixed", "arm64-dotprod"), *FLAGS, target="arm64-dotprod")
for refused, runs, cpu in (("i8mm", "dotprod", "cortex-a76"), ("dotprod", "neon", "cortex-a57")):
    result = run(compiled("mixed", f"arm64-{refused}"), *FLAGS, target=f"arm64-{refused}", cpu=cpu, code=None)
    expect_error(result, f"lacks the feature '{refused}'")
    check("Illegal instruction" not in result.err, result.err)
    result = run(compiled("mixed", f"arm64-{runs}"), *FLAGS, target=f"arm64-{runs}", cpu=cpu)
    check(result.out == newest.out and result.out, f"text on {cpu} {result.out!r}, on a newer core {newest.out!r}")
report = run(compiled("mixed", "arm64-i8mm"), "--doctor", "--json", target="arm64-i8mm", cpu="cortex-a76", code=1)
found = {finding["check"]: finding for finding in report.json()["findings"]}["cpu_features"]
check(found["state"] == "error" and "i8mm" in found["found"] and found["remedy"], f"the doctor says {found}")
