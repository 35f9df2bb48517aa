"""The fragments in changelog.d become a section of CHANGELOG.md."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("towncrier", reason="only developers build the changelog here")
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def project(tmp_path):
    """Return a folder with the changelog, its fragments and the settings."""
    shutil.copytree(ROOT / "changelog.d", tmp_path / "changelog.d")
    for name in ("CHANGELOG.md", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def build(folder):
    command = [sys.executable, "-m", "towncrier", "build", "--yes", "--version", "9.9.9", "--date", "2099-12-31"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_fragments_become_a_section_above_the_earlier_ones(project):
    before = (project / "CHANGELOG.md").read_text("utf-8")
    head, earlier = before.split("<!-- towncrier release notes start -->\n")
    fragments = {path.name: path.read_text("utf-8") for path in (project / "changelog.d").glob("*.md")}
    fragments |= {f"+new.{kind}.md": f"What is {kind}.\n" for kind in ("added", "changed", "removed", "fixed")}
    fragments["12.fixed.md"] = "An issue.\n"
    for name, text in fragments.items():
        (project / "changelog.d" / name).write_text(text, encoding="utf-8")
    done = build(project)
    assert done.returncode == 0, done.stderr
    after = (project / "CHANGELOG.md").read_text("utf-8")
    assert after.startswith(head)
    assert after.endswith(earlier)
    section = after.removeprefix(head).removesuffix(earlier)
    assert [line for line in section.splitlines() if line.startswith("#")] == [
        "## 9.9.9 (2099-12-31)",
        *("### Added", "### Changed", "### Removed", "### Fixed"),
    ]
    assert [text for text in fragments.values() if text.strip().splitlines()[0] not in section] == []
    assert "- An issue. (#12)\n" in section
    assert [*(project / "changelog.d").glob("*.md")] == []


@pytest.mark.parametrize("name", ["sessions.added.md", "+sessions.new.md", "+sessions.md"])
def test_fragment_with_another_name_is_refused(project, name):
    (project / "changelog.d" / name).write_text("Text.\n", encoding="utf-8")
    done = build(project)
    assert done.returncode != 0
    assert "sessions" in done.stdout + done.stderr
