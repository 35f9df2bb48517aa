"""Calls in the tables of the pages are of functions and methods that exist, with arguments that they take."""

import ast
import importlib
import inspect
import re

import hf_bpe
from support.project import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# The names that pages give their values.
OWNERS = {
    **dict.fromkeys(("tokenizer", "tok", "longer", "BPETokenizer"), hf_bpe.BPETokenizer),
    **dict.fromkeys(("counts", "WordCounts"), hf_bpe.WordCounts),
    **dict.fromkeys(("model", "BPEModel"), hf_bpe.BPEModel),
    "hf_bpe": hf_bpe,
}
MODULES = ("analysis", "canonical", "conversion", "counting", "editing", "encoding", "pretokenizers", "training")
FUNCTIONS = {
    name: getattr(module, name)
    for module in (hf_bpe, *(importlib.import_module(f"hf_bpe.{name}") for name in MODULES))
    for name in module.__all__
    if callable(getattr(module, name))
}
# Page → the number of columns of its tables, from the left, that are about another library.
FOREIGN = {"migrate-from-tokenizers.md": 1, "migrate-from-tiktoken.md": 2, "migrate-from-sentencepiece.md": 1}


def rows(text):
    """Yield the cells of the rows of the tables of a page."""
    for line in re.findall(r"^\|(.*)\|$", text, re.MULTILINE):
        yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]


def calls(cell):
    """Yield the calls in the code of a cell."""
    for code in re.findall(r"`([^`]+)`", cell):
        try:
            tree = ast.parse(code.replace("\\|", "|").replace("…", "..."))
        except SyntaxError:
            continue
        yield from (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def called(call):
    """Return what a call calls; None if it is of another library, and AttributeError if it does not exist."""
    function = call.func
    if isinstance(function, ast.Name):
        return FUNCTIONS.get(function.id)
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id in OWNERS:
        return getattr(OWNERS[function.value.id], function.attr, AttributeError)
    return None


def takes(function, keyword):
    """Return whether a function takes a keyword."""
    if isinstance(function, type) and "__init__" not in vars(function):
        function = function.__init__
    parameters = inspect.signature(function).parameters
    return keyword in parameters or any(each.kind is each.VAR_KEYWORD for each in parameters.values())


def test_calls_in_tables_exist_and_take_their_arguments():
    found, wrong = 0, []
    for page in PAGES:
        for cells in rows(page.read_text("utf-8")):
            for cell in cells[FOREIGN.get(page.name, 0) :]:
                for call in calls(cell):
                    function = called(call)
                    if function is None:
                        continue
                    found += 1
                    if function is AttributeError:
                        wrong.append(f"{page.name}: {ast.unparse(call)}")
                    else:
                        wrong += [
                            f"{page.name}: {each.arg} of {ast.unparse(call)}"
                            for each in call.keywords
                            if each.arg and not takes(function, each.arg)
                        ]
    assert wrong == []
    assert found > 50
