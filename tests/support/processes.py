"""Code that is run in new processes, and how long tests wait for what may hang."""

import json
import os
import subprocess
import sys

PATIENCE = 600
"""Seconds after which a process that has not ended fails its test; slow or busy machines need a fraction of it."""

# transformers looks for the metadata first: without them it would import the package to ask for its version.
_TORCH = {
    "torch-9.9.dist-info/METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 9.9\n",
    "torch/__init__.py": """import sys
sys.imports_of_torch = getattr(sys, "imports_of_torch", 0) + 1
raise ImportError("torch is a stand-in that notes who imports it")
""",
}


def torch_that_is_not_imported(folder):
    """Make a package for PYTHONPATH that transformers takes for torch; `sys.imports_of_torch` counts its imports."""
    for name, content in _TORCH.items():
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(content, encoding="utf-8")
    return str(folder)


WITHOUT_TORCH = """
import importlib.util, json, sys
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "torch" else find_spec(name, package)
"""
"""Code that hides torch from transformers, which imports it with AutoTokenizer and takes twice as long then."""


def run_code(code, *arguments, has_torch=False, **environment):
    """Run code in a new process that reaches no network, and return what it prints as JSON."""
    ran = subprocess.run(
        [sys.executable, "-c", f"{'import json, sys' if has_torch else WITHOUT_TORCH}\n{code}", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONUTF8": "1", **environment},
        timeout=PATIENCE,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)
