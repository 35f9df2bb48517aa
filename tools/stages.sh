# shellcheck shell=bash
# The stages of continuous integration, for .ci/run and tools/check_all.sh, which source this file in the root folder.
#
# A stage is a function. `run_stage` runs one, says how long it took, and stops at the first failure; when the shell
# exits, a table of all times is printed. `STAGES="lint readme"` chooses some.

environment=$(mktemp -d)
times=()

finish() {
  local status=$?
  echo
  echo "stages ($((SECONDS / 60)) min $((SECONDS % 60)) s):"
  if [ ${#times[@]} -gt 0 ]; then printf '  %s\n' "${times[@]}"; fi
  if [ $status -ne 0 ]; then echo "  FAILED in ${stage:-the beginning}"; fi
  rm -rf "$environment"
}
trap finish EXIT

run_stage() { # name: that of a function
  stage=$1
  if [ -n "${STAGES:-}" ] && [[ " $STAGES " != *" $stage "* ]]; then return; fi
  echo
  echo "=== $stage ==="
  local begin=$SECONDS
  "$stage"
  times+=("$(printf '%4d s  %s' $((SECONDS - begin)) "$stage")")
}

# The core is compiled once for each set of flags, not for each environment, clone or run.
use_ccache() {
  if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=$PWD
    export CCACHE_DIR=${CCACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/hf_bpe-ccache}
  fi
}

# What cannot be had from PyPI: ccache, and clang for the fuzzers.
install_tools() {
  if command -v ccache >/dev/null && { command -v clang++ || command -v clang++-14; } >/dev/null; then return; fi
  if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    (apt-get update && apt-get install --yes --no-install-recommends ccache clang-14 libclang-rt-14-dev) >/dev/null || true
  fi
}

make_environment() { # name, Python: an empty one, in which `python`, `pip` and `pytest` are found
  "${2:-python3}" -m venv "$environment/$1"
  # shellcheck disable=SC1090
  . "$environment/$1/bin/activate"
}

# Pythons that really start, oldest first, one a version: `3.10 /usr/bin/python3.10`. A name that is on the path may be a
# shim of a version manager that does not.
find_pythons() {
  local minor candidate
  for minor in 10 11 12 13 14; do
    for candidate in "python3.$minor" "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.$minor".*/bin/python "python3"; do
      if [ "$("$candidate" -c 'import ensurepip, sys; print(sys.version_info[1])' 2>/dev/null)" = "$minor" ]; then
        echo "3.$minor $candidate"
        continue 2
      fi
    done
    echo "Python 3.$minor was not found here" >&2
  done
}

# The environment of the stage readme, or one like it where that stage was left out.
use_main() {
  if [ -d "$environment/main" ]; then
    # shellcheck disable=SC1091
    . "$environment/main/bin/activate"
  else
    make_environment main
    pip install --quiet -e '.[test]'
  fi
}

lint() {
  make_environment lint
  pip install --quiet ruff
  ruff check .
  ruff format --check .
}

# The two commands of README, as they stand there.
readme() {
  make_environment main
  pip install . && python examples/train_and_load.py README.md || return
  pip install -e '.[test]' && pytest
}

docs_and_types() {
  use_main
  pip install --quiet 'hf_bpe[dev,docs]'
  sphinx-build -W -q -b html docs "$environment/docs"
  CC=/bin/false CXX=/bin/false pip install --quiet --no-deps --target "$environment/typed" . # mypy needs no core
  (cd "$environment/typed" && mypy --config-file "$OLDPWD/pyproject.toml" -p hf_bpe)
}

check_python() { # version, program, tests: the main job and these tests, or all quick ones
  make_environment "python$1" "$2"
  python --version
  pip install --quiet .
  python examples/train_and_load.py README.md >/dev/null
  pip install --quiet -e '.[test]'
  pytest --quiet "${@:3}"
}

oldest_and_newest_python() {
  local found
  found=$(find_pythons)
  echo "$found"
  local version program
  for each in "$(head -n 1 <<<"$found")" "$(tail -n 1 <<<"$found")"; do
    read -r version program <<<"$each"
    check_python "$version" "$program" tests/test_examples.py tests/contract tests/tokenizer/test_tokenizer.py \
      tests/tokenizer/test_calls.py
  done
}

all_pythons() {
  local version program
  while read -r version program; do check_python "$version" "$program"; done <<<"$(find_pythons)"
}

transformers_versions() { tools/check_transformers.sh; }

transformers_versions_whole() { tools/check_transformers.sh --whole --pre; }

# The Python engine passes the quick run of what computes where there is no compiler.
without_compiler() {
  make_environment without-compiler
  CC=/bin/false CXX=/bin/false pip install --quiet -e '.[test]'
  python -c 'import importlib.util as u; assert u.find_spec("hf_bpe._native") is None'
  pytest --quiet tests/test_examples.py tests/core tests/counting/test_count.py tests/counting/test_word_counts.py \
    tests/editing/test_edits.py tests/engine/test_encoder.py tests/engine/test_decoding.py tests/engine/test_dispatch.py \
    tests/training/test_train.py tests/training/test_huggingface_training.py tests/analysis/test_show.py \
    tests/conversion/test_tiktoken.py tests/tokenizer/test_tokenizer.py tests/tokenizer/test_calls.py \
    tests/tokenizer/test_saving.py tests/tokenizer/test_folders.py tests/project/test_package.py
}

# All that tries both engines where there is a compiler.
without_compiler_whole() {
  make_environment without-compiler
  CC=/bin/false CXX=/bin/false pip install --quiet -e '.[test]'
  pytest --quiet tests/test_examples.py tests/core tests/counting tests/editing tests/engine tests/training \
    tests/analysis/test_merge_tree.py tests/analysis/test_report.py tests/analysis/test_show.py \
    tests/conversion/test_gguf.py tests/conversion/test_minbpe.py tests/conversion/test_tiktoken.py \
    tests/tokenizer/test_tokenizer.py tests/tokenizer/test_calls.py tests/tokenizer/test_bulk.py \
    tests/tokenizer/test_randomness.py tests/tokenizer/test_saving.py tests/tokenizer/test_folders.py \
    tests/tokenizer/test_tokenizer_json.py tests/project/test_package.py
}

# The lowest versions that pyproject.toml allows; there are wheels of them for Python 3.10 and 3.11.
lowest_versions() {
  local program
  program=$(find_pythons 2>/dev/null | sed -n '1s/^[^ ]* //p')
  make_environment lowest "$program"
  (
    export PIP_CONSTRAINT=$PWD/tools/lowest.txt PIP_BUILD_CONSTRAINT=$PWD/tools/lowest.txt
    pip install --quiet .
    python examples/train_and_load.py README.md >/dev/null
    pip install --quiet -e '.[test]' # editable, for tests start processes in this folder
    pytest --quiet tests/project/test_package.py tests/tokenizer/test_transformers_compat.py \
      tests/tokenizer/test_tokenizer.py tests/tokenizer/test_calls.py tests/tokenizer/test_saving.py \
      tests/tokenizer/test_auto.py tests/tokenizer/test_chat_templates.py tests/cli/test_cli.py \
      tests/counting/test_sources.py tests/conversion/test_gguf.py tests/conversion/test_tiktoken.py \
      tests/analysis/test_report_page.py
  )
}

# Other libraries that read tokenizer.json, in environments of their own: the versions of docs/how-to/convert.md.
make_readers() {
  python3 -m venv "$environment/readers"
  "$environment/readers/bin/pip" install --quiet gigatoken==0.10.0 fastokens==0.3.5 snaptokens==0.2.6 kitoken==0.11.1 tokie==0.1.4
  python3 -m venv "$environment/coming"
  "$environment/coming/bin/pip" install --quiet tokenizers==1.0.0rc3
  HF_BPE_READERS="$(command -v python):$environment/readers/bin/python:$environment/coming/bin/python"
  export HF_BPE_READERS
}

# The tests with many more examples and larger inputs, with all that any of them needs. torch comes by its exact version,
# for any other way to get it takes a build of several gigabytes for GPUs.
thorough() {
  use_main
  pip install --quiet torch==2.13.0
  pip install --quiet 'hf_bpe[dev,docs,torch,datasets,ray]'
  pip install --quiet --no-deps trl sentence-transformers lm-eval scipy scikit-learn threadpoolctl joblib narwhals cloudpickle
  pip install --quiet llguidance pydantic
  pip install --quiet --no-deps xgrammar apache-tvm-ffi
  make_readers
  pytest --thorough --skip-repeated
}

native_short() { tools/check_native.sh --short; }

bindings_short() {
  use_main
  tools/check_bindings.sh --short 8
}

native_whole() { tools/check_native.sh 30; }

bindings_whole() {
  use_main
  tools/check_bindings.sh 20
}
