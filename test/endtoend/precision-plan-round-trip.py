# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A written precision plan, fed back, is written as the same bytes and makes the same IR; an edited line counts."""
import json
import os
import re

from moectest import DEMO, check, moec, same_files, scratch

with scratch() as folder:
    def path(name):
        return os.path.join(folder, name)

    def types(name):
        with open(path(name + ".quantize.mlir"), encoding="utf-8") as file:
            return re.findall(r"moe\.weight @\S+ : \S+ ?[^>]*>?>", file.read())

    rules = ("--quant-role", "expert_down@0-1=i8/64", "--quant-tensor=*.1.self_attn.?_proj.weight=f16")
    moec("precision", DEMO, "--quant", "int4", *rules, "-o", path("first.json"))
    moec("precision", DEMO, "--plan-precision", path("first.json"), "-o", path("second.json"))
    check(same_files(path("first.json"), path("second.json")), "the plan changes when it is read and written")
    printed = moec("precision", DEMO, "--plan-precision", path("first.json")).out
    with open(path("first.json"), encoding="utf-8") as file:
        text = file.read()
    check(printed == text, "without -o the plan is not printed")

    compile_demo = ("compile", DEMO, "--target", "host", "--to", "quantize")
    moec(*compile_demo, "--quant", "int4", *rules, "-o", path("flags"))
    moec(*compile_demo, "--plan-precision", path("first.json"), "-o", path("plan"))
    check(types("flags") == types("plan") and len(types("plan")) > 20, "flags and plan make different weights")

    plan = json.loads(text)
    lines = {line["tensor"]: line for line in plan["tensors"]}
    check(lines["model.layers.1.self_attn.v_proj.weight"]["encoding"] == "f16", "the tensor rule has no effect")
    check(lines["model.layers.0.mlp.experts.*.down_proj.weight"]["bits_per_weight"] == 8.25, "i8/64 has 8.25 bits")
    lines["lm_head.weight"]["encoding"] = "i6/32"
    plan["rules"] = [{"roles": "attention_*", "layers": "1", "encoding": "i8/32"}]
    with open(path("edited.json"), "w", encoding="utf-8") as file:
        json.dump(plan, file)
    moec("precision", DEMO, "--plan-precision", path("edited.json"), "--quant-role", "attention_q@1=i4/32", "-o",
         path("third.json"))
    with open(path("third.json"), encoding="utf-8") as file:
        lines = {line["tensor"]: line["encoding"] for line in json.load(file)["tensors"]}
    check(lines["lm_head.weight"] == "i6/32", "an edited line has no effect")
    check(lines["model.layers.1.self_attn.v_proj.weight"] == "i8/32", "a rule does not win over a line")
    check(lines["model.layers.1.self_attn.q_proj.weight"] == "i4/32", "a flag does not win over a rule")
    check(lines["model.layers.0.self_attn.q_proj.weight"] == "i4/32", "a rule by layer changes another layer")
