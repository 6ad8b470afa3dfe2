# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A vocabulary size that is not the number of embedding rows: both numbers in the message."""
from brokenmodel import Checkpoint, compile_broken
from moectest import expect_error, scratch

with scratch() as folder:
    model = Checkpoint(folder)
    model.edit_json("config.json", vocab_size=2049)
    expect_error(compile_broken(model.folder, folder), "2048", "2049", ("embed_tokens", "vocab_size", "lm_head"))
