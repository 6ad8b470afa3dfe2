# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Models without experts compute the interpreter's bits, as floats and with integer weights, for every chunk and kind
of KV cache; a decoded token of a dense layer joins its threads five times, and nothing of them is paged."""
from graphmodel import GraphModel
from moectest import check, execute, expect_error, moe_pack, program, report, run, same_files, scratch

IDS = ",".join(str((7 * i * i + 3) % 300) for i in range(21))
MODEL = GraphModel([{"bias": True}, {"norms": "head"}])

with scratch() as folder:
    for quant, kv in (("f32", "f32"), ("f16", "f16"), ("int8", "int8"), ("int4m", "int4"), ("mixed", "f16")):
        out, fused = MODEL.compile(folder, quant, "--target", "host", "--quant", quant, "--kv", kv)
        execute([program("moe-interpret"), fused, "--ids", IDS, "--greedy", "4", "--logits", out + ".expected.npy"])
        for chunk in ("16", "5"):
            run(out, "--ids", IDS, "--max-tokens", 4, "--greedy", "--chunk", chunk, "--logits", out + ".npy")
            check(same_files(out + ".npy", out + ".expected.npy"), f"{quant}, chunk {chunk}: logits differ")
    plan = report(out)
    check(plan["expert_records"] == plan["min_slots"] == plan["expert_record_bytes"] == 0, f"{plan}")
    # QKV, attention, o, gate and up, down: five a layer; one for the head.
    check(plan["joins_per_token"] == 2 * 5 + 1, f"{plan['joins_per_token']} joins")
    moe_pack("verify", out + ".moepack")
    check("expert" not in moe_pack("list", out + ".moepack").out, "the pack of a model without experts lists some")
    # There is nothing to page: less than the plan is refused with what is needed.
    expect_error(run(out, "--ids", "1", "--memory", "100000", code=1), "100000")
