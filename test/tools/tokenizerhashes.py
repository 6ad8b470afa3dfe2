# SPDX-License-Identifier: Apache-2.0
"""Comparison of token ids with test/data/tokenizer/NAME-ids.json, which tools/dev/make-tokenizer-hashes.py writes."""
import hashlib
import json
import os
import subprocess

from moectest import BUILD, DATA, check
from tokenizertexts import make_texts

PROGRAM = os.path.join(BUILD, "test", "unit", "tokenize-texts")


def compare(name, path, count, *flags):
    """The first `count` texts, special tokens as text and as tokens, with the tokenizer.json at `path`."""
    with open(os.path.join(DATA, "tokenizer", name + "-ids.json"), encoding="ascii") as file:
        golden = json.load(file)
    lines = "\n".join(json.dumps(text) for text in make_texts(count)) + "\n"
    for key, special in (("plain", []), ("special", ["--special"])):
        done = subprocess.run([PROGRAM, path, str(golden["vocab"]), *special, *flags], input=lines.encode(),
                              capture_output=True, check=False)
        check(done.returncode == 0, f"{name}: {done.stderr.decode('utf-8', 'replace')}")
        ids = done.stdout.decode().split("\n")[:-1]
        check(len(ids) == count, f"{name}: {len(ids)} lines of ids for {count} texts")
        for i in range(0, count, 100):
            found = hashlib.sha256("\n".join(ids[i:i + 100]).encode()).hexdigest()[:12]
            check(found == golden[key][i // 100],
                  f"{name}, {key}: texts {i} to {i + 99} have other ids than by {golden['package']}")
    print(f"{name}: ids of {count} texts as by {golden['package']}, special tokens as text and as tokens")
