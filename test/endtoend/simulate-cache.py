# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""moec simulate-cache: what it says of a recorded run are the runtime's counters exactly; the default policy meets its
bars on the recorded trace of the demo model and on drifting Zipf(1.0); no policy passes Belady's; plots and tables."""
import math
import os
import struct
import xml.etree.ElementTree

from moectest import GOLDEN, check, comma, compiled, expect_error, heldout_ids, moec, run_json, scratch


def simulate(*arguments, **options):
    return moec("simulate-cache", *arguments, **options)


def rates(found):
    for row in found["budgets"]:
        policies = {name: counts["hit_rate"] for name, counts in row["policies"].items()}
        check(all(rate <= policies["belady"] for rate in policies.values()), f"better than Belady's: {row}")
        yield row["slots"], policies


with scratch() as folder:
    # The runtime: prompts in chunks, replies, budgets down to the minimum, lanes.
    prefix = compiled("int4")
    trace = os.path.join(folder, "trace")
    flags = ("--ids", comma(heldout_ids(70)), "--max-tokens", 30, "--chunk", 32, "--greedy", "--prediction", "off",
             "--trace", trace)
    for share, more in ((0, ("--lanes", 1)), (0, ("--eviction", "lru", "--lanes", 4)), (0.5, ("--eviction", "lfu")),
                        (0.5, ("--delay-reads", 100)), (1, ())):
        facts = run_json(prefix, "--ids", "1", "--max-tokens", 1, *more)
        memory = facts["min_bytes"] + int(share * (facts["plan_bytes"] - facts["min_bytes"]))
        facts = run_json(prefix, *flags, "--memory", memory, *more)
        recorded = simulate("--trace", trace, "--json").json()["recorded"]
        print(f"{recorded['slots']} slots, {recorded['eviction']}: {recorded['misses']} misses")
        check((recorded["misses"], recorded["hits"]) == (facts["expert_misses"], facts["expert_hits"]), f"{recorded}")
        # With a slot for every expert the runtime reads what was not asked for, too, whenever it has time.
        check(recorded["repeatable"] == (share < 1), f"{recorded}")
        same = recorded["misses"] == recorded["simulated_misses"] and recorded["hits"] == recorded["simulated_hits"]
        check(same or (share == 1 and recorded["misses"] < recorded["simulated_misses"]), f"{recorded}")

    # The demo model's recorded trace: at least the better of LRU and LFU, less half a point.
    array = os.path.join(GOLDEN, "routing_trace.npy")
    demo = simulate("--trace", array, "--json").json()
    check((demo["tokens"], demo["tokens_decoded"], demo["expert_records"]) == (4096, 4096, 64), f"{demo}")
    for slots, found in rates(demo):
        check(found["faded"] >= max(found["lru"], found["lfu"]) - 0.005, f"{slots} slots: {found}")
    # In chunks every layer asks for all its experts: LRU finds none of them again.
    for slots, found in rates(simulate("--trace", array, "--prompt", 4096, "--json").json()):
        check(found["lru"] == 0 and found["faded"] >= max(0.07, found["lfu"]), f"{slots} slots: {found}")

    # Drifting Zipf, with a quarter of the layers of docs/paging.md: three points more than the better one; at 75 %
    # there is no room for them.
    zipf = ("--zipf", "1.0", "--layers", 12, "--seed", 1, "--json")
    margins = [found["faded"] - max(found["lru"], found["lfu"]) for _, found in rates(simulate(*zipf).json())]
    print("margins", [f"{100 * margin:.2f}" for margin in margins])
    check(min(margins[:3]) >= 0.03 and margins[3] >= 0.005, f"{margins}")

    # One seed, one routing; a reply after each prompt.
    talk = ("--zipf", "0.8", "--layers", 3, "--experts", 16, "--top-k", 2, "--tokens", 200, "--prompt", 30,
            "--reply", 10, "--chunk", 8, "--slots", "2,48,5", "--json")
    first, again = simulate(*talk).out, simulate(*talk).out
    check(first == again != simulate(*talk, "--seed", 2).out, "the seed does not decide")
    rows = simulate(*talk).json()
    check(rows["tokens_decoded"] == 50 and [row["slots"] for row in rows["budgets"]] == [2, 5, 48], f"{rows}")
    check(rows["budgets"][2]["policies"]["lru"]["misses"] <= 48, "nothing makes room where all have some")
    plot = os.path.join(folder, "plot.svg")
    table = simulate("--trace", array, "--svg", plot).out
    check("belady" in table and "simulated" in table and "50.0 %" in table, table)
    lines = xml.etree.ElementTree.parse(plot).getroot().findall("{http://www.w3.org/2000/svg}polyline")
    check(len(lines) == 4 and all(len(line.get("points").split()) == 4 for line in lines), "four lines of four points")

    # Bad input.
    with open(trace, "rb") as file:
        good = file.read()
    cases = {"cut": (good[:-8], "it ends in the ids of record"), "longer": (good + bytes(8), "8 bytes follow"),
             "short": (good[:40], "it has 40 bytes"), "other": (b"GGUF" + good[4:], "neither a trace"),
             "version": (good[:8] + struct.pack("<I", 9) + good[12:], "version is 9, expected 1"),
             "layers": (good[:16] + struct.pack("<I", 0) + good[20:], "0 layers"),
             "id": (good[:160] + struct.pack("<h", 16) + good[162:], "record 0 at byte 112 has expert 16 of 16"),
             "layer": (good[:112] + struct.pack("<I", 4) + good[116:], "is of layer 4")}
    for name, (data, text) in cases.items():
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(data)
        expect_error(simulate("--trace", path, code=1), path, text)
    expect_error(simulate("--trace", os.path.join(folder, "none"), code=1), "none")
    expect_error(simulate("--trace", array, "--experts", 4, code=1), "has expert 15, --experts is 4")
    expect_error(simulate("--trace", array, "--svg", folder, code=1), folder)
    for shape, text in (((1, 20000, 1), "20000 layers of"), ((1, 1, 20000), "top-k 20000"), ((1, 8192, 1), "at most")):
        path = os.path.join(folder, "shape.npy")
        header = str({"descr": "|u1", "fortran_order": False, "shape": shape}).ljust(117) + "\n"
        with open(path, "wb") as file:
            file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + bytes(math.prod(shape)))
        expect_error(simulate("--trace", path, "--experts", 4096, code=1), path, text)
    expect_error(simulate("--zipf", 1, "--layers", 1024, "--experts", 2048, "--top-k", 1, "--tokens", 100, code=1),
                 "102400 requests")
    # A token that uses every expert, of which some are hardly ever drawn.
    found = simulate("--zipf", 8, "--layers", 2, "--experts", 512, "--top-k", 512, "--tokens", 2, "--json").json()
    check(found["budgets"][-1]["policies"]["belady"]["misses"] >= 1024, f"{found}")
    for flags, text in (((), "--trace FILE or --zipf S"), (("--zipf", "x"), "a number from 0 to 8"),
                        (("--trace", array, "--seed", 1), "go with --zipf"),
                        (("--budgets", "0", "--zipf", 1), "from 1 to 100"),
                        (("--zipf", 1, "--top-k", 200), "at most the 128"),
                        (("--zipf", 1, "--budgets", 50, "--slots", 9), "exclude each other"),
                        (("--zipf", 1, "--reply", 4), "--reply needs")):
        check(text in simulate(*flags, code=2).err, f"{flags}: {text}")
