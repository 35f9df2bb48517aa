"""The build of hf_bpe by pip: metadata without compiling, compilers, and an install without one."""

import ast
import base64
import csv
import email
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile

import pytest
from packaging.requirements import Requirement

import hf_bpe
from support.project import ROOT, load_script, read_settings

BUILD = read_settings()["build-system"]
COMPILERS = load_script(ROOT / "build_backend" / "compilers.py")
posix = pytest.mark.skipif(os.name != "posix", reason="on Windows CMake searches for the compiler")
CALL = """
import importlib, json, sys
path, backend, hook, arguments = json.loads(sys.argv[1])
sys.path[:0] = path
print(getattr(importlib.import_module(backend), hook)(*arguments))
"""


BROKEN = {"CC": "/bin/false", "CXX": "/bin/false"}


@pytest.fixture
def call_hook(tmp_path):
    """Return a function that calls a hook of the build backend as pip does, where no compiler works."""
    pytest.importorskip("scikit_build_core", reason="scikit-build-core is not installed")
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")

    def call(name, *metadata_directory, **environment):
        arguments = [str(tmp_path), {"build-dir": str(tmp_path / "build")}, *map(str, metadata_directory)]
        return tmp_path / call_backend(BUILD["build-backend"], name, arguments, {**BROKEN, **environment})[-1]

    return call


