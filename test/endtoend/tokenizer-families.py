# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""The demo tokenizer, and one of each supported shape, give the ids of the `tokenizers` package on 2,000 texts."""
import os

from moectest import DATA, DEMO
from tokenizerhashes import compare

FOLDER = os.path.join(DATA, "tokenizer")
compare("demo", os.path.join(DEMO, "tokenizer.json"), 2000)
for name in ("small-qwen35", "small-llama3", "small-smollm"):
    compare(name, os.path.join(FOLDER, name + ".json"), 2000)
# Some of its bytes have no token and are left out.
compare("small-gaps", os.path.join(FOLDER, "small-gaps.json"), 2000, "--lossy")
# Its added tokens strip white space and split words: the text does not come back.
compare("small-neox", os.path.join(FOLDER, "small-neox.json"), 2000, "--lossy")
