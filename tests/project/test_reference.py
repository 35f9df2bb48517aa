"""The reference of the documentation site lists every public name, and no other."""

import ast
import re

from support.project import ROOT

SOURCES = {"hf_bpe": ROOT / "hf_bpe", "hf_bpe.conversion": ROOT / "conversion"}
REFERENCE = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "docs" / "reference").glob("*.md")))


def module_name(package, folder, path):
    parts = path.relative_to(folder).with_suffix("").parts
    return ".".join([package, *(part for part in parts if part != "__init__")])


def is_public(name):
    """Tell whether a module is for users: named without underscores, and not the command line."""
    return not any(part.startswith("_") for part in name.split(".")) and not name.startswith("hf_bpe.cli")


def public_modules():
    """Return name → syntax tree of the public modules, without importing any: some need torch or Ray."""
    found = {}
    for package, folder in SOURCES.items():
        for path in sorted(folder.rglob("*.py")):
            name = module_name(package, folder, path)
            if is_public(name):
                found[name] = ast.parse(path.read_text("utf-8"))
    return found


def exported(tree):
    """Return the names in `__all__`, or None if there is none."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return ast.literal_eval(statement.value)
    return None


MODULES = public_modules()
KNOWN = {f"{module}.{name}" for module, tree in MODULES.items() for name in exported(tree) or ()}


def test_public_modules_say_what_they_export():
    assert len(MODULES) > 10
    assert [module for module, tree in MODULES.items() if not exported(tree)] == []


def test_reference_lists_every_public_name():
    assert sorted((KNOWN | MODULES.keys()) - {*re.findall(r"hf_bpe(?:\.\w+)*", REFERENCE)}) == []


def test_reference_lists_no_name_that_is_not_public():
    directives = re.findall(r"^\.\. auto(?:function|class|data):: (\S+)", REFERENCE, re.MULTILINE)
    assert len(directives) > 50
    assert {*directives} <= KNOWN


def test_pages_of_the_site_are_reachable_from_the_first():
    pages, listed = {*(ROOT / "docs").rglob("*.md")}, []
    for page in pages:
        trees = re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
        names = re.findall(r"^(?:.* <)?([\w/-]+)>?$", "".join(trees), re.MULTILINE)
        listed += [page.parent / f"{name}.md" for name in names]
    alone = {ROOT / "docs" / name for name in ("index.md", "pictures/README.md", "contributing/index.md")}
    assert sorted(listed) == sorted(pages - alone)
