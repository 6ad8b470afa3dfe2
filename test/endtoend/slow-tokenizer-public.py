# SPDX-License-Identifier: Apache-2.0
# REQUIRES: slow, public-tokenizers
# RUN: %python %s
"""Public tokenizers that scripts/fetch-tokenizers.sh has fetched give the ids of the `tokenizers` package on 10,000
texts, and all ids decode to their text."""
import os

from moectest import BUILD, DEMO
from tokenizerhashes import compare

compare("demo", os.path.join(DEMO, "tokenizer.json"), 10000)
for name in ("qwen3", "qwen2.5", "llama3.1", "gpt2"):
    compare(name, os.path.join(BUILD, "tokenizers", name, "tokenizer.json"), 10000)
