"""The logs of work folders: files of others are left as they are, and no line is lost or half-written."""

import os
import subprocess
import sys
import tracemalloc

import pytest

from hf_bpe import BPETokenizer, count, train
from hf_bpe._utils.work_log import LogKind, WorkLog
from support.cases import case
from support.folder_snapshots import snapshot
from support.profiles import thorough

KIND = LogKind("x.log", "test 1", "test", "delete it")

needs_links = pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege on Windows")


def count_in(folder, **options):
    return count(["low lower"], work_dir=folder, **options)


def train_in(folder, **options):
    return train(["low lower"], num_merges=1, work_dir=folder, **options)


def encode_in(folder):
    text = folder.parent / "text.txt"
    text.write_text("low lower")
    tokenizer = BPETokenizer.train(["low lower"], num_merges=1)
    return tokenizer.encode_files(text, folder.parent / "out.npy", work_dir=folder)


# Name of a log → what writes it. NeMo's name for a list of recordings is manifest.jsonl.
WRITERS = {"manifest.jsonl": count_in, "merges.log": train_in, "encoding.log": encode_in}
FOREIGN = {
    "without a final newline": b'{"audio_filepath": "a.wav"}\n{"audio_filepath": "b.wav"}',
    "one line": b"low",
    "a dict of ours in another form": b'{"format":"hf_bpe counting 1"}\nlow',
    "a later version": b'{"format": "hf_bpe counting 3"}\nlow',
    "no text": b"\x00\xff\n\x80",
    "half a first line": b'{"form',
}


@pytest.mark.parametrize("name", WRITERS)
def test_log_of_another_program_is_refused_and_kept(tmp_path, name):
    work = tmp_path / "work"
    work.mkdir()
    (work / "000000001.run").write_bytes(b"mine")
    for kind, content in FOREIGN.items():
        (work / name).write_bytes(content)
        before = snapshot(work)
        message = rf"{name}, line 1: expected the log of a .*use another folder"
        with case(kind), pytest.raises(ValueError, match=message):
            WRITERS[name](work)
        assert snapshot(work) == before


@needs_links
@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("is_ours", [False, True])
def test_log_is_not_written_through_a_link(tmp_path, name, is_ours):
    """Let a log be a link to a file of the user, or to a log of ours in another folder, with half a line at the end."""
    work, target = tmp_path / "work", tmp_path / "elsewhere"
    WRITERS[name](work)
    target.write_bytes((work / name).read_bytes() + b"low" if is_ours else b"low")
    before = target.read_bytes()
    (work / name).unlink()
    (work / name).symlink_to(target)
    with pytest.raises(OSError, match=f"{name} is a symbolic link; expected a regular file"):
        WRITERS[name](work)
    assert target.read_bytes() == before


@needs_links
@pytest.mark.parametrize("name", WRITERS)
def test_lock_is_not_written_through_a_link(tmp_path, name):
    work = tmp_path / "work"
    work.mkdir()
    (work / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="lock is a symbolic link"):
        WRITERS[name](work)
    assert not (tmp_path / "elsewhere").exists()


def test_large_file_of_another_program_is_not_read(tmp_path):
    with (tmp_path / "manifest.jsonl").open("wb") as file:
        file.truncate(1 << 28)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="line 1: expected the log of a count"):
            count_in(tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit of this kind")
@pytest.mark.parametrize("room", [21, 26, *(pytest.param(room, marks=thorough) for room in range(22, 26))])
def test_line_that_does_not_fit_on_the_disk_leaves_no_part(tmp_path, room):
    code = """
import resource, signal, sys
from pathlib import Path
from hf_bpe._utils.work_log import LogKind, WorkLog

folder, room = Path(sys.argv[1]), int(sys.argv[2])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
log = WorkLog(folder, LogKind("x.log", "test 1", "test", "delete it"), {}, str)
assert log.path.stat().st_size == 21
resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
try:
    log.append("20 77")
except OSError:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    log.append("6c 6f")
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path), str(room)], check=True)
    log = WorkLog(tmp_path, KIND, {}, str)
    log.close()
    assert log.lines == ["6c 6f"]


def test_half_a_line_is_removed_when_the_next_is_written(tmp_path):
    log = WorkLog(tmp_path, KIND, {}, str)
    log.append("one\ntwo")
    log.close()
    with log.path.open("ab") as file:
        file.write(b"thr")
    torn = log.path.read_bytes()
    log = WorkLog(tmp_path, KIND, {}, str)
    assert log.lines == ["one", "two"]
    assert log.path.read_bytes() == torn
    log.append("three")
    log.close()
    assert log.path.read_text().splitlines()[1:] == ["one", "two", "three"]


@pytest.mark.parametrize("work", [count_in, train_in])
def test_a_second_process_in_a_folder_is_refused(tmp_path, work):
    def listen(event):
        with pytest.raises(BlockingIOError, match="another process uses this folder"):
            work(tmp_path)
        heard.append(event)

    heard = []
    assert work(tmp_path, callback=listen) == work(tmp_path)
    assert heard


@pytest.mark.parametrize("name", WRITERS)
def test_file_that_is_called_lock_is_kept(tmp_path, name):
    work = tmp_path / "work"
    work.mkdir()
    (work / "lock").write_text("mine")
    before = snapshot(work)
    with pytest.raises(BlockingIOError, match="lock has content, so it is of another program"):
        WRITERS[name](work)
    assert snapshot(work) == before
