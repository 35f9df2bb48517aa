"""The compiler of the native core: a C++20 compiler of the machine, else zig, which pip can install."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ZIGLANG = "ziglang==0.17.1"
ZIG_TOOLCHAIN = Path(__file__).with_name("zig.cmake")

# Found out are a compiler of an older standard, one whose standard library is older or missing, and a missing linker.
PROBE = """
#include <algorithm>
#include <bit>
#include <span>
#include <vector>
bool has(std::vector<int> numbers, unsigned bits) {
  return std::ranges::count(std::span(numbers), std::popcount(bits)) > 0;
}
"""

Settings = dict[str, "list[str] | str"]


class NoCompilerError(Exception):
    """Nothing here compiles the native core."""


def requirements(settings: Settings) -> list[str]:
    """Return what pip must install to compile.

    Raises:
        NoCompilerError: nothing can compile here.
    """
    if is_left_to_cmake(settings):
        return []
    check_headers()
    if find_compiler() is not None:
        return []
    zig_target()
    return [ZIGLANG]


def choose(settings: Settings) -> tuple[str, Settings]:
    """Return the name of what compiles here, and the settings by which scikit-build-core uses it.

    Raises:
        NoCompilerError: nothing can compile here.
    """
    if is_left_to_cmake(settings):
        return "the compiler given to CMake", {}
    check_headers()
    compiler = find_compiler()
    if compiler is not None:
        os.environ.setdefault("CXX", compiler)
        return compiler, {}
    target = zig_target()
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None:
        raise NoCompilerError("there is no C++20 compiler on this machine, nor ziglang")
    return f"zig for {target}", {
        "cmake.define.CMAKE_TOOLCHAIN_FILE": str(ZIG_TOOLCHAIN),
        "cmake.define.HF_BPE_ZIG": str(Path(spec.origin).with_name("zig")),
        "cmake.define.HF_BPE_ZIG_TARGET": target,
        # Not where another compiler may have built: CMake keeps the first one.
        "build-dir": "build/{wheel_tag}-zig",
    }


def is_left_to_cmake(settings: Settings) -> bool:
    """Return whether CMake chooses the compiler: its own variables name one, or it is Windows."""
    given = f"{settings} {os.environ.get('CMAKE_ARGS')}"
    is_named = "CMAKE_TOOLCHAIN_FILE" in os.environ or re.search(r"(CMAKE_CXX_COMPILER|CMAKE_TOOLCHAIN_FILE)\b", given)
    return bool(is_named) or sys.platform == "win32"


def check_headers() -> None:
    """Check that this Python's headers are there, which systems install apart from it.

    Raises:
        NoCompilerError: they are not.
    """
    folder = sysconfig.get_path("include")
    if not Path(folder, "Python.h").is_file():
        raise NoCompilerError(
            f"there is no {folder}/Python.h, which compiling needs (Debian, Ubuntu: apt-get install python3-dev)"
        )


def find_compiler() -> str | None:
    """Return a C++20 compiler of this machine, or None.

    Raises:
        NoCompilerError: CC or CXX names something that does not compile; nothing is taken in its place.
    """
    c, cxx = os.environ.get("CC"), os.environ.get("CXX")
    if c and not compiles(c, "c", "int zero(void) { return 0; }"):
        raise NoCompilerError(f"CC={c} does not compile C")
    if not cxx:
        return next((name for name in ("c++", "g++", "clang++") if compiles(name, "c++", PROBE)), None)
    if not compiles(cxx, "c++", PROBE):
        raise NoCompilerError(f"CXX={cxx} does not compile C++20")
    return cxx


def compiles(command: str, language: str, source: str) -> bool:
    """Return whether a command compiles and links a shared library."""
    # As CMake reads CC and CXX: the path of a program, which may have spaces, or a line of a shell.
    try:
        program, *arguments = [command] if shutil.which(command) else shlex.split(command)
    except ValueError:  # a quote that does not end, or nothing but spaces
        return False
    if shutil.which(program) is None:
        return False
    standard = ["-std=c++20"] if language == "c++" else []
    with tempfile.TemporaryDirectory() as folder:
        output = ["-shared", "-fPIC", "-o", str(Path(folder, "probe.so"))]
        whole = [program, *arguments, *standard, "-x", language, "-", *output]
        return subprocess.run(whole, input=source, text=True, capture_output=True, check=False).returncode == 0


def zig_target() -> str:
    """Return what zig calls this machine, with the oldest version of the system that the result shall run on.

    Raises:
        NoCompilerError: zig is not used for such machines.
    """
    machine = platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    if machine in ("x86_64", "aarch64") and sys.maxsize > 2**32:
        if sys.platform == "darwin":
            return f"{machine}-macos.11.0"
        if sys.platform == "linux":
            has_musl = "musl" in (sysconfig.get_config_var("SOABI") or "")
            return f"{machine}-linux-{'musl' if has_musl else 'gnu.2.17'}"
    raise NoCompilerError(f"there is no C++20 compiler on this machine, and no zig for it ({sys.platform}, {machine})")


def check_available(requirements: list[str]) -> None:
    """Ask pip whether it can install some requirements, for the hook's caller fails where one of them cannot be had.

    pip is asked as its variables and files configure it; options of the command line do not reach a build backend.
    Other installers are not asked.

    Raises:
        NoCompilerError: pip says that there is no such distribution, as without a network.
    """
    if not requirements:
        return
    with tempfile.TemporaryDirectory() as folder:
        options = ["--dry-run", "--no-deps", "--target", folder, "--retries", "0", "--timeout", "10"]
        # Isolated, for the pip of this Python is hidden from the environment of a build.
        command = [sys.executable, "-I", "-m", "pip", "install", *options, *requirements]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "No matching distribution found" in done.stderr:
        raise NoCompilerError(f"pip cannot get {' and '.join(requirements)}")
