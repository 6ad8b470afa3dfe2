# SPDX-License-Identifier: Apache-2.0
"""Rules of the style guide that concern one file: head, guard, sizes, names, marks, errors."""
import os
import re

from checks.sources import CXX, is_source

MARK = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "HA" + "CK", "X" * 3]) + r")\b")
FUNCTION = re.compile(r"^( *)(?!.*\b(?:if|for|while|switch|else|namespace|struct|class|enum|union|do|return)\b\s*[({]?)"
                      r"[\w:~<>,*&\[\] ]+\(?.*\)\s*(?:const|noexcept|override|final|\s)*(?:->\s*[\w:<>*& ]+)?\{$")
ERROR_CALL = re.compile(r'(?:emitOpError|emitError)\(\s*"((?:[^"\\]|\\.)*)"|'
                        r'createStringError\([^"]*"((?:[^"\\]|\\.)*)"')
TEST_COMMENT = {".mlir": "//", ".test": "#", ".py": '"""'}


def head(tree, path):
    lines = tree.lines(path)
    first = lines[1] if lines[0].startswith("#!") and len(lines) > 1 else lines[0]
    if "SPDX-License-Identifier: Apache-2.0" not in first:
        yield f"{path}:1: expects an SPDX line, found {first[:60]!r}"
    if path.endswith((".h", ".cpp", ".td")) and not any(r"\file" in line for line in lines[:4]):
        yield f"{path}:2: expects a '/// \\file' comment in the first lines"


def guard_of(path):
    name = path.removeprefix("include/")
    return re.sub(r"[^A-Za-z0-9]", "_", name).upper()


def guard(tree, path):
    if path.endswith(".h") and not re.search(rf"^#ifndef {guard_of(path)}$", tree.text(path), re.M):
        yield f"{path}:1: expects the guard {guard_of(path)}"


def limit_of(path):
    """Files of a test that hold no test (fixtures, tools) are sources."""
    if path.startswith("test/") and (path.endswith((".mlir", ".test", "Test.cpp", "Tests.cpp")) or
                                     path.endswith(".py") and not path.startswith("test/tools/")):
        return 200
    return 400 if path.endswith(".td") else 600


def sizes(tree, path):
    lines = tree.lines(path)
    num_lines = len(lines) - 1
    if num_lines > limit_of(path):
        yield f"{path}:1: {num_lines} lines, the limit is {limit_of(path)}: split by meaning"
    for number, line in enumerate(lines, 1):
        if len(line) > 120 and not path.endswith((".mlir", ".test", ".td", ".def", ".txt")):
            yield f"{path}:{number}: {len(line)} columns, the limit is 120"
    if path.endswith((".cpp", ".c", ".h")):
        yield from functions(path, lines)
    if path.endswith(".py"):
        yield from python_functions(path, lines)


def functions(path, lines):
    """Bodies by indentation: formatted code closes a function at the column where its definition began."""
    for begin, line in enumerate(lines):
        match = FUNCTION.match(line)
        if not match:
            continue
        closing = match[1] + "}"
        end = next((i for i in range(begin + 1, len(lines)) if lines[i].startswith(closing)), begin)
        length = end - begin + 1
        limit = 40 if path.startswith("tools/") and re.search(r"\bint main\(", line) else 80
        if length > limit:
            yield f"{path}:{begin + 1}: a function of {length} lines, the limit is {limit}"


def python_functions(path, lines):
    for begin, line in enumerate(lines):
        match = re.match(r"( *)def \w+", line)
        if not match:
            continue
        end = begin
        for i in range(begin + 1, len(lines)):
            if lines[i].strip() and not lines[i].startswith(match[1] + " ") and not lines[i].startswith(match[1] + ")"):
                break
            end = i if lines[i].strip() else end
        if end - begin + 1 > 80:
            yield f"{path}:{begin + 1}: a function of {end - begin + 1} lines, the limit is 80"


def marks(tree, path):
    for number, line in enumerate(tree.lines(path), 1):
        if MARK.search(line):
            yield f"{path}:{number}: a mark for later work: name the limit in docs/limitations.md instead"


