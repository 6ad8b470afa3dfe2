# SPDX-License-Identifier: Apache-2.0
"""Who may include whom: tools -> lib/Compiler -> passes/Pipelines -> passes/stage -> dialects -> lib -> include."""
import re

INCLUDE = re.compile(r'^\s*#?\s*include\s+(?:"([^"]+)"|<([^>]+)>)')
PROJECT = ("lib/", "dialects/", "passes/", "runtime/", "tools/", "moert/", "moec/")
PUBLIC = ("moert/", "moec/")
# Pure algorithms; they never include MLIR.
LOW = tuple(f"lib/{name}/" for name in ("Support", "Target", "Quant", "Plan", "Pack", "Tokenizer",
                                       "Synth"))
# The compiler's own folders may include: (folder, allowed prefixes beside itself and the public headers).
ALLOWED = (
    ("lib/Support/", ()),
    *((folder, LOW) for folder in LOW[1:]),
    ("lib/Object/", LOW),
    ("lib/Link/", LOW),
    ("lib/Import/", LOW + ("dialects/",)),
    ("lib/Reference/", LOW + ("dialects/", "lib/Import/")),
    ("lib/Compiler/", ("lib/", "dialects/", "passes/")),
    ("dialects/", LOW + ("dialects/",)),
    ("include/", ()),
    ("runtime/", ()),
    ("tools/", ("lib/", "dialects/", "passes/")),
)
RUNTIME_HEADERS = {"atomic", "new", "type_traits", "limits", "cstddef", "cstdint", "bit", "concepts", "utility",
                   "initializer_list"}


def includes_of(tree, path):
    for number, line in enumerate(tree.lines(path), 1):
        match = INCLUDE.match(line)
        if match:
            # The repository root is an include root too: "include/moert/x.h" is <moert/x.h>.
            yield number, (match[1] or match[2]).removeprefix("include/")


def allowed_for(path):
    """Prefixes that `path` may include, or None if no rule covers it (tests)."""
    if path.startswith("passes/"):
        parts = path.split("/")
        own = "passes/" if len(parts) == 2 else f"passes/{parts[1]}/"
        return LOW + ("dialects/", own) + PUBLIC
    for folder, extra in ALLOWED:
        if path.startswith(folder):
            return extra + (folder,) + PUBLIC
    return None


def check_third_party(path, name):
    """Libraries that only one place may include."""
    if name.startswith("nlohmann/") and not path.startswith("lib/Support/Json."):
        return "includes nlohmann/json; only lib/Support/Json.* may"
    if name.startswith("lld/") and not path.startswith("lib/Link/"):
        return "includes lld; only lib/Link may"
    if name.startswith("mlir/") and path.startswith(LOW):
        return f"includes {name}; this folder never includes MLIR"
    return None


def check_runtime(name):
    if name.startswith(("llvm", "mlir", "nlohmann/", "lld/")):
        return f"includes {name}; the runtime includes include/moert and the platform only"
    if re.search(r"(immintrin|arm_neon|arm_sve|x86intrin|[a-z]mmintrin)\.h$", name):
        return f"includes {name}; numeric kernels are generated, the runtime has none"
    if not name.startswith(PROJECT) and not name.endswith(".h") and name not in RUNTIME_HEADERS:
        return f"includes <{name}>; the runtime uses no C++ library but {', '.join(sorted(RUNTIME_HEADERS))}"
    return None


def check(tree):
    for path in tree.select("lib/", "dialects/", "passes/", "runtime/", "tools/", "include/",
                            ends=(".h", ".cpp", ".c", ".td", ".def")):
        allowed = allowed_for(path)
        for number, name in includes_of(tree, path):
            where = f"{path}:{number}"
            if name.startswith(PROJECT) and allowed is not None and not name.startswith(allowed):
                yield f"{where}: may not include {name} (allowed: {', '.join(sorted(set(allowed)))})"
            texts = [check_third_party(path, name), check_runtime(name) if path.startswith("runtime/") else None]
            yield from (f"{where}: {text}" for text in texts if text)
