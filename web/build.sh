#!/bin/sh
# Makes build/web, a folder to be served as it is: hf_bpe.wasm, the JavaScript and the page that shows tokens. It needs
# zig (`pip install ziglang`) and a Python with hf_bpe (PYTHON, else python3).
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
out=build/web
mkdir -p "$out"

sources=$(grep -v -e '^#' -e '^count/' -e '^train/' native/sources.txt | sed 's|^|native/|') # pages neither count nor train
# Constructs of exceptions are compiled, and nothing is unwound: see the end of module.cpp.
# shellcheck disable=SC2086
"$python" -m ziglang c++ -target wasm32-wasi -mexec-model=reactor -std=c++20 -O3 -DNDEBUG -flto -fignore-exceptions \
  -ffp-contract=off -fvisibility=hidden -msimd128 -mbulk-memory -Inative $sources web/module.cpp \
  -Wl,--gc-sections,--strip-all,-z,stack-size=1048576 -o "$out/hf_bpe.wasm"
"$python" web/generate_tables.py "$out/tables.js"
cp web/*.js web/index.html "$out"
ls -l "$out/hf_bpe.wasm"
