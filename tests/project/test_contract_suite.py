"""The contract suite uses public names only, so that it stays as it is when the packages inside are moved."""

import ast
from pathlib import Path

from support.cases import case

SUITE = Path(__file__).parents[1] / "contract"


def test_contract_suite_uses_public_names_only():
    for file in sorted(SUITE.glob("*.py")):
        with case(file.name):
            check_names(file)


def check_names(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    modules = {each.module for each in ast.walk(tree) if isinstance(each, ast.ImportFrom) and each.module}
    modules |= {name.name for each in ast.walk(tree) if isinstance(each, ast.Import) for name in each.names}
    ours = [module for module in modules if module.split(".")[0] == "hf_bpe"]
    assert not [module for module in ours if any(part.startswith("_") for part in module.split("."))]
    assert not [module for module in modules if module.split(".")[0] in ("support", "conftest")]
    deep = [module for module in ours if module.count(".") > 1]
    assert not deep or file.name == "api.py"
    attributes = {each.attr for each in ast.walk(tree) if isinstance(each, ast.Attribute)}
    private = {name for name in attributes if name.startswith("_") and not name.endswith("__")}
    assert private <= {"_mergeable_ranks", "_special_tokens"}  # of tiktoken, which has no others for them
