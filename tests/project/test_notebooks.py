"""The notebooks run from top to bottom and show what they were saved with."""

import ast
import contextlib
import io
import json
import re

import pytest

from support.project import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def run(code, namespace):
    """Run a cell; return what it prints, and how its last expression is shown, if that has a value."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), namespace)
        value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)
    return printed.getvalue(), value


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == ["domain-words", "first-tokenizer", "look-at-tokens"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_shows_what_it_was_saved_with(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells, namespace, shown = json.loads(path.read_text("utf-8"))["cells"], {}, 0
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] != "code":
            for link in re.findall(r"\]\(([^)#]+)", source):
                assert (path.parent / link).exists(), link
            continue
        printed, value = run(source, namespace)
        outputs = {output["output_type"]: output for output in cell["outputs"]}
        assert outputs.keys() <= {"stream", "execute_result"}, source
        assert "".join(outputs.get("stream", {}).get("text", "")) == printed
        data = outputs.get("execute_result", {}).get("data", {})
        assert ("text/plain" in data) == (value is not None), source
        if value is not None:
            shown += 1
            assert ("text/html" in data) == hasattr(value, "_repr_html_")
            # How IPython breaks long values is its own.
            assert re.sub(r"\s+", "", "".join(data["text/plain"])) == re.sub(r"\s+", "", repr(value))
    assert shown >= 3
