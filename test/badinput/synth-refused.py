# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""`moec synth`, `estimate` and `--random-weights` with wrong configs, folders and disks: one message, nothing left."""
import json
import os
import resource
import subprocess

from moectest import Result, check, expect_error, moec, program, scratch, tiny_config

CONFIGS = (
    ({"num_experts": None}, "num_experts is missing"),
    ({"num_experts": 0}, "num_experts is 0"),
    ({"num_hidden_layers": 2 ** 40}, "num_hidden_layers is 1099511627776"),
    ({"num_hidden_layers": 1024, "num_experts": 4096}, "more than 200000 tensors"),
    ({"hidden_size": 2 ** 18, "moe_intermediate_size": 2 ** 18, "num_experts": 256}, "more than is generated"),
    ({"vocab_size": 255, "eos_token_id": 1}, "expects at least 256 for the generated tokenizer"),
)
with scratch() as folder:
    out = os.path.join(folder, "out")
    for changes, message in CONFIGS:
        config = tiny_config(os.path.join(folder, "tiny.json"), **changes)
        expect_error(moec("synth", config, "-o", out, code=None), "tiny.json", message)
        expect_error(moec("estimate", config, "--target", "host", code=None), "tiny.json", message)
        expect_error(moec("compile", "--random-weights", config, "--target", "host", "-o", out, code=None), message)
    with open(config, "w", encoding="utf-8") as file:
        file.write("{")
    expect_error(moec("synth", config, "-o", out, code=None), "tiny.json", "parse error")
    expect_error(moec("synth", "qwen3-30b", "-o", out, code=None), "qwen3-30b-a3b")

    config = tiny_config(config)
    blocker = os.path.join(folder, "full")
    os.mkdir(blocker)
    with open(os.path.join(blocker, "file"), "w", encoding="utf-8") as file:
        file.write("mine\n")
    expect_error(moec("synth", config, "-o", blocker, code=None), "is not empty", "'file'")
    expect_error(moec("synth", config, "-o", config, code=None), "is a file")
    expect_error(moec("synth", config, "-o", os.path.join(folder, "no", "out"), code=None), "cannot be used")
    expect_error(moec("synth", config, "--tokenizer", config, "-o", out, code=None), "tiny.json", "model")
    for seed in ("abc", "-1", str(2 ** 64)):
        result = moec("synth", config, "--seed", seed, "-o", out, code=2)
        check("--seed" in result.err and "whole number" in result.err, result.err)
    for routing in ("zipf", "zipf:-1", "zipf:1e0", "zipf:4.5", "zipf:1.2345", "even"):
        result = moec("synth", config, "--routing", routing, "-o", out, code=2)
        check("--routing" in result.err and "zipf:S" in result.err, result.err)
    for flags in (("--seed", 1), ("--routing", "zipf:1"), ("--tokenizer", config)):
        check("--random-weights" in moec("compile", folder, "--target", "host", *flags, "-o", out, code=2).err, flags)
    expect_error(moec("estimate", config, "--target", "host", "--memory", "10KB", code=None), "--memory", "needs")
    for flags in (("--experts-used", 3), ("--depth", 10 ** 6)):
        expect_error(moec("estimate", config, "--target", "host", *flags, code=None), flags[0], "expects at most")
    for flags in (("--hit-rate", 1.5), ("--hit-rate", "nan"), ("--clock", 0), ("--predicted", "x"), ("--depth", -1),
                  ("--experts-used", 0), ("--hit-rate", 0.5, "--routing", "zipf:1")):
        check(flags[0] in moec("estimate", config, "--target", "host", *flags, code=2).err, flags)
    expect_error(moec("estimate", config, "--target", "host", "--quant", "source", code=None), "--quant source",
                 "moec precision")

    # A limit on the size of files stands for a disk that becomes full while the weights are written.
    command = [program("moec"), "synth", config, "-o", out]
    done = subprocess.run(command, capture_output=True, check=False, restore_signals=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536)))
    expect_error(Result(command, done), "cannot write", "model.safetensors")
    check(sorted(os.listdir(folder)) == ["full", "tiny.json"], f"left {os.listdir(folder)}")
    check(os.listdir(blocker) == ["file"], "the folder that was refused has changed")
    check(json.load(open(config, encoding="utf-8"))["num_experts"] == 4, "the config has changed")
