#!/usr/bin/env bash
# Build and test the native core without Python: plain, under sanitizers, and by fuzzing for some seconds (30) each.
#
# --short leaves out ThreadSanitizer and fuzzing.
set -euo pipefail
cd "$(dirname "$0")/.."
short=""
if [ "${1:-}" = --short ]; then short=1 && shift; fi
seconds=${1:-30}
export CXX=${CXX:-g++} # by the name that pip builds with, for ccache tells compilers apart by name, too

configure() { # folder, options of cmake
  if ! { cmake -S . -B "$@" && cmake --build "$1" -j2; } >"$1.log" 2>&1; then
    cat "$1.log" >&2
    return 1
  fi
}

mkdir -p build
kinds=("" "address,undefined")
if [ -z "$short" ]; then kinds+=(thread); fi
for sanitizers in "${kinds[@]}"; do
  folder=build/core-${sanitizers:-plain}
  type=Release
  if [ -n "$sanitizers" ]; then type=Debug; fi # as in check_bindings.sh, so that ccache finds what this has compiled
  configure "$folder" -DCMAKE_BUILD_TYPE="$type" -DHF_BPE_TESTS=ON -DHF_BPE_SANITIZE="$sanitizers"
  ctest --test-dir "$folder" --output-on-failure -j2
done

if [ -n "$short" ]; then exit; fi
clang=$(command -v clang++ || command -v clang++-14 || true)
if [ -z "$clang" ]; then
  echo "tools/check_native.sh: NOT FUZZED, for there is no clang++" >&2
  exit
fi
configure build/core-fuzz -DCMAKE_CXX_COMPILER="$clang" -DHF_BPE_FUZZ=ON -DHF_BPE_SANITIZE=address,undefined
fuzz() { # name
  mkdir -p "build/core-fuzz/$1.corpus"
  "build/core-fuzz/$1" -max_total_time="$seconds" -max_len=512 -print_final_stats=1 \
    -artifact_prefix="build/core-fuzz/$1-" "build/core-fuzz/$1.corpus" 2>"build/core-fuzz/$1.log" || {
    tail -n 60 "build/core-fuzz/$1.log" >&2
    return 1
  }
  echo "$1: no finding in $(sed -n 's/^stat::number_of_executed_units: //p' "build/core-fuzz/$1.log") runs"
}
export -f fuzz
export seconds
fuzzers=(fuzz_scanner fuzz_expressions fuzz_runs fuzz_trainer fuzz_tokens fuzz_encoder fuzz_characters)
# Two at a time: each takes one core.
# shellcheck disable=SC2016
printf '%s\n' "${fuzzers[@]}" | xargs -n 1 -P 2 bash -c 'fuzz "$1"' fuzz
