# SPDX-License-Identifier: Apache-2.0
# RUN: %python %s
"""Each structure rule reports a tree that breaks it: a check that cannot fail proves nothing."""
import os
import sys

from moectest import SOURCE, check, execute, scratch

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
HEAD = SPDX + "/// \\file\n/// Text.\n"
MARK = "TO" + "DO"
PASS = HEAD + 'def PlanArena : Pass<"moe-plan-arena"> {\n}\n'
OP = HEAD + 'def Moe_AOp : Moe_Op<"a"> {\n  let description = [{\n (C1) x\n }];\n}\n'
# (group, file, content, a text that the finding holds)
CASES = (
    ("includes", "lib/Pack/A.cpp", HEAD + '#include "mlir/IR/Operation.h"\n', "never includes MLIR"),
    ("includes", "lib/Pack/A.cpp", HEAD + '#include "passes/plan/Passes.h"\n', "may not include passes/plan/Passes.h"),
    ("includes", "passes/plan/A.cpp", HEAD + '#include "passes/fuse/Passes.h"\n', "may not include passes/fuse"),
    ("includes", "dialects/moe/A.cpp", HEAD + '#include "passes/fuse/Passes.h"\n', "may not include passes/fuse"),
    ("includes", "lib/Import/A.cpp", HEAD + "#include <nlohmann/json.hpp>\n", "only lib/Support/Json.* may"),
    ("includes", "lib/Object/A.cpp", HEAD + '#include "lld/Common/Driver.h"\n', "only lib/Link may"),
    ("includes", "runtime/a/A.cpp", HEAD + "#include <vector>\n", "uses no C++ library"),
    ("includes", "runtime/a/A.cpp", HEAD + '#include "llvm/ADT/StringRef.h"\n', "the platform only"),
    ("includes", "runtime/a/A.cpp", HEAD + "#include <immintrin.h>\n", "kernels are generated"),
    ("style", "lib/Pack/A.cpp", "int x;\n", "expects an SPDX line"),
    ("style", "lib/Pack/A.h", HEAD + "#ifndef WRONG\n#endif\n", "expects the guard LIB_PACK_A_H"),
    ("style", "lib/Pack/A.cpp", HEAD + "int x;\n" * 601, "the limit is 600"),
    ("style", "lib/Pack/A.cpp", HEAD + "void f() {\n" + "  g();\n" * 80 + "}\n", "a function of 82 lines"),
    ("style", "lib/Pack/A.cpp", HEAD + f"// {MARK}: later\n", "a mark for later work"),
    ("style", "lib/Pack/A.cpp", HEAD + "// " + "x" * 120 + "\n", "the limit is 120"),
    ("style", "passes/plan/A.cpp", HEAD + "static llvm::cl::opt<int> x;\n", "cl::opt outside tools"),
    ("style", "lib/Pack/A.cpp", HEAD + 'x = emitOpError("Expects 1");\n', "starts in lower case"),
    ("style", "lib/Pack/A.cpp", HEAD + 'x = emitOpError("expects one.");\n', "without a period"),
    ("style", "lib/Pack/A.cpp", HEAD + "void f() { assert(x > 1); }\n", "assert without a reason"),
    ("style", "lib/Pack/Utils.cpp", HEAD, "says nothing"),
    ("style", "test/plan/Wrong_name.mlir", SPDX + "// Text.\n", "lower case with hyphens"),
    ("style", "test/plan/a.mlir", SPDX + "// RU" + "N: x\n", "what the test proves"),
    ("definitions", "passes/plan/Passes.td", HEAD + 'def PlanArena : Pass<"moe-arena"> {\n}\n',
     "expected moe-plan-arena"),
    ("definitions", "passes/plan/Passes.td", PASS, "has no file"),
    ("definitions", "passes/plan/Passes.td", PASS, "has no test named"),
    ("definitions", "dialects/moe/A.td", OP, "has no example"),
    ("definitions", "dialects/moe/A.td", OP, "AOp::verify"),
    ("definitions", "dialects/moe/A.td", OP, "has no negative test"),
    ("contents", "runtime/a/A.cpp", HEAD + "x = _mm256_add_ps(a, b);\n", "SIMD intrinsic"),
    ("contents", "lib/Pack/A.cpp", HEAD + "// /ho" + "me/me/x\n", "a path of one machine"),
    ("contents", "docs/a.md", "[x](absent.md)\n", "leads nowhere"),
    ("contents", "lib/Pack/A.cpp", HEAD + "// limit" + "ation L99\n", "L99 is not in"),
    ("contents", "docs/a.md", "Text.\n\n```\nmoec\n```\n", "a block that nothing runs"),
    ("contents", "passes/plan/A.cpp", HEAD + "// REPLACE" + ": what it does\n", "still to write"),
)
for group, path, content, text in CASES:
    with scratch() as folder:
        full = os.path.join(folder, path)
        os.makedirs(os.path.dirname(full))
        with open(full, "w", encoding="utf-8") as file:
            file.write(content)
        script = os.path.join(SOURCE, "tools", "dev", "check-structure.py")
        found = execute([sys.executable, script, "--root", folder, group], code=None)
        check(found.code == 1 and text in found.out, f"{group} {path}: no {text!r} in {found.out!r} {found.err}")
