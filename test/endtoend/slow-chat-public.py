# SPDX-License-Identifier: Apache-2.0
# REQUIRES: slow, public-tokenizers
# RUN: %python %s
"""The chat templates of public tokenizers are recognized and give the texts of jinja2."""
import json
import os

from chatconversations import hashes, rendered
from moectest import BUILD, DATA, check, scratch

with open(os.path.join(DATA, "chat", "hashes.json"), encoding="ascii") as file:
    golden = json.load(file)
with scratch() as folder:
    for name in ("qwen3", "qwen2.5", "llama3.1"):
        with open(os.path.join(BUILD, "tokenizers", name, "tokenizer_config.json"), encoding="utf-8") as file:
            text = json.load(file)["chat_template"]
        path = os.path.join(folder, name + ".jinja")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        found = hashes(rendered(BUILD, path, 2000))
        check(found == golden[name], f"{name}: other texts than by {golden['package']}")
