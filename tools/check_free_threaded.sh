#!/usr/bin/env bash
# Run what threads can break on a free-threaded Python: README's example, races 200 times each, calls of every kind from
# several threads, the contract suite, and ThreadSanitizer. Then measure calls of two threads next to one.
#
# PYTHON=/path/to/python3.14t tools/check_free_threaded.sh
#
# Without PYTHON, the newest of 3.14 and 3.13 whose source Debian has is built, in $FREE_THREADED
# (~/.cache/hf_bpe-free-threaded), which takes some minutes. HF_BPE_TEST_DATA names the test data; without it nothing is
# measured. STAGES names those to run: "readme_example races threads contract sanitizer benchmark".
#
# tokenizers has wheels for 3.14 only. Elsewhere tools/stand_ins stands for it, and what uses it is left out, as the
# output says.
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

# What hf_bpe needs besides packages in Rust, for which others stand.
install_without_rust() {
  local site name version
  pip install --quiet --no-deps transformers huggingface_hub
  python - >"$environment/requirements.txt" <<'END'
import re
from importlib.metadata import requires

absent = {"hf-xet", "huggingface-hub", "safetensors", "tokenizers"}
for package in ("transformers", "huggingface_hub"):
    lines = [line for line in requires(package) if "extra ==" not in line]
    print(*(line for line in lines if re.match(r"[\w.-]+", line)[0] not in absent), sep="\n")
END
  pip install --quiet --prefer-binary --only-binary pydantic-core -r "$environment/requirements.txt" \
    filelock numpy regex rich tqdm typer jinja2 hypothesis pytest pytest-xdist
  site=$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  cp -r tools/stand_ins/. "$site"
  for name in safetensors tokenizers; do # of the oldest version that transformers takes
    version=$(python -c "import importlib.metadata as m; print(*m.requires('transformers'), sep='\n')" |
      grep "^$name" | grep --only-matching --max-count=1 '>=[0-9.]*' | tr --delete '>=')
    mkdir "$site/$name-0.dist-info"
    printf 'Metadata-Version: 2.1\nName: %s\nVersion: %s\n' "$name" "$version" >"$site/$name-0.dist-info/METADATA"
  done
  pip install --quiet --no-deps -e .
}

left_out=""
leave_out() { # what, why
  left_out+="
  $1: $2"
  echo "LEFT OUT: $1: $2"
}

has_tokenizers=true
if ! pip install --quiet --only-binary tokenizers,safetensors -e '.[test]' >"$environment/pip.log" 2>&1; then
  grep -i error "$environment/pip.log" | head -3
  has_tokenizers=false
  install_without_rust
fi
python -c 'import sys, hf_bpe._native; assert not sys._is_gil_enabled()'

readme_example() {
  if $has_tokenizers; then
    python examples/train_and_load.py README.md
  else
    leave_out "README's example" "tokenizers has no wheel for this Python"
  fi
}

races() { HF_BPE_RACE_ROUNDS=${ROUNDS:-200} pytest --quiet tests/encoding/test_memory_safety.py; }

threads() {
  if $has_tokenizers; then
    pytest --quiet tests/tokenizer/calls/test_sharing.py tests/tokenizer/calls/test_calls.py tests/encoding tests/fast \
      tests/equivalence
  else
    leave_out "tests/fast, tests/tokenizer and others that compare with tokenizers" "as for README's example"
    pytest --quiet tests/equivalence/test_encoders.py tests/equivalence/test_rows.py
  fi
  python tools/fuzz_bindings.py "${SECONDS_OF_FUZZING:-60}"
}

contract() {
  if $has_tokenizers; then
    pytest --quiet -c tests/contract/pytest.ini tests/contract
  else
    leave_out "contract suite" "it compares with tokenizers and tiktoken, which have no wheels for this Python"
  fi
}

sanitizer() { tools/check_bindings.sh --threads "${SECONDS_OF_FUZZING:-60}"; }

benchmark() {
  if [ -z "${HF_BPE_TEST_DATA:-}" ]; then
    leave_out "two threads next to one" "HF_BPE_TEST_DATA names no data"
    return
  fi
  pip install --quiet --force-reinstall --no-deps .
  python -m benchmarks threads "$HF_BPE_TEST_DATA/text/english.txt" --gpt2 "$HF_BPE_TEST_DATA/gpt2" \
    --parts calls python machine
}

for stage in ${STAGES:-readme_example races threads contract sanitizer benchmark}; do
  echo "--- $stage"
  begin=$SECONDS
  "$stage"
  echo "--- $stage: $((SECONDS - begin)) s"
done
if [ -n "$left_out" ]; then echo "Left out:$left_out"; fi
echo "tools/check_free_threaded.sh: no finding"
