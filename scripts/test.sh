#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Set-up, then every test: lit with FileCheck, unit, runtime, structure, bad input, end to end.
# Closes with one line `N passed, N failed`, followed by `, N skipped` where a test was skipped.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
  cat <<'TEXT'
usage: scripts/test.sh [--slow] [-k PATTERN] [--no-setup]
  (no flag)    the fast suite (what CI runs)
  --slow       the second suite: full perplexity, large synthetic model, long sweeps
  -k PATTERN   only tests whose name matches the regular expression, e.g. -k endtoend/
  --no-setup   do not install or build first
TEXT
}

slow=0 setup=1 pattern=
while [ $# -gt 0 ]; do
  case "$1" in
    --slow) slow=1 ;;
    --no-setup) setup=0 ;;
    -k)
      [ $# -ge 2 ] || { usage >&2 && exit 2; }
      pattern=$2
      shift
      ;;
    -h | --help) usage && exit 0 ;;
    *) printf 'moec: unknown flag %s\n' "$1" >&2 && usage >&2 && exit 2 ;;
  esac
  shift
done

if [ "$setup" -eq 1 ]; then "$ROOT/scripts/setup.sh"; fi

lit=/usr/lib/llvm-22/bin/lit
results=$BUILD/test/results.json
rm -f "$results"
# A test that hangs is a failure with a name, not a run without an end.
flags=(-v -o "$results" -j "$(build_jobs)" --order=smart)
if /usr/bin/python3 -c 'import psutil' 2>/dev/null; then
  flags+=(--timeout "$([ "$slow" -eq 1 ] && echo 3600 || echo 600)")
fi
where=("$BUILD/test")
if [ "$slow" -eq 1 ]; then
  flags+=(--param slow=1)
  mapfile -t where < <(cd "$ROOT/test" && grep -rlE 'REQUIRES:.*\bslow\b' --include='*.py' --include='*.test' \
    --include='*.mlir' . | sort | sed "s|^\.|$BUILD/test|")
  [ ${#where[@]} -gt 0 ] || fail "no test is marked REQUIRES: slow"
fi
if [ -n "$pattern" ]; then flags+=(--filter "$pattern"); fi

step "Tests ($([ "$slow" -eq 1 ] && echo slow || echo fast) suite)"
clock_start
status=0
"$lit" "${flags[@]}" "${where[@]}" 2>&1 | grep --line-buffered -vE '^(UNSUPPORTED|EXCLUDED|SKIPPED): ' || status=$?
note "tests took $(clock_read)"
python3 "$ROOT/tools/dev/count-results.py" "$results" "$ROOT/test/allowed-skips.txt" ${CI:+--enforce-skips}
