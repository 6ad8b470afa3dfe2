# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""`moec evaluate --text` takes the tokens of `moe-run --prompt`, the beginning of text included, in windows of at most
the context."""
import json
import os

from moectest import DATA, check, moec, run_json, scratch

CONFIG = {"model_type": "llama", "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1,
          "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": 32, "vocab_size": 640,
          "max_position_embeddings": 64, "eos_token_id": 607, "rms_norm_eps": 1e-5, "hidden_act": "silu"}
TEXT = "It was dark, and nobody came in. " * 2
with scratch() as folder:
    config, text, ids, out = (os.path.join(folder, name) for name in ("config.json", "text", "ids.json", "out"))
    with open(config, "w", encoding="utf-8") as file:
        json.dump(CONFIG, file)
    moec("compile", "--random-weights", "--seed", 1, config, "--tokenizer",
         os.path.join(DATA, "tokenizer", "small-llama3.json"), "--target", "host", "--quant", "int4", "-o", out)
    prompt = run_json(out, "--prompt", TEXT, "--max-tokens", 1, "--greedy")["prompt_ids"]
    check(prompt[0] == 606, f"no beginning of text: {prompt}")
    with open(text, "w", encoding="utf-8") as file:
        file.write(TEXT)
    with open(ids, "w", encoding="utf-8") as file:
        json.dump(prompt, file)
    found = moec("evaluate", out + ".so", "--text", text, "--json").json()
    check(found == moec("evaluate", out + ".so", "--ids", ids, "--window", 64, "--json").json(), f"{found}, {prompt}")
    # A text longer than the context: 64 tokens a window, the first of each not predicted.
    with open(ids, "w", encoding="utf-8") as file:
        json.dump((prompt * 100)[:130], file)
    found = moec("evaluate", out + ".so", "--ids", ids, "--json").json()
    check(found["positions"] == 130 - 3, f"{found}")
    check("expects 2 to the context 64" in moec("evaluate", out + ".so", "--ids", ids, "--window", 65, code=1).err,
          "a window beyond the context")
