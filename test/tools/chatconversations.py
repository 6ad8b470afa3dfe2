# SPDX-License-Identifier: Apache-2.0
"""Conversations for the tests of chat templates, the same everywhere, and their comparison with golden hashes."""
import hashlib
import json
import os
import subprocess

from tokenizertexts import Source

TOKENS = ("<|begin_of_text|>", "<|im_end|>")
PIECES = ["one", "two words", "\n", " ", "\n\n", "\t", "<think>", "</think>", "<think>\nhm\n</think>\n\n", "<think>\n",
          "\n</think>\n\n", "<tool_response>", "</tool_response>", "\u00e9", "\u65e5\u672c", "<|im_end|>", "{{ x }}",
          "{% if %}", "\u3000", "\u00a0", "\u2028", "\U0001F600"]


def conversation(source):
    roles = ["system"] if source.below(5) < 2 else []
    for i in range(source.between(1, 6)):
        usual = ("user", "assistant")[i % 2]
        roles.append(source.of(("user", "assistant", "system")) if source.below(6) == 0 else usual)
    messages = [{"role": role, "content": "".join(source.of(PIECES) for _ in range(source.below(7)))} for role in roles]
    return {"messages": messages, "opening": source.of(("none", "default", "on", "off"))}


def conversations(count):
    source = Source(4)
    return [conversation(source) for _ in range(count)]


def hashes(texts):
    """One for each 100 texts; None is a refusal."""
    lines = [json.dumps(text) for text in texts]
    return [hashlib.sha256("\n".join(lines[i:i + 100]).encode()).hexdigest()[:12] for i in range(0, len(lines), 100)]


def rendered(build, path, count):
    """What the format that is recognized in the template at `path` gives; ends with the reason where there is none."""
    lines = "\n".join(json.dumps(one) for one in conversations(count)) + "\n"
    done = subprocess.run([os.path.join(build, "test", "unit", "chat-texts"), path, *TOKENS], input=lines.encode(),
                          capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"{path}: {done.stderr.decode()}")
    return [json.loads(line) for line in done.stdout.decode().split("\n")[:-1]]
