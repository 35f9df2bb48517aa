"""Promises of the files around the code: workflows, settings of tools, templates, links, the source distribution."""

import re
import tarfile
from pathlib import Path, PurePosixPath

import pytest
import yaml
from packaging.requirements import Requirement

from support.project import ROOT, read_settings

GITHUB = ROOT / ".github"
PROJECT = read_settings()
PAGES = sorted(
    path.relative_to(ROOT) for pattern in ("*.md", "benchmarks/*.md", "docs/**/*.md") for path in ROOT.glob(pattern)
)


def workflow(name):
    return yaml.safe_load((GITHUB / "workflows" / name).read_text("utf-8"))


def commands(name):
    """Return what the steps of a workflow run."""
    return [step["run"] for job in workflow(name)["jobs"].values() for step in job["steps"] if "run" in step]


@pytest.mark.parametrize(
    "name",
    [
        ".ci/run",
        "CONTRIBUTING.md",
        "docs/explanation/how-it-is-tested.md",
        "pyproject.toml",
        "tools/check_bindings.sh",
        "tools/stages.sh",
    ],
)
def test_tests_that_are_named_exist(name):
    text = (ROOT / name).read_text("utf-8")
    named = re.findall(r"(?<![\w/])(?:\.\./|\{project\}/)?(tests/[\w/.]*\w)", text)
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_promised_pythons_are_tested_and_get_wheels():
    promised = [line.rsplit(" ")[-1] for line in PROJECT["project"]["classifiers"] if ":: Python :: 3." in line]
    matrix = workflow("ci.yml")["jobs"]["tests"]["strategy"]["matrix"]
    assert promised == matrix["python"]
    assert {job["python"] for job in matrix["include"]} <= {*promised}
    assert [f"cp{version.replace('.', '')}-*" for version in promised] == PROJECT["tool"]["cibuildwheel"]["build"]
    oldest = promised[0]
    assert PROJECT["project"]["requires-python"] == f">={oldest}"
    assert PROJECT["tool"]["mypy"]["python_version"] == oldest
    assert PROJECT["tool"]["ruff"]["target-version"] == f"py{oldest.replace('.', '')}"


