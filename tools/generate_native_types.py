"""Write hf_bpe/_native.pyi, the types of the native core as it is built, or check that the file has them.

    python tools/generate_native_types.py [--check]

nanobind's stubgen finds names, parameters, defaults and docstrings in the module. The types are those of C++, or what a
binding says instead (native/bindings/typed.hpp); tools/native_types.txt says where their names come from. Needs what
the extra `dev` installs.
"""

import argparse
import difflib
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
STUB = ROOT / "hf_bpe" / "_native.pyi"
PATTERNS = ROOT / "tools" / "native_types.txt"
HEADER = "# Written by tools/generate_native_types.py.\n"


def generated() -> str:
    """Return the types of the core that is installed, formatted."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "_native.pyi"

        def run(module: str, *arguments: str | Path) -> None:
            subprocess.run([sys.executable, "-m", module, *map(str, arguments)], cwd=folder, check=True)

        run("nanobind.stubgen", "-q", "-m", "hf_bpe._native", "-p", PATTERNS, "-o", path)
        path.write_text(HEADER + path.read_text("utf-8"), encoding="utf-8")
        settings = "--quiet", "--config", ROOT / "pyproject.toml"
        # Order of imports, and docstrings that begin and end right at their quotes.
        run("ruff", "check", *settings, "--select", "I,D200,D212", "--fix", "--unsafe-fixes", path)
        run("ruff", "format", *settings, path)
        return path.read_text("utf-8")


def main(arguments: list[str] | None = None) -> None:
    """Write the file, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare the file instead of writing it")
    is_check, types = parser.parse_args(arguments).check, generated()
    if not is_check:
        STUB.write_text(types, encoding="utf-8")
        return
    before, now = STUB.read_text("utf-8").splitlines(), types.splitlines()
    if lines := [*difflib.unified_diff(before, now, STUB.name, "the built core", lineterm="")]:
        sys.exit("\n".join([*lines, "The types are not those of the core: run python tools/generate_native_types.py"]))


if __name__ == "__main__":
    main()
