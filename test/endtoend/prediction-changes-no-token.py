# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
# UNSUPPORTED: sanitizer
"""Guesses of experts never change a logit, wherever they are compiled in, and are counted.

Builds with guesses far, early, late, at all places and nowhere are run with the option off, automatic and always, under
the smallest budget and one of half the experts. Guesses come true more often than chance (a quarter: 4 of 16 experts).
"""
import os

from moectest import DEMO, check, comma, golden_prompts, moec, report, run_json, same_files, scratch

prompt = comma(golden_prompts()["short"]["prompt_ids"])
TOKENS, LAYERS, TOP_K = 24, 4, 4

with scratch() as folder:
    first, rights = None, {}
    for places, layers in (("on", LAYERS), ("late", LAYERS), ("early", LAYERS - 1), ("far", LAYERS - 2), ("off", 0)):
        prefix = os.path.join(folder, places)
        moec("compile", DEMO, "--target", "host", "--quant", "int8", "--predict", places, "--quiet", "-o", prefix)
        facts = report(prefix)
        half = (facts["min_bytes"] + facts["plan_bytes"]) // 2
        for option, budget in (("off", half), ("auto", facts["min_bytes"]), ("always", half), ("auto", None),
                               ("always", None)):
            path = os.path.join(folder, f"{places}-{option}.npy")
            flags = ["--memory", budget] if budget else []
            found = run_json(prefix, "--ids", prompt, "--max-tokens", TOKENS, "--greedy", "--prediction", option,
                             "--logits", path, *flags)
            first = first or path
            check(same_files(first, path), f"--predict {places}, --prediction {option}, budget {budget}: logits differ")
            guessed, right = found["predicted"], found["predicted_right"]
            print(places, option, budget, guessed, right)
            sums = [sum(column) for column in zip(*found["predicted_by_layer"])] or [0, 0]
            check(sums == [guessed, right], f"{places}: {found['predicted_by_layer']} of {guessed}, {right}")
            if option == "off" or layers == 0 or (option == "auto" and not budget):
                check(guessed == 0, f"--predict {places}, --prediction {option}, {budget}: {guessed} guessed")
            if option == "always":
                # The first token comes from the prompt, for whose tokens nothing is guessed.
                check(guessed == (TOKENS - 1) * layers * TOP_K, f"{places}: {guessed} guessed, {layers} layers")
                rights[places] = right / max(guessed, 1)
        # A prompt of one token is computed by the code that guesses.
        one = run_json(prefix, "--ids", prompt.split(",")[0], "--max-tokens", 1, "--greedy", "--prediction", "always",
                       "--memory", half)
        check(one["predicted"] == layers * TOP_K, f"{places}: {one['predicted']} guessed for a prompt of one token")
    check(rights["far"] > 0.3 and rights["early"] > 0.4, f"shares of right guesses: {rights}")
    check(rights["late"] > rights["early"] and rights["on"] == rights["late"],
          f"shares of right guesses: {rights}")
