# SPDX-License-Identifier: Apache-2.0
"""Routing like that of `moec synth --routing zipf:S` for the peer's random weights. Main source:
docs/synthetic-models.md, whose formulas these are; the values differ, as the peer's file is made otherwise."""
import math
import statistics

# Element 0 of every embedding, in standard deviations of the others: a Q4_K block's largest scale and code, over a
# scale of 32 with a spread of 4.61 codes (peer_model.py).
FIRST_ELEMENT = 63 * 15 / (32 * 4.61)


def least_where(is_reached, low, high):
    """The least x of [low, high] where a condition that stays true becomes true."""
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if is_reached(middle) else (middle, high)
    return high


def used_shares(experts, top_k, exponent):
    """Share of the tokens that use the expert of each rank."""
    rates = [(rank + 1) ** -exponent for rank in range(experts)]
    time = least_where(lambda t: sum(-math.expm1(-rate * t) for rate in rates) >= top_k, 0, 40 / rates[-1])
    return [-math.expm1(-rate * time) for rate in rates]


def scores(experts, top_k, exponent):
    """What a standard normal deviate exceeds with the chance that the expert of each rank is not used, negated."""
    return [statistics.NormalDist().inv_cdf(share) for share in used_shares(experts, top_k, exponent)]


def router(random, shape, top_k, exponent):
    """A router [experts, hidden] whose logits for such embeddings are normal deviates around an expert's score."""
    experts, hidden = shape
    weights = random.normal(0, hidden ** -0.5, shape)
    # The norm before the router divides by the root of the mean square of an embedding.
    first = FIRST_ELEMENT / math.sqrt(1 + FIRST_ELEMENT ** 2 / hidden)
    weights[random.permutation(experts), 0] = [score / first for score in scores(experts, top_k, exponent)]
    return weights


def mark_embeddings(blocks, blocks_of_row):
    """Gives every row of Q4_K blocks its first element: the first 32 elements become 0 but for that one."""
    rows = blocks[::blocks_of_row]
    # d, dmin; scales and minima of 6 bits; codes. Scale 0 is the low 6 bits of byte 4, minimum 0 those of byte 8.
    rows[:, 4] = rows[:, 4] & 0xC0 | 63
    rows[:, 8] = rows[:, 8] & 0xC0
    rows[:, 16:48] &= 0xF0
    rows[:, 16] |= 15
