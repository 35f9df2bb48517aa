"""Whatever fails while files are written, each file is whole: the old one or the new one."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hf_bpe.files import staged_folder, write_atomically

NAMES = ["a.json", "b/c.txt", "d.txt"]
OLD, NEW = "old", "new\n" * 1000


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def write_all(staging):
    for name in NAMES:
        (staging / name).parent.mkdir(exist_ok=True)
        (staging / name).write_text(NEW)


@pytest.fixture
def folder(tmp_path):
    """A folder with an old file of each name, and one more."""
    for name in [*NAMES, "b/kept.txt"]:
        path = tmp_path / "folder" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(OLD)
    return tmp_path / "folder"


def test_files_are_moved_over_old_ones_and_folders_merged(folder):
    with staged_folder(str(folder)) as staging:
        assert staging.parent == folder  # on the same file system
        assert [*staging.iterdir()] == []
        write_all(staging)
        assert {name: text for name, text in contents(folder).items() if name in NAMES} == dict.fromkeys(NAMES, OLD)
    assert contents(folder) == dict.fromkeys(NAMES, NEW) | {"b/kept.txt": OLD}
    assert sorted(path.name for path in folder.iterdir()) == ["a.json", "b", "d.txt"]


def test_folders_are_made_where_there_are_none(tmp_path):
    with staged_folder(tmp_path / "some" / "where") as staging:
        write_all(staging)
    assert contents(tmp_path) == {f"some/where/{name}": NEW for name in NAMES}


@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt, SystemExit])
def test_an_exception_in_the_body_leaves_the_old_files_and_nothing_else(folder, error):
    def fail_after_writing():
        with staged_folder(folder) as staging:
            write_all(staging)
            raise error

    before = contents(folder)
    with pytest.raises(error):
        fail_after_writing()
    assert contents(folder) == before
    assert sorted(path.name for path in folder.iterdir()) == ["a.json", "b", "d.txt"]


def test_an_exception_in_the_body_leaves_no_folder_where_none_was(tmp_path):
    with pytest.raises(ValueError, match="body"), staged_folder(tmp_path / "folder"):
        raise ValueError("body")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("failing", range(len(NAMES)))
def test_a_failing_rename_leaves_each_file_whole_and_nothing_stray(folder, monkeypatch, failing):
    replace, renamed = Path.replace, []

    def fail_at(path, target):
        if len(renamed) == failing:
            raise OSError("rename failed")
        renamed.append(Path(target).relative_to(folder).as_posix())
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", fail_at)
    with pytest.raises(OSError, match="rename failed"), staged_folder(folder) as staging:
        write_all(staging)
    assert len(renamed) == failing
    assert contents(folder) == dict.fromkeys([*NAMES, "b/kept.txt"], OLD) | dict.fromkeys(renamed, NEW)
    assert sorted(path.name for path in folder.iterdir()) == ["a.json", "b", "d.txt"]


@pytest.mark.parametrize("last", ["a.json", "d.txt"])
def test_files_are_on_the_disk_before_any_is_renamed_and_the_last_is_renamed_last(folder, monkeypatch, last):
    events, fsync, replace = [], os.fsync, Path.replace

    def record_fsync(descriptor):
        events.append(("flush", os.fstat(descriptor).st_ino))
        fsync(descriptor)

    def record_replace(path, target):
        events.append(("rename", path.stat().st_ino))
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(Path, "replace", record_replace)
    with staged_folder(folder, last=last) as staging:
        write_all(staging)
    numbers = {name: (folder / name).stat().st_ino for name in NAMES}
    count = len(NAMES)
    assert sorted(events[:count]) == sorted(("flush", number) for number in numbers.values())
    assert sorted(events[count : 2 * count]) == sorted(("rename", number) for number in numbers.values())
    assert events[2 * count - 1] == ("rename", numbers[last])
    folders = {(folder / name).parent.stat().st_ino for name in NAMES}
    assert len(folders) == 2
    assert sorted(events[2 * count :]) == ([] if os.name == "nt" else sorted(("flush", number) for number in folders))


KILLED = """
import sys
from pathlib import Path
from hf_bpe.files import staged_folder

folder, names, new, renames = sys.argv[1], sys.argv[2].split(), sys.argv[3], int(sys.argv[4])
replace = Path.replace

def replace_some(path, target):
    global renames
    if renames == 0:
        print("ready", flush=True)
        sys.stdin.read()  # until killed
    renames -= 1
    return replace(path, target)

Path.replace = replace_some
with staged_folder(folder) as staging:
    for name in names:
        (staging / name).parent.mkdir(exist_ok=True)
        (staging / name).write_text(new)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on Windows")
@pytest.mark.parametrize("renames", range(len(NAMES)))
def test_a_process_killed_before_the_nth_rename_leaves_each_file_whole(folder, renames):
    command = [sys.executable, "-c", KILLED, str(folder), " ".join(NAMES), NEW, str(renames)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout.readline().strip() == b"ready"
        finally:
            child.kill()
    assert child.returncode == -signal.SIGKILL
    left = {name: text for name, text in contents(folder).items() if not name.startswith(".saving-")}
    assert left.keys() == {*NAMES, "b/kept.txt"}
    assert sorted(left.values()) == sorted([NEW] * renames + [OLD] * (4 - renames))
    with staged_folder(folder) as staging:  # what is left behind does not hinder the next
        write_all(staging)
    assert dict.fromkeys(NAMES, NEW).items() <= contents(folder).items()


def test_a_file_in_the_place_of_the_folder_is_refused_and_left(tmp_path):
    (tmp_path / "file").write_text(OLD)
    for place in (tmp_path / "file", tmp_path / "file" / "folder"):
        with pytest.raises(NotADirectoryError), staged_folder(place):
            pytest.fail("the body must not run")
    assert contents(tmp_path) == {"file": OLD}


def test_a_text_is_written_as_utf8_with_unix_line_ends(tmp_path):
    path = tmp_path / "new" / "text.txt"
    write_atomically(path, "é\n你\r\n")
    assert path.read_bytes() == "é\n你\r\n".encode()
    assert [*path.parent.iterdir()] == [path]


def test_a_text_that_cannot_be_written_leaves_the_old_one(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(OLD)
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, NEW + "\ud800")
    assert [*tmp_path.iterdir()] == [path]
    assert path.read_text() == OLD
