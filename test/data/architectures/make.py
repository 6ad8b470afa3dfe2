#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the goldens of this folder: what Hugging Face transformers computes from the tiny checkpoints of
test/tools/architectures.py, with its own code, in f32 on the CPU.

Needs the packages torch and transformers (goldens.json names the versions that wrote the committed files); the tests
need neither. Usage: make.py [NAME…]. Without a name every model is computed, with names those are replaced.

For every model, prompts of 1, 5, 70 and 200 tokens:
- goldens.json: the prompts, the 32 greedy tokens after each, the smallest distances between first and second choice,
- NAME.npy: float32 rows of logits. goldens.json says of which (prompt length, position) each row is.
The greedy tokens are decoded one by one with transformers' cache; the rows come from one pass over all tokens.
"""
import hashlib
import json
import os
import sys
import tempfile

import numpy
import torch
import transformers

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(FOLDER, "..", "..", "tools"))

import architectures  # noqa: E402

LENGTHS = (1, 5, 70, 200)
NUM_GREEDY = 32
# Beginning, both sides of chunks of 16 and 64, end.
POSITIONS_200 = (0, 1, 2, 3, 4, 15, 16, 63, 64, 65, 127, 128, 129, 191, 192, 198)
SKIPPED = ("mtp.", "model.visual.")


def load(folder):
    """The model as transformers reads it; every tensor must be used, but for vision and multi-token prediction."""
    model, info = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
    tied = {"lm_head.weight"} if model.config.get_text_config().tie_word_embeddings else set()
    assert set(info["missing_keys"]) <= tied, info["missing_keys"]
    assert not info["mismatched_keys"], info["mismatched_keys"]
    assert all(key.startswith(SKIPPED) for key in info["unexpected_keys"]), info["unexpected_keys"]
    return model.eval()


def watch_routers(model, margins):
    """Notes for every token the distance between the last chosen expert and the next one, in logits."""
    top = getattr(model.config.get_text_config(), "num_experts_per_tok", None)
    for name, module in model.named_modules():
        if name.endswith("mlp.gate"):
            def hook(module, arguments, _, top=top):
                logits = arguments[0].reshape(-1, module.weight.shape[1]) @ module.weight.T
                values = logits.sort(dim=-1, descending=True).values
                margins.append(float((values[:, top - 1] - values[:, top]).min()))
            module.register_forward_hook(hook)


def decode(model, prompt):
    """32 greedy tokens with the cache, and the logits of each step."""
    ids, rows = [], []
    output = model(torch.tensor([prompt]), use_cache=True)
    for _ in range(NUM_GREEDY):
        rows.append(output.logits[0, -1])
        ids.append(int(rows[-1].argmax()))
        output = model(torch.tensor([ids[-1:]]), cache=output.cache, use_cache=True)
    return ids, torch.stack(rows)


def prompt_of(name, length):
    return list(hashlib.shake_128(f"{name}/prompt/{length}".encode()).digest(length))


def compute(name):
    with tempfile.TemporaryDirectory() as folder:
        model = load(architectures.write(name, folder))
    router_margins, greedy_margins, largest, stepwise = [], [], 0.0, 0.0
    watch_routers(model, router_margins)
    prompts, greedy, rows, values = {}, {}, [], []
    for length in LENGTHS:
        prompt = prompt_of(name, length)
        ids, steps = decode(model, prompt)
        logits = model(torch.tensor([prompt + ids[:-1]])).logits[0]
        largest = max(largest, float(logits.abs().max()))
        stepwise = max(stepwise, float((logits[length - 1:] - steps).abs().max()))
        best = logits[length - 1:].sort(dim=-1, descending=True)
        assert best.indices[:, 0].tolist() == ids, f"{name}: the greedy tokens of one pass differ"
        greedy_margins.append(float((best.values[:, 0] - best.values[:, 1]).min()))
        prompts[length], greedy[length] = prompt, ids
        wanted = {1: (0,), 5: (4,), 70: range(69, 101), 200: (*POSITIONS_200, 199, 230)}[length]
        rows += [[length, position] for position in wanted]
        values.append(logits[list(wanted)].numpy())
    numpy.save(os.path.join(FOLDER, name + ".npy"), numpy.concatenate(values).astype("<f4"))
    facts = {"largest_logit": largest, "smallest_greedy_margin": min(greedy_margins),
             "smallest_router_margin": min(router_margins, default=None), "largest_stepwise_difference": stepwise}
    print(name, {key: value and float(f"{value:.3g}") for key, value in facts.items()}, len(set(greedy[200])))
    end = architectures.configs()[name].get("text_config", architectures.configs()[name])["eos_token_id"]
    assert all(end not in ids for ids in greedy.values()), f"{name}: the end token was generated"
    assert min(greedy_margins) > 1e-3 and min(router_margins, default=1) > 1e-4, f"{name}: near ties"
    facts["weights_sha256"] = hashlib.sha256(architectures.weights(name)).hexdigest()
    return facts | {"prompts": prompts, "greedy": greedy, "rows": rows}


def main(names):
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    path = os.path.join(FOLDER, "goldens.json")
    models = {}
    if names and os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            models = json.load(file)["models"]
    for name in names or [name for name in architectures.configs() if name not in architectures.SAME_VALUES]:
        models[name] = compute(name)
    write_json(path, models)


def write_json(path, models):
    lines = ",\n".join(f' "{name}": {json.dumps(models[name])}' for name in sorted(models))
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'{{"transformers": "{transformers.__version__}", "torch": "{torch.__version__}",\n'
                   f'"models": {{\n{lines}\n}}}}\n')


if __name__ == "__main__":
    main(sys.argv[1:])
