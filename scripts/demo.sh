#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a trained checkpoint to text, on this machine and on ARM64: set-up, compile, memory plan, run, compare.
# Usage: scripts/demo.sh [PROMPT]
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

case "${1:-}" in
  -h | --help)
    cat <<'TEXT'
usage: scripts/demo.sh [PROMPT]
  Installs what is missing, builds, compiles examples/demo-moe for this machine and for ARM64, prints the memory
  plan, generates text natively and with the ARM64 code under emulation, and compares the two.
TEXT
    exit 0
    ;;
esac
prompt=${1:-Once upon a time}
model=$ROOT/examples/demo-moe
out=$BUILD/demo
tokens=48

"$ROOT/scripts/setup.sh"
mkdir -p "$out"

# inputs_stamp FLAGS: changes when the compiler, the runtime, the model or the flags do.
inputs_stamp() {
  { stat -c '%n %s %Y' "$BUILD/bin/moec" "$model"/*; find "$BUILD" -name 'libmoert*.a' -exec stat -c '%n %s %Y' {} + |
    sort; echo "$*"; } | sha256sum | cut -d' ' -f1
}

# compile NAME TARGET: only if something it depends on changed.
compile() {
  local name=$1 target=$2 stamp
  local flags=(--target "$target" --quant mixed)
  stamp=$(inputs_stamp "${flags[@]}")
  step "Compile for $target (mixed: int8 embedding, head, V and O; int4 elsewhere)"
  if [ -f "$out/$name.so" ] && [ "$(cat "$out/$name.stamp" 2>/dev/null)" = "$stamp" ]; then
    note "up to date: build/demo/$name.so"
    return
  fi
  rm -f "$out/$name.stamp"
  clock_start
  "$BUILD/bin/moec" compile "$model" "${flags[@]}" -o "$out/$name" 2>&1 | sed -u 's/^/    /'
  echo "$stamp" >"$out/$name.stamp"
  note "compiled in $(clock_read): $(du -h --apparent-size "$out/$name.so" | cut -f1) code, $(du -h --apparent-size \
    "$out/$name.moepack" | cut -f1) weights"
}

# field FILE NAME: one value of a JSON object.
field() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"; }

compile demo-host host
compile demo-arm64 arm64

step "Memory plan (bytes by class)"
"$BUILD/bin/moec" report "$out/demo-host.so" | sed 's/^/    /'

least=$(field "$out/demo-host.report.json" min_bytes)
full=$(field "$out/demo-host.report.json" plan_bytes)
budget=$((least + (full - least) / 2))

step "This machine, half of the experts' room: budget $budget bytes (all resident would be $full, the least is $least)"
"$BUILD/bin/moe-run" "$out/demo-host.so" --prompt "$prompt" --max-tokens "$tokens" --greedy --memory "$budget" \
  2>"$out/host.stderr" | tee "$out/host.txt"
printf '\n'
sed 's/^/    /' "$out/host.stderr"

step "The same with counters (--json)"
"$BUILD/bin/moe-run" "$out/demo-host.so" --prompt "$prompt" --max-tokens "$tokens" --greedy --memory "$budget" --json \
  >"$out/host.json" 2>/dev/null
python3 - "$out/host.json" <<'PYTHON'
import json, sys
r = json.load(open(sys.argv[1]))
print(f"    speed     prefill {r['prefill_tokens_per_s']:.1f} tokens/s, decode {r['decode_tokens_per_s']:.1f} tokens/s"
      " (measured on this machine)")
print(f"    pager     {r['expert_hits']} hits, {r['expert_misses']} misses, {r['expert_bytes_read']} bytes read,"
      f" {r['stall_ms']:.1f} ms waited")
print(f"    memory    peak {r['peak_rss_bytes'] - r['baseline_rss_bytes']} bytes above the start of the process,"
      f" budget {r['budget_bytes']}")
PYTHON

step "ARM64 (the same model, ARM64 code under qemu-aarch64, so no speed is shown)"
qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu max "$BUILD/bin/aarch64/moe-run" "$out/demo-arm64.so" \
  --prompt "$prompt" --max-tokens "$tokens" --greedy 2>"$out/arm64.stderr" | tee "$out/arm64.txt" ||
  { cat "$out/arm64.stderr" >&2 && fail "the ARM64 run failed"; }
printf '\n'

if cmp -s "$out/host.txt" "$out/arm64.txt"; then
  step "Same text: the ARM64 code and this machine's code wrote the same $(wc -c <"$out/host.txt") bytes"
else
  fail "the ARM64 text differs from this machine's text: compare build/demo/host.txt and build/demo/arm64.txt"
fi
