# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""kill -9 at any moment of a compile: no half file is accepted, old outputs stay whole, the next compile works."""
import os
import subprocess
import time

from moectest import DEMO, check, execute, moe_pack, moec, program, run, same_files, scratch

with scratch() as folder:
    out = os.path.join(folder, "model")
    command = [program("moec"), "compile", DEMO, "--target", "host", "--quant", "int8", "-o", out]
    begin = time.monotonic()
    execute(command)
    whole_s = time.monotonic() - begin
    kept = os.path.join(folder, "kept")
    os.mkdir(kept)
    for suffix in (".so", ".moepack"):
        os.link(out + suffix, os.path.join(kept, "model" + suffix))
    for fraction in (0.1, 0.3, 0.5, 0.7, 0.85, 0.95, 0.99):
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=fraction * whole_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        # What stands under the output's names is a whole model, old or new (a compile is deterministic).
        check(moe_pack("verify", out + ".moepack").code == 0, f"killed at {fraction}: the pack is not whole")
        run(out, "--prompt", "Once", "--max-tokens", 2, "--greedy")
        for suffix in (".so", ".moepack"):
            check(same_files(out + suffix, os.path.join(kept, "model" + suffix)), f"killed at {fraction}: {suffix}")
        fresh = os.path.join(folder, f"fresh-{fraction}")
        process = subprocess.Popen([*command[:-1], fresh], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=fraction * whole_s * 0.9)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        present = [suffix for suffix in (".so", ".moepack", ".report.json") if os.path.exists(fresh + suffix)]
        if ".so" in present and ".moepack" in present:
            run(fresh, "--prompt", "Once", "--max-tokens", 2, "--greedy")
    moec("compile", DEMO, "--target", "host", "--quant", "int8", "-o", out)
    run(out, "--prompt", "Once", "--max-tokens", 2, "--greedy")
