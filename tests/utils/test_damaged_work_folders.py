"""Damaged and hostile work folders are refused by file and place, before anything is changed or read elsewhere."""

import os
import re

import pytest

from hf_bpe import count, train
from hf_bpe.training import Superwords
from support.cases import case
from support.profiles import by_profile, scaled
from support.trees import snapshot
from support.work_folder_fuzz import WORK, check, make

needs_links = pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege on Windows")


@scaled
@needs_links
@pytest.mark.parametrize("name", WORK)
def test_damaged_work_folder_is_refused_as_it_is_or_resumed(tmp_path, name):
    make(name, tmp_path / "root")
    for seed in range(by_profile(quick=20, thorough=334)):
        check(name, tmp_path / "root", seed)


@pytest.fixture
def work(tmp_path):
    """Return a work folder of counting, with a run outside of it that could be counted."""
    make("count", tmp_path / "root")
    work = tmp_path / "root" / "work"
    (work.parent / "000000009.run").write_bytes((work / "000000001.run").read_bytes())
    return work


def test_run_outside_the_work_folder_is_not_read(work):
    manifest = work / "manifest.jsonl"
    whole, elsewhere = manifest.read_text(), (work.parent / "000000009.run").as_posix()
    names = ["../000000009.run", "/etc/hostname", elsewhere, "00000001.run", "0000000001.run", "lock", "..", ""]
    for name in names:
        manifest.write_text(whole.replace("000000001.run", name))
        before = snapshot(work.parent)
        message = rf"manifest\.jsonl, line 2 is damaged \(runs: expected names like .*, got {re.escape(repr(name))}"
        with case(name), pytest.raises(ValueError, match=message[:120]):
            WORK["count"][1](work.parent)
        assert snapshot(work.parent) == before


@needs_links
@pytest.mark.parametrize("target", ["../000000009.run", "/etc/hostname"])
def test_run_that_is_a_link_is_not_read(work, target):
    (work / "000000001.run").unlink()
    (work / "000000001.run").symlink_to(target)
    with pytest.raises(OSError, match=r"000000001\.run is a symbolic link"):
        WORK["count"][1](work.parent)


@pytest.mark.parametrize("name", ["../../outside/secret", "/etc/hostname"])
def test_shard_outside_the_output_folder_is_not_looked_at(tmp_path, name):
    make("encode", tmp_path)
    path = tmp_path / "work" / "encoding.log"
    path.write_text(path.read_text().replace("x-00000.bin", name))
    with pytest.raises(ValueError, match=r"encoding\.log, line 2 is damaged \(shard\.files: expected names like"):
        WORK["encode"][1](tmp_path)


@needs_links
@pytest.mark.parametrize("name", ["superwords", "superwords-20"])
def test_subfolder_is_not_written_through_a_link(tmp_path, name):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / name).symlink_to(tmp_path / "elsewhere")
    texts = ["by the way, by the way, of the low lower lowest"] * 3
    with pytest.raises(NotADirectoryError, match=f"{name} is a link or a file"):
        train(texts, num_merges=30, superwords=Superwords(after=20), work_dir=tmp_path / "work")
    assert [*(tmp_path / "elsewhere").iterdir()] == []
    assert [path.name for path in (tmp_path / "work").iterdir()] == [name]


def test_pieces_without_their_log_are_refused(tmp_path):
    make("encode", tmp_path)
    (tmp_path / "work" / "encoding.log").unlink()
    with pytest.raises(ValueError, match=r"pieces has files, but .*encoding\.log is missing; delete .*work to encode"):
        WORK["encode"][1](tmp_path)


def test_files_of_others_with_similar_names_are_kept(work):
    (work / "000000009.run").mkdir()
    (work / "notes.run").write_text("mine")
    WORK["count"][1](work.parent)
    assert (work / "000000009.run").is_dir()
    assert (work / "notes.run").read_text() == "mine"
    assert count([*sorted((work.parent / "corpus").glob("*.txt"))], work_dir=work)
