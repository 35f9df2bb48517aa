# shellcheck shell=bash
# The stages of continuous integration, for tools/run_stages.sh, which .ci/run and tools/check_all.sh call.
#
# A stage is a function that runs in the root folder in a shell of its own with `set -e`. $environment is the folder for
# virtual environments and results, the same for all stages.

: "${environment:?is set by tools/run_stages.sh}"
. tools/steps.sh

use_environment() { # name, Python: in which `python`, `pip` and `pytest` are found; an empty one, if there is none yet
  # Few of the 3,000 modules that pip would compile are imported. 0 is its way to say yes.
  case $1 in lint | python* | without-compiler) export PIP_NO_COMPILE=0 ;; esac
  if [ ! -e "$environment/$1" ]; then "${2:-python3}" -m venv "$environment/$1"; fi
  # shellcheck disable=SC1090,SC1091
  . "$environment/$1/bin/activate"
}

leave_out() { # what cannot be done on this machine; the summary names it
  echo "$1" >>"$environment/left_out"
}

# Pythons that really start, oldest first, one a version: `3.10 /usr/bin/python3.10`. A name that is on the path may be a
# shim of a version manager that does not.
find_pythons() {
  local minor candidate
  for minor in 10 11 12 13 14 15; do
    for candidate in "python3.$minor" "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.$minor".*/bin/python "python3"; do
      if [ "$("$candidate" -c 'import ensurepip, sys; print(sys.version_info[1])' 2>/dev/null)" = "$minor" ]; then
        echo "3.$minor $candidate"
        continue 2
      fi
    done
    echo "Python 3.$minor was not found here" >&2
  done
}

