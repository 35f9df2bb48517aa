#!/usr/bin/env bash
# Run README's test command on machines that have less than those of developers, or call things other names.
#
#     tools/check_elsewhere.sh least              # all that a machine may lack at once, in random order
#     tools/check_elsewhere.sh no_git turkish     # one after the other; a+b is both at once
#     tools/check_elsewhere.sh                    # all
#
# It prints a line of counts for each. Everything is installed first. Then a user without rights runs the tests in a
# namespace where programs are hidden and folders read-only, so it needs Linux and root. PYTHON (python3) says which
# Python, SEED (the commit) the order of `least`. HF_BPE_TEST_DATA adds the real files to all variations but `least`.
set -euo pipefail
cd "$(dirname "$0")/.."

# A variation is a function, run as root where the tests run.

least() { # a clone that cannot be written, in a folder with a space, beside one named ray
  where="$folder/a b/é"
  network=none
  variables=([PATH]="$where/environment/bin:$folder/bin" [LANG]=C [TMPDIR]="$folder/tmp")
  mkdir -p "$where/ray"
  shuffle "${SEED:-$(git rev-parse --short HEAD)}"
}

no_browser() { hide 'chromium*' 'google-chrome*' chrome; }
no_node() { hide node nodejs npm; }
no_git() { hide git; }
no_compiler() { hide cc c++ 'gcc*' 'g++*' 'clang*' '*-linux-gnu-g*' zig; }
no_network() { network=none; }
no_home() { unset 'variables[HOME]'; }
ray_beside() { mkdir "$where/ray"; }
read_only_source() { mount --bind "$where" "$where" && mount -o remount,bind,ro "$where"; }
read_only_shm() { mount -o remount,bind,ro /dev/shm; }
read_only_working_folder() {
  start=$folder/bin
  options+=(-c "$where/hf_bpe/pyproject.toml" --rootdir "$where/hf_bpe" "$where/hf_bpe/tests")
}
temporary_folder() { variables[TMPDIR]="$folder/tmp/a b é" && install --directory --owner=nobody "$folder/tmp/a b é"; }
locale_c() { variables[LANG]=C; }
turkish() {
  variables+=([LC_ALL]=tr_TR.UTF-8 [LOCPATH]="$folder/locales")
  LC_ALL=tr_TR.UTF-8 LOCPATH="$folder/locales" "$python" -c 'import locale; locale.setlocale(locale.LC_ALL, "")'
}
time_zone() { variables[TZ]=Asia/Kathmandu; }
private_files() { umask 077; }
warnings() { variables[PYTHONWARNINGS]=error; }
hash_seed_0() { variables[PYTHONHASHSEED]=0; }
hash_seed_1() { variables[PYTHONHASHSEED]=1; }
order_1() { shuffle 1; }
order_2() { shuffle 2; }
# Of those joined, at most one skips tests.
all=(no_browser no_node no_git no_compiler+no_network read_only_source+read_only_shm warnings
  read_only_working_folder+time_zone turkish+private_files+hash_seed_0+order_1
  locale_c+temporary_folder+no_home+ray_beside+hash_seed_1+order_2)

shuffle() { # seed
  echo "order: SEED=$1"
  options+=(--random-order --random-order-seed="$1")
}

hide() { # names of programs, or patterns
  local IFS=: directory pattern program
  for directory in $PATH; do
    for pattern in "$@"; do
      # shellcheck disable=SC2231
      for program in "$directory"/$pattern; do
        if [ -x "$program" ]; then mount --bind /dev/null "$program"; fi
      done
    done
  done
}

# Let anybody start a Python that is in a locked home: an empty folder with nothing but that Python takes its place.
open_python() {
  local base locked=/ part
  base=$("$python" -c 'import sys; print(sys.base_prefix)')
  local IFS=/
  for part in $base; do
    locked=${locked%/}/$part
    # shellcheck disable=SC2016
    if ! "${as_nobody[@]}" sh -c 'test -x "$1"' sh "$locked"; then
      mkdir -p "$folder/python"
      mount --bind "$base" "$folder/python"
      mount -t tmpfs -o mode=755 tmpfs "$locked"
      (umask 022 && mkdir -p "$base")
      mount --bind "$folder/python" "$base"
      return
    fi
  done
}

