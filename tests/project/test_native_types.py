"""The types of the native core in hf_bpe/_native.pyi are generated from the module that was built."""

import ast

import pytest

from support.project import ROOT, load_script

STUB = ROOT / "hf_bpe" / "_native.pyi"


def test_types_are_those_of_the_built_core():
    pytest.importorskip("hf_bpe._native", reason="the native core was not built")
    for name in ("nanobind", "ruff"):
        pytest.importorskip(name, reason="only developers generate types here")
    load_script(ROOT / "tools" / "generate_native_types.py").main(["--check"])


def test_every_type_of_the_core_says_what_it_holds():
    functions = [node for node in ast.walk(ast.parse(STUB.read_text("utf-8"))) if isinstance(node, ast.FunctionDef)]
    types = {
        f"{function.name}: {ast.unparse(type)}"
        for function in functions
        for type in (function.returns, *(each.annotation for each in (*function.args.args, *function.args.kwonlyargs)))
        if type is not None
    }
    assert len(functions) > 30
    assert [each for each in types if each.split(": ")[1] in ("Any", "dict", "list", "object", "tuple")] == []
