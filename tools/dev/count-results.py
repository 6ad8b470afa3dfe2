#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts lit's results and prints the closing line `N passed, N failed[, N skipped]`.

usage: count-results.py RESULTS.json ALLOWED-SKIPS.txt [--enforce-skips]

Every skipped test is printed with its reason. With --enforce-skips a skip that the allowed list does not name counts as
a failure. Exit code 0: no failure; 1: a failure, or nothing ran.
"""
import fnmatch
import json
import re
import sys

PASSED = {"PASS", "XFAIL", "FLAKYPASS"}
SKIPPED = {"UNSUPPORTED", "SKIPPED"}
NOT_RUN = {"EXCLUDED"}


def allowed_patterns(path):
    """Lines `PATTERN | reason`; a pattern matches the test's name as lit prints it, without the suite."""
    patterns = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            text = line.split("#", 1)[0].strip()
            if text:
                patterns.append(text.split("|", 1)[0].strip())
    return patterns


def reason_of(test):
    output = test.get("output", "").strip()
    feature = re.search(r"unavailable features: (.*)", output)
    if feature:
        return "needs " + feature.group(1)
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    skip = [line for line in lines if "kip" in line] or lines
    return skip[-1] if skip else "no reason given"


def main(arguments):
    results_path, allowed_path, *flags = arguments
    try:
        with open(results_path, encoding="utf-8") as results:
            tests = json.load(results)["tests"]
    except (OSError, ValueError) as error:
        print(f"no test results: {error}", file=sys.stderr)
        print("0 passed, 1 failed")
        return 1
    patterns = allowed_patterns(allowed_path)
    passed = failed = skipped = 0
    for test in tests:
        name, code = test["name"].split(" :: ", 1)[-1], test["code"]
        if code in NOT_RUN:
            continue
        if code in PASSED:
            passed += 1
        elif code in SKIPPED:
            skipped += 1
            reason = reason_of(test)
            allowed = any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
            if reason == "no reason given" or ("--enforce-skips" in flags and not allowed):
                failed, skipped = failed + 1, skipped - 1
                print(f"failed: {name}: skipped, but not in test/allowed-skips.txt or without a reason ({reason})")
            else:
                print(f"skipped: {name}: {reason}")
        else:
            failed += 1
            print(f"failed: {name} ({code})")
    if passed + failed == 0:
        print("no test ran", file=sys.stderr)
        failed = 1
    line = f"{passed} passed, {failed} failed"
    print(line + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


sys.exit(main(sys.argv[1:]))