def call_backend(module, function, arguments, environment):
    """Call a function of the build backend in a process of its own, and return the lines that it prints."""
    argument = json.dumps([BUILD["backend-path"], module, function, arguments])
    unset = {"CC", "CXX", "CMAKE_ARGS", "CMAKE_TOOLCHAIN_FILE"}
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    command = [sys.executable, "-c", CALL, argument]
    done = subprocess.run(command, cwd=ROOT, env={**kept, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def requirements(**environment):
    """Return the names of what the backend asks pip for, and what else it prints."""
    pytest.importorskip("scikit_build_core", reason="scikit-build-core is not installed")
    *lines, found = call_backend(BUILD["build-backend"], "get_requires_for_build_wheel", [{}], environment)
    return {Requirement(each).name for each in ast.literal_eval(found)}, lines


def write_script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    path.chmod(0o755)


def write_empty_wheel(folder, requirement):
    """Write a wheel of a package that pip would install for a requirement."""
    folder.mkdir(exist_ok=True)
    name, version = requirement.split("==")
    files = {
        "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for file, text in files.items():
            wheel.writestr(f"{name}-{version}.dist-info/{file}", text)


@pytest.mark.parametrize("kind", ["wheel", "editable"])
def test_metadata_is_made_without_compiling(call_hook, tmp_path, kind):
    folder = call_hook(f"prepare_metadata_for_build_{kind}")
    metadata = email.message_from_string((folder / "METADATA").read_text("utf-8"))
    assert (metadata["Name"], metadata["Version"]) == ("hf_bpe", hf_bpe.__version__)
    assert not (tmp_path / "build").exists()


@pytest.mark.parametrize("has_cmake", [True, False])
def test_wheel_without_core_is_made_where_nothing_compiles(call_hook, tmp_path, has_cmake):
    environment = {} if has_cmake else {"PATH": str(tmp_path)}
    prepared = call_hook("prepare_metadata_for_build_wheel", **environment)
    wheel = call_hook("build_wheel", prepared, **environment)
    assert wheel.name == f"hf_bpe-{hf_bpe.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read(f"{prepared.name}/METADATA") == (prepared / "METADATA").read_bytes()
        assert "hf_bpe/_native_core.py" in archive.namelist()
        assert not [name for name in archive.namelist() if "_native" in name and not name.endswith((".py", ".pyi"))]


def test_an_editable_install_puts_no_folder_on_the_path(call_hook, tmp_path):
    site = tmp_path / "site"
    with zipfile.ZipFile(call_hook("build_editable")) as archive:
        archive.extractall(site)
        (record,) = [name for name in archive.namelist() if name.endswith("/RECORD")]
    code = (
        "import importlib.util, site, sys; before = {*sys.path}; site.addsitedir(sys.argv[1]);"
        "print(importlib.util.find_spec('hf_bpe').origin, *{*sys.path} - before, sep='\\n')"
    )
    command = [sys.executable, "-I", "-S", "-c", code, str(site)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [str(ROOT / "hf_bpe" / "__init__.py"), str(site)]
    for name, digest, _ in csv.reader((site / record).read_text("utf-8").splitlines()):
        found = base64.urlsafe_b64encode(hashlib.sha256((site / name).read_bytes()).digest()).decode()
        assert name == record or digest == f"sha256={found.rstrip('=')}"


def test_a_compiler_that_is_named_and_broken_means_no_core(tmp_path):
    for name in BROKEN:
        found, lines = requirements(**{name: "/bin/false"})
        assert found == set()
        assert [line for line in lines if f"{name}=/bin/false does not compile" in line]


@posix
def test_zig_is_required_without_compiler_where_pip_has_it(tmp_path):
    if subprocess.run([sys.executable, "-I", "-m", "pip", "--version"], capture_output=True, check=False).returncode:
        pytest.skip("this Python has no pip")
    wheels = tmp_path / "wheels"
    environment = {"PATH": str(tmp_path), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    write_empty_wheel(wheels, "cmake==4.0")
    write_empty_wheel(wheels, "ninja==1.11")
    found, lines = requirements(**environment)
    assert found == set()
    assert [line for line in lines if "pip cannot get" in line and "ziglang" in line]
    write_empty_wheel(wheels, COMPILERS.ZIGLANG)
    assert requirements(**environment) == ({"cmake", "ninja", "ziglang"}, [])


@posix
def test_missing_headers_are_named_before_any_download(tmp_path, monkeypatch):
    monkeypatch.setattr(COMPILERS.sysconfig, "get_path", lambda name: str(tmp_path))
    for call in (COMPILERS.requirements, COMPILERS.choose):
        with pytest.raises(COMPILERS.NoCompilerError, match=r"no .*/Python\.h, .*python3-dev"):
            call({})
    (tmp_path / "Python.h").touch()
    assert len(COMPILERS.requirements({})) < 2


@posix
def test_the_first_compiler_that_knows_the_standard_is_used(tmp_path, monkeypatch):
    for name in BROKEN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    write_script(tmp_path / "c++", "exit 1")
    assert COMPILERS.find_compiler() is None
    write_script(tmp_path / "clang++", "exit 0")
    assert COMPILERS.find_compiler() == "clang++"


@posix
@pytest.mark.parametrize("command", ["{}", "'{}' -m64", "clang++ -m64"])
def test_a_named_compiler_is_read_as_cmake_reads_it(tmp_path, monkeypatch, command):
    folder = tmp_path / "a b é"
    folder.mkdir()
    write_script(folder / "clang++", "exit 0")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("CXX", command.format(folder / "clang++"))
    assert COMPILERS.find_compiler() == os.environ["CXX"]


@posix
@pytest.mark.parametrize("variable", ["CC", "CXX"])
def test_a_command_that_is_no_command_is_named(monkeypatch, variable):
    for command in ("'", " ", 'g++ "'):
        monkeypatch.setenv(variable, command)
        with pytest.raises(COMPILERS.NoCompilerError, match=re.escape(f"{variable}={command} does not compile C")):
            COMPILERS.find_compiler()


@posix
@pytest.mark.parametrize(("source", "compiles"), [(COMPILERS.PROBE, True), (COMPILERS.PROBE + "#error", False)])
def test_a_compiler_is_tried_before_it_is_used(source, compiles):
    if not any(map(shutil.which, ["c++", "g++", "clang++"])):
        pytest.skip("there is no compiler on this machine")
    compiler = next(filter(shutil.which, ["c++", "g++", "clang++"]))
    assert COMPILERS.compiles(compiler, "c++", source) is compiles


@pytest.mark.parametrize(
    ("settings", "arguments", "is_left"),
    [
        ({}, "", False),
        ({}, "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache", False),
        ({}, "-DCMAKE_CXX_COMPILER=clang++-18", True),
        ({"cmake.define.CMAKE_TOOLCHAIN_FILE": "cross.cmake"}, "", True),
    ],
)
@posix
def test_settings_of_cmake_choose_its_compiler(monkeypatch, settings, arguments, is_left):
    monkeypatch.delenv("CMAKE_TOOLCHAIN_FILE", raising=False)
    monkeypatch.setenv("CMAKE_ARGS", arguments)
    assert COMPILERS.is_left_to_cmake(settings) is is_left
