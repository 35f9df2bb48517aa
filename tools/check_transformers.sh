#!/usr/bin/env bash
# Test hf_bpe with several versions of transformers, each in an environment of its own.
#
# tools/check_transformers.sh [--whole] [--pre] [VERSION…]
#
#   VERSION…  versions of transformers; by default the oldest supported and those that servers require; most other
#             stages have the newest
#   --whole   the tests of the tokenizer and transformers' own common tests, too, instead of the contract suite alone
#   --pre     pre-releases of transformers, too, whose failures are reported and do not count
set -euo pipefail
cd "$(dirname "$0")/.."
whole="" pre=""
versions=()
for argument in "$@"; do
  case $argument in
    --whole) whole=1 ;;
    --pre) pre=1 ;;
    *) versions+=("$argument") ;;
  esac
done
if [ ${#versions[@]} -eq 0 ]; then versions=(5.0.0 5.19.0 5.20.2); fi
export PIP_NO_COMPILE=0 # see stages.sh

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/build"
"$folder/build/bin/pip" wheel --quiet --no-deps --wheel-dir "$folder/wheels" .
wheel=$(echo "$folder"/wheels/*.whl)

check() { # name, requirements of pip…
  local name=$1
  shift
  python3 -m venv "$folder/$name"
  local pip="$folder/$name/bin/pip"
  if [ -n "$whole" ]; then # editable, for tests start processes in this folder
    "$pip" install --quiet -e '.[test]' "$@"
    (PATH="$folder/$name/bin:$PATH" && pytest --quiet tests/contract tests/tokenizer tests/test_examples.py)
  else
    "$pip" install --quiet "$wheel" "$@" pytest pytest-xdist tiktoken
    "$folder/$name/bin/pytest" --quiet -n auto --maxprocesses 8 -c tests/contract/pytest.ini tests/contract
  fi
}

for version in "${versions[@]}"; do
  requirement="transformers==$version"
  if [ "$version" = newest ]; then requirement="transformers"; fi
  echo "--- $requirement"
  check "$version" "$requirement"
done
if [ -n "$pre" ]; then
  echo "--- pre-releases of transformers"
  whole=""
  if check pre --pre transformers; then
    echo "pre-releases: no finding"
  else
    echo "pre-releases: FAILED, which does not count yet"
  fi
fi
