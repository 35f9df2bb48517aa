"""What the files around the code promise: workflows, settings of tools, templates, links, the source distribution."""

import re
import shlex
import sys
import tarfile
from pathlib import Path, PurePosixPath

import pytest
import typer.main
import yaml

from hf_bpe.cli import app

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
GITHUB = ROOT / ".github"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PAGES = sorted(
    path.relative_to(ROOT)
    for folder in (".", "benchmarks", "conversion", "docs", "docs/pictures")
    for path in (ROOT / folder).glob("*.md")
)


def workflow(name):
    return yaml.safe_load((GITHUB / "workflows" / name).read_text("utf-8"))


def commands(name):
    """Return what the steps of a workflow run."""
    return [step["run"] for job in workflow(name)["jobs"].values() for step in job["steps"] if "run" in step]


def test_the_pythons_that_are_promised_are_tested_and_get_wheels():
    promised = [line.rsplit(" ")[-1] for line in PROJECT["project"]["classifiers"] if ":: Python :: 3." in line]
    matrix = workflow("ci.yml")["jobs"]["tests"]["strategy"]["matrix"]
    assert promised == matrix["python"]
    assert {job["python"] for job in matrix["include"]} <= {*promised}
    assert [f"cp{version.replace('.', '')}-*" for version in promised] == PROJECT["tool"]["cibuildwheel"]["build"]
    oldest = promised[0]
    assert PROJECT["project"]["requires-python"] == f">={oldest}"
    assert PROJECT["tool"]["mypy"]["python_version"] == oldest
    assert PROJECT["tool"]["ruff"]["target-version"] == f"py{oldest.replace('.', '')}"


def test_wheels_are_tested_on_every_system_that_the_tests_run_on():
    jobs = workflow("ci.yml")["jobs"]["tests"]["strategy"]["matrix"]
    systems = {*jobs["os"], *(job["os"] for job in jobs["include"])}
    assert systems <= {*workflow("wheels.yml")["jobs"]["wheels"]["strategy"]["matrix"]["os"]}
    command, *files = shlex.split(PROJECT["tool"]["cibuildwheel"]["test-command"])
    assert command == "pytest"
    assert all((ROOT / file.removeprefix("{project}/")).is_file() for file in files)
    assert PROJECT["tool"]["cibuildwheel"]["test-environment"]["HF_BPE_ENGINE"] == "native"


def test_continuous_integration_runs_what_contributors_are_told_to_run():
    (told,) = re.findall(r"^```sh\n(.*?)^```", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    run = {command.removesuffix(" 60") for command in commands("ci.yml")}
    assert [command for command in told.splitlines() if command not in run] == []


def test_only_publishing_may_do_more_than_read_and_only_for_tags_whose_files_were_all_tested():
    for name in ("ci.yml", "wheels.yml"):
        assert workflow(name)["permissions"] == {"contents": "read"}
        jobs = workflow(name)["jobs"]
        assert [job for job in jobs if "permissions" in jobs[job]] == (["publish"] if name == "wheels.yml" else [])
        checkouts = [step for job in jobs.values() for step in job["steps"] if "checkout" in step.get("uses", "")]
        assert all(step["with"] == {"persist-credentials": False} for step in checkouts)
    publish = workflow("wheels.yml")["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert "startsWith(github.ref, 'refs/tags/v')" in publish["if"]
    assert {*publish["needs"]} == {*workflow("wheels.yml")["jobs"]} - {"publish"}


def test_commands_in_issue_templates_exist():
    known = typer.main.get_command(app).commands
    named = {
        command
        for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml")
        for command in re.findall(r"`hf-bpe ([\w-]+)", path.read_text("utf-8"))
    }
    assert {"inspect", "verify"} <= named <= {*known}


def anchors(page):
    """Return the anchors that a host gives the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_of_the_pages_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" not in link:
            file, _, anchor = link.partition("#")
            target = ROOT / page.parent / file if file else ROOT / page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target.read_text("utf-8")), link


def test_the_source_distribution_holds_what_building_and_testing_need_and_nothing_built(tmp_path, monkeypatch):
    backend = pytest.importorskip("scikit_build_core.build", reason="only developers build source distributions here")
    monkeypatch.chdir(ROOT)
    with tarfile.open(tmp_path / backend.build_sdist(str(tmp_path))) as archive:
        files = {PurePosixPath(*PurePosixPath(file.name).parts[1:]): file.size for file in archive if file.isfile()}
    sources = (".py", ".pyi", ".typed", ".cpp", ".hpp", ".inc", ".md", ".sh")
    folders = ("hf_bpe", "conversion", "native", "tests", "docs", "examples", "benchmarks", "tools")
    needed = [path.relative_to(ROOT) for folder in folders for path in (ROOT / folder).rglob("*.*")]
    needed = [path for path in needed if path.suffix in sources and "__pycache__" not in path.parts]
    needed += map(Path, ["LICENSE", "README.md", "CMakeLists.txt", "pyproject.toml", "PKG-INFO", ".ci/run"])
    assert [str(path) for path in needed if PurePosixPath(path) not in files] == []
    built = {"build", "dist", "wheelhouse", "__pycache__", ".hypothesis", ".git", ".venv"}
    assert [
        str(path) for path in files if built.intersection(path.parts) or path.suffix in (".so", ".pyd", ".whl")
    ] == []
    assert max(files.values()) < 200_000
