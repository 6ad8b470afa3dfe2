# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A head that no kernel runs is refused with file and field, though its graph can be looked at."""
import json
import os

from moectest import check, expect_error, moec, scratch

CONFIG = {"model_type": "llama", "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1,
          "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": 12, "vocab_size": 320,
          "max_position_embeddings": 64, "eos_token_id": 2, "rms_norm_eps": 1e-5, "hidden_act": "silu"}
with scratch() as folder:
    config, out = os.path.join(folder, "config.json"), os.path.join(folder, "out")
    with open(config, "w", encoding="utf-8") as file:
        json.dump(CONFIG, file)
    command = ("compile", "--random-weights", config, "--target", "host", "-o", out)
    expect_error(moec(*command, code=1), "config.json: head_dim is 12, expects a multiple of 8 up to 1024")
    check(os.listdir(folder) == ["config.json"], f"left {os.listdir(folder)}")
    moec(*command, "--to", "import")
