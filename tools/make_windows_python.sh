#!/usr/bin/env bash
# Put a Python for Windows together that runs under wine, with its headers and import library to compile against.
#
#     tools/make_windows_python.sh PYTHON ZIG FOLDER
#
# PYTHON, which has pefile, says the version. python.org built the library and the compiled modules: the
# wheels of panda3d bring them to be handed on with programs. Headers and Lib are from the source, and python.exe and
# python3.dll, which panda3d leaves out, are compiled here.
set -euo pipefail
tools=$(cd "$(dirname "$0")" && pwd)
python=$1
zig=$2
mkdir -p "$3"
cd "$3"
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
name=python${version/./}

"$python" -m pip download --quiet --no-deps --only-binary :all: --platform win_amd64 --python-version "$version" \
  --dest download panda3d
"$python" -m zipfile --extract download/panda3d-*.whl panda3d
source=$("$tools/fetch_source.sh" "python$version" download)
mkdir source
tar --extract --file "$source" --directory source --strip-components 1

mkdir DLLs
mv panda3d/deploy_libs/"$name".dll panda3d/deploy_libs/VCRUNTIME140*.dll .
mv panda3d/deploy_libs/*.pyd panda3d/deploy_libs/lib*.dll panda3d/deploy_libs/sqlite3.dll DLLs
mv source/Lib Lib
mv source/Include Include
cp source/PC/pyconfig.h Include

"$python" - "$name" <<'EOF'
import re, sys
from pathlib import Path
import pefile

name = sys.argv[1]
exports = [e.name.decode() for e in pefile.PE(f"{name}.dll").DIRECTORY_ENTRY_EXPORT.symbols if e.name]
Path(f"{name}.def").write_text("\n".join([f"LIBRARY {name}.dll", "EXPORTS", *exports]))
# python3.dll is the stable part of it, every function forwarded.
stable = re.findall(r"^EXPORT_(FUNC|DATA)\((\w+)\)", Path("source/PC/python3dll.c").read_text(), re.MULTILINE)
forwards = [f"{export} = {name}.{export}" + " DATA" * (kind == "DATA") for kind, export in stable]
Path("python3.def").write_text("\n".join(["LIBRARY python3.dll", "EXPORTS", *forwards]))
EOF
target="-target x86_64-windows-gnu"
"$zig" dlltool -m i386:x86-64 -d "$name.def" -l "$name.lib"
echo 'int __stdcall DllMainCRTStartup(void* module, unsigned reason, void* unused) { return 1; }' >python3.c
# shellcheck disable=SC2086
"$zig" cc $target -shared -nostdlib python3.c python3.def "$name.lib" -o python3.dll
printf '#include <Python.h>\nint wmain(int count, wchar_t** arguments) { return Py_Main(count, arguments); }\n' >python.c
# shellcheck disable=SC2086
"$zig" cc $target -municode -IInclude python.c "$name.lib" -o python.exe
rm -rf panda3d source download python.c python3.c ./*.def ./*.pdb
