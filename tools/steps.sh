# shellcheck shell=bash
# Steps of a check, for the scripts that make rows of the table of wheels. `passed` names the steps that have passed.

step() { # name, command: say what runs and how long it took
  local name=$1 begin=$SECONDS
  shift
  echo "--- $name: $*"
  "$@"
  echo "--- $name: $((SECONDS - begin)) s"
  passed+=" $name"
}

build_requirements() { # what pyproject.toml says that a build needs
  grep '^requires = ' pyproject.toml | grep --only-matching '"[^"]*"' | tr --delete '"'
}