def language(tree, path):
    """No exceptions, no RTTI, no option globals in passes, no `using namespace` in headers, asserts with a reason."""
    text = tree.text(path)
    for number, line in enumerate(tree.lines(path), 1):
        code = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line).split("//")[0]
        where = f"{path}:{number}"
        if "cl::opt" in code and path.startswith(("passes/", "dialects/", "lib/")):
            yield f"{where}: cl::opt outside tools: options are in Passes.td or in a struct"
        if path.endswith(".h") and re.match(r"\s*using namespace\b", code):
            yield f"{where}: 'using namespace' in a header"
        if re.search(r"\b(dynamic_cast|typeid)\b", code):
            yield f"{where}: run-time type information"
        if re.search(r"\b(throw|catch)\b\s*[(\w]", code) and not path.startswith("lib/Support/Json."):
            yield f"{where}: exceptions are off"
    for match in re.finditer(r"(?<![\w_])assert\(((?:[^;]|\n)*?)\);", text):
        if '"' not in match[1] and not path.startswith("test/"):
            yield f'{path}:{text.count(chr(10), 0, match.start()) + 1}: assert without a reason (cond && "why")'


def error_texts(tree, path):
    text = tree.text(path)
    for match in ERROR_CALL.finditer(text):
        message = match[1] if match[1] is not None else match[2]
        where = f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
        if re.match(r"[A-Z][a-z]", message) and not message.startswith("Git-LFS"):
            yield f"{where}: an error text starts in lower case: {message[:50]!r}"
        if re.search(r"[a-z)]\.$", message):
            yield f"{where}: an error text ends without a period: {message[-40:]!r}"
        if message.lower().startswith("error"):
            yield f"{where}: an error text does not start with 'error'"


def names(tree, path):
    base = os.path.basename(path)
    # runtime/bionic has the names of a C library's headers.
    if base.endswith((".cpp", ".h")) and not path.startswith(("tools/", "include/", "runtime/bionic/")):
        if not re.fullmatch(r"[A-Z][A-Za-z0-9]*\.(cpp|h)", base):
            yield f"{path}:1: a C++ file is named UpperCamel"
    if re.search(r"(?:^|[a-z])(Utils?|Helpers?|Misc|Part2)\b|^(utils?|helpers?|misc)\b", os.path.splitext(base)[0]):
        yield f"{path}:1: the name says nothing; name the file after what it does"


def lit_tests(tree, path):
    """A lit test says on top what it proves; its RUN lines are short; it never captures by number."""
    if not path.startswith("test/") or path.startswith(("test/tools/", "test/unit/")):
        return
    base, end = os.path.splitext(os.path.basename(path))
    if end not in TEST_COMMENT or base.endswith(".cfg") or "/Inputs/" in path:
        return
    lines = tree.lines(path)
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", base):
        yield f"{path}:1: a test is named in lower case with hyphens"
    top = [line for line in lines[:8] if line.startswith(TEST_COMMENT[end])]
    if not any("SPDX" not in line and not re.search(r"RUN:|REQUIRES:|UNSUPPORTED:|CHECK", line) for line in top):
        yield f"{path}:2: expects a comment on top that says what the test proves"
    for number, line in enumerate(lines, 1):
        if "RUN:" in line and len(line) > 100:
            yield f"{path}:{number}: a RUN line of {len(line)} columns, the limit is 100"
        if re.search(r"(//|#)\s*CHECK[A-Z-]*:.*(?<![\w\]])%\d", line):
            yield f"{path}:{number}: a CHECK line names a value by number"


def check(tree):
    for path in filter(is_source, tree.paths):
        if not tree.text(path):
            continue
        yield from head(tree, path)
        yield from marks(tree, path)
        yield from names(tree, path)
        yield from lit_tests(tree, path)
        if tree.is_generated(path):
            continue
        yield from guard(tree, path)
        yield from sizes(tree, path)
        if path.endswith(CXX):
            yield from language(tree, path)
            yield from error_texts(tree, path)
