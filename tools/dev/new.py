#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Creates a pass or an operation that compiles and passes its tests at once; then you fill it in.

usage: new.py [--root DIR] pass STAGE NAME     new.py pass fuse FuseGateScale
       new.py [--root DIR] op NAME [--fused]   new.py op layer_norm

A pass: record in passes/STAGE/Passes.td, source, a test of behaviour and one of its diagnostics.
An operation of the moe dialect: definition in MoeOps.td (--fused: MoeFusedOps.td), verifier, the same two tests.
Texts to write are marked with the word REPLACE and a colon; tools/dev/check.sh finds those that are left.
Then docs/reference is generated again. Exit code 0: made; 1: the name is taken; 2: wrong usage.
"""
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from checks.sources import kebab  # noqa: E402

FILL = "REPLACE" + ":"
HEAD = "SPDX-License-Identifier: Apache-2.0"

PASS_RECORD = '''
def @NAME : Pass<"moe-@KEBAB", "::mlir::ModuleOp"> {
  let summary = "@FILL what it does, as a sentence";
  let description = [{
    *Before*: @FILL the form that it takes. *After*: the form that it leaves. *Assumes*: verified IR.
    *Refuses*: functions without a body. *Source*: docs/architecture.md.

    Example: `moe-opt --moe-@KEBAB model.mlir`
  }];
  let dependentDialects = ["::mlir::moe::MoeDialect"];
}
'''

PASS_SOURCE = '''// @HEAD
/// \\file
/// @FILL what it does and where it stands in the line. Main source: passes/@STAGE/Passes.td.
#include "passes/@STAGE/Passes.h"

namespace mlir::moe {
#define GEN_PASS_DEF_@UPPER
#include "passes/@STAGE/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

namespace {

struct @NAME : moe::impl::@NAMEBase<@NAME> {
  void runOnOperation() override {
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
      if (function.isDeclaration()) {
        function.emitOpError("expects a body, but got a declaration");
        return signalPassFailure();
      }
  }
};

} // namespace
'''

PASS_TEST = '''// @HEAD
// @FILL what it changes. Functions without matching operations stay as they are.
// RUN: %moe-opt %s --moe-@KEBAB | FileCheck %s

// CHECK-LABEL: func.func @unchanged
func.func @unchanged(%x: tensor<?x256xf32>) -> tensor<?x256xf32> {
  // CHECK-NEXT: return
  return %x : tensor<?x256xf32>
}
'''

PASS_INVALID = '''// @HEAD
// @FILL what it refuses. A declaration has nothing to work on.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics --moe-@KEBAB

// expected-error @+1 {{'func.func' op expects a body, but got a declaration}}
func.func private @declared(tensor<?x256xf32>)
'''

OP_RECORD = '''
def Moe_@CLASS : Moe_Op<"@MNEMONIC", [Pure]> {
  let summary = "@FILL what it computes, in a few words";
  let description = [{
    @FILL y as a formula of x, with the shapes.

    - (C1) y has the type of x

    Example: `@EXAMPLE`
  }];
  let arguments = (ins Moe_Activation:$x);
  let results = (outs Moe_Activation:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
}
'''

OP_VERIFIER = '''
LogicalResult @CLASS::verify() {
  // (C1)
  if (getX().getType() != getY().getType())
    return emitOpError("expects a result of type ") << getX().getType() << ", but got " << getY().getType();
  return success();
}
'''

OP_TEST = '''// @HEAD
// moe.@MNEMONIC prints as it is parsed.
// RUN: %moe-opt %s | %moe-opt | FileCheck %s

// CHECK-LABEL: func.func @example
func.func @example(%x: tensor<?x256xf32>) -> tensor<?x256xf32> {
  // CHECK: moe.@MNEMONIC %{{.*}} : tensor<?x256xf32> -> tensor<?x256xf32>
  @EXAMPLE
  return %y : tensor<?x256xf32>
}
'''

OP_INVALID = '''// @HEAD
// Each constraint of moe.@MNEMONIC has a case that breaks it.
// RUN: %moe-opt %s --split-input-file --verify-diagnostics

// moe.@MNEMONIC (C1)
func.func @f(%x: tensor<?x256xf32>) {
  // expected-error @+1 {{expects a result of type 'tensor<?x256xf32>', but got 'tensor<?x128xf32>'}}
  %y = moe.@MNEMONIC %x : tensor<?x256xf32> -> tensor<?x128xf32>
  return
}
'''


class Files:
    """Files of the tree under `root`, written when all of them can be."""

    def __init__(self, root):
        self.root, self.texts = root, {}

    def read(self, path):
        try:
            with open(os.path.join(self.root, path), encoding="utf-8") as file:
                return file.read()
        except OSError as error:
            sys.exit(f"new.py: cannot read {path}: {error.strerror}")

    def create(self, path, text):
        if os.path.exists(os.path.join(self.root, path)):
            sys.exit(f"new.py: {path} exists; choose another name")
        self.texts[path] = text

    def insert(self, path, text, taken, before=None):
        """Adds `text` at the end, or before the last `before`; `taken` is what must not be there yet."""
        old = self.read(path)
        if taken in old:
            sys.exit(f"new.py: {path} has '{taken.strip()}' already; choose another name")
        at = old.rindex(before) if before else len(old)
        self.texts[path] = old[:at].rstrip("\n") + "\n" + text + ("\n" + old[at:] if before else "")

    def write(self):
        for path, text in self.texts.items():
            os.makedirs(os.path.dirname(os.path.join(self.root, path)), exist_ok=True)
            with open(os.path.join(self.root, path), "w", encoding="utf-8") as file:
                file.write(text)
            print(path)


def fill(template, **values):
    for key, value in {"FILL": FILL, "HEAD": HEAD, **values}.items():
        template = template.replace("@" + key.upper(), value)
    return template


def make_pass(files, stage, name):
    if not re.fullmatch(r"(?:[A-Z][a-z0-9]+)+", name):
        usage(f"a pass is named UpperCamel, an action on an object such as FuseResidual, but got '{name}'")
    values = {"stage": stage, "kebab": kebab(name), "upper": name.upper(), "name": name}
    files.insert(f"passes/{stage}/Passes.td", fill(PASS_RECORD, **values), f"def {name} ", before="#endif")
    files.create(f"passes/{stage}/{name}.cpp", fill(PASS_SOURCE, **values))
    files.create(f"test/{stage}/{kebab(name)}.mlir", fill(PASS_TEST, **values))
    files.create(f"test/{stage}/{kebab(name)}-invalid.mlir", fill(PASS_INVALID, **values))
    return f"Next: add moe::create{name}() to passes/Pipelines.cpp, and follow docs/how-to-add-pass.md."


def make_op(files, mnemonic, fused):
    if not re.fullmatch(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*", mnemonic):
        usage(f"an operation is named in lower case with underscores, such as layer_norm, but got '{mnemonic}'")
    class_name = "".join(part.capitalize() for part in mnemonic.split("_")) + "Op"
    stem = "dialects/moe/MoeFusedOps" if fused else "dialects/moe/MoeOps"
    example = f"%y = moe.{mnemonic} %x : tensor<?x256xf32> -> tensor<?x256xf32>"
    values = {"class": class_name, "mnemonic": mnemonic, "example": example}
    files.insert(stem + ".td", fill(OP_RECORD, **values), f'<"{mnemonic}"', before="#endif")
    files.insert(stem + ".cpp", fill(OP_VERIFIER, **values), f"{class_name}::verify()")
    name = mnemonic.replace("_", "-")
    files.create(f"test/dialect/moe/{name}.mlir", fill(OP_TEST, **values))
    files.create(f"test/dialect/moe/{name}-invalid.mlir", fill(OP_INVALID, **values))
    return "Next: give it a meaning in lib/Reference, and follow docs/how-to-add-op.md."


def usage(text):
    print(f"new.py: {text}\n\n{__doc__}", file=sys.stderr)
    sys.exit(2)


def main(arguments):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if arguments[:1] == ["--root"] and len(arguments) > 1:
        root, arguments = arguments[1], arguments[2:]
    files = Files(root)
    stages = sorted(name for name in os.listdir(os.path.join(root, "passes"))
                    if os.path.exists(os.path.join(root, "passes", name, "Passes.td")))
    if len(arguments) == 3 and arguments[0] == "pass":
        if arguments[1] not in stages:
            usage(f"'{arguments[1]}' is no stage, expected one of {', '.join(stages)}")
        advice = make_pass(files, arguments[1], arguments[2])
    elif arguments[:1] == ["op"] and len(arguments) in (2, 3) and arguments[2:] in ([], ["--fused"]):
        advice = make_op(files, arguments[1], fused=len(arguments) == 3)
    else:
        usage("expected 'pass STAGE NAME' or 'op NAME'")
    files.write()
    subprocess.run([os.path.join(root, "tools", "dev", "generate-docs.sh")], check=True)
    print(f"docs/reference is fresh. {advice}")


main(sys.argv[1:])
