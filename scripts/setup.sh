#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what a bare Debian 12 lacks, then configures and builds into build/. Skips what is there already.
# Usage: scripts/setup.sh [--no-build] [--check] [--sanitizers]
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

PACKAGES_LLVM=(llvm-22-dev libmlir-22-dev mlir-22-tools liblld-22-dev clang-22 lld-22 llvm-22-tools)
PACKAGES_DEBIAN=(zlib1g-dev libzstd-dev nlohmann-json3-dev libxxhash-dev cmake ninja-build g++ libgtest-dev
  libbenchmark-dev qemu-user gcc-aarch64-linux-gnu g++-aarch64-linux-gnu python3 python3-psutil)
# Only for the presets asan, tsan and fuzz (docs/debugging.md).
PACKAGES_SANITIZERS=(libclang-rt-22-dev)

usage() {
  cat <<'TEXT'
usage: scripts/setup.sh [--no-build] [--check] [--sanitizers]
  (no flag)    install the missing packages, configure, build into build/
  --no-build   only install
  --check      only say what is missing; exit code 1 if something is
  --sanitizers also what the presets asan, tsan and fuzz need
Needs root or sudo when packages are missing. Set MOEC_BUILD_DIR to build elsewhere.
TEXT
}

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

missing_packages() {
  local package
  for package in "${PACKAGES_LLVM[@]}" "${PACKAGES_DEBIAN[@]}"; do
    installed "$package" || echo "$package"
  done
}

candidate() { apt-cache policy "$1" 2>/dev/null | awk '/Candidate:/ {print $2; exit}'; }

unavailable_packages() {
  local package version
  for package in "$@"; do
    version=$(candidate "$package")
    if [ -z "$version" ] || [ "$version" = "(none)" ]; then echo "$package"; fi
  done
}

check_system() {
  local name machine
  name=$(. /etc/os-release 2>/dev/null && echo "${ID:-unknown} ${VERSION_ID:-}")
  machine=$(uname -m)
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
    fail "this system ($name, $machine) has no apt; supported is Debian 12 on x86_64 (package list: scripts/setup.sh)"
  case "$name/$machine" in
    "debian 12"*/x86_64) ;;
    *) note "this system is $name on $machine: untested (supported: Debian 12 on x86_64); going on all the same" ;;
  esac
}

# as_root COMMAND..: directly, or with sudo; a password is asked for only at a terminal.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif [ -t 0 ]; then
    sudo "$@"
  else
    sudo -n "$@"
  fi
}

need_administrator() {
  if [ "$(id -u)" -eq 0 ]; then return 1; fi
  if ! command -v sudo >/dev/null; then return 0; fi
  if [ -t 0 ]; then return 1; fi
  ! sudo -n true 2>/dev/null
}

say_where_from() {
  local package
  for package in "$@"; do
    case " ${PACKAGES_LLVM[*]} " in
      *" $package "*) note "$package: in Debian 12's security suite (bookworm-security, component main)" ;;
      *) note "$package: in Debian 12's main suite (bookworm, component main)" ;;
    esac
  done
}

check_available() {
  local lacking
  mapfile -t lacking < <(unavailable_packages "$@")
  [ ${#lacking[@]} -eq 0 ] && return
  note "${#lacking[@]} of the packages are not in the package lists yet; refreshing the lists (apt-get update)"
  as_root apt-get update -q 2>&1 | sed 's/^/    /' || note "apt-get update failed; going on with the present lists"
  mapfile -t lacking < <(unavailable_packages "$@")
  [ ${#lacking[@]} -eq 0 ] && return
  printf 'moec: these packages are in none of the configured package sources:\n' >&2
  say_where_from "${lacking[@]}" >&2
  fail "add the named suite to /etc/apt/sources.list.d (or use a mirror that carries it) and run this command again"
}

say_sizes() {
  local text
  text=$(LC_ALL=C apt-get install -o Debug::NoLocking=1 --no-install-recommends --assume-no "$@" 2>/dev/null |
    grep -E '^(Need to get|After this operation)' || true)
  printf '%s\n' "${text:-about 325 MB to download, about 1.9 GB on disk (estimated)}" | sed 's/^/    /'
  note "the build itself takes about 0.5 GB more in $BUILD (estimated)"
}

install_packages() {
  local packages=("$@")
  step "Packages: ${#packages[@]} missing"
  note "${packages[*]}"
  if need_administrator; then
    printf 'moec: packages are missing and this user may not install them. Ask the administrator to run:\n' >&2
    printf 'apt-get update && apt-get install -y --no-install-recommends %s\n' "${packages[*]}" >&2
    exit 1
  fi
  check_available "${packages[@]}"
  say_sizes "${packages[@]}"
  clock_start
  # A terminal-free front end, and patience while another apt holds the lock.
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
    -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "${packages[@]}" 2>&1 | sed -u 's/^/    /' ||
    fail "apt-get install failed (see above); nothing was built"
  note "installed in $(clock_read)"
}

build() {
  local jobs
  jobs=$(build_jobs)
  if [ ! -f "$BUILD/build.ninja" ]; then
    step "Configure ($BUILD)"
    (cd "$ROOT" && cmake --preset release -B "$BUILD" 2>&1 | sed -u 's/^/    /') || fail "cmake failed, see above"
  fi
  step "Build ($jobs at a time: $(nproc) cores, $(memory_megabytes) MB of memory, 1500 MB a job)"
  clock_start
  NINJA_STATUS='    [%f/%t %es] ' cmake --build "$BUILD" -j "$jobs" || fail "the build failed, see above"
  note "built in $(clock_read)"
}

main() {
  local with_build=1 check_only=0 missing
  while [ $# -gt 0 ]; do
    case "$1" in
      --no-build) with_build=0 ;;
      --check) check_only=1 ;;
      --sanitizers) PACKAGES_LLVM+=("${PACKAGES_SANITIZERS[@]}") ;;
      -h | --help) usage && exit 0 ;;
      *) usage >&2 && exit 2 ;;
    esac
    shift
  done
  check_system
  mapfile -t missing < <(missing_packages)
  if [ "$check_only" -eq 1 ]; then
    if [ ${#missing[@]} -eq 0 ]; then note "nothing is missing" && exit 0; fi
    say_where_from "${missing[@]}" && exit 1
  fi
  if [ ${#missing[@]} -gt 0 ]; then install_packages "${missing[@]}"; fi
  if [ "$with_build" -eq 1 ]; then build; fi
}

main "$@"
