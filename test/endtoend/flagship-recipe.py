# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""The flagship's recipe gives each tensor its encoding, and the code computes what the interpreter computes.

Bit for bit, with every expert resident and with the fewest page slots.
"""
import os

from flagship import FLAGS, write_cut
from moectest import check, execute, moec, program, report, run, same_files, scratch

EXPECTED = {
    "embedding": "i6/128", "head": "i8/128", "attention_v": "i8/128", "router": "f16",
    "recurrent_conv": "f16", "recurrent_decay": "i8/128", "recurrent_beta": "i4/128",
    "norm": "f32", "recurrent": "f32", "shared_router": "f32",
    **{role: "i4/128" for role in (
        "attention_q", "attention_gate", "attention_k", "attention_o", "delta_q", "delta_k", "delta_v", "delta_gate",
        "delta_out", "shared_gate", "shared_up", "shared_down", "expert_gate", "expert_up", "expert_down")}}
IDS = "1,2,3,97,98,200"

with scratch() as folder:
    def path(name):
        return os.path.join(folder, name)

    moec("compile", "--random-weights", "--seed", 1, write_cut(path("cut.json")), "--target", "host", *FLAGS,
         "--dump-phases-to", folder, "-o", path("cut"))
    found = {entry["role"]: entry["encoding"] for entry in report(path("cut"))["precision"]}
    check(found == EXPECTED, f"other encodings: {found}")
    check(report(path("cut"))["padding"] == {"record_bytes": 0, "slot_bytes": 0}, "expert records are padded")

    execute([program("moe-interpret"), path("4-cut.fuse.mlir"), "--ids", IDS, "--greedy", "2", "--logits",
             path("expected.npy")])
    least = report(path("cut"))["min_bytes"]
    for flags in ((), ("--memory", least, "--threads", 2, "--chunk", 4)):
        run(path("cut"), "--ids", IDS, "--max-tokens", 2, "--greedy", "--logits", path("found.npy"), *flags)
        check(same_files(path("expected.npy"), path("found.npy")), f"other logits than the interpreter's: {flags}")
