# SPDX-License-Identifier: Apache-2.0
"""What end-to-end and bad-input tests share: running the programs, compiling once, reading .npy and safetensors.

Plain Python, no packages. A test is a script that ends normally when it passes and calls `check` for what it proves.
"""
import contextlib
import fcntl
import glob
import hashlib
import json
import os
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile

SOURCE = os.environ["MOEC_SOURCE"]
BUILD = os.environ["MOEC_BUILD"]
SHARED_OUT = os.environ["MOEC_SHARED_OUT"]
RUN_ARM64 = shlex.split(os.environ["MOEC_RUN_ARM64"])
RUN_ANDROID = shlex.split(os.environ["MOEC_RUN_ANDROID"])
DEMO = os.path.join(SOURCE, "examples", "demo-moe")
DATA = os.path.join(SOURCE, "test", "data")
GOLDEN = os.path.join(DATA, "golden")
BIN = os.path.join(BUILD, "bin")
ARM64_TARGETS = ("arm64-neon", "arm64-dotprod", "arm64-i8mm")
X86_TARGETS = ("x86-64-avx2", "x86-64-avxvnni", "x86-64-avx512vnni")
TIMEOUT_S = 540


def check(condition, text):
    """Ends the test as failed, with `text`, unless `condition` holds."""
    if not condition:
        sys.exit(f"check failed: {text}")


class Result:
    """What a program left behind. `code` is negative after a signal."""

    def __init__(self, command, completed):
        self.command = shlex.join(command)
        self.code = completed.returncode
        self.out = completed.stdout.decode("utf-8", "replace")
        self.err = completed.stderr.decode("utf-8", "replace")

    def json(self):
        try:
            return json.loads(self.out)
        except ValueError as error:
            sys.exit(f"stdout is not one JSON object ({error}): {self.command}\n{self.out}")


def execute(command, code=0, cwd=None, env=None, timeout=TIMEOUT_S):
    """Runs `command`; the exit code must be `code` (None: any)."""
    completed = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, env=env,
        timeout=timeout, check=False)
    result = Result(command, completed)
    if code is not None and result.code != code:
        sys.exit(f"expected exit code {code}, got {result.code}: {result.command}\nstdout: {result.out[-2000:]}\n"
                 f"stderr: {result.err[-4000:]}")
    return result


def program(name):
    return os.path.join(BIN, name)


def moec(*arguments, **options):
    return execute([program("moec"), *map(str, arguments)], **options)


def moe_opt(*arguments, **options):
    return execute([program("moe-opt"), *map(str, arguments)], **options)


def moe_pack(*arguments, **options):
    return execute([program("moe-pack"), *map(str, arguments)], **options)


def run(prefix, *arguments, target="host", cpu="max", **options):
    """moe-run on PREFIX.so; ARM64 builds run under emulation, those for Android with the moe-run of PREFIX.run."""
    command = [program("moe-run")]
    if target.endswith("@android"):
        command = [*RUN_ANDROID, os.path.join(prefix + ".run", "moe-run")]
    elif target.startswith("arm64"):
        command = [cpu if part == "max" else part for part in RUN_ARM64]
    return execute([*command, prefix + ".so", *map(str, arguments)], **options)


def run_json(prefix, *arguments, **options):
    return run(prefix, *arguments, "--json", **options).json()


def tiny_config(path, **changes):
    """Writes the config of a tiny model to `path`, with keys set or, with None, left out; returns the path."""
    config = {
        "model_type": "qwen3_moe", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 16, "moe_intermediate_size": 32, "num_experts": 4,
        "num_experts_per_tok": 2, "norm_topk_prob": True, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
        "vocab_size": 320, "max_position_embeddings": 128, "eos_token_id": 300, "hidden_act": "silu", **changes}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({key: value for key, value in config.items() if value is not None}, file)
    return path


def compile_program(name, folder):
    """Compiles a program of test/endtoend/programs against the C API alone; returns its path."""
    path = os.path.join(folder, os.path.splitext(name)[0])
    execute(["c++", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-I", os.path.join(SOURCE, "include"),
             os.path.join(SOURCE, "test", "endtoend", "programs", name), "-ldl", "-pthread", "-o", path])
    return path


