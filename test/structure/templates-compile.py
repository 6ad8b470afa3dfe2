# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""tools/dev/new.py makes a pass and operations that obey the structure rules and compile, and refuses wrong names."""
import os
import shlex
import shutil
import subprocess
import sys

from moectest import BUILD, SOURCE, check, execute, scratch

LLVM = os.environ["MOEC_LLVM"]
TABLEGEN = os.path.join(LLVM, "bin", "mlir-tblgen")


def compile_command(target):
    """How ninja compiles `target`, or nothing for another generator."""
    found = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", "-s", target], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, check=False)
    lines = found.stdout.decode().strip().splitlines()
    return shlex.split(lines[-1]) if found.returncode == 0 and lines else None


def generate(tree, source, target, *flags):
    """Runs mlir-tblgen on a definition of the scratch tree; the result is found before the one of the build."""
    path = os.path.join(tree, "generated", target)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    execute([TABLEGEN, "-I", tree, "-I", os.path.join(LLVM, "include"), *flags, os.path.join(tree, source), "-o", path])


def compiles(tree, built, source):
    command = compile_command(built)
    if command is None:
        print(f"{source}: not compiled, the build has no ninja file")
        return
    first = next(index for index, word in enumerate(command) if word.startswith("-"))  # a launcher may come first
    words, skip = [*command[:first], "-I", os.path.join(tree, "generated"), "-I", tree], False
    for word in command[first:]:
        if skip or word in ("-MD", "-c"):
            skip = False
        elif word in ("-o", "-MT", "-MF"):
            skip = True
        elif not word.endswith(".cpp"):
            words.append(word)
    execute([*words, "-fsyntax-only", os.path.join(tree, source)], cwd=BUILD)


with scratch() as folder:
    tree = os.path.join(folder, "tree")
    shutil.copytree(SOURCE, tree,
                    ignore=shutil.ignore_patterns("build*", ".git", "data", "*.safetensors", "__pycache__"))
    new = [sys.executable, os.path.join(tree, "tools", "dev", "new.py")]
    execute([*new, "pass", "fuse", "FuseGateScale"])
    execute([*new, "op", "layer_norm"])
    execute([*new, "op", "scaled_norm", "--fused"])
    structure = [sys.executable, os.path.join(tree, "tools", "dev", "check-structure.py")]
    execute([*structure, "includes", "style", "definitions"])
    left = execute([*structure, "contents"], code=1).out.splitlines()
    check(sum("still to write" in line for line in left) >= 10, f"texts to write are not found: {left}")
    fresh = os.path.join(folder, "reference")
    execute([os.path.join(tree, "tools", "dev", "generate-docs.sh"), fresh])
    execute(["diff", "-r", fresh, os.path.join(tree, "docs", "reference")])

    generate(tree, "passes/fuse/Passes.td", "passes/fuse/Passes.h.inc", "-gen-pass-decls", "-name", "Fuse")
    compiles(tree, "passes/fuse/CMakeFiles/MoecFuse.dir/FuseResidual.cpp.o", "passes/fuse/FuseGateScale.cpp")
    for flag, target in (("-gen-op-decls", "MoeOps.h.inc"), ("-gen-op-defs", "MoeOps.cpp.inc")):
        generate(tree, "dialects/moe/MoeFusedOps.td", f"dialects/moe/{target}", flag)
    for name in ("MoeOps", "MoeFusedOps"):
        compiles(tree, f"dialects/moe/CMakeFiles/MoeDialect.dir/{name}.cpp.o", f"dialects/moe/{name}.cpp")

    for code, words, text in ((1, ("pass", "fuse", "FuseResidual"), "choose another name"),
                              (1, ("op", "linear"), "choose another name"),
                              (2, ("pass", "fuse", "fuse_it"), "UpperCamel"),
                              (2, ("pass", "nowhere", "FuseIt"), "is no stage, expected one of"),
                              (2, ("op", "LayerNorm"), "lower case with underscores"),
                              (2, ("op",), "usage:")):
        check(text in execute([*new, *words], code=code).err, f"{words}: the message lacks {text!r}")
