# SPDX-License-Identifier: Apache-2.0
"""The least time of a decoded token whose experts partly come from disk, replayed from traces. Main source:
docs/benchmarks-paging.md, which defines it.

A token of a trace is {"begin", "end", "layers": [[begin, end, distinct, missed], ...]}, times in nanoseconds: of the
call, and for each layer when its router had spoken and when its experts were computed.
"""
import statistics


def compute_times(tokens):
    """What a token computes, from a run in which nothing is missed: seconds of the dense part of each layer, of its
    experts, of the head; medians over the tokens."""
    if not tokens:
        raise SystemExit("error: the run with every expert in memory has no tokens")
    if any(missed for token in tokens for _, _, _, missed in token["layers"]):
        raise SystemExit("error: the run with every expert in memory missed some; give it a longer prompt (--prompt)")
    dense, experts, head = [], [], []
    for token in tokens:
        before = [token["begin"]] + [layer[1] for layer in token["layers"][:-1]]
        dense.append([(layer[0] - at) / 1e9 for at, layer in zip(before, token["layers"])])
        experts.append([(end - begin) / 1e9 for begin, end, _, _ in token["layers"]])
        head.append((token["end"] - token["layers"][-1][1]) / 1e9)
    return {"dense": [statistics.median(column) for column in zip(*dense)],
            "experts": [statistics.median(column) for column in zip(*experts)], "head": statistics.median(head)}


def scaled(compute, factor):
    """The same on a machine whose memory takes `factor` times as long."""
    return {"dense": [seconds * factor for seconds in compute["dense"]],
            "experts": [seconds * factor for seconds in compute["experts"]], "head": compute["head"] * factor}


def causal_bound(token, compute, record_bytes, bytes_per_s):
    """Seconds below which a token cannot be that reads what a layer misses once its router has spoken: a layer's dense
    part, the longer of computing what is there and reading what is not, and the expert that came last."""
    seconds = compute["head"]
    for layer, dense, experts in zip(token["layers"], compute["dense"], compute["experts"]):
        _, _, distinct, missed = layer
        one = experts / distinct
        seconds += dense + max(one * (distinct - missed), missed * record_bytes / bytes_per_s) + (one if missed else 0)
    return seconds


def free_bound(tokens, compute, read_bytes, bytes_per_s):
    """Seconds below which tokens cannot be whatever is predicted: the longer of computing and reading."""
    computing = len(tokens) * (sum(compute["dense"]) + sum(compute["experts"]) + compute["head"])
    return max(computing, read_bytes / bytes_per_s)


def losses(token, compute, record_bytes, bytes_per_s):
    """Where a token takes longer than its bound, in seconds: dense parts, experts of layers that miss none, of layers
    that miss some, head."""
    result = {"dense": -sum(compute["dense"]), "all_hit": 0.0, "missing": 0.0, "head": -compute["head"]}
    before = token["begin"]
    for (begin, end, distinct, missed), experts in zip(token["layers"], compute["experts"]):
        one = experts / distinct
        least = max(one * (distinct - missed), missed * record_bytes / bytes_per_s) + (one if missed else 0)
        result["dense"] += (begin - before) / 1e9
        result["missing" if missed else "all_hit"] += (end - begin) / 1e9 - least
        before = end
    result["head"] += (token["end"] - before) / 1e9
    return result
