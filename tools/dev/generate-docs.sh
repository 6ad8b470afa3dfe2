#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes the reference of ops, types, attributes and passes from TableGen, into docs/reference or into the folder given.
# Usage: tools/dev/generate-docs.sh [FOLDER]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out=${1:-$root/docs/reference}
llvm=${MOEC_LLVM:-/usr/lib/llvm-22}
tblgen=$llvm/bin/mlir-tblgen
mkdir -p "$out"
if [ "$out" != "$root/docs/reference" ]; then
  find "$out" -mindepth 1 -delete
  # What is written by hand there.
  cp "$root"/docs/reference/*.schema.json "$root"/docs/reference/README.md "$out"
fi

generate() {
  local source=$1 target=$2
  shift 2
  {
    printf '<!-- SPDX-License-Identifier: Apache-2.0. Generated from %s by tools/dev/generate-docs.sh. -->\n' "$source"
    (cd "$root" && "$tblgen" -I "$root" -I "$llvm/include" "$@" "$source")
  } >"$out/$target"
}

generate dialects/moe/MoeFusedOps.td moe-dialect.md -gen-dialect-doc -dialect=moe
generate dialects/rt/RtOps.td rt-dialect.md -gen-dialect-doc -dialect=rt
for passes in "$root"/passes/*/Passes.td; do
  stage=$(basename "$(dirname "$passes")")
  generate "passes/$stage/Passes.td" "passes-$stage.md" -gen-pass-doc
done
