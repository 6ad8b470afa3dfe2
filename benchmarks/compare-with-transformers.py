#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a compiled gguf model with Hugging Face transformers on the same file, dequantized to f32.

Both tokenize TEXT; the ids must be equal. Both then compute the logits of windows that do not overlap, each from an
empty context. Printed as one JSON object: perplexity of both, the mean of KL(transformers || moec) over all predicted
positions, its 99th percentile, the largest difference of a logit, and how often the most likely token is the same.

Needs the Python packages torch 2.15.0 (CPU), transformers 5.24.0, accelerate 1.15.0, gguf 0.19.0 and numpy 2.4.6.

Example: benchmarks/compare-with-transformers.py smollm2.gguf f32.so test/data/text/heldout.txt --tokens 4096
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch
    import transformers
    MISSING = None
except ImportError as error:  # reported once the arguments are read, so that --help works without
    MISSING = error

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def run(program, *arguments):
    return subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def log_softmax(logits):
    return torch.log_softmax(torch.from_numpy(logits).double(), dim=-1)


def compare_window(arguments, model, ids):
    """Per predicted position: log-likelihoods of both, KL, largest difference of a logit, agreement of the first."""
    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        run(arguments.run, arguments.so, "--ids", ",".join(map(str, ids)), "--max-tokens", 1, "--greedy", "--logits",
            file.name, "--quiet")
        ours = numpy.load(file.name)[:len(ids)]
    with torch.no_grad():
        theirs = model(torch.tensor([ids])).logits[0].float().numpy()
    expected, found = log_softmax(theirs), log_softmax(ours)
    following = torch.tensor(ids[1:]).unsqueeze(1)
    kl = (expected.exp() * (expected - found)).sum(dim=-1)[:-1]
    same = (expected.argmax(dim=-1) == found.argmax(dim=-1))[:-1]
    return {"theirs": expected[:-1].gather(1, following), "ours": found[:-1].gather(1, following), "kl": kl,
            "same": same.double(), "difference": torch.tensor([float(numpy.abs(ours - theirs).max())])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gguf")
    parser.add_argument("so", help="the same model, compiled for this machine")
    parser.add_argument("text", help="a text file")
    parser.add_argument("--tokens", type=int, default=4096, help="first tokens of the text that are used (4096)")
    parser.add_argument("--window", type=int, default=512, help="tokens of a window (512)")
    parser.add_argument("--run", default=os.path.join(ROOT, "build", "bin", "moe-run"), help="moe-run")
    parser.add_argument("--write-ids", help="writes the ids for `moec evaluate --ids`")
    arguments = parser.parse_args()
    if MISSING:
        sys.exit(f"error: {MISSING}; needs the Python packages numpy, torch, transformers, accelerate and gguf")
    folder, name = os.path.split(os.path.abspath(arguments.gguf))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=name)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32).eval()
    with open(arguments.text, encoding="utf-8") as file:
        text = file.read(16 * arguments.tokens)
    expected = tokenizer(text, add_special_tokens=False)["input_ids"][:arguments.tokens]
    # The context of the compiled model bounds a prompt: pieces of text are tokenized each for itself.
    for begin in range(0, len(expected), arguments.window):
        piece = expected[begin:begin + arguments.window]
        prompt = tokenizer.decode(piece)
        found = json.loads(
            run(arguments.run, arguments.so, "--prompt", prompt, "--max-tokens", 1, "--greedy", "--json"))
        if found["prompt_ids"] != tokenizer(prompt, add_special_tokens=False)["input_ids"]:
            sys.exit(f"the tokenizers differ on {prompt!r}")
    if arguments.write_ids:
        with open(arguments.write_ids, "w", encoding="utf-8") as file:
            json.dump(expected, file)
    windows = [compare_window(arguments, model, expected[begin:begin + arguments.window])
               for begin in range(0, len(expected) - 1, arguments.window)]
    total = {key: torch.cat([window[key].flatten() for window in windows]) for key in windows[0]}
    print(json.dumps({
        "positions": len(total["kl"]), "perplexity_transformers": float((-total["theirs"].mean()).exp()),
        "perplexity_moec": float((-total["ours"].mean()).exp()), "kl_mean": float(total["kl"].mean()),
        "kl_p99": float(total["kl"].quantile(0.99)), "largest_difference": float(total["difference"].max()),
        "same_top1": float(total["same"].mean())}, indent=2))


if __name__ == "__main__":
    main()
