# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""A pack of generated weights is that of the checkpoint which `moec synth` writes; every phase resumes without it.

The checkpoint is the same for every run, and its values do not depend on the size of the shards.
"""
import filecmp
import os

from moectest import check, moec, moe_pack, run_json, same_files, scratch, tiny_config

FLAGS = ("--target", "host", "--quant", "mixed")
with scratch() as folder:
    def path(name):
        return os.path.join(folder, name)

    config = tiny_config(path("tiny.json"))
    moec("synth", config, "--seed", 7, "-o", path("tiny"))
    moec("synth", config, "--seed", 7, "-o", path("again"))
    moec("synth", config, "--seed", 8, "-o", path("other"))
    names = sorted(os.listdir(path("tiny")))
    check(names == ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json"], f"wrote {names}")
    check(not any(filecmp.cmpfiles(path("tiny"), path("again"), names, shallow=False)[1:]), "two runs differ")
    check(not same_files(path("tiny/model.safetensors"), path("other/model.safetensors")), "two seeds are the same")
    moec("synth", config, "--seed", 7, "--shard-size", "100KB", "-o", path("shards"))
    shards = [name for name in os.listdir(path("shards")) if name.endswith(".safetensors")]
    check(len(shards) > 1, f"--shard-size wrote {shards}")

    moec("compile", path("tiny"), *FLAGS, "-o", path("file"))
    moec("compile", path("shards"), *FLAGS, "-o", path("sharded"))
    moec("compile", "--random-weights", "--seed", 7, config, *FLAGS, "--dump-phases-to", path("phases"), "-o",
         path("random"))
    check(same_files(path("file.moepack"), path("random.moepack")), "the pack of generated weights differs")

    moec("synth", config, "--seed", 7, "--routing", "uniform", "-o", path("uniform"))
    check(same_files(path("tiny/model.safetensors"), path("uniform/model.safetensors")), "uniform is not the default")
    moec("synth", config, "--seed", 7, "--routing", "zipf:1.2", "-o", path("skewed"))
    moec("compile", path("skewed"), *FLAGS, "-o", path("skewedfile"))
    moec("compile", "--random-weights", "--seed", 7, "--routing", "zipf:1.2", config, *FLAGS, "-o",
         path("skewedrandom"))
    check(same_files(path("skewedfile.moepack"), path("skewedrandom.moepack")), "the pack of skewed routers differs")
    check(not same_files(path("file.moepack"), path("skewedrandom.moepack")), "--routing changes nothing")

    def records(name):
        return [line for line in moe_pack("list", path(name)).out.splitlines() if "expert" in line]

    check(records("sharded.moepack") == records("random.moepack"), "shards hold other values")
    wanted = run_json(path("file"), "--prompt", "any text", "--max-tokens", 8)
    check(wanted["prompt_ids"] == list(b"any text"), f"a byte is no token of its own: {wanted['prompt_ids']}")
    check(len(set(wanted["ids"])) > 2, f"the random model repeats itself: {wanted['ids']}")
    check(run_json(path("random"), "--prompt", "any text", "--max-tokens", 8)["ids"] == wanted["ids"], "other tokens")
    for name in sorted(os.listdir(path("phases"))):
        if name.endswith((".import.mlir", ".plan.mlir", ".lower.mlir")):
            phase = name.split(".")[-2]
            moec("compile", "--from", phase, path("phases/" + name), "-o", path("resumed"))
            check(same_files(path("random.moepack"), path("resumed.moepack")), f"the pack resumed from {phase} differs")
