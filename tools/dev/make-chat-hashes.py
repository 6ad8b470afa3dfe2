#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes test/data/chat/hashes.json: what jinja2, set up as in Hugging Face's apply_chat_template, makes of the
conversations of test/tools/chatconversations.py, one hash for each 100 of them.

Needs the Python package `jinja2` (the committed file: 3.1.6) and, for public templates, what
scripts/fetch-tokenizers.sh fetches. Usage: make-chat-hashes.py [NAME=tokenizer_config.json ...]
"""
import glob
import json
import os
import sys

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.path.join(ROOT, "test", "data", "chat")
sys.path.insert(0, os.path.join(ROOT, "test", "tools"))
from chatconversations import TOKENS, conversations, hashes  # noqa: E402

COUNT = 2000


def environment():
    result = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                           extensions=["jinja2.ext.loopcontrols"])

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    result.globals["raise_exception"] = raise_exception
    return result


def render(template, one):
    thinking = {"on": {"enable_thinking": True}, "off": {"enable_thinking": False}}.get(one["opening"], {})
    try:
        return template.render(messages=one["messages"], tools=None, documents=None, bos_token=TOKENS[0],
                               eos_token=TOKENS[1], add_generation_prompt=one["opening"] != "none", **thinking)
    except jinja2.exceptions.TemplateError:
        return None


def main():
    sources = {}
    for path in sorted(glob.glob(os.path.join(DATA, "*.jinja"))):
        with open(path, encoding="utf-8") as file:
            sources[os.path.basename(path)[:-6]] = file.read()
    for argument in sys.argv[1:]:
        name, path = argument.split("=", 1)
        with open(path, encoding="utf-8") as file:
            sources[name] = json.load(file)["chat_template"]
    root = {"package": "jinja2 " + jinja2.__version__}
    for name, text in sources.items():
        template = environment().from_string(text)
        root[name] = hashes([render(template, one) for one in conversations(COUNT)])
    with open(os.path.join(DATA, "hashes.json"), "w", encoding="ascii") as file:
        json.dump(root, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
