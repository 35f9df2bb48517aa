#!/usr/bin/env bash
# Install this clone on a Debian that has neither compiler nor CMake, and run README's example: with a network, where zig
# compiles the core, and without one, where plain Python takes its place. Before that pip and uv ask for the metadata alone,
# for which nothing may be compiled. Prints how long each part took, and on how much CPU.
#
#     mmdebstrap --variant=apt --include=ca-certificates,python3,python3-venv,python3-dev bookworm /srv/bare
#     tools/check_bare.sh /srv/bare
#
# Needs root. The folder must reach a package index as it is.
set -euo pipefail
cd "$(dirname "$0")/.."

root=$1
trap 'umount "$root/dev" "$root/proc" 2>/dev/null || true' EXIT
mountpoint --quiet "$root/dev" || mount --bind /dev "$root/dev"
mountpoint --quiet "$root/proc" || mount -t proc proc "$root/proc" # zig asks it where it is
rm -rf "$root/try"
mkdir -p "$root/try/clone"
git archive HEAD | tar --extract --directory "$root/try/clone"

cat >"$root/try/functions.sh" <<'FUNCTIONS'
set -euo pipefail
cd /try
TIMEFORMAT='    %0R s, %0U + %0S s of CPU'
export SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt # uv has certificates of its own
for program in c++ g++ clang++ gcc cc ld cmake ninja make zig; do
  if command -v "$program"; then echo "not a bare machine" >&2; exit 1; fi
done

log() { # command; shows how it ends if it fails
  "$@" >/try/log 2>&1 || { tail -n 40 /try/log; return 1; }
}

must_not_compile() {
  if find clone -name '*.so' -o -name '*.o' -o -name CMakeCache.txt | grep .; then echo "something was compiled" >&2; exit 1; fi
  echo "    nothing was compiled"
}

install_and_use() { # environment, how many native cores are expected
  python3 -m venv "$1"
  echo "--- $1: pip install ."
  (cd clone && time log "../$1/bin/pip" install -v .)
  grep -h -o 'hf_bpe: .*' log | sort -u
  echo "--- $1: README's example"
  time "$1/bin/python" clone/examples/train_and_load.py clone/README.md 2>&1
  find "$1" -path '*hf_bpe/_native.*.so'
  test "$(find "$1" -path '*hf_bpe/_native.*.so' | wc -l)" = "$2"
}
FUNCTIONS

chroot "$root" bash -c '. /try/functions.sh
python3 -m venv tools
log tools/bin/pip install --quiet uv
echo "--- pip download --no-deps ."
(cd clone && time log ../tools/bin/pip download --no-deps --dest ../downloaded .)
must_not_compile
echo "--- uv lock, in a project that depends on the clone"
mkdir project
cat >project/pyproject.toml <<TOML
[project]
name = "uses-hf-bpe"
version = "1"
requires-python = ">=3.10"
dependencies = ["hf_bpe"]
[tool.uv.sources]
hf_bpe = { path = "../clone" }
TOML
(cd project && time log ../tools/bin/uv lock)
grep -A 3 "^name = \"hf-bpe\"" project/uv.lock
must_not_compile
install_and_use network 1
# For a machine without a network: what plain Python needs, and to build a wheel of it.
network/bin/pip list --format freeze --exclude hf_bpe >needed
grep "^requires = " clone/pyproject.toml | grep --only-matching "\"[^\"]*\"" | tr --delete "\"" >>needed
log network/bin/pip wheel --wheel-dir wheels -r needed
rm -rf clone/build'

PIP_NO_INDEX=1 PIP_FIND_LINKS=/try/wheels unshare --net chroot "$root" bash -c '. /try/functions.sh
install_and_use offline 0'
