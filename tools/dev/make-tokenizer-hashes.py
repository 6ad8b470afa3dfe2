#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the small tokenizers of test/data/tokenizer, and writes what the `tokenizers` package makes of the texts of
test/tools/tokenizertexts.py with these and with public tokenizers: one hash for each 100 texts.

Needs the Python package `tokenizers` (the committed files: 0.23.3), for public ones what scripts/fetch-tokenizers.sh
fetches. Usage: make-tokenizer-hashes.py train | hash NAME=TOKENIZER.json ...
"""
import hashlib
import json
import os
import sys

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.path.join(ROOT, "test", "data", "tokenizer")
sys.path.insert(0, os.path.join(ROOT, "test", "tools"))
from tokenizertexts import WORDS, make_texts  # noqa: E402

COUNT = 10000
QWEN35 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|"
          r"\s*[\r\n]+|\s+(?!\S)|\s+")
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
          r"\s*[\r\n]+|\s+(?!\S)|\s+")
BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def split(regex):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(regex), "isolated"), BYTES])


def make(pre_tokenizer, nfc, **options):
    tokenizer = Tokenizer(models.BPE(**options))
    tokenizer.normalizer = normalizers.NFC() if nfc else None
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    texts = make_texts(1500, seed=1) + [" ".join(WORDS)] * 20 + ["1999 2024 100 3.14 12345"] * 20
    trainer = trainers.BpeTrainer(vocab_size=600, show_progress=False, min_frequency=2,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def save(name, tokenizer, words=(), without=""):
    """With `words` in the vocabulary that no merge makes; without the tokens that have a character of `without`."""
    root = json.loads(tokenizer.to_str())
    kept = [text for text in root["model"]["vocab"] if not set(text) & set(without)]
    shift = len(words) + len(kept) - len(root["model"]["vocab"])
    vocab = root["model"]["vocab"] = {text: index for index, text in enumerate(kept)}
    root["model"]["merges"] = [pair for pair in root["model"]["merges"] if not set("".join(pair)) & set(without)]
    for token in root["added_tokens"]:
        token["id"] = vocab.get(token["content"], token["id"] + shift)
    for piece in (root["post_processor"] or {}).get("special_tokens", {}).values():
        piece["ids"] = [i + shift for i in piece["ids"]]
    for word in words:
        vocab[word] = len(vocab)
    with open(os.path.join(DATA, name + ".json"), "w", encoding="ascii") as file:
        json.dump(root, file, separators=(",", ":"))
        file.write("\n")


def special(*texts):
    return [AddedToken(text, special=True, normalized=False) for text in texts]


def plain(*texts, **flags):
    return [AddedToken(text, special=False, normalized=False, **flags) for text in texts]


def train():
    qwen35 = make(split(QWEN35), True)
    qwen35.add_special_tokens(special("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>"))
    qwen35.add_tokens(plain("<think>", "</think>", "<tool_call>", "</tool_call>"))
    save("small-qwen35", qwen35)

    llama3 = make(split(LLAMA3), False, ignore_merges=True)
    llama3.add_special_tokens(special("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|eot_id|>"))
    begin = llama3.token_to_id("<|begin_of_text|>")
    llama3.post_processor = processors.TemplateProcessing("<|begin_of_text|> $A",
                                                          special_tokens=[("<|begin_of_text|>", begin)])
    save("small-llama3", llama3, ["\u0120because", "999", "\u0120\u0120\u0120", "Hello", "\u0120number", "ka"])

    digits = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                      pre_tokenizers.ByteLevel(add_prefix_space=False)])
    smollm = make(digits, False)
    smollm.add_special_tokens(special("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<repo_name>", "<file_sep>"))
    save("small-smollm", smollm)
    # As with SmolLM2's own, some bytes have no token: "#", "~", a lead byte and bytes behind one.
    save("small-gaps", smollm, without="#~\u00d0\u0142\u00bd")

    neox = make(pre_tokenizers.ByteLevel(add_prefix_space=False), True)
    neox.add_special_tokens(special("<|endoftext|>", "|||EMAIL_ADDRESS|||"))
    neox.add_tokens([AddedToken(" " * n, normalized=True, special=False) for n in (8, 5, 3)])
    neox.add_tokens([AddedToken("<norm>", normalized=True, special=False),
                     AddedToken("the", normalized=True, special=False, single_word=True)])
    neox.add_tokens(plain("<word>", single_word=True) + plain("<left>", lstrip=True) + plain("<right>", rstrip=True))
    neox.add_tokens(plain("<|eot_id|>", lstrip=True, rstrip=True) + plain("um", single_word=True))
    save("small-neox", neox)


def hashes(tokenizer, texts, plain_text):
    tokenizer.encode_special_tokens = plain_text
    lines = [json.dumps(e.ids, separators=(",", ":")) for e in tokenizer.encode_batch(texts, add_special_tokens=False)]
    return [hashlib.sha256("\n".join(lines[i:i + 100]).encode()).hexdigest()[:12] for i in range(0, len(lines), 100)]


def write_hashes(arguments):
    texts = make_texts(COUNT)
    for argument in arguments:
        name, path = argument.split("=", 1)
        tokenizer = Tokenizer.from_file(path)
        root = {"package": "tokenizers " + tokenizers.__version__, "vocab": tokenizer.get_vocab_size(),
                "plain": hashes(tokenizer, texts, True), "special": hashes(tokenizer, texts, False)}
        with open(os.path.join(DATA, name + "-ids.json"), "w", encoding="ascii") as file:
            json.dump(root, file, separators=(",", ":"))
            file.write("\n")


def main():
    if sys.argv[1:] == ["train"]:
        train()
    elif len(sys.argv) > 2 and sys.argv[1] == "hash":
        write_hashes(sys.argv[2:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
