# shellcheck shell=bash
# Steps of checks, and what builds need. `passed` names the steps that have passed.

step() { # name, command: say what runs and how long it took
  local name=$1 begin=$SECONDS
  shift
  echo "--- $name: $*"
  "$@"
  echo "--- $name: $((SECONDS - begin)) s"
  passed+=" $name"
}

build_requirements() {
  grep '^requires = ' pyproject.toml | grep --only-matching '"[^"]*"' | tr --delete '"'
}

zig_requirement() {
  grep --only-matching 'ziglang==[0-9.]*' build_backend/compilers.py
}
