# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""The blocks of README.md, CONTRIBUTING.md, docs/ and examples/ run as they stand, by their language.

sh: run by bash, every command must succeed. c: compiled, and called with an `api` if it is no whole program. mlir:
through moe-opt. json: parsed, and a precision plan is followed. All documents share one folder, README.md first, whose
model serves them all; git ignores what they write. test/structure/content-rules.test sees to it that any other block
says why it is not run.
"""
import fnmatch
import glob
import json
import os
import re
import textwrap

from moectest import BUILD, DEMO, SOURCE, check, execute, moe_opt, moec, scratch

FIRST = ("README.md", "examples/README.md", "docs/first-read.md")
BLOCK = re.compile(r"^( *)```(sh|c|mlir|json)\n(.*?)^\1```$", re.S | re.M)
# What a fragment of C finds around it: the table of calls of the model that README.md has compiled.
PROGRAM = """
#include "moert/moert.h"
#include <dlfcn.h>
#include <stdio.h>
static int snippet(const moert_api *api) {
%s
  return model == NULL;
}
int main(void) {
  void *library = dlopen("./story.so", RTLD_NOW);
  const moert_api *(*get)(uint32_t) =
      library ? (const moert_api *(*)(uint32_t))dlsym(library, "moert_get_api") : NULL;
  return get == NULL || snippet(get(MOERT_API_VERSION));
}
"""


def run_shell(code, folder, where):
    execute(["bash", "-euo", "pipefail", "-c", code], cwd=folder)


def run_c(code, folder, where):
    source = os.path.join(folder, "snippet.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(code if re.search(r"\bmain\(", code) else PROGRAM % code)
    execute(["cc", "-std=c11", "-Wall", "-Werror", "-Wno-misleading-indentation", "-I", os.path.join(SOURCE, "include"),
             source, "-ldl", "-o", "snippet"], cwd=folder)
    execute(["./snippet"], cwd=folder)


def run_mlir(code, folder, where):
    path = os.path.join(folder, "snippet.mlir")
    with open(path, "w", encoding="utf-8") as file:
        file.write(code)
    moe_opt(path)


def run_json(code, folder, where):
    try:
        content = json.loads(code)
    except ValueError as error:
        check(False, f"{where}: {error}")
    if isinstance(content, dict) and str(content.get("format", "")).startswith("moec precision plan"):
        path = os.path.join(folder, "snippet.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(code)
        moec("precision", DEMO, "--plan-precision", path)


RUN = {"sh": run_shell, "c": run_c, "mlir": run_mlir, "json": run_json}
documents = [os.path.relpath(path, SOURCE) for pattern in ("*.md", "docs/*.md", "docs/decisions/*.md", "examples/*.md")
             for path in sorted(glob.glob(os.path.join(SOURCE, pattern)))]
count = 0
with scratch() as folder:
    for name, target in (("build", BUILD), ("examples", os.path.join(SOURCE, "examples")),
                         ("include", os.path.join(SOURCE, "include"))):
        os.symlink(target, os.path.join(folder, name))
    for document in (*FIRST, *(name for name in documents if name not in FIRST)):
        with open(os.path.join(SOURCE, document), encoding="utf-8") as file:
            text = file.read()
        for block in BLOCK.finditer(text):
            where = f"{document}:{text.count(chr(10), 0, block.start()) + 1}"
            print(where, block[2], flush=True)
            RUN[block[2]](textwrap.dedent(block[3]), folder, where)
            count += 1
    with open(os.path.join(SOURCE, ".gitignore"), encoding="utf-8") as file:
        ignored = [line.strip("/\n") for line in file]
    written = [name for name in sorted(os.listdir(folder))
               if not os.path.islink(os.path.join(folder, name)) and not name.startswith("snippet") and
               not any(fnmatch.fnmatch(name, pattern) for pattern in ignored)]
    check(not written, f"commands of the documents leave what .gitignore does not name: {written}")
check(count > 7, f"only {count} blocks run: is the convention of docs still that of this test?")