def test_ci_runs_the_commands_of_the_contribution_guide():
    (block,) = re.findall(r"^```sh\n(.*?)^```", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    run = {command.removesuffix(" 60").removesuffix(" --thorough") for command in commands("ci.yml")}  # and more
    assert [command for command in block.splitlines() if command not in run] == []


def test_publishing_alone_may_write_and_only_for_tested_tags():
    for name, publishing in {"ci.yml": [], "docs.yml": ["publish"], "wheels.yml": ["publish"]}.items():
        assert workflow(name)["permissions"] == {"contents": "read"}
        jobs = workflow(name)["jobs"]
        assert [job for job in jobs if "permissions" in jobs[job]] == publishing
        checkouts = [step for job in jobs.values() for step in job["steps"] if "checkout" in step.get("uses", "")]
        assert all(step["with"] == {"persist-credentials": False} for step in checkouts)
    publish = workflow("wheels.yml")["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert "startsWith(github.ref, 'refs/tags/v')" in publish["if"]
    assert {*publish["needs"]} == {*workflow("wheels.yml")["jobs"]} - {"publish"}


def test_stages_of_continuous_integration_exist_and_are_run():
    stages = (ROOT / "tools" / "stages.sh").read_text("utf-8")
    callers = [(ROOT / name).read_text("utf-8").replace("\\\n", " ") for name in (".ci/run", "tools/check_all.sh")]
    run = {name for text in [*callers, *commands("ci.yml")] for name in named_stages(text)}
    helpers = {"build_web", "find_pythons", "check_pythons", "check_elsewhere", "leave_out"}
    defined = {name for name in re.findall(r"^(\w+)\(\) \{", stages, re.MULTILINE) if not name.startswith("use_")}
    assert run == defined - helpers


def named_stages(text):
    return [
        name
        for names in re.findall(r"^(?:.* )?tools/run_stages\.sh (.*)$", text, re.MULTILINE)
        for name in names.split()
    ]


def test_actions_are_pinned_by_commit_and_name_their_version():
    pins = {}
    for path in (GITHUB / "workflows").glob("*.yml"):
        for used in re.findall(r"uses: (.*)", path.read_text("utf-8")):
            name, commit, version = re.fullmatch(r"([\w./-]+)@([0-9a-f]{40})  # (v\d+\.\d+\.\d+)", used).groups()
            pins.setdefault(name, set()).add((commit, version))
    assert pins
    assert all(len(versions) == 1 for versions in pins.values()), pins


def lower_bounds(requirements):
    """Return name → the lowest version that each requirement allows."""
    found = map(Requirement, requirements)
    return {each.name: {spec.version for spec in each.specifier if spec.operator == ">="} for each in found}


def pins_of(text):
    return re.findall(r"^[\w-]+==[\d.]+$", text, re.MULTILINE)


def test_promised_lowest_versions_are_those_that_are_tested():
    extras = PROJECT["project"]["optional-dependencies"]
    tested = ("gguf", "parquet", "test", "zstd")
    requirements = [*PROJECT["build-system"]["requires"], *PROJECT["project"]["dependencies"]]
    requirements += [each for extra in tested for each in extras[extra] if not each.startswith("hf_bpe")]
    lines = (ROOT / "tools" / "lowest.txt").read_text("utf-8").splitlines()
    declared, indirect = "\n".join(lines).split("# Indirect")
    pins = {each.name: {spec.version for spec in each.specifier} for each in map(Requirement, pins_of(declared))}
    assert pins == lower_bounds(requirements)
    assert not {*pins_of(indirect)} & {*pins_of(declared)}


def anchors(page):
    """Return the anchors that a host gives the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_of_the_pages_lead_somewhere():
    lost = []
    for page in PAGES:
        text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            file, _, anchor = link.partition("#")
            target = ROOT / page.parent / file if file else ROOT / page
            if "://" not in link and not (
                target.exists() and (not anchor or anchor in anchors(target.read_text("utf-8")))
            ):
                lost.append((str(page), link))
    assert lost == []


def test_sdist_holds_what_building_and_testing_need_only(tmp_path, monkeypatch):
    backend = pytest.importorskip("scikit_build_core.build", reason="only developers build source distributions here")
    monkeypatch.chdir(ROOT)
    with tarfile.open(tmp_path / backend.build_sdist(str(tmp_path))) as archive:
        files = {PurePosixPath(*PurePosixPath(file.name).parts[1:]): file.size for file in archive if file.isfile()}
    sources = (".py", ".pyi", ".typed", ".cpp", ".hpp", ".inc", ".md", ".sh", ".cmake")
    folders = ("hf_bpe", "conversion", "native", "tests", "docs", "examples", "benchmarks", "tools", "build_backend")
    needed = [path.relative_to(ROOT) for folder in folders for path in (ROOT / folder).rglob("*.*")]
    needed = [path for path in needed if path.suffix in sources and "__pycache__" not in path.parts]
    needed += map(Path, ["LICENSE", "README.md", "CMakeLists.txt", "pyproject.toml", "PKG-INFO", ".ci/run"])
    assert [str(path) for path in needed if PurePosixPath(path) not in files] == []
    built = {"build", "dist", "wheelhouse", "__pycache__", ".hypothesis", ".git", ".venv"}
    compiled = (".so", ".pyd", ".whl")
    assert [str(path) for path in files if built.intersection(path.parts) or path.suffix in compiled] == []
    assert max(files.values()) < 200_000


def test_pages_install_from_a_clone_and_name_extras_that_exist():
    texts = [(ROOT / page).read_text("utf-8") for page in PAGES if page.name != "CHANGELOG.md"]
    texts += [path.read_text("utf-8") for path in (ROOT / "examples").glob("*.py")]
    installed = [name for text in texts for name in re.findall(r"pip install (?:-e )?(['\"]?(?:hf_bpe|\.)\S*)", text)]
    extras = {extra for name in installed for extra in "".join(re.findall(r"\[(.*?)\]", name)).split(",")} - {""}
    assert [name for name in installed if name.strip("`'\".").startswith("hf_bpe")] == []  # which no index has
    assert {"gguf", "test", "torch"} <= extras <= {*PROJECT["project"]["optional-dependencies"]}
