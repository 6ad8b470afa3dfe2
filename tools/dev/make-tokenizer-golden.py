#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes texts and their token ids by the `tokenizers` package, for test/unit/Tokenizer/GoldenTest.cpp.

Needs the Python package `tokenizers` (the committed file: 0.23.3). Texts use code points of Unicode 3.2 and a few emoji
only: the package's normalizer knows no later marks than those of Unicode 9.
Usage: make-tokenizer-golden.py examples/demo-moe/tokenizer.json test/data/tokenizer/golden.json
"""
import json
import random
import sys
import unicodedata

import tokenizers

OLD = unicodedata.ucd_3_2_0
FIXED = [
    "", " ", "\n", "\r\n", "  ", "   a", "a   ", " \n \n  a", "\t\tx\n", "a\u00a0b", "\u3000\u3000漢字",
    "don't DON'T I'll we'Ve 'tis", "'\u017f \u017f's", "he'sn't'll", "12345 1,234.5 \u00bd\u2162\u0663",
    "e\u0301 \u00e9 E\u0323\u0302", "\u1100\u1161\u11a8 \uac00\u11a8", "A\u030a \u212b \u2126 \u1e9b\u0323",
    "👩\u200d👩\u200d👧 👍🏽 🇩🇪", "<|im_start|>user\nHi<|im_end|>", "<|im_start", "|><|endoftext|><|",
    "!!!\n\n\n???\r\n", "=" * 100, "a" * 300, " " * 80 + "x", "x" + "\u0301" * 80,
    "\u0928\u093c\u092e\u0938\u094d\u0924\u0947", "\u200bzero\u200cwidth\ufeff",
]
RANGES = [(0x20, 0x7F), (0xA0, 0x250), (0x300, 0x360), (0x370, 0x530), (0x5D0, 0x660), (0x900, 0xD80), (0xE00, 0xE60),
          (0x1100, 0x1200), (0x1E00, 0x2070), (0x2100, 0x2400), (0x3000, 0x3100), (0x4E00, 0x5000), (0xAC00, 0xAD00),
          (0xF900, 0xFA00), (0x1D400, 0x1D500)]
SPACES = [9, 10, 13, 32, 32, 32, 0x85, 0xA0, 0x2003, 0x2028, 0x3000]


def make_text(source):
    def piece():
        kind = source.randrange(5)
        if kind == 0:
            return "".join(chr(source.choice(SPACES)) for _ in range(source.randrange(1, 5)))
        if kind == 1:
            return source.choice(["'s", "'RE", "'ll", " the", "Hello", " 42", "...", "don't", "<|im_end|>", "\r\n"])
        first, last = source.choice(RANGES)
        codes = [code for code in range(first, last) if OLD.category(chr(code)) != "Cn"]
        return "".join(chr(source.choice(codes)) for _ in range(source.randrange(1, 8)))

    return "".join(piece() for _ in range(source.randrange(1, 7)))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tokenizer = tokenizers.Tokenizer.from_file(sys.argv[1])
    source = random.Random(20)
    texts = FIXED + [make_text(source) for _ in range(300)]
    rows = [{"text": text} for text in texts]
    for key, plain in (("ids", True), ("ids_special", False)):
        tokenizer.encode_special_tokens = plain
        for row in rows:
            row[key] = tokenizer.encode(row["text"], add_special_tokens=False).ids
    for row in rows:
        if row["ids_special"] == row["ids"]:
            del row["ids_special"]
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    with open(sys.argv[2], "w", encoding="ascii") as file:
        file.write(f'{{"package": "tokenizers {tokenizers.__version__}", "rows": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
