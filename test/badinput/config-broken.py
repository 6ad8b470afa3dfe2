# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""config.json missing, cut, without a key, with a wrong type, absurd, or of another family: one clear message."""
import os

from brokenmodel import Checkpoint, compile_broken
from moectest import expect_error, scratch

with scratch() as folder:
    model = Checkpoint(folder)
    os.remove(model.path("config.json"))
    expect_error(compile_broken(model.folder, folder), "config.json")
with scratch() as folder:
    model = Checkpoint(folder)
    model.cut(40, model.path("config.json"))
    expect_error(compile_broken(model.folder, folder), "config.json")
CASES = (
    ({"hidden_size": None}, "hidden_size"),
    ({"hidden_size": "large"}, "hidden_size"),
    ({"hidden_size": -256}, "hidden_size"),
    ({"num_hidden_layers": 10 ** 12}, "num_hidden_layers"),
    ({"num_key_value_heads": 3}, "num_key_value_heads"),
    ({"model_type": "mystery"}, "mystery"),
    ({"hidden_act": "gelu"}, "hidden_act"),
    ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, "rope_scaling"),
)
for changes, text in CASES:
    with scratch() as folder:
        model = Checkpoint(folder)
        model.edit_json("config.json", **changes)
        expect_error(compile_broken(model.folder, folder), text)
