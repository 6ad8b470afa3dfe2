# SPDX-License-Identifier: Apache-2.0
"""Rules about TableGen definitions: one name for a pass everywhere; a number for a constraint everywhere."""
import os
import re

from checks.sources import kebab

PASS = re.compile(r'^def (\w+)\s*:\s*\w*Pass<\s*"([^"]+)"', re.M)
OP = re.compile(r'^def (\w+)\s*:\s*\w*Op\w*<\s*"([^"]+)"', re.M)
DESCRIPTION = re.compile(r"let description = \[\{(.*?)\}\];", re.S)
PASS_PARTS = ("Before", "After", "Refuses", "Source", "Example")


def records(tree, path, pattern):
    """Yields (match, text of the record)."""
    text = tree.text(path)
    matches = list(pattern.finditer(text))
    for index, match in enumerate(matches):
        end = matches[index + 1].start() if index + 1 < len(matches) else len(text)
        yield match, text[match.start():end]


def line_of(tree, path, match):
    return f"{path}:{tree.text(path).count(chr(10), 0, match.start()) + 1}"


def description_of(record):
    match = DESCRIPTION.search(record)
    return match[1] if match else ""


def check_passes(tree):
    """Pass PlanArena: flag moe-plan-arena, file PlanArena.cpp beside Passes.td, tests plan-arena*.mlir."""
    tests = tree.select("test/", ends=(".mlir", ".test", ".py"))
    for path in tree.select("passes/", ends=("Passes.td",)):
        for match, record in records(tree, path, PASS):
            name, flag, where = match[1], match[2], line_of(tree, path, match)
            if flag != "moe-" + kebab(name):
                yield f"{where}: pass {name} has the flag {flag}, expected moe-{kebab(name)}"
            source = os.path.join(os.path.dirname(path), name + ".cpp")
            if source not in tree.paths:
                yield f"{where}: pass {name} has no file {source}"
            if not any(os.path.basename(test).startswith(kebab(name)) for test in tests):
                yield f"{where}: pass {name} has no test named {kebab(name)}*.mlir"
            if "let summary" not in record:
                yield f"{where}: pass {name} has no summary"
            lacking = [part for part in PASS_PARTS if not re.search(rf"\b{part}\b", description_of(record))]
            if lacking:
                yield f"{where}: the description of pass {name} lacks {', '.join(lacking)}"


def dialect_of(path):
    return path.split("/")[1]


def verifier_text(tree, folder, class_name):
    """The bodies of the class's functions that verify or fold its constraints."""
    bodies = []
    for path in tree.select(folder + "/", ends=(".cpp",)):
        text = tree.text(path)
        for match in re.finditer(rf"^[\w:<> ]+ {class_name}::(?:verify|fold|parse)\w*\(", text, re.M):
            end = text.find("\n}", match.start())
            bodies.append(text[match.start():end])
    return "\n".join(bodies)


def example_of(description):
    """The MLIR of the example, one space between words."""
    text = description.split("Example", 1)[1]
    block = re.search(r"```mlir\n(.*?)```", text, re.S) or re.search(r"`([^`]+)`", text)
    return " ".join(block[1].split()) if block else ""


def check_ops(tree):
    """Each op: summary, description, example that a test runs; each (Cn): verifier line and negative test."""
    positive = " ".join(" ".join(tree.text(path).split()) for path in tree.select("test/dialect/", ends=(".mlir",)))
    negative = "\n".join(tree.text(path) for path in tree.select("test/dialect/", ends=("-invalid.mlir",)))
    for path in tree.select("dialects/", ends=(".td",)):
        for match, record in records(tree, path, OP):
            where, op = line_of(tree, path, match), f"{dialect_of(path)}.{match[2]}"
            description = description_of(record)
            if "let summary" not in record or not description:
                yield f"{where}: {op} has no summary or no description"
            if "Example" not in description:
                yield f"{where}: the description of {op} has no example"
            elif op not in description.split("Example", 1)[1]:
                yield f"{where}: the example of {op} does not use it"
            elif example_of(description) not in positive:
                yield f"{where}: no test in test/dialect holds the example of {op}: {example_of(description)[:60]}..."
            class_name = match[1].split("_", 1)[-1]
            verifier = verifier_text(tree, os.path.dirname(path), class_name)
            for number in re.findall(r"\((C\d+)\)", description):
                if not re.search(rf"//.*\b{number}\b", verifier):
                    yield f"{where}: {op} ({number}) has no line '// ({number})' in {class_name}::verify"
                if not re.search(rf"//.*{re.escape(op)}\b.*\b{number}\b", negative):
                    yield f"{where}: {op} ({number}) has no negative test: a '// {op} ({number})' line over the case " \
                          f"in test/dialect/**/*-invalid.mlir"


def check(tree):
    yield from check_passes(tree)
    yield from check_ops(tree)
