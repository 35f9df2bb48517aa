"""Measure the size of the project, and refuse what is larger than tools/budget.json allows: python tools/budget.py.

The limits may be lowered and never raised: each is also compared with those of all earlier commits that are here. What
only pytest can count, the test items, is counted with --items, for which the tests must be installed. How long the
tests take is no limit: it depends on the machine, and tools/run_stages.sh prints it.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parent.parent
LIMITS = Path(__file__).with_suffix(".json")
COUNTED = ("hf_bpe", "conversion", "native", "web", "tools", "build_backend", "examples", "tests")
MAX_LINES, MAX_PARAMETERS, MAX_WIDTH, MAX_TEST_NAME = 400, 5, 120, 60
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
AT_LEAST = {"lines of docstrings"}
"""Rows that may not fall; all others may not grow."""


def git(*arguments: str) -> str:
    """Return what a command of git prints."""
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


@cache
def tracked() -> list[PurePosixPath]:
    """Return the files under version control."""
    paths = map(PurePosixPath, git("ls-files", "-z").split("\0")[:-1])
    return [path for path in paths if (ROOT / path).is_file()]


@cache
def text(path: PurePosixPath) -> str:
    """Return a file's text, or "" for one that has none."""
    content = (ROOT / path).read_bytes()
    return "" if b"\0" in content else content.decode("utf-8", errors="replace")


def files(folders: tuple[str, ...], *suffixes: str) -> list[PurePosixPath]:
    """Return the files in some folders of the root, by default those of all kinds."""
    return [path for path in tracked() if path.parts[0] in folders and (not suffixes or path.suffix in suffixes)]


def lines(paths: list[PurePosixPath]) -> int:
    """Return how many lines some files have together."""
    return sum(text(path).count("\n") for path in paths)


def room(path: PurePosixPath) -> str:
    """Return the package or top-level folder that a file belongs to."""
    return "/".join(path.parts[: 2 if path.parts[0] == "hf_bpe" and len(path.parts) > 2 else 1])


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return how many parameters a function has besides self."""
    arguments = function.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return sum(name not in ("self", "cls") for name in names)


def nodes(paths: list[PurePosixPath]) -> Iterator[ast.AST]:
    """Iterate over the syntax of some files."""
    for path in paths:
        yield from ast.walk(ast.parse(text(path)))


def docstring_lines(node: ast.AST) -> int:
    """Return how many lines the docstring of a node has."""
    if not isinstance(node, DOCUMENTED) or ast.get_docstring(node) is None:
        return 0
    docstring = node.body[0]
    return (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1


def private_modules(paths: list[PurePosixPath]) -> set[str]:
    """Return the modules of the package with private names that some files import."""
    imported = re.compile(r"(?:from|import) ((?:hf_bpe|conversion)[a-z_.]*\._[a-z_.]+)")
    return {name for path in paths for name in imported.findall(text(path))}


def sizes() -> dict[str, int]:
    """Return what is limited, and how much there is of it."""
    package = files(("hf_bpe", "conversion"), ".py")
    core = [path for path in files(("native",), ".cpp", ".hpp", ".inc") if path.name != "unicode_tables.hpp"]
    core = [path for path in core if path.parts[1] not in ("tests", "fuzz")]
    tests = files(("tests",), ".py")
    functions = [node for node in nodes(package) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    test_names = [node.name for node in nodes(tests) if isinstance(node, ast.FunctionDef)]
    pages = files(("docs",), ".md")
    rooms: Counter[str] = Counter()
    for path in package:
        rooms[room(path)] += lines([path])
    extras = text(PurePosixPath("pyproject.toml")).split("[project.optional-dependencies]\n")[1].split("\n[")[0]
    wide = (*package, *core, *tests, *files(("benchmarks", "build_backend", "examples", "tools"), ".py"))
    return {
        "Python, lines": lines(package),
        "Python, files": len(package),
        "C++ without tests and tables, lines": lines(core),
        "tests, lines of Python": lines(tests),
        "docs, words": sum(len(text(path).split()) for path in pages),
        "how-to guides": sum(path.parts[1] == "how-to" for path in pages),
        "benchmarks, lines": lines(files(("benchmarks",), ".py")),
        "results of benchmarks, bytes": sum(
            len(text(path).encode()) for path in files(("benchmarks",)) if path.parts[1] == "results"
        ),
        "commands": sum(len(re.findall(r"^@command\(", text(path), re.M)) for path in package),
        "optional extras": len(re.findall(r"^[\w-]+ = \[", extras, re.M)),
        "functions of six or more parameters": sum(parameters(each) > MAX_PARAMETERS for each in functions),
        "lines with Any": sum(bool(re.search(r"\bAny\b", line)) for path in package for line in text(path).split("\n")),
        "files over 400 lines": sum(lines([path]) > MAX_LINES for path in (*package, *core)),
        "lines of the largest package": max(rooms.values()),
        "most files in a folder": max(Counter(path.parent for path in package).values()),
        "lines over 120 characters": sum(len(line) > MAX_WIDTH for path in wide for line in text(path).split("\n")),
        "test names over 60 characters": sum(name[:5] == "test_" and len(name) > MAX_TEST_NAME for name in test_names),
        "private modules that tests import": len(private_modules(tests)),
        "lines of docstrings": sum(map(docstring_lines, nodes(package))),
        "all counted text, bytes": sum(len(text(path).encode()) for path in files(COUNTED)),
    }


def items() -> dict[str, int]:
    """Return how many test items pytest collects, quick and thorough."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", "--thorough", "-p", "no:cacheprovider"]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {"test items": sum("::" in line for line in output.splitlines())}


def lowest_limits() -> dict[str, int]:
    """Return the lowest limit of each row in the commits that are here."""
    limits: dict[str, int] = json.loads(LIMITS.read_text("utf-8"))
    name = LIMITS.relative_to(ROOT).as_posix()
    for commit in git("log", "--format=%H", "--diff-filter=AM", "--", name).split():
        for row, limit in json.loads(git("show", f"{commit}:{name}")).items():
            if row in limits:
                limits[row] = (max if row in AT_LEAST else min)(limits[row], limit)
    return limits


def main() -> None:
    """Print each size next to its limit, and fail if one does not keep it."""
    limits, found = lowest_limits(), items() if "--items" in sys.argv else sizes()
    raised = [row for row, limit in json.loads(LIMITS.read_text("utf-8")).items() if limit != limits[row]]
    broken = [row for row in found if (found[row] < limits[row] if row in AT_LEAST else found[row] > limits[row])]
    for row in found:
        print(f"{row:<38} {found[row]:>9,} {limits[row]:>9,}{'  broken' if row in broken else ''}")
    if raised:
        sys.exit(f"{LIMITS.name} may only be lowered; an earlier commit has less: {', '.join(raised)}")
    if broken:
        sys.exit("make the project smaller: a limit is a promise")


if __name__ == "__main__":
    main()
