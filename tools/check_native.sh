#!/usr/bin/env bash
# Build and test the native core without Python: plain, under sanitizers, and by fuzzing for some seconds (30) each.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-30}

configure() { # folder, options of cmake
  if ! { cmake -S . -B "$@" && cmake --build "$1" -j2; } >"$1.log" 2>&1; then
    cat "$1.log" >&2
    return 1
  fi
}

mkdir -p build
for sanitizers in "" address,undefined thread; do
  folder=build/core-${sanitizers:-plain}
  configure "$folder" -DHF_BPE_TESTS=ON -DHF_BPE_SANITIZE="$sanitizers"
  ctest --test-dir "$folder" --output-on-failure
done

clang=$(command -v clang++ || command -v clang++-14 || true)
if [ -z "$clang" ]; then
  echo "tools/check_native.sh: NOT FUZZED, for there is no clang++" >&2
  exit
fi
configure build/core-fuzz -DCMAKE_CXX_COMPILER="$clang" -DHF_BPE_FUZZ=ON -DHF_BPE_SANITIZE=address,undefined
for fuzzer in fuzz_scanner fuzz_runs fuzz_trainer fuzz_encoder; do
  mkdir -p "build/core-fuzz/$fuzzer.corpus"
  "build/core-fuzz/$fuzzer" -max_total_time="$seconds" -max_len=512 -print_final_stats=1 \
    -artifact_prefix="build/core-fuzz/$fuzzer-" "build/core-fuzz/$fuzzer.corpus" 2>"build/core-fuzz/$fuzzer.log" || {
    tail -n 60 "build/core-fuzz/$fuzzer.log" >&2
    exit 1
  }
  echo "$fuzzer: no finding in $(sed -n 's/^stat::number_of_executed_units: //p' "build/core-fuzz/$fuzzer.log") runs"
done
