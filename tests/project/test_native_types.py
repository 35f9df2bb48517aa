"""The types of the native core in hf_bpe/_native.pyi are of the module that was built."""

import ast
import inspect
import pydoc
from pathlib import Path

import pytest

import hf_bpe

_native = pytest.importorskip("hf_bpe._native", reason="the native core was not built")
STUB = ast.parse((Path(hf_bpe.__file__).parent / "_native.pyi").read_text(encoding="utf-8"))


def parameters(function):
    """Return the parameters of a parsed function: name, kind, and whether there is a default."""
    named = function.args
    positional = [(each.arg, "any") for each in named.args]
    optional = [False] * (len(positional) - len(named.defaults)) + [True] * len(named.defaults)
    only_named = [
        (each.arg, "named", value is not None) for each, value in zip(named.kwonlyargs, named.kw_defaults, strict=True)
    ]
    return [(*each, is_optional) for each, is_optional in zip(positional, optional, strict=True)] + only_named


def built(function):
    """Return the same of a function of the module, whose docstring begins with its signature."""
    (parsed,) = ast.parse(f"def {function.__doc__.splitlines()[0]}: ...").body
    return parameters(parsed)


def members(tree):
    return {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def test_every_name_of_the_core_has_its_types_and_no_other():
    assert members(STUB).keys() == {name for name in vars(_native) if not name.startswith("_")}


@pytest.mark.parametrize("name", sorted(members(STUB)))
def test_types_have_the_parameters_of_the_core(name):
    node, found = members(STUB)[name], getattr(_native, name)
    if isinstance(node, ast.FunctionDef):
        assert parameters(node) == built(found)
        return
    own = members(node)
    public = {method for method in vars(found) if not method.startswith("_")}
    for base in node.bases:  # whose methods the class replaces
        python = pydoc.locate(ast.unparse(base))
        for method in public & vars(python).keys():
            assert [*inspect.signature(getattr(python, method)).parameters] == [
                name for name, *_ in built(getattr(found, method))
            ]
    assert node.bases or own.keys() - {"__init__"} == public
    for method in own:
        if not isinstance(vars(found)[method], property):
            assert parameters(own[method]) == built(getattr(found, method)), method
