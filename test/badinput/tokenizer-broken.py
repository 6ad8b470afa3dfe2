# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""tokenizer.json missing, cut, or of another kind is refused with the file's name."""
import os

from brokenmodel import Checkpoint, compile_broken
from moectest import expect_error, scratch

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
