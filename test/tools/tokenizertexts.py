#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Texts for the tests of tokenizers: the same on every machine and with every version of Python.

All scripts, emoji with modifiers, numbers, mixed white space, combining marks, very long words, and special tokens
spelled in the text. Code points whose properties changed after Unicode 9 are left out: the reference has older and
newer tables than this program. Usage: tokenizertexts.py [COUNT] prints the texts as lines of JSON.
"""
import json
import sys

# Letters and marks of scripts, as ranges without later additions.
SCRIPTS = [
    (0x41, 0x5A), (0x61, 0x7A), (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x1BF), (0x1C4, 0x24F), (0x250, 0x2AF),
    (0x2B0, 0x2EE), (0x370, 0x373), (0x388, 0x38A), (0x38E, 0x3A1), (0x3A3, 0x3FF), (0x400, 0x481), (0x483, 0x52F),
    (0x531, 0x556), (0x561, 0x587), (0x591, 0x5C7), (0x5D0, 0x5EA), (0x610, 0x61A), (0x620, 0x66F), (0x671, 0x6D3),
    (0x6E5, 0x6FF), (0x710, 0x74A), (0x74D, 0x7B1), (0x7C0, 0x7F5), (0x800, 0x82D), (0x840, 0x85B), (0x8A0, 0x8AC),
    (0x8E4, 0x8FE), (0x900, 0x97F), (0x980, 0x983), (0x985, 0x98C), (0x993, 0x9A8), (0x9AA, 0x9B0), (0x9BE, 0x9C4),
    (0xA05, 0xA0A), (0xA13, 0xA28), (0xA3E, 0xA42), (0xA59, 0xA5E), (0xA85, 0xA8D), (0xA93, 0xAA8), (0xABC, 0xAC5),
    (0xB05, 0xB0C), (0xB13, 0xB28), (0xB3C, 0xB44), (0xB47, 0xB48), (0xB4B, 0xB4D), (0xB5C, 0xB5D), (0xB8E, 0xB90),
    (0xB92, 0xB95), (0xBAE, 0xBB9), (0xBBE, 0xBC2), (0xBC6, 0xBC8), (0xBCA, 0xBCD), (0xC05, 0xC0C), (0xC12, 0xC28),
    (0xC3E, 0xC44), (0xC46, 0xC48), (0xC85, 0xC8C), (0xC92, 0xCA8), (0xCBC, 0xCC4), (0xCC6, 0xCC8), (0xD05, 0xD0C),
    (0xD12, 0xD3A), (0xD3E, 0xD44), (0xD46, 0xD48), (0xD85, 0xD96), (0xD9A, 0xDB1), (0xDCF, 0xDD4), (0xDD8, 0xDDF),
    (0xE01, 0xE3A), (0xE40, 0xE4E), (0xE94, 0xE97), (0xE99, 0xE9F), (0xEB0, 0xEB9), (0xEC0, 0xEC4), (0xF40, 0xF47),
    (0xF49, 0xF6C), (0xF71, 0xF84), (0xF90, 0xF97), (0x1000, 0x103F), (0x1050, 0x109D), (0x10A0, 0x10C5),
    (0x10D0, 0x10FA), (0x1100, 0x11FF), (0x1200, 0x1248), (0x12D8, 0x1310), (0x1380, 0x138F), (0x13A0, 0x13F5),
    (0x1401, 0x166C), (0x166F, 0x167F), (0x1681, 0x169A), (0x16A0, 0x16EA), (0x1700, 0x170C), (0x1720, 0x1734),
    (0x1780, 0x17B3), (0x17B6, 0x17D3), (0x1820, 0x1877), (0x1880, 0x18AA), (0x18B0, 0x18F5), (0x1900, 0x191E),
    (0x1920, 0x192B), (0x1950, 0x196D), (0x1980, 0x19AB), (0x1A00, 0x1A1B), (0x1A20, 0x1A5E), (0x1A61, 0x1A7C),
    (0x1B00, 0x1B4B), (0x1B80, 0x1BAA), (0x1BC0, 0x1BF3), (0x1C00, 0x1C37), (0x1C4D, 0x1C7D), (0x1CD0, 0x1CD2),
    (0x1D00, 0x1DBF), (0x1E00, 0x1EFF), (0x1F00, 0x1F15), (0x1F20, 0x1F45), (0x1F80, 0x1FB4), (0x1FC6, 0x1FCC),
    (0x2126, 0x212D), (0x2C00, 0x2C2E), (0x2C60, 0x2CF3), (0x2D00, 0x2D25), (0x2D30, 0x2D67), (0x2D80, 0x2D96),
    (0x2DE0, 0x2DFF), (0x3041, 0x3096), (0x3099, 0x309F), (0x30A1, 0x30FF), (0x3105, 0x312D), (0x3131, 0x318E),
    (0x3400, 0x4DB5), (0x4E00, 0x9FD5), (0xA000, 0xA48C), (0xA4D0, 0xA4FD), (0xA500, 0xA60C), (0xA640, 0xA66E),
    (0xA680, 0xA6E5), (0xA722, 0xA78E), (0xA800, 0xA827), (0xA840, 0xA873), (0xA880, 0xA8C4), (0xA8E0, 0xA8F7),
    (0xA90A, 0xA92D), (0xA930, 0xA953), (0xA960, 0xA97C), (0xA980, 0xA9C0), (0xA9E0, 0xA9FE), (0xAA00, 0xAA36),
    (0xAA60, 0xAAC2), (0xAAE0, 0xAAF6), (0xAB01, 0xAB06), (0xAB30, 0xAB5A), (0xAB70, 0xABEA), (0xAC00, 0xD7A3),
    (0xF900, 0xFA6D), (0xFB00, 0xFB06), (0xFB1D, 0xFB36), (0xFB50, 0xFBB1), (0xFE20, 0xFE2F), (0xFE70, 0xFE74),
    (0xFF21, 0xFF3A), (0xFF66, 0xFFBE), (0x10000, 0x1000B), (0x10280, 0x1029C), (0x10300, 0x1031F), (0x10330, 0x1034A),
    (0x10380, 0x1039D), (0x103A0, 0x103C3), (0x10400, 0x1049D), (0x10800, 0x10805), (0x10900, 0x10915),
    (0x10A10, 0x10A13), (0x10B00, 0x10B35), (0x10C00, 0x10C48), (0x11003, 0x11046), (0x11083, 0x110BA),
    (0x11103, 0x11134), (0x11183, 0x111C4), (0x12000, 0x12399), (0x13000, 0x1342E), (0x14400, 0x14646),
    (0x16800, 0x16A38), (0x16F00, 0x16F44), (0x17000, 0x187EC), (0x1D400, 0x1D454), (0x1D538, 0x1D539),
    (0x1E800, 0x1E8C4), (0x1E900, 0x1E94A), (0x20000, 0x2A6D6), (0x2F800, 0x2FA1D)]
SYMBOLS = [(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E), (0xA1, 0xA9), (0xAB, 0xB1), (0xB4, 0xB4),
           (0xB6, 0xB8), (0x2010, 0x2027), (0x2030, 0x205E), (0x20A0, 0x20BE), (0x2190, 0x23FA), (0x2500, 0x27BF),
           (0x2900, 0x2B4F), (0x3001, 0x3004), (0x3008, 0x3020), (0xFF01, 0xFF0F),
           (0x1F300, 0x1F5FF), (0xE000, 0xE010), (0x0, 0x8),
           (0xE, 0x1F), (0x7F, 0x84), (0xFFF9, 0xFFFD)]
NUMBERS = [(0x30, 0x39), (0x30, 0x39), (0x30, 0x39), (0xB2, 0xB3), (0xB9, 0xB9), (0xBC, 0xBE), (0x660, 0x669),
           (0x966, 0x96F), (0x9E6, 0x9EF), (0xE50, 0xE59), (0xF20, 0xF33), (0x2070, 0x2070), (0x2150, 0x2188),
           (0x2460, 0x249B), (0x3007, 0x3007), (0x3021, 0x3029), (0xFF10, 0xFF19), (0x10107, 0x10133),
           (0x1D7CE, 0x1D7FF)]
MARKS = [(0x300, 0x34E), (0x350, 0x36F), (0x483, 0x487), (0x591, 0x5BD), (0x64B, 0x65F), (0x93C, 0x93C), (0xE38, 0xE3A),
         (0xF71, 0xF7D), (0x1AB0, 0x1ABD), (0x1DC0, 0x1DF5), (0x20D0, 0x20F0), (0x302A, 0x302F), (0x3099, 0x309A),
         (0xFE00, 0xFE0F), (0xFE20, 0xFE2D)]
SPACES = [0x20] * 8 + [0x9, 0xA, 0xA, 0xD, 0xB, 0xC, 0x85, 0xA0, 0x1680, 0x2003, 0x2009, 0x2028, 0x2029, 0x202F, 0x205F,
                       0x3000, 0x200B, 0xFEFF, 0x180E, 0x2060]
EMOJI = ["\U0001F600", "\U0001F44D\U0001F3FD", "\U0001F468\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466",
         "\U0001F1E9\U0001F1EA", "\U0001F1EF\U0001F1F5", "1\uFE0F\u20E3", "#\u20E3", "\u2764\uFE0F\u200D\U0001F525",
         "\U0001F3F4\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F", "\U0001F9D1\U0001F3FF",
         "\U0001F469\U0001F3FB\u200D\U0001F4BB", "\u263A\uFE0F", "\u2603", "\U0001F3F3\uFE0F\u200D\U0001F308",
         "\U0001F937\U0001F3FE\u200D\u2642\uFE0F", "\u270A\U0001F3FC"]
SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|im_start", "im_end|>", "<|", "|>", "<think>", "</think>",
            "<think>\n\n</think>\n\n", "<tool_call>", "</tool_call>", "<|begin_of_text|>", "<|end_of_text|>",
            "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|fim_prefix|>", "<|file_sep|>", "<repo_name>",
            "<|vision_start|>", "<|box_end|>", "<|object_ref_start|>", "<|reserved_special_token_7|>", "[INST]", "<s>",
            "</s>", "<|im_end|><|im_start|>", "<<|im_end|>>", "|||EMAIL_ADDRESS|||", "<empty_output>", "<word>",
            "<left>", "<right>", "<norm>"]
WORDS = ("the of and to in is that it was for on are as with his they be at one have this from or had by hot but some "
         "what there we can out other were all your when up use word how said an each she which do their time if will "
         "way about many then them would write like so these her long make thing see him two has look more day could "
         "go come did my sound no most number who over know water than call first people may down side been now find "
         "Straße naïve café Zoë façade jalapeño Ångström crème smörgåsbord").split()
PIECES = ["'s", "'S", "'re", "'VE", "'ll", "'d", "'m", "'t", "'\u017F", "don't", "I'll", "WE'RE", "it's", "o'clock",
          "...", "?!", "--", " - ", ", ", ". ", "; ", "\n", "\n\n", "\r\n", "\t", "    ", "e.g.",
          "http://a.b/c?d=e&f#g", "x_y", "camelCase", "__init__", "a=b;", "{\n    \"k\": [1, 2.5e-3, null]\n}",
          "for (i = 0; i < n; ++i) {",
          "\\u00e9", "$100,000.00", "50%", "C++", "#include <x>", "a@b.cd", "===", "***", "//", "<!-- -->", "\u2026",
          "\u201Cquoted\u201D", "\u2019s", "\u00A0", "\u200B", "\uFEFF", "a\u0301b", "\u1E9B\u0323", "\u212B", "\uFB01"]


class Source:
    """SplitMix64."""

    def __init__(self, seed):
        self.state = seed

    def below(self, count):
        mask = (1 << 64) - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return (z ^ (z >> 31)) % count

    def between(self, least, most):
        return least + self.below(most - least + 1)

    def of(self, things):
        return things[self.below(len(things))]

    def code(self, ranges):
        return chr(self.between(*self.of(ranges)))

    def codes(self, ranges, least, most):
        return "".join(self.code(ranges) for _ in range(self.between(least, most)))


def script_words(source):
    script = source.of(SCRIPTS)
    words = [source.codes([script], 1, 9) for _ in range(source.between(1, 5))]
    return source.of([" ", " ", "", "\u3000", "-", ", "]).join(words)


def numbers(source):
    kind = source.below(4)
    if kind == 0:
        return source.codes([(0x30, 0x39)], 1, 20)
    if kind == 1:
        return source.codes(NUMBERS, 1, 8)
    if kind == 2:
        return source.of([" ", "", "-", "$"]) + source.codes([(0x30, 0x39)], 1, 4) \
            + source.of([".", ",", ":", "/", " "]) + source.codes([(0x30, 0x39)], 1, 6) \
            + source.of(["%", "th", "kg", "", "e10", " "])
    return source.of(WORDS) + source.codes([(0x30, 0x39)], 1, 3) + source.of(WORDS)


def marks(source):
    text = ""
    for _ in range(source.between(1, 5)):
        text += source.code(source.of([[(0x41, 0x5A)], [(0x61, 0x7A)], SCRIPTS, SYMBOLS, [(0x1100, 0x11FF)],
                                       [(0x20, 0x20)]]))
        text += source.codes(MARKS, 0, source.of([1, 2, 3, 6]))
    return text


def long_word(source):
    kind, length = source.below(6), source.between(100, 1500)
    if kind == 0:
        return source.code([(0x61, 0x7A)]) * length
    if kind == 1:
        return source.codes([(0x61, 0x7A)], length, length)
    if kind == 2:
        return source.of(["=", "-", " ", "\n", "\t", "_", "9", "!?"]) * length
    if kind == 3:
        return source.codes([(0x4E00, 0x9FD5)], length // 3, length // 3)
    if kind == 4:
        return "x" + source.codes(MARKS, length // 4, length // 4)
    return "".join(source.of(WORDS) for _ in range(length // 5))


def piece(source):
    kind = source.below(64)
    if kind == 0:
        return long_word(source)
    if kind < 16:
        return script_words(source)
    if kind < 26:
        return " ".join(source.of(WORDS) for _ in range(source.between(1, 8)))
    if kind < 32:
        return source.of(PIECES)
    if kind < 38:
        return numbers(source)
    if kind < 44:
        return "".join(chr(source.of(SPACES)) for _ in range(source.between(1, 7)))
    if kind < 49:
        return source.of(EMOJI) * source.between(1, 2)
    if kind < 55:
        return source.of(SPECIALS)
    if kind < 60:
        return marks(source)
    return source.codes(SYMBOLS, 1, 6)


def make_texts(count, seed=9):
    source = Source(seed)
    return ["".join(piece(source) for _ in range(source.between(1, 9))) for _ in range(count)]


if __name__ == "__main__":
    for line in make_texts(int(sys.argv[1]) if len(sys.argv) > 1 else 10000):
        print(json.dumps(line))
