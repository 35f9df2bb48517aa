#!/usr/bin/env bash
# Run what threads can break on a free-threaded Python: the main job, races 200 times each, calls of every kind from
# several threads, the contract suite, and ThreadSanitizer. Then measure calls of two threads next to one.
#
# PYTHON=/path/to/python3.14t tools/check_free_threaded.sh
#
# Without PYTHON, the newest of 3.14 and 3.13 whose source Debian has is built, in $FREE_THREADED
# (~/.cache/hf_bpe-free-threaded), which takes some minutes. HF_BPE_TEST_DATA names the test data; without it nothing is
# measured.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${FREE_THREADED:-$HOME/.cache/hf_bpe-free-threaded}
mkdir -p "$folder"

build_python() { # version
  local archive
  archive=$(tools/fetch_source.sh "python$1" "$folder") || return
  (cd "$folder" && rm -rf "Python-$1"* && tar -xf "$archive" && cd "Python-$1"* &&
    ./configure --quiet --disable-gil --prefix="$folder/$1" >"$folder/build.log" 2>&1 &&
    make --silent --jobs="$(nproc)" >>"$folder/build.log" 2>&1 && make --silent install >>"$folder/build.log" 2>&1)
}

if [ -z "${PYTHON:-}" ]; then
  for version in 3.14 3.13; do
    PYTHON=$folder/$version/bin/python${version}t
    if [ -x "$PYTHON" ] || build_python "$version"; then break; fi
  done
fi
"$PYTHON" -c 'import sys; print(sys.version); assert not sys._is_gil_enabled()'

environment=$(mktemp -d)
trap 'rm -rf "$environment"' EXIT
"$PYTHON" -m venv "$environment"
# shellcheck disable=SC1091
. "$environment/bin/activate"
export CXX=${CXX:-g++}
export PYTHON_GIL=0 # or a dependency that does not say that it needs none would enable it
pip install --quiet -e '.[test]'
python -c 'import sys, hf_bpe._native; assert not sys._is_gil_enabled()'
echo "--- main job"
python examples/train_and_load.py README.md
echo "--- races"
HF_BPE_RACE_ROUNDS=${ROUNDS:-200} pytest --quiet tests/encoding/test_memory_safety.py
echo "--- threads"
pytest --quiet tests/tokenizer/test_sharing.py tests/encoding tests/fast tests/tokenizer/test_calls.py tests/equivalence
python tools/fuzz_bindings.py "${SECONDS_OF_FUZZING:-60}"
echo "--- contract suite"
pytest --quiet -c tests/contract/pytest.ini tests/contract
echo "--- ThreadSanitizer"
tools/check_bindings.sh --threads "${SECONDS_OF_FUZZING:-60}"
if [ -n "${HF_BPE_TEST_DATA:-}" ]; then
  echo "--- two threads next to one"
  pip install --quiet --force-reinstall --no-deps .
  python -m benchmarks.threads "$HF_BPE_TEST_DATA/text/english.txt" --gpt2 "$HF_BPE_TEST_DATA/gpt2" --parts calls
fi
echo "tools/check_free_threaded.sh: no finding"
