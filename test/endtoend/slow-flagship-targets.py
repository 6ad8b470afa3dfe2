# SPDX-License-Identifier: Apache-2.0
# REQUIRES: slow, qemu
# RUN: %python %s
"""The cut flagship on the target of every ARM64 description: one pack, and logits as on this machine, bit for bit.

Files for Android run on the C library that stands for bionic.
"""
import json
import os

from flagship import FLAGS, compile_cut, write_cut
from moectest import check, moec, run, same_files, scratch

with scratch() as folder:
    host = compile_cut(moec, folder, "host", "host")
    ids = ("--ids", "1,2,3,97,98,200", "--max-tokens", 2, "--greedy", "--logits")
    run(host, *ids, host + ".npy")
    targets = [entry for entry in json.loads(moec("targets", "--json").out) if entry["triple"].startswith("aarch64")]
    check(len(targets) >= 8, f"fewer ARM64 targets than expected: {targets}")
    moec("compile", "--random-weights", "--seed", 1, write_cut(os.path.join(folder, "cut.json")), "--target",
         ",".join(target["name"] for target in targets), *FLAGS, "-o", os.path.join(folder, "arm"))
    for target in targets:
        prefix = os.path.join(folder, "arm." + target["name"])
        kind = "arm64@android" if target["triple"].endswith("android") else "arm64"
        run(prefix, *ids, prefix + ".npy", target=kind)
        check(same_files(host + ".npy", prefix + ".npy"), f"logits of {target['name']} differ from this machine's")
