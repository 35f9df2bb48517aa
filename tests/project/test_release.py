"""Changes of a release to the files of a clone before anything is built of them."""

import re
import shutil

import pytest
import yaml

import hf_bpe
from support.project import ROOT, load_script, read_settings

FILES = ["pyproject.toml", "README.md", "CHANGELOG.md", "CITATION.cff", "hf_bpe/_version.py"]
URL = "https://forge.example/owner/hf_bpe"
TAG = f"v{hf_bpe.__version__}"


def set_date(path, date):
    text = path.read_text("utf-8")
    path.write_text(re.sub(r"(?m)^(## .* \(|date-released: )[\w-]+", rf"\g<1>{date}", text), "utf-8")


@pytest.fixture
def release(tmp_path):
    """Return tools/prepare_release.py of a copy of the files that it reads."""
    if "[project.urls]\n" in (ROOT / "pyproject.toml").read_text("utf-8"):
        pytest.skip("this is a source distribution of a release, which is prepared already")
    for name in [*FILES, "tools/prepare_release.py"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    set_date(tmp_path / "CHANGELOG.md", "2026-12-01")
    set_date(tmp_path / "CITATION.cff", "2026-12-01")
    return load_script(tmp_path / "tools" / "prepare_release.py")


def test_a_release_knows_where_the_project_is(release, tmp_path):
    before = read_settings(tmp_path)
    release.main(URL, TAG)
    after = read_settings(tmp_path)
    urls = after["project"].pop("urls")
    assert after == before
    assert all(url.startswith(URL) for url in urls.values())
    assert urls["Changelog"] == f"{URL}/blob/{TAG}/CHANGELOG.md"
    citation = yaml.safe_load((tmp_path / "CITATION.cff").read_text("utf-8"))
    assert (citation["version"], citation["repository-code"]) == (hf_bpe.__version__, URL)


def test_links_of_the_long_description_are_absolute(release, tmp_path):
    before = re.findall(r"\]\(([^)\s]+)\)", (tmp_path / "README.md").read_text("utf-8"))
    release.main(URL, TAG)
    after = re.findall(r"\]\(([^)\s]+)\)", (tmp_path / "README.md").read_text("utf-8"))
    assert [link for link in after if "://" not in link] == []
    for link, absolute in zip(before, after, strict=True):
        kind = "raw" if link.endswith((".png", ".svg")) else "blob"
        assert absolute == f"{URL}/{kind}/{TAG}/{link}"


def test_another_tag_than_the_version_is_refused(release):
    with pytest.raises(SystemExit, match=r"the tag is v9\.9\.9"):
        release.main(URL, "v9.9.9")


def test_a_release_without_a_date_is_refused(release, tmp_path):
    set_date(tmp_path / "CHANGELOG.md", "unreleased")
    with pytest.raises(SystemExit, match="no section with a date"):
        release.main(URL, TAG)
    release.main(URL, "0123abc")  # a commit that is tried


def test_a_citation_with_another_date_is_refused(release, tmp_path):
    set_date(tmp_path / "CITATION.cff", "2026-11-28")
    with pytest.raises(SystemExit, match=r"CITATION\.cff is not of .* 2026-12-01, the date in CHANGELOG"):
        release.main(URL, TAG)


def test_a_clone_is_prepared_once(release):
    release.main(URL, TAG)
    with pytest.raises(SystemExit, match="prepared already"):
        release.main(URL, TAG)
