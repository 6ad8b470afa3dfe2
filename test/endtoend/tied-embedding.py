# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A model whose head is its embedding (tie_word_embeddings) stores it once, looks tokens up in the resident head and
computes what the interpreter computes, bit for bit; an embedding with a precision of its own is a copy."""
import os
import sys

from moectest import DEMO, SOURCE, check, execute, moe_pack, moec, program, report, run, same_files, scratch

MODEL = ("--hidden", 64, "--layers", 2, "--heads", 2, "--kv-heads", 1, "--head-dim", 32, "--experts", 4, "--top-k", 2,
         "--moe-intermediate", 32, "--vocab", 2059, "--context", 64, "--tied", "--tokenizer-from", DEMO)
IDS = "46,1316,584,258,579,0,2058"  # the last row of a tile that is not full, too
EMBEDDING = "model.embed_tokens.weight"


def compile_and_compare(model, folder, name, *flags):
    """Compiles, checks the logits against the interpreter's and returns the base of the output."""
    out = os.path.join(folder, name)
    text = moec("compile", model, "--target", "host", "--dump-phases-to", folder, "-o", out, *flags)
    logits, expected = out + ".npy", out + ".expected.npy"
    run(out, "--ids", IDS, "--max-tokens", 4, "--greedy", "--logits", logits)
    execute([program("moe-interpret"), os.path.join(folder, f"4-{name}.fuse.mlir"), "--ids", IDS, "--greedy", "4",
             "--logits", expected])
    check(same_files(logits, expected), f"{name}: logits differ from the interpreter's")
    return out, text.err + text.out


with scratch() as folder:
    model = os.path.join(folder, "model")
    execute([sys.executable, os.path.join(SOURCE, "tools", "dev", "make-checkpoint.py"), *map(str, MODEL), model])
    for quant in ("f32", "int4m", "mixed"):
        out, _ = compile_and_compare(model, folder, quant, "--quant", quant)
        roles = {entry["role"]: entry for entry in report(out)["precision"]}
        check(roles["head"]["weights"] == roles["embedding"]["weights"] == 2059 * 64, f"{quant}: {roles}")
        check(roles["head"]["encoding"] == roles["embedding"]["encoding"], f"{quant}: {roles}")
        listing = moe_pack("list", out + ".moepack").out
        check(listing.count(EMBEDDING) == 1, f"{quant}: the embedding is stored twice\n{listing}")
    # What the head gets, the embedding gets; alone it gets a copy of its own.
    out, text = compile_and_compare(model, folder, "follows", "--quant", "int4", "--quant-role", "head=i6/64")
    roles = {entry["role"]: entry["encoding"] for entry in report(out)["precision"]}
    check(roles["head"] == roles["embedding"] == "i6/64" and "stored twice" not in text, f"{roles} {text}")
    out, text = compile_and_compare(model, folder, "own", "--quant", "int4", "--quant-role", "embedding=i8/32")
    roles = {entry["role"]: entry["encoding"] for entry in report(out)["precision"]}
    check((roles["head"], roles["embedding"]) == ("i4/32", "i8/32"), f"{roles}")
    check(f"'{EMBEDDING}' is stored twice" in text, text)
    check(moe_pack("list", out + ".moepack").out.count(EMBEDDING) == 2, "no copy of its own")
