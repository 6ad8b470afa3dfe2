# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""tokenizer.json missing, cut, or of another kind is refused with the file's name."""
import os

from brokenmodel import Checkpoint, compile_broken
from moectest import check, expect_error, moec, run, scratch

with scratch() as folder:
    model = Checkpoint(folder)
    os.remove(model.path("tokenizer.json"))
    expect_error(compile_broken(model.folder, folder), "tokenizer.json")
with scratch() as folder:
    model = Checkpoint(folder)
    model.cut(1000, model.path("tokenizer.json"))
    expect_error(compile_broken(model.folder, folder), "tokenizer.json")
with scratch() as folder:
    model = Checkpoint(folder)
    model.edit_json("tokenizer.json", model={"type": "Unigram", "vocab": []})
    expect_error(compile_broken(model.folder, folder), "tokenizer.json", "Unigram")
for key, value, part in (("chat_template", 7, "chat_template: expected a text or an array, but found 7"),
                         ("chat_template", [{"name": "default"}], "expected objects with"),
                         ("eos_token", ["x"], "eos_token: expected a text")):
    with scratch() as folder:
        model = Checkpoint(folder)
        model.edit_json("tokenizer_config.json", **{key: value})
        expect_error(compile_broken(model.folder, folder), "tokenizer_config.json", part)
# A template that is not supported compiles; asking for a chat says why.
with scratch() as folder:
    model = Checkpoint(folder)
    model.edit_json("tokenizer_config.json", chat_template=None)
    with open(model.path("chat_template.jinja"), "w", encoding="utf-8") as file:
        file.write("{% for m in messages %}[INST] {{ m.content }} [/INST]{% endfor %}")
    prefix = os.path.join(folder, "odd")
    said = moec("compile", model.folder, "--target", "host", "--quant", "int4", "--context", 64, "-o", prefix).err
    check("warning  there will be no chats" in said and "one after the other" in said, f"no warning: {said}")
    expect_error(run(prefix, "--chat", "--prompt", "a", code=1), "has no chat format",
                 "does not write messages one after the other")
