#!/usr/bin/env bash
# Run stages of tools/stages.sh, each with a limit of time and without input, until one fails; print how long they took.
#
#     tools/run_stages.sh STAGE…
#
# STAGES="lint readme" chooses some of the stages that are named. Those that BESIDE names run at the same time as the
# others; what they print comes last. MINUTES limits each stage (30). What this machine cannot do is named at the end;
# with COMPLETE=1 that is a failure.
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

finish() { # what to say at the end
  if [ -e "$environment/beside" ]; then cat "$environment/beside"; fi
  echo
  echo "stages ($((SECONDS / 60)) min $((SECONDS % 60)) s):"
  if [ -e "$environment/times" ]; then cat "$environment/times"; fi
  if [ -e "$environment/left_out" ]; then sed 's/^/left out: /' "$environment/left_out"; fi
  echo "$1"
  rm -rf "$environment"
}

run() { # stages: one after the other, until one has failed here or beside
  local running="" stage begin status
  trap 'kill "$running" 2>/dev/null; exit 130' INT TERM
  for stage in "$@"; do
    if [ -e "$environment/failed" ]; then return; fi
    echo
    echo "=== $stage ==="
    begin=$SECONDS
    # shellcheck disable=SC2016
    timeout --kill-after=30 "${MINUTES:-30}m" bash -euo pipefail -c '. tools/stages.sh; "$1"' stage "$stage" </dev/null &
    running=$!
    wait "$running"
    status=$?
    printf '  %4d s  %s\n' $((SECONDS - begin)) "$stage" >>"$environment/times"
    if [ $status -eq 124 ]; then echo "$stage took more than ${MINUTES:-30} minutes" >&2; fi
    if [ $status -ne 0 ]; then echo "$stage" >>"$environment/failed"; fi
  done
}

first=() beside=()
for stage in "$@"; do
  if [ -n "${STAGES:-}" ] && [[ " $STAGES " != *" $stage "* ]]; then continue; fi
  if [[ " ${BESIDE:-} " = *" $stage "* ]]; then beside+=("$stage"); else first+=("$stage"); fi
done
run "${first[@]}" &
running=$!
run "${beside[@]}" >"$environment/beside" 2>&1 &
trap 'kill "$running" $! 2>/dev/null; wait; finish "FAILED: interrupted"; exit 130' INT TERM
wait
if [ -e "$environment/failed" ]; then
  finish "FAILED: $(paste -sd ' ' "$environment/failed")"
  exit 1
fi
if [ ! -e "$environment/times" ]; then
  finish "FAILED: no such stage: ${STAGES:-none was named}"
  exit 1
fi
if [ -n "${COMPLETE:-}" ] && [ -e "$environment/left_out" ]; then
  finish "FAILED: something was left out"
  exit 1
fi
finish "passed: all of these stages"
