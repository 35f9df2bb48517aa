"""Count what tests hf_bpe, and write the numbers into the page about it: python tools/count_tests.py.

Numbers are rounded to two digits, so that the page need not change with each test.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "explanation" / "how-it-is-tested.md"
BEGIN, END = "<!-- numbers: begin -->\n", "<!-- numbers: end -->"


def files(*patterns: str) -> list[Path]:
    """Return the files that match patterns."""
    return sorted(path for pattern in patterns for path in ROOT.glob(pattern) if "__pycache__" not in path.parts)


def lines(paths: Iterable[Path]) -> int:
    """Return the number of lines that are not empty."""
    return sum(bool(line.strip()) for path in paths for line in path.read_text("utf-8").splitlines())


def functions(paths: Iterable[Path]) -> list[ast.FunctionDef]:
    """Return the test functions of files."""
    trees = [ast.parse(path.read_text("utf-8")) for path in paths]
    found = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return [node for node in found if node.name.startswith("test_")]


def occurrences(pattern: str, paths: Iterable[Path]) -> int:
    """Return how often an expression matches at the beginning of a line."""
    return sum(len(re.findall(pattern, path.read_text("utf-8"), re.MULTILINE)) for path in paths)


def numbers() -> dict[str, int]:
    """Return what is counted, and how much there is of it."""
    core = [path for path in files("native/**/*.[chi]*") if not {"tests", "fuzz"} & {*path.parts}]
    core = [path for path in core if path.name != "unicode_tables.hpp"]
    package = files("hf_bpe/**/*.py", "conversion/**/*.py")
    tests = files("tests/**/*.py")
    native_tests = files("native/tests/*.[ch]*", "native/fuzz/*.[ch]*")
    tested = functions(tests)
    pages = files("README.md", "docs/**/*.md")
    return {
        "lines of the package in Python": lines(package),
        "lines of the core in C++, without tables": lines(core),
        "lines of tests in Python": lines(tests),
        "lines of tests and fuzzers in C++": lines(native_tests),
        "test functions": len(tested),
        "property tests (hypothesis) among them": sum(
            "given" in ast.unparse(decorator) for node in tested for decorator in node.decorator_list
        ),
        "tests that only the thorough run has": sum(
            ast.unparse(decorator) == "thorough" for node in tested for decorator in node.decorator_list
        ),
        "fuzz targets of the core": len(files("native/fuzz/*.cpp")),
        "examples in docstrings": occurrences(r"^ +>>> ", package),
        "blocks of code in the pages": occurrences(r"^```(?:pycon|python|console|sh)\b", pages),
        "lines of the contract suite": lines(files("tests/contract/*.py")),
    }


def rounded(number: int) -> str:
    """Return a number rounded to two digits.

    >>> rounded(43_610), rounded(7)
    ('44,000', '7')
    """
    return f"{round(number, 2 - len(str(number))) if number > 99 else number:,}"


def table() -> str:
    """Return the numbers as a table in Markdown."""
    body = "".join(f"| {name} | {rounded(number)} |\n" for name, number in numbers().items())
    return f"| about … | |\n|---|--:|\n{body}"


def main() -> None:
    """Write the table into the page; with --check, fail if another one is there."""
    text = PAGE.read_text("utf-8")
    before, rest = text.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{table()}{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
