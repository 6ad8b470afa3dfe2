#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All checks that need no build: structure, style, fresh reference docs, shell syntax. Run before every commit.
# Usage: tools/dev/check.sh [--fix]   (--fix regenerates the reference docs; formats if clang-format is installed)
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
status=0

report() {
  if [ "$2" -eq 0 ]; then printf 'ok      %s\n' "$1"; else printf 'failed  %s\n' "$1" && status=1; fi
}

if [ "${1:-}" = --fix ]; then
  "$root/tools/dev/generate-docs.sh"
  format=$(command -v clang-format-22 || command -v clang-format || true)
  if [ -n "$format" ]; then
    (cd "$root" && git ls-files '*.cpp' '*.h' '*.c' | xargs -r "$format" -i)
  else
    echo "note    clang-format is not installed: sources are left as they are (apt package clang-format-22)"
  fi
elif [ -n "${1:-}" ]; then
  sed -n '3,5p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi

for group in includes style definitions contents; do
  python3 "$root/tools/dev/check-structure.py" "$group"
  report "$group" $?
done
fresh=$(mktemp -d)
"$root/tools/dev/generate-docs.sh" "$fresh" && diff -r "$fresh" "$root/docs/reference"
report "reference docs fresh (tools/dev/generate-docs.sh)" $?
rm -rf "$fresh"
for script in "$root"/scripts/*.sh "$root"/tools/dev/*.sh "$root"/.ci/run; do
  bash -n "$script"
  report "syntax of ${script#"$root"/}" $?
done
exit $status