enter() { # variation: becomes the run of the tests
  local where=$folder/plain network=shared start="" options=(-q -n 2) assignments=() name
  local as_nobody=(setpriv --reuid=nobody --regid=nogroup --clear-groups --no-new-privs)
  local -A variables=([PATH]="$where/environment/bin:$PATH" [HOME]="$folder/home" [LANG]=C.UTF-8 [TMPDIR]="$folder/tmp")
  if [ -n "${HF_BPE_TEST_DATA:-}" ]; then
    mount --bind "$HF_BPE_TEST_DATA" "$folder/data"
    variables[HF_BPE_TEST_DATA]=$folder/data
  fi
  for name in ${1//+/ }; do "$name"; done
  open_python
  for name in "${!variables[@]}"; do assignments+=("$name=${variables[$name]}"); done
  cd "${start:-$where/hf_bpe}"
  local run=("${as_nobody[@]}" env -i "${assignments[@]}" pytest "${options[@]}")
  if [ "$network" = none ]; then exec unshare --net "$python" "$folder/loopback.py" "${run[@]}"; fi
  exec "${run[@]}"
}

clone_and_install() { # folder
  mkdir -p "$1"
  git clone --quiet "file://$PWD" "$1/hf_bpe"
  "$python" -m venv "$1/environment"
  (
    export CCACHE_BASEDIR=$1/hf_bpe PATH="$1/environment/bin:$PATH"
    cd "$1/hf_bpe"
    pip install --quiet -e '.[test]' pytest-random-order
    python -c 'import hf_bpe._native'
    python -m compileall -q hf_bpe conversion # or each process that a test starts compiles all, which it cannot keep
  )
}

python=$(command -v "${PYTHON:-python3}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
mkdir "$folder/bin" "$folder/data"
install --directory --owner=nobody "$folder/home" "$folder/tmp"
for name in bash sh $(dpkg --listfiles coreutils | sed -n 's|.*/bin/||p'); do
  ln -s "$(type -P "$name")" "$folder/bin/$name"
done

if [ $# = 0 ]; then set -- "${all[@]}"; fi
if [[ " $* " = *[\ +]turkish[\ +]* ]]; then
  if [ ! -e /usr/share/i18n/locales/tr_TR ]; then apt-get install --yes locales >/dev/null; fi
  mkdir "$folder/locales"
  localedef -i tr_TR -f UTF-8 "$folder/locales/tr_TR.UTF-8"
fi
if [[ " $* " = *" least "* ]]; then (unset HF_BPE_TEST_DATA && clone_and_install "$folder/a b/é"); fi
if [ "$*" != least ]; then
  clone_and_install "$folder/plain"
  chown -R nobody "$folder/plain/hf_bpe"
fi

# A new network namespace has nothing but a loopback device, which is down.
cat >"$folder/loopback.py" <<'PROGRAM'
import fcntl, os, socket, struct, sys

SIOCSIFFLAGS, IFF_UP = 0x8914, 1
fcntl.ioctl(socket.socket(), SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
os.execvp(sys.argv[1], sys.argv[1:])
PROGRAM

export folder python
# shellcheck disable=SC2046
export -f $(compgen -A function)
failed=""
for variation in "$@"; do
  log="$folder/$variation.log"
  # shellcheck disable=SC2016
  if unshare --mount bash -euo pipefail -c 'enter "$1"' enter "$variation" </dev/null >"$log" 2>&1; then
    echo "$variation: $(tail -n 1 "$log")$(sed -n 's/^order:/,/p' "$log")"
  else
    cat "$log"
    echo "$variation: FAILED: $(tail -n 1 "$log")"
    failed+=" $variation"
  fi
  rm -rf "$folder/tmp/"* "$folder/plain/ray"
done
if [ -n "$failed" ]; then echo "failed:$failed" >&2 && exit 1; fi