lint() {
  use_environment lint
  pip install --quiet ruff
  ruff check .
  ruff format --check .
  # As pinned: another version may break lines elsewhere.
  pip install --quiet 'clang-format==23.1.5'
  git ls-files native web | grep -E '\.(cpp|hpp|inc)$' | grep -v unicode_tables | xargs clang-format --dry-run -Werror
  python tools/budget.py
  if command -v shellcheck >/dev/null; then shellcheck --source-path=. .ci/run tools/*.sh web/*.sh; fi
}

# Neither documentation nor types need the core.
docs_and_types() {
  use_environment lint
  export CC=/bin/false CXX=/bin/false HF_BPE_ENGINE=reference
  pip install --quiet '.[dev,docs]'
  sphinx-build -W -q -b html docs "$environment/docs"
  pip install --quiet --no-deps --target "$environment/typed" .
  (cd "$environment/typed" && mypy --config-file "$OLDPWD/pyproject.toml" -p hf_bpe)
}

# The two commands of README, as they stand there.
readme() {
  use_environment main
  pip install -e . && python examples/train_and_load.py README.md || return
  pip install -e '.[test]' && pytest
}

# The second command where a machine has less, on the newest Python: by a user without rights, in a clone that cannot be
# written, without network, browser, node, git and compiler, in random order.
elsewhere() { check_elsewhere least; }

elsewhere_variations() { check_elsewhere; }

check_elsewhere() { # variations
  if [ "$(id -u)" != 0 ] || ! unshare --mount --net true 2>/dev/null; then
    leave_out "the tests elsewhere, and thereby on the newest Python (needs Linux, root and namespaces)"
    return
  fi
  PYTHON=$(find_pythons 2>/dev/null | sed -n '$s/^[^ ]* //p') tools/check_elsewhere.sh "$@"
}

# The environment of README's commands, or one like it where that stage has not run.
use_main() {
  use_environment main
  if ! pip show --quiet hf_bpe 2>/dev/null; then pip install --quiet -e '.[test]'; fi
}

# The same tests with torch, datasets, Ray and the tools of developers: those that were skipped without them.
libraries() {
  use_libraries
  python tools/budget.py --items
  pytest --skip-repeated
}

# The core for browsers, in node and Chromium as far as these are here: the summary says what was left out.
web() {
  use_main
  build_web
  pytest tests/web || [ $? = 5 ] # no test was left
}

# zig comes by the version that builds wheels, beside the environments, for no test expects it there.
build_web() {
  pip install --quiet --target "$environment/zig" "$(zig_requirement)"
  PYTHONPATH=$environment/zig web/build.sh
}

# All that any test needs, in the environment of README's commands. torch comes by its exact version, for any other way to
# get it takes a build of several gigabytes for GPUs.
use_libraries() {
  use_main
  pip install --quiet torch==2.13.0
  pip install --quiet 'hf_bpe[test,dev,docs,torch,datasets,ray]'
  pip install --quiet --no-deps peft
  pip install --quiet fastapi  # for examples/serve_fastapi.py
  pip install --quiet --no-deps trl sentence-transformers lm-eval scipy scikit-learn threadpoolctl joblib narwhals cloudpickle
  pip install --quiet llguidance pydantic polars sentencepiece protobuf
  pip install --quiet --no-deps xgrammar apache-tvm-ffi
}

# Other libraries that read tokenizer.json, in environments of their own: the versions of docs/how-to/convert.md.
use_readers() {
  python3 -m venv "$environment/readers"
  "$environment/readers/bin/pip" install --quiet gigatoken==0.10.0 fastokens==0.3.5 snaptokens==0.2.6 kitoken==0.11.1 tokie==0.1.4
  python3 -m venv "$environment/coming"
  "$environment/coming/bin/pip" install --quiet tokenizers==1.0.0rc3
  HF_BPE_READERS="$(command -v python):$environment/readers/bin/python:$environment/coming/bin/python"
  export HF_BPE_READERS
}

# The same with many more examples and larger inputs; after `libraries`, only what these add.
thorough() {
  use_libraries
  use_readers
  build_web
  pytest --thorough --skip-repeated
}

# Engines on this machine, and object stores on a local server of S3.
engines() {
  use_environment engines
  pip install --quiet -e '.[test,ray,s3]' 'moto[server]' dask apache_beam datatrove orjson humanize
  if command -v java >/dev/null; then pip install --quiet 'hf_bpe[spark]'; else echo "left out: Spark (install Java)"; fi
  pytest --thorough tests/distributed tests/token_files/test_object_stores.py tests/project/test_docs.py
}

check_pythons() { # tests, or none for all quick ones; reads lines of find_pythons
  local version program
  while read -r version program; do
    echo "--- Python $version: $program"
    (
      use_environment "python$version" "$program"
      pip install --quiet -e '.[test]'
      python -c 'import hf_bpe._native'
      python examples/train_and_load.py README.md
      pytest --quiet -p no:cacheprovider "$@" # which has what README's command has passed
    ) </dev/null
  done
}

oldest_python() {
  find_pythons | sed -n 1p |
    check_pythons tests/test_examples.py tests/contract tests/tokenizer/test_tokenizer.py \
      tests/tokenizer/calls/test_calls.py
}

# All but `python3`, which the stage `readme` has tested.
other_pythons() {
  local tested
  tested=$(python3 -c 'import sys; print("3.%d" % sys.version_info[1])')
  find_pythons | { grep -v "^$tested " || true; } | check_pythons
}

transformers_versions() { tools/check_transformers.sh; }

transformers_versions_whole() { tools/check_transformers.sh --whole --pre; }

# What the reference does where there is no compiler, and what is refused.
without_compiler() {
  use_environment without-compiler
  CC=/bin/false CXX=/bin/false pip install --quiet -e '.[test]'
  python -c 'import importlib.util as u; assert u.find_spec("hf_bpe._native") is None'
  python examples/train_and_load.py README.md
  pytest --quiet -p no:cacheprovider tests/encoding/test_choice_of_engine.py tests/reference
  pytest --quiet -c tests/contract/pytest.ini tests/contract -k "gpt2 or GPT-2"
}

# The lowest versions that pyproject.toml allows; there are wheels of them for Python 3.10 and 3.11.
lowest_versions() {
  local program
  program=$(find_pythons 2>/dev/null | sed -n '1s/^[^ ]* //p')
  use_environment lowest "$program"
  (
    export PIP_CONSTRAINT=$PWD/tools/lowest.txt PIP_BUILD_CONSTRAINT=$PWD/tools/lowest.txt
    pip install --quiet .
    python examples/train_and_load.py README.md >/dev/null
    pip install --quiet -e '.[test]' # editable, for tests start processes in this folder
    pytest --quiet -p no:cacheprovider tests/project/test_package.py tests/tokenizer/compat/test_transformers_compat.py \
      tests/tokenizer/test_tokenizer.py tests/tokenizer/calls/test_calls.py tests/tokenizer/saving/test_saving.py \
      tests/tokenizer/loading/test_auto.py tests/tokenizer/calls/test_chat_templates.py tests/cli/test_cli.py \
      tests/counting/test_sources.py tests/conversion/test_gguf.py tests/conversion/test_tiktoken.py \
      tests/analysis/test_report_page.py
  )
}

native_short() { tools/check_native.sh --short; }

native_long() { tools/check_native.sh 90; }

bindings_short() {
  use_main
  HF_BPE_RACE_ROUNDS=4 tools/check_bindings.sh --short 8
}

bindings_long() {
  use_main
  HF_BPE_RACE_ROUNDS=50 tools/check_bindings.sh 60
}
