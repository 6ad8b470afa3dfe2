# SPDX-License-Identifier: Apache-2.0
# Shared by setup.sh, demo.sh and test.sh (sourced, never run): where things are, and how messages look.
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=${MOEC_BUILD_DIR:-$ROOT/build}
export ROOT BUILD
export LC_ALL=C.UTF-8

step() { printf '\n==> %s\n' "$*"; }
note() { printf '    %s\n' "$*"; }
fail() {
  printf 'moec: %s\n' "$*" >&2
  exit 1
}

# Seconds since the call of `clock_start`, for progress lines.
clock_start() { CLOCK_BEGIN=$SECONDS; }
clock_read() { echo "$((SECONDS - CLOCK_BEGIN)) s"; }

# memory_megabytes: what this process may use: MemAvailable, or the limit of its control group where that is less.
memory_megabytes() {
  local available limit
  available=$(awk '/^MemAvailable:/ {print int($2 / 1024)}' /proc/meminfo)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
  if [ "$limit" != max ] && [ "$((limit / 1048576))" -lt "$available" ]; then available=$((limit / 1048576)); fi
  echo "$available"
}

# build_jobs: one compiler of an MLIR file takes up to about 1.5 GB.
build_jobs() {
  local by_memory cores
  by_memory=$(($(memory_megabytes) / 1500))
  cores=$(nproc)
  if [ "$by_memory" -lt 1 ]; then by_memory=1; fi
  if [ "$cores" -lt "$by_memory" ]; then echo "$cores"; else echo "$by_memory"; fi
}
