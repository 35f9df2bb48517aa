"""The project's own files: its settings, and its scripts as modules."""

import importlib.util
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent.parent


def read_settings(folder=ROOT):
    """Return the pyproject.toml of a folder."""
    return tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))


def load_script(path):
    """Return a file of Python as a module, of which `sys.modules` does not know."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
