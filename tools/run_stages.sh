#!/usr/bin/env bash
# Run stages of tools/stages.sh, each with a limit of time and without input, until one fails; print how long they took.
#
#     tools/run_stages.sh STAGE…
#
# STAGES="lint readme" chooses some of the stages that are named. MINUTES limits each of them (30). What this machine
# cannot do is named at the end; with COMPLETE=1 that is a failure.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

environment=$(mktemp -d) # of all stages: a stage may use what one before it has installed
export environment
# Or each process that a test starts compiles all modules again.
unset PYTHONDONTWRITEBYTECODE

# What cannot be had from PyPI.
missing=""
for each in ccache clang-14 shellcheck; do command -v "$each" >/dev/null || missing+=" $each"; done
if [ -n "$missing" ] && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
  # shellcheck disable=SC2086
  timeout 300 apt-get update >/dev/null &&
    timeout 600 apt-get install --yes --no-install-recommends $missing libclang-rt-14-dev >/dev/null </dev/null
fi

# For the tests of the playground's page; by itself, for not every system has the package.
if ! command -v chromium >/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
  echo "installing chromium"
  { timeout 300 apt-get update && timeout 300 apt-get install --yes --no-install-recommends chromium; } \
    >/dev/null </dev/null
fi
if ! command -v chromium >/dev/null && ! command -v google-chrome >/dev/null; then
  echo "the tests in a browser (chromium is not installed)" >>"$environment/left_out"
fi

# The core is compiled once for each set of flags, not for each environment, clone or run.
if command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=$PWD
  export CCACHE_DIR=${CCACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/hf_bpe-ccache}
fi

times=()
print_times() {
  echo
  echo "stages ($((SECONDS / 60)) min $((SECONDS % 60)) s):"
  if [ ${#times[@]} -gt 0 ]; then printf '  %s\n' "${times[@]}"; fi
  if [ -e "$environment/left_out" ]; then sed 's/^/left out: /' "$environment/left_out"; fi
  echo "$1"
  rm -rf "$environment"
}
running=""
trap 'kill "$running" 2>/dev/null; print_times "FAILED: interrupted"; exit 130' INT TERM

for stage in "$@"; do
  if [ -n "${STAGES:-}" ] && [[ " $STAGES " != *" $stage "* ]]; then continue; fi
  echo
  echo "=== $stage ==="
  begin=$SECONDS
  # shellcheck disable=SC2016
  timeout --kill-after=30 "${MINUTES:-30}m" bash -euo pipefail -c '. tools/stages.sh; "$1"' stage "$stage" </dev/null &
  running=$!
  wait "$running"
  status=$?
  times+=("$(printf '%4d s  %s' $((SECONDS - begin)) "$stage")")
  if [ $status -eq 124 ]; then echo "$stage took more than ${MINUTES:-30} minutes" >&2; fi
  if [ $status -ne 0 ]; then
    print_times "FAILED: $stage"
    exit 1
  fi
done
if [ ${#times[@]} -eq 0 ]; then
  print_times "FAILED: no such stage: ${STAGES:-none was named}"
  exit 1
fi
if [ -n "${COMPLETE:-}" ] && [ -e "$environment/left_out" ]; then
  print_times "FAILED: something was left out"
  exit 1
fi
print_times "passed: all of these stages"
