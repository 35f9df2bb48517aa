#!/usr/bin/env bash
# Compile for Windows or macOS by zig, and run what can be run here: one row of the table of platforms for each target.
#
#     tools/check_cross.sh windows    # run under wine 10 or newer (Debian 13); WINE names its command
#     tools/check_cross.sh macos      # arm64 and x86-64, compiled and linked: nothing here runs them
#
# PYTHON (python3) says which Python the wheel is for, and must be one that Debian has the source of, for Windows.
# HF_BPE_TEST_DATA adds the real files to the contract suite; WHEELS keeps the wheels; CROSS (~/.cache/hf_bpe-cross) keeps the
# tools and the Python for Windows. The last lines say which steps passed.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/steps.sh

system=${1:-}
case $system in
  windows) targets=(x86_64-windows-gnu) ;;
  macos) targets=(aarch64-macos.11.0 x86_64-macos.11.0) ;;
  *) echo "usage: $0 windows|macos" >&2 && exit 2 ;;
esac
folder=${CROSS:-$HOME/.cache/hf_bpe-cross}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
work=$(mktemp -d)
passed="passed:"
trap 'rm -rf "$work"; echo "$passed"' EXIT

prepare() {
  "${PYTHON:-python3}" -m venv "$folder/tools" # kept, for zig compiles its libraries again for each place it is at
  PATH=$folder/tools/bin:$PATH
  build_requirements | xargs pip install --quiet cmake ninja pefile delvewheel macholib twine check-wheel-contents \
    "$(zig_requirement)"
  zig=$(python -c 'import ziglang; print(ziglang.__path__[0] + "/zig")')
  version=$(python -c 'import sys; print("%d%d" % sys.version_info[:2])')
}

build() { # target, platform, settings of CMake: the wheel, and the tests of the core
  local settings=(-C "build-dir=build/$1") setting
  for setting in CMAKE_TOOLCHAIN_FILE="$PWD/build_backend/zig.cmake" HF_BPE_ZIG="$zig" HF_BPE_ZIG_TARGET="$1" \
    CMAKE_CROSSCOMPILING_EMULATOR="${WINE:-wine}" HF_BPE_TESTS=ON "${@:3}"; do
    settings+=(-C "cmake.define.$setting")
  done
  _PYTHON_HOST_PLATFORM=$2 pip wheel --no-deps --no-build-isolation --wheel-dir "$work/$2" . "${settings[@]}"
  ls "build/$1"/test_*
  ls "$work/$2"/hf_bpe-*-"cp$version"-*.whl # not the wheel without the core, which is built where this fails
  if [ -n "${WHEELS:-}" ]; then cp "$work/$2"/*.whl "$WHEELS"; fi
}

audit() { # platform
  check-wheel-contents "$work/$1"/*.whl
  twine check --strict "$work/$1"/*.whl
  if [ "$system" = windows ]; then
    delvewheel show "$work/$1"/*.whl
  else # what it loads must be on every machine
    python -m zipfile --extract "$work/$1"/*.whl "$work/$1/unpacked"
    python -m macholib dump "$work/$1"/unpacked/hf_bpe/_native.*.so | tee "$work/loads"
    if grep $'^\t' "$work/loads" | grep -v /usr/lib/libSystem; then return 1; fi
  fi
}

# Runs in a folder without hf_bpe, so that the one of this clone is not found. What Python prints is read here as UTF-8;
# into anything but a console, Windows' Python prints in the code page.
export HF_BPE_ENGINE=native HF_HUB_OFFLINE=1 PYTHONUTF8=1
windows_python() {
  (cd "$work/run" && WINEDEBUG=-all "${WINE:-wine}" "$windows/python.exe" "$@" </dev/null)
}

make_windows_python() {
  if [ -e "$windows/python.exe" ]; then return; fi
  rm -rf "$windows"
  tools/make_windows_python.sh python "$zig" "$windows"
}

install_it() {
  mkdir "$work/run"
  cp -r README.md docs examples tests "$work/run"
  # pip asks for what Linux requires, and not for colorama. wine 10 lacks a function of C that NumPy 2 calls (crealf).
  pip install --quiet --upgrade --target "$windows/Lib/site-packages" --platform win_amd64 --only-binary :all: \
    "$work"/win-amd64/*.whl pytest hypothesis tiktoken colorama 'numpy<2'
  windows_python -V
}

contract() {
  if [ -n "${HF_BPE_TEST_DATA:-}" ]; then cp -r "$HF_BPE_TEST_DATA" "$work/run/data" && export HF_BPE_TEST_DATA=data; fi
  windows_python -m pytest -q -c tests/contract/pytest.ini tests/contract
}

step prepared prepare
for target in "${targets[@]}"; do
  passed+=$'\n'"$target, $(python --version):"
  case $target in
    *macos*)
      machine=${target%%-*}
      platform=macosx-11.0-${machine/aarch64/arm64}
      # With pyconfig.h of the Python here, which differs from macOS's in nothing that the layout of objects depends on.
      step built build "$target" "$platform" "SKBUILD_SOABI=cpython-$version-darwin"
      step audited audit "$platform"
      ;;
    *windows*)
      windows=$folder/windows-$version
      step python make_windows_python
      step built build "$target" win-amd64 "Python_INCLUDE_DIR=$windows/Include" \
        "Python_LIBRARY=$windows/python$version.lib" "NB_SUFFIX=.cp$version-win_amd64.pyd" NB_SUFFIX_S=.pyd
      step audited audit win-amd64
      if ! command -v "${WINE:-wine}" >/dev/null; then
        echo "NOT RUN, for there is no ${WINE:-wine}" >&2
        continue
      fi
      export WINEPREFIX=${WINEPREFIX:-$folder/wine}
      step core-tested env WINEDEBUG=-all ctest --test-dir "build/$target" --output-on-failure -j2
      step installed install_it
      step imported windows_python -c 'import hf_bpe._native as core; print(core.__file__, core.simd_names())'
      step readme-example windows_python examples/train_and_load.py README.md
      step contract contract
      ;;
  esac
done
