#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fuzzes one reader with libFuzzer under AddressSanitizer and UBSan.
# Usage: tools/dev/fuzz.sh TARGET [--seconds N] [--runs N] [FILE..]
#   TARGET       safetensors, gguf, config, tokenizer, pack or module
#   --seconds N  stop after N seconds (60)
#   --runs N     stop after N inputs (no limit)
#   FILE..       run these files once each, instead of searching
# Needs the package libclang-rt-22-dev. Builds into build-fuzz/ (MOEC_FUZZ_DIR), keeps what it learns in its corpus/.
# A finding ends the run with exit code 1 and stands in build-fuzz/findings/TARGET: see docs/debugging.md.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${MOEC_FUZZ_DIR:-$root/build-fuzz}

usage() { sed -n '4,10p' "${BASH_SOURCE[0]}" | cut -c3- >&2 && exit 2; }

target=${1:-}
case "$target" in
  safetensors | gguf | config | tokenizer | pack | module) shift ;;
  *) usage ;;
esac
seconds=60 runs=-1 files=()
while [ $# -gt 0 ]; do
  case "$1" in
    --seconds | --runs)
      [[ ${2:-} =~ ^[0-9]+$ ]] || usage
      if [ "$1" = --seconds ]; then seconds=$2; else runs=$2; fi
      shift
      ;;
    -*) usage ;;
    *) files+=("$1") ;;
  esac
  shift
done

if ! compgen -G "/usr/lib/llvm-22/lib/clang/22/lib/linux/libclang_rt.fuzzer-$(uname -m).a" >/dev/null; then
  echo "fuzz.sh: clang's fuzzer library is missing: apt-get install libclang-rt-22-dev" >&2
  exit 1
fi
if [ ! -f "$build/build.ninja" ]; then (cd "$root" && cmake --preset fuzz -B "$build" >/dev/null); fi
if [ -z "${MOEC_FUZZ_NO_BUILD:-}" ]; then ninja -C "$build" "fuzz-$target" >/dev/null || exit 1; fi

corpus=$build/corpus/$target findings=$build/findings/$target
mkdir -p "$corpus" "$findings"
# Files of the readers in memory, where the system has a place for that.
if [ -w /dev/shm ]; then export TMPDIR=/dev/shm; fi
# A tensor of gigabytes that a file only promises must not be asked for; MLIR keeps memory until its context ends.
flags=(-max_len=16384 -timeout=20 -rss_limit_mb=2048 -malloc_limit_mb=1024 -artifact_prefix="$findings/")
if [ ${#files[@]} -gt 0 ]; then exec "$build/fuzz/fuzz-$target" "${flags[@]}" "${files[@]}"; fi
dictionary=$root/test/fuzz/dictionaries/$target.txt
[ ! -f "$dictionary" ] || flags+=(-dict="$dictionary")
seeds=("$root/test/fuzz/corpus/$target")
[ ! -d "$root/test/fuzz/crashers/$target" ] || seeds+=("$root/test/fuzz/crashers/$target")
"$build/fuzz/fuzz-$target" "${flags[@]}" -max_total_time="$seconds" -runs="$runs" -print_final_stats=1 "$corpus" \
  "${seeds[@]}" || exit 1
