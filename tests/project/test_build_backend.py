"""How pip builds hf_bpe: metadata without compiling, and an install where nothing can be compiled."""

import email
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import hf_bpe

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent.parent
BUILD = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]
CALL = """
import importlib, json, sys
path, backend, hook, arguments = json.loads(sys.argv[1])
sys.path[:0] = path
print(getattr(importlib.import_module(backend), hook)(*arguments))
"""


@pytest.fixture
def call_hook(tmp_path):
    """Return a function that calls a hook of the build backend as pip does, where no compiler works."""
    pytest.importorskip("scikit_build_core", reason="scikit-build-core is not installed")
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")

    def call(name, *metadata_directory):
        arguments = [str(tmp_path), {"build-dir": str(tmp_path / "build")}, *map(str, metadata_directory)]
        argument = json.dumps([BUILD.get("backend-path", []), BUILD["build-backend"], name, arguments])
        command = [sys.executable, "-c", CALL, argument]
        environment = {**os.environ, "CC": "/bin/false", "CXX": "/bin/false"}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return tmp_path / done.stdout.splitlines()[-1]

    return call


@pytest.mark.parametrize("kind", ["wheel", "editable"])
def test_metadata_is_made_without_compiling(call_hook, tmp_path, kind):
    folder = call_hook(f"prepare_metadata_for_build_{kind}")
    metadata = email.message_from_string((folder / "METADATA").read_text("utf-8"))
    assert (metadata["Name"], metadata["Version"]) == ("hf_bpe", hf_bpe.__version__)
    assert not (tmp_path / "build").exists()


def test_a_wheel_without_the_core_is_made_where_nothing_can_be_compiled(call_hook, tmp_path):
    prepared = call_hook("prepare_metadata_for_build_wheel")
    wheel = call_hook("build_wheel", prepared)
    assert wheel.name == f"hf_bpe-{hf_bpe.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read(f"{prepared.name}/METADATA") == (prepared / "METADATA").read_bytes()
        assert "hf_bpe/_native_core.py" in archive.namelist()
        assert not [name for name in archive.namelist() if "_native" in name and not name.endswith((".py", ".pyi"))]