def golden_prompts():
    with open(os.path.join(GOLDEN, "prompts.json"), encoding="utf-8") as file:
        return json.load(file)


def heldout_ids(count):
    with open(os.path.join(GOLDEN, "heldout_ids.json"), encoding="utf-8") as file:
        return json.load(file)["ids"][:count]


def comma(ids):
    return ",".join(map(str, ids))


def report(prefix):
    with open(prefix + ".report.json", encoding="utf-8") as file:
        return json.load(file)


def compiler_fingerprint():
    """Changes when anything that a compile depends on was rebuilt."""
    parts = [program("moec"), *sorted(glob.glob(os.path.join(BUILD, "**", "libmoert*.a"), recursive=True)),
             *sorted(glob.glob(os.path.join(BUILD, "lib", "moert", "*android", "*.*")))]
    facts = [(part, os.stat(part).st_mtime_ns, os.stat(part).st_size) for part in parts if os.path.exists(part)]
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def compiled(quant, target="host", *flags):
    """Compiles the demo model once for all tests of this build; returns the output prefix (without .so)."""
    name = "-".join(["demo", quant, target, *(flag.strip("-").replace("/", "_") for flag in map(str, flags))])
    prefix = os.path.join(SHARED_OUT, name)
    stamp = prefix + ".stamp"
    with open(prefix + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        fingerprint = compiler_fingerprint()
        if os.path.exists(stamp):
            with open(stamp, encoding="utf-8") as file:
                if file.read() == fingerprint:
                    return prefix
            os.remove(stamp)
        moec("compile", DEMO, "--target", target, "--quant", quant, *flags, "-o", prefix)
        with open(stamp, "w", encoding="utf-8") as file:
            file.write(fingerprint)
    return prefix


@contextlib.contextmanager
def scratch():
    """A folder that is gone afterwards."""
    folder = tempfile.mkdtemp(prefix="moec-test-", dir=SHARED_OUT)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def same_files(first, second):
    """True if both files hold the same bytes."""
    if os.path.getsize(first) != os.path.getsize(second):
        return False
    with open(first, "rb") as left, open(second, "rb") as right:
        while True:
            a, b = left.read(1 << 20), right.read(1 << 20)
            if a != b:
                return False
            if not a:
                return True


def expect_error(result, *texts):
    """One clear message: exit code 1, nothing on stdout, every text in stderr, no sign of a crash."""
    check(result.code == 1, f"expected exit code 1, got {result.code}: {result.command}\n{result.err[-3000:]}")
    check(result.err.strip(), f"no message on stderr: {result.command}")
    for sign in ("Stack dump", "PLEASE submit a bug", "Assertion", "terminate called", "LLVM ERROR"):
        check(sign not in result.err, f"the program crashed ({sign}): {result.command}\n{result.err[-3000:]}")
    for text in texts:
        choices = text if isinstance(text, tuple) else (text,)
        check(any(choice.lower() in result.err.lower() for choice in choices),
              f"the message lacks {' or '.join(map(repr, choices))}: {result.command}\n{result.err[-3000:]}")
    check(len(result.err.strip().splitlines()) <= 12, f"more than one clear message:\n{result.err[-3000:]}")


def read_npy(path):
    """Returns (shape, flat list of floats) of a float16 or float32 .npy file."""
    with open(path, "rb") as file:
        data = file.read()
    check(data[:6] == b"\x93NUMPY", f"{path} is not a .npy file")
    size_bytes, start = (2, 10) if data[6] == 1 else (4, 12)
    header_bytes = int.from_bytes(data[8:8 + size_bytes], "little")
    header = eval(data[start:start + header_bytes].decode("latin-1"), {"__builtins__": {}})  # a dict literal
    code = {"<f4": "f", "<f2": "e"}.get(header["descr"])
    check(code and not header["fortran_order"], f"{path}: unexpected header {header}")
    values = data[start + header_bytes:]
    count = len(values) // struct.calcsize(code)
    shape = header["shape"]
    expected = 1
    for extent in shape:
        expected *= extent
    check(count == expected, f"{path}: {count} values for shape {shape}")
    return shape, list(struct.unpack(f"<{count}{code}", values))


def largest_difference(first, second):
    check(len(first) == len(second), f"{len(first)} values against {len(second)}")
    return max(abs(a - b) for a, b in zip(first, second))
