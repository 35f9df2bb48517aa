#!/usr/bin/env bash
# Build the extension under sanitizers; run the tests that call it, and fuzz its entry points for some seconds (20) each.
#
# Needs g++ and an environment in which hf_bpe[test] is installed. Leaks are not looked for: CPython keeps objects until
# the process ends. ThreadSanitizer sees what the core does; CPython itself is not instrumented. --short leaves it out,
# --threads runs nothing else.
set -euo pipefail
cd "$(dirname "$0")/.."
only=""
if [ "${1:-}" = --short ] || [ "${1:-}" = --threads ]; then only=$1 && shift; fi
seconds=${1:-20}
export CXX=${CXX:-g++} # as in check_native.sh, for ccache
# So that a sanitizer sees each object; a free-threaded Python has an allocator of its own.
if [ "$(python -c 'import sysconfig; print(sysconfig.get_config_var("Py_GIL_DISABLED") or 0)')" = 0 ]; then
  export PYTHONMALLOC=malloc
fi
export PYTHONWARNINGS=default

build() { # folder, sanitizers: installs hf_bpe there, on top of this environment
  local folder=$PWD/build/$1
  rm -rf "$folder/venv"
  python -m venv --without-pip "$folder/venv"
  python -c 'import sys; print("\n".join(path for path in sys.path if "site-packages" in path))' \
    >"$(echo "$folder"/venv/lib/python3*/site-packages)/outer.pth"
  python -m pip --python "$folder/venv/bin/python" install --quiet --no-deps -C build-dir="$folder/cmake" \
    -C cmake.build-type=Debug -C cmake.define.HF_BPE_SANITIZE="$2" .
  # If it cannot be compiled, hf_bpe is installed without it, and its tests would be skipped.
  ls "$folder"/venv/lib/python3*/site-packages/hf_bpe/_native*.so >/dev/null
}

library() { gcc -print-file-name="$1"; }

run() { # folder, program and arguments; from another folder, for the package in this one has no extension
  local python=$PWD/build/$1/venv/bin/python root=$PWD
  shift
  (cd "$root/build" && LD_PRELOAD="$preload $(library libstdc++.so)" "$python" "$@")
}

if [ "$only" != --threads ]; then
  build bindings-address address,undefined
  preload="$(library libasan.so) $(library libubsan.so)"
  export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1
  export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
  run bindings-address ../tools/fuzz_bindings.py "$seconds"
  # AddressSanitizer's allocator may stay locked in a forked process.
  run bindings-address -m pytest -q -p no:cacheprovider -k "not forked" ../tests/encoding/test_decoding.py \
    ../tests/encoding/test_memory_safety.py ../tests/equivalence ../tests/tokenizer/calls/test_bulk.py \
    ../tests/utils/test_damaged_arrow.py
fi
if [ "$only" = --short ]; then exit; fi

build bindings-thread thread
preload=$(library libtsan.so)
export TSAN_OPTIONS=exitcode=66:halt_on_error=1:ignore_noninstrumented_modules=1
run bindings-thread ../tools/fuzz_bindings.py "$seconds"
echo "tools/check_bindings.sh: no finding"
