#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of the fuzzers, test/fuzz/corpus/TARGET/*, from a tiny model and from the tests of the dialects.

The seeds are committed, since test/fuzz/replay.py reads them; run this after a file format has changed.

Example: tools/dev/make-fuzz-corpus.py --bin build/bin
"""
import argparse
import glob
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test", "tools"))
from gguffile import TYPES, gguf, metadata_of  # noqa: E402
from tinymodel import CONFIG, GENERATION, TinyModel, compact, safetensors, tokenizer  # noqa: E402

CORPUS = os.path.join(ROOT, "test", "fuzz", "corpus")
# What PackTarget.cpp mends: header, directory, tables, records.
MEND_ALL = 15
PAGE_BYTES = 16384


def write(target, name, content):
    folder = os.path.join(CORPUS, target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def write_simple_seeds():
    two = struct.pack("<2f", 1.0, -2.0)
    write("safetensors", "small", safetensors({"a": ("F32", [1, 2], two), "b": ("BF16", [2, 2], bytes(8))},
                                              {"format": "pt"}))
    write("safetensors", "types", safetensors({"a": ("F16", [2], bytes(4)), "b": ("I64", [], bytes(8)),
                                               "c": ("F8_E4M3", [0, 3], b""), "d": ("BOOL", [1, 1, 1], b"\1")}))
    write("safetensors", "empty", safetensors({}))
    blocks = {kind: (kind, [2, values], bytes(2 * size)) for kind, (_, values, size) in TYPES.items()}
    kinds = {"a": ("u8", [1, 2]), "b": ("f64", 0.5), "c": ("str", []), "d": ("i64", -1), "e": True, "f": ("i8", -1)}
    write("gguf", "types", gguf(kinds, {name: block for name, block in blocks.items() if block[0] != "Q4_K"}))
    write("gguf", "refused", gguf({"general.alignment": 64}, blocks, alignment=64))
    for architecture, name in (("qwen3moe", "moe"), ("llama", "dense")):
        config = CONFIG | {"intermediate_size": 32}
        if architecture == "llama":
            config = {key: value for key, value in config.items() if key != "num_experts"}
        few = {"token_embd.weight": ("F16", [320, 1], bytes(640)), "rope_freqs.weight": ("F32", [8], bytes(32)),
               "blk.0.attn_q.weight": ("F32", [2, 1], bytes(8)),
               "blk.0.ffn_up_exps.weight": ("F16", [2, 1, 1], bytes(4))}
        write("gguf", name, gguf(metadata_of(architecture, config, tokenizer()) | {"general.sampling.top_k": 20}, few))
    write("config", "flat", compact(CONFIG))
    rope = {key: value for key, value in CONFIG.items() if key != "rope_theta"}
    rope |= {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}, "tie_word_embeddings": True}
    write("config", "rope-parameters", compact(rope) + "\0" + compact(GENERATION))
    write("config", "all-keys", compact(CONFIG | {
        "rope_scaling": None, "mlp_only_layers": [], "decoder_sparse_step": 1, "use_sliding_window": False,
        "attention_bias": False, "hidden_act": "silu", "eos_token_id": [260, 1]}) + "\0" + compact({"top_k": None}))
    write("tokenizer", "plain", compact(tokenizer()) + "\0abc  ab<s><t> it's\n\n1234 \u00e9\u4e2d")
    for path in sorted(glob.glob(os.path.join(ROOT, "test", "data", "chat", "*.jinja"))):
        with open(path, encoding="utf-8") as file:
            write("tokenizer", "chat-" + os.path.basename(path)[:-6], file.read())
    smollm = tokenizer() | {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": True}, {"type": "ByteLevel", "add_prefix_space": False}]}}
    write("tokenizer", "smollm", compact(smollm) + "\0abc 12 it's  \n\n x1")
    write("tokenizer", "nfc", compact(tokenizer({"type": "NFC"})) + "\0abc e\u0301 \u1100\u1161 <t>")


def write_module_seeds():
    """The pieces of the dialects' tests that are small, without their comments."""
    for path in sorted(glob.glob(os.path.join(ROOT, "test", "*", "**", "*.mlir"), recursive=True)):
        folder, name = os.path.split(os.path.relpath(path, os.path.join(ROOT, "test")))
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for index, piece in enumerate(re.split(r"^// -----.*$", text, flags=re.M)):
            piece = "\n".join(line for line in piece.split("\n") if line.strip() and not line.strip().startswith("//"))
            if piece and len(piece) <= 1500:
                write("module", f"{folder.replace('/', '-')}-{name[:-5]}-{index}", piece + "\n")


def pack_seed(path):
    """The mending byte, the header, and directory and tables; all weights become zero."""
    with open(path, "rb") as file:
        content = file.read()
    end = struct.unpack_from("<Q", content, 64)[0]  # resident_offset
    return bytes([MEND_ALL]) + content[:144] + content[PAGE_BYTES:end].rstrip(b"\0")


def write_compiled_seeds(programs):
    moec = os.path.join(os.path.abspath(programs), "moec")
    with tempfile.TemporaryDirectory() as work:
        model = TinyModel(work).write()
        out = os.path.join(work, "tiny")
        for quant in ("f32", "mixed"):
            subprocess.run([moec, "compile", model, "--target", "host", "--quant", quant, "--dump-phases-to", work,
                            "--context", "64", "-o", out], check=True)
            write("pack", quant, pack_seed(out + ".moepack"))
            for phase in ("import", "fuse", "plan") if quant == "mixed" else ("plan",):
                for path in glob.glob(os.path.join(work, f"*{phase}*.mlir")):
                    with open(path, encoding="utf-8") as file:
                        write("module", f"tiny-{quant}-{phase}", file.read().replace(model, "model"))
        with open(out + ".so", "rb") as file:
            library = file.read()
        begin = library.index(b"MOETOKN1")
        write("tokenizer", "tables", library[begin:begin + struct.unpack_from("<I", library, begin + 44)[0]])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"), help="where moec is (build/bin)")
    args = parser.parse_args()
    shutil.rmtree(CORPUS, ignore_errors=True)
    write_simple_seeds()
    write_module_seeds()
    write_compiled_seeds(args.bin)
    for target in sorted(os.listdir(CORPUS)):
        sizes = [os.path.getsize(path) for path in glob.glob(os.path.join(CORPUS, target, "*"))]
        print(f"{target}: {len(sizes)} seeds, {sum(sizes)} bytes")


if __name__ == "__main__":
    main()
