"""The pages for maintainers name what exists: packages, the layers of import-linter, files and names of the core."""

import re

from support.project import ROOT, read_settings

PAGE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
CORE_PAGE = (ROOT / "docs" / "contributing" / "native-core.md").read_text("utf-8")
CONTRACTS = read_settings()["tool"]["importlinter"]["contracts"]


def section(title):
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)[1]


def rows(title):
    """Return the cells of each row of the table in a section, without its header."""
    table = re.findall(r"^\|(.*)\|$", section(title), re.MULTILINE)
    return [[cell.strip() for cell in row.split(" | ")] for row in table[2:]]


def packages():
    return [folder for row in rows("Packages") for folder in re.findall(r"`([\w/]+)/`", row[0])]


def folders_in(folder):
    """Return the folders with sources; others may be left from builds or from other versions."""
    sources = [path for path in (ROOT / folder).glob("*/*") if path.suffix in (".py", ".hpp", ".cpp")]
    return {f"{folder}/{path.parent.name}" for path in sources}


def layers():
    (contract,) = [each for each in CONTRACTS if each["type"] == "layers"]
    return contract["layers"]


def test_listed_packages_are_those_that_exist():
    listed = packages()
    assert len(listed) == len({*listed})
    assert [folder for folder in listed if not (ROOT / folder).is_dir()] == []
    of_code = {folder for folder in listed if folder.startswith(("hf_bpe/", "native/"))}
    assert of_code == {*folders_in("hf_bpe"), *folders_in("native")}


def test_names_in_the_rows_exist():
    missing = []
    for cell, contents in rows("Packages"):
        folder = cell.strip("`/")
        if folder.startswith("hf_bpe/"):
            text = "".join(path.read_text("utf-8") for path in (ROOT / folder).rglob("*.py"))
            names = re.findall(r"`(\w+)`", contents)
            missing += [f"{folder}: {name}" for name in names if not re.search(rf"\b(def|class) {name}\b", text)]
    assert missing == []


def test_layers_are_those_of_the_contract():
    (line,) = re.findall(r"^`cli` > .*$", section("Imports"), re.MULTILINE)
    assert line.replace("`", "").split(" > ") == layers()
    assert not any("ignore_imports" in contract for contract in CONTRACTS)


def test_includes_of_the_core_point_down():
    (line,) = re.findall(r"^The order of the folders in C\+\+: (.*)$", section("Imports"), re.MULTILINE)
    order = line.replace("`", "").split(" > ")
    assert {*order, "tests", "fuzz"} == {folder.removeprefix("native/") for folder in folders_in("native")}
    upward = [
        f"{path.parent.name}/{path.name} includes {included}"
        for path in sorted((ROOT / "native").glob("*/*.*pp"))
        if path.parent.name in order
        for included in re.findall(r'^#include "([\w/]+)/', path.read_text("utf-8"), re.MULTILINE)
        if order.index(included) < order.index(path.parent.name)
    ]
    assert upward == []


def test_page_of_the_core_names_files_that_exist():
    named = re.findall(r"`((?:hf_bpe|native|tests|tools)/[\w/.]+)", CORE_PAGE)
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_page_of_the_core_names_functions_that_exist():
    sources = [path for folder in ("native", "hf_bpe") for path in (ROOT / folder).rglob("*.[cihp]*")]
    text = "".join(path.read_text("utf-8") for path in sources if path.suffix in (".cpp", ".hpp", ".inc", ".py"))
    named = {name for name in re.findall(r"`(?:\w+(?:::|\.))*(\w+)`", CORE_PAGE) if not (ROOT / name).is_dir()}
    assert len(named) > 40
    assert sorted(named - {*re.findall(r"\w+", text)}) == []
