# SPDX-License-Identifier: Apache-2.0
"""One lit configuration for all suites. A suite is a folder, named after a step of the line or a kind of test.

Substitutions: %moec %moe-opt %moe-run %moe-run-arm64 %moe-pack %moe-interpret (programs), %examples %data %shared-out
(folders), %python. FileCheck, not, count, split-file, llvm-objdump come from LLVM's own folder.
Features: slow (only with --param slow=1), qemu, avx512vnni, sanitizer (the build has MOEC_SANITIZE),
public-tokenizers (scripts/fetch-tokenizers.sh has run), smollm2 (scripts/get-smollm2.sh has run).
Python tests import test/tools/moectest.py and find everything through MOEC_* variables.
"""
import os
import shutil
import sys

import lit.formats

config.name = "moec"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".py"]
config.excludes = ["tools", "data", "Inputs", "CMakeLists.txt", "lit.cfg.py", "lit.site.cfg.py"]
config.test_source_root = os.path.dirname(os.path.abspath(__file__))

programs = os.path.join(config.moec_build, "bin")
llvm_programs = os.path.join(config.llvm_root, "bin")
shared_out = os.path.join(config.test_exec_root, "shared")
os.makedirs(shared_out, exist_ok=True)

qemu = shutil.which("qemu-aarch64")
sysroot = "/usr/aarch64-linux-gnu"
if qemu and os.path.isdir(sysroot):
    config.available_features.add("qemu")
run_arm64 = f"{qemu or 'qemu-aarch64'} -L {sysroot} -cpu max {programs}/aarch64/moe-run"

# The loader and C library that stand for Android's: test/bionic.
bionic = os.path.join(config.test_exec_root, "bionic")
run_android = f"{qemu or 'qemu-aarch64'} -L {bionic}/prefix -E LD_LIBRARY_PATH={bionic}:{sysroot}/lib -cpu max"

try:
    with open("/proc/cpuinfo") as cpuinfo:
        if "avx512_vnni" in cpuinfo.read():
            config.available_features.add("avx512vnni")
except OSError:
    pass
if config.moec_sanitize:
    config.available_features.add("sanitizer")
if lit_config.params.get("slow", "0") not in ("", "0"):
    config.available_features.add("slow")
if os.path.exists(os.path.join(config.moec_build, "tokenizers", "qwen3", "tokenizer.json")):
    config.available_features.add("public-tokenizers")
if os.path.exists(os.path.join(config.moec_build, "models", "smollm2.gguf")):
    config.available_features.add("smollm2")

# The order matters: a longer name stands before a shorter one that begins it.
config.substitutions += [
    ("%moe-run-arm64", run_arm64),
    ("%moe-run", f"{programs}/moe-run"),
    ("%moe-opt", f"{programs}/moe-opt"),
    ("%moe-pack", f"{programs}/moe-pack"),
    ("%moe-interpret", f"{programs}/moe-interpret"),
    ("%moec", f"{programs}/moec"),
    ("%examples", os.path.join(config.moec_source, "examples")),
    ("%data", os.path.join(config.test_source_root, "data")),
    ("%source", config.moec_source),
    ("%shared-out", shared_out),
    ("%python", sys.executable),
]

environment = config.environment
environment["PATH"] = os.pathsep.join([programs, llvm_programs, environment.get("PATH", os.environ["PATH"])])
environment["PYTHONPATH"] = os.path.join(config.test_source_root, "tools")
environment["PYTHONDONTWRITEBYTECODE"] = "1"
environment["MOEC_SOURCE"] = config.moec_source
environment["MOEC_BUILD"] = config.moec_build
environment["MOEC_LLVM"] = config.llvm_root
environment["MOEC_SHARED_OUT"] = shared_out
environment["MOEC_RUN_ARM64"] = run_arm64
environment["MOEC_RUN_ANDROID"] = run_android
environment["LC_ALL"] = "C.UTF-8"
