# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A broken precision plan ends in one message that names the file and the place, or the rule by its number."""
import os

from moectest import DEMO, check, expect_error, moec, scratch

RULE = '{"rules": [{"roles": "head", "encoding": "i8/32"}, %s]}'
CASES = (
    ('{"rules": [', "parse error at line 1"),
    ("{}", "plan.json: the document says nothing", "expects 'quant', 'group', or a line in 'tensors' or 'rules'"),
    ('{"format": "moec precision plan 1", "tensors": [], "rules": []}', "plan.json: the document says nothing"),
    ('{"rules": 3}', "rules is 3, expects an array"),
    ('{"quant": "int2"}', "expects a precision preset", "4 bits are the floor"),
    ('{"group": "48"}', "plan.json: group expects a group of auto, 32, 64 or 128", "'48'"),
    ('{"rulse": []}', "unknown key 'rulse'"),
    ('{"format": "other"}', "format", "moec precision plan 1"),
    (RULE % '{"roles": "expert_dwn", "encoding": "i8/32"}', "rule 2", "'expert_dwn'", "expert_down"),
    (RULE % '{"roles": "head", "encoding": "i2/32"}', "rules[1].encoding", "4 bits are the floor"),
    (RULE % '{"roles": "head", "encoding": "i8/31"}', "rules[1].encoding", "32, 64 or 128"),
    (RULE % '{"layers": "0-4", "encoding": "i8/32"}', "rule 2 names layer 4", "layers 0 to 3"),
    (RULE % '{"layers": "x", "encoding": "i8/32"}', "rule 2 layers is 'x'"),
    (RULE % '{"tensor": "*.nothing", "encoding": "i8/32"}', "rule 2 matches no tensor"),
    (RULE % '{"tensor": "[", "encoding": "i8/32"}', "rule 2 has the tensor pattern '['"),
    (RULE % '{"roles": "router", "encoding": "i8/32"}', "rule 2 selects only", "the router chooses the experts"),
    (RULE % '{"layers": "2", "experts": "0-7", "encoding": "i8/32"}', "rule 2 selects experts 0-7 of layer 2",
     "8-15", "share one encoding"),
    ('{"tensors": [{"tensor": "model.layers.1.mlp.experts.5.up_proj.weight", "encoding": "f16"}]}',
     "tensor line 1 selects experts 5 of layer 1"),
    (RULE % '{"experts": "0-99", "encoding": "i8/32"}', "rule 2 names expert 99", "experts 0 to 15"),
)
with scratch() as folder:
    plan = os.path.join(folder, "plan.json")
    for text, *expected in CASES:
        with open(plan, "w", encoding="utf-8") as file:
            file.write(text)
        expect_error(moec("precision", DEMO, "--quiet", "--plan-precision", plan, code=None), *expected)
    expect_error(moec("precision", DEMO, "--quiet", "--plan-precision", plan + ".no", code=None), "plan.json.no")
    out = os.path.join(folder, "out")
    expect_error(moec("compile", DEMO, "--target", "host", "--quiet", "--plan-precision", plan, "-o", out, code=None),
                 "rule 2 names expert 99")
    check(os.listdir(folder) == ["plan.json"], f"outputs are left: {os.listdir(folder)}")
    for flag, text in (("--quant-role=head", "expects ROLE=ENCODING"), ("--quant-role=head@=f16", "expects layers"),
                       ("--quant-tensor==f16", "expects GLOB=ENCODING"), ("--quant-role=hd=f16", "the role 'hd'")):
        check(text in moec("precision", DEMO, flag, code=2).err, f"{flag}: the message lacks {text!r}")
    result = moec("compile", "--from", "graph", "x.mlir", "--quant-role", "head=f16", "-o", out, code=2)
    check("the precision stands in the file of --from" in result.err, result.err)
