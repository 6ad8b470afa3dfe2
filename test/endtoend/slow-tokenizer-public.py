# SPDX-License-Identifier: Apache-2.0
# REQUIRES: slow
# RUN: %python %s
"""Public tokenizers, as far as scripts/fetch-tokenizers.sh has fetched them, give the ids of the `tokenizers` package on
10,000 texts, and all ids decode to their text."""
import os

from moectest import BUILD, DATA, DEMO
from tokenizerhashes import compare

compare("demo", os.path.join(DEMO, "tokenizer.json"), 10000)
missing = []
for name in ("qwen3", "qwen2.5", "llama3.1", "gpt2"):
    path = os.path.join(BUILD, "tokenizers", name, "tokenizer.json")
    if os.path.exists(path):
        compare(name, path, 10000)
    else:
        missing.append(name)
if missing:
    print(f"UNSUPPORTED: {', '.join(missing)} not there; scripts/fetch-tokenizers.sh fetches them")
