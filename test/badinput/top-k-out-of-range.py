# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""0 experts per token, and more than there are: the message has the value and the number of experts."""
from brokenmodel import Checkpoint, compile_broken
from moectest import expect_error, scratch

for value in (0, 17, -1):
    with scratch() as folder:
        model = Checkpoint(folder)
        model.edit_json("config.json", num_experts_per_tok=value)
        expect_error(compile_broken(model.folder, folder), "num_experts_per_tok", str(value), "16")
