"""Whatever fails while files are written, each file is whole, and files of two saves are never mixed."""

import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import example, given
from hypothesis import strategies as st

from hf_bpe._utils import files
from hf_bpe._utils.files import interrupted_save, staged_folder, write_atomically
from support.fuzz.killing import forked, kill_before_move

NAMES = ["a.json", "b/c.txt", "d.txt"]
OLD, NEW = "old", "new\n" * 1000
RENAMES = 1 + len(NAMES)  # the old file without which nobody reads goes away, three new ones come
KEPT = {"b/kept.txt": OLD}

needs_sigkill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on Windows")


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def saved(folder):
    """Return what is in a folder, without what a save has left for the next one."""
    return {name: text for name, text in contents(folder).items() if not name.startswith(".saving")}


def hidden(folder):
    return sorted(path.name for path in folder.iterdir() if path.name.startswith(".saving"))


def write_all(staging, names=NAMES, text=NEW):
    for name in names:
        (staging / name).parent.mkdir(parents=True, exist_ok=True)
        (staging / name).write_text(text)


def save(folder, text=NEW, names=NAMES, last=("d.txt",)):
    with staged_folder(folder, last) as staging:
        write_all(staging, names, text)


@pytest.fixture
def folder(tmp_path):
    """A folder with an old file of each name, and one more."""
    write_all(tmp_path / "folder", [*NAMES, "b/kept.txt"], OLD)
    return tmp_path / "folder"


@pytest.fixture
def on_rename(monkeypatch):
    """Have a function called before each rename."""

    def install(function):
        replace = Path.replace

        def patched(path, target):
            function()
            return replace(path, target)

        monkeypatch.setattr(Path, "replace", patched)

    return install


def _refuse_links(*_, **__):
    raise PermissionError("this file system has no links")


def test_files_are_moved_over_old_ones_and_folders_merged(folder):
    with staged_folder(str(folder)) as staging:
        assert folder in staging.parents  # hence on the same file system
        assert [*staging.iterdir()] == []
        write_all(staging)
    assert contents(folder) == dict.fromkeys(NAMES, NEW) | KEPT
    assert sorted(path.name for path in folder.iterdir()) == ["a.json", "b", "d.txt"]


@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt, SystemExit])
def test_exception_in_the_body_leaves_only_the_old_files(folder, error):
    def fail_after_writing():
        with staged_folder(folder) as staging:
            write_all(staging)
            raise error

    before = contents(folder)
    with pytest.raises(error):
        fail_after_writing()
    assert contents(folder) == before
    assert sorted(path.name for path in folder.iterdir()) == ["a.json", "b", "d.txt"]


def test_exception_in_the_body_leaves_no_new_folder(tmp_path):
    with pytest.raises(ValueError, match="body"), staged_folder(tmp_path / "folder"):
        raise ValueError("body")
    assert [*tmp_path.iterdir()] == []


# Replacing several files

SETS = st.sets(st.sampled_from("abcdef"))


@given(old=SETS, new=SETS.filter(bool), same=SETS, last=st.permutations("abcd").map(lambda names: names[:2]))
@example(old={*"abcd"}, new={*"abcd"}, same={*"abcd"}, last=["d", "a"])
@example(old={*"abcd"}, new={*"abcd"}, same={*"abc"}, last=["d", "a"])
@example(old={*"abcd"}, new={*"abcd"}, same={*"bcd"}, last=["d", "c"])
def test_who_finds_one_of_the_last_files_finds_all_of_its_save(tmp_path_factory, old, new, same, last):
    folder = tmp_path_factory.mktemp("folder")
    write_all(folder, old, OLD)
    texts = {name: OLD if name in same else NEW for name in new}
    before, after = dict.fromkeys(old, OLD), dict.fromkeys(old, OLD) | texts
    seen, replace = [], Path.replace

    def observed(path, target):
        seen.append(saved(folder))
        return replace(path, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", observed)
        with staged_folder(folder, last) as staging:
            for name, text in texts.items():
                (staging / name).write_text(text)
    assert saved(folder) == after
    assert hidden(folder) == []
    awaited = [name for name in last if name in new]
    for state in seen:
        assert all(name in state for name in old if name not in awaited)  # nobody misses the others
        for index, name in enumerate(awaited):
            if name in state:
                together = {name: text for name, text in state.items() if name not in awaited[index + 1 :]}
                wholes = [
                    {name: text for name, text in whole.items() if name not in awaited[index + 1 :]}
                    for whole in (before, after)
                ]
                assert together in wholes
        if sum(before.get(name) != text for name, text in texts.items()) <= 1:
            assert state in (before, after)  # nothing is missing meanwhile


def test_a_file_that_does_not_change_is_new_all_the_same(folder):
    os.utime(folder / "a.json", (0, 0))
    save(folder, OLD)
    assert (folder / "a.json").stat().st_mtime > 0  # for programs that go by the time


@pytest.mark.parametrize(
    ("failing", "has_links"), [*((n, True) for n in range(RENAMES)), *((n, False) for n in range(6))]
)
def test_a_failing_rename_leaves_the_old_files_and_nothing_stray(folder, on_rename, monkeypatch, failing, has_links):
    if not has_links:
        monkeypatch.setattr(os, "link", _refuse_links)
    renames = []

    def fail_once():
        renames.append(None)
        if len(renames) == failing + 1:
            raise OSError("rename failed")

    on_rename(fail_once)
    before = contents(folder)
    with pytest.raises(OSError, match="rename failed"):
        save(folder)
    assert len(renames) > failing
    assert contents(folder) == before


@pytest.mark.parametrize("failing", range(1, RENAMES))
def test_old_files_are_kept_until_new_ones_are_there(folder, on_rename, failing):
    renames = []

    def fail():
        renames.append(None)
        if len(renames) > failing and is_failing:
            raise OSError("rename failed")

    is_failing = True
    on_rename(fail)
    with pytest.raises(OSError, match="rename failed"):
        save(folder)
    (left,) = hidden(folder)
    kept = {name: text for name, text in saved(folder).items() if text == OLD} | contents(folder / left / "old")
    assert kept == dict.fromkeys(NAMES, OLD) | KEPT
    is_failing = False
    write_atomically(folder / "other.txt", "other")
    assert hidden(folder) == [left]
    save(folder)
    assert contents(folder) == dict.fromkeys(NAMES, NEW) | KEPT | {"other.txt": "other"}


def test_a_folder_in_the_place_of_a_file_is_refused_and_left(folder):
    (folder / "a.json").unlink()
    write_all(folder, ["a.json/inside.txt"], OLD)
    before = contents(folder)
    with pytest.raises(OSError, match=r"a\.json"):
        save(folder)
    assert contents(folder) == before


@pytest.mark.parametrize("last", ["a.json", "d.txt"])
def test_files_are_flushed_and_then_renamed_in_order(folder, monkeypatch, last):
    events, fsync, replace = [], os.fsync, Path.replace
    names = {(folder / name).stat().st_ino: f"old {name}" for name in NAMES}

    def record_fsync(descriptor):
        events.append(("flush", os.fstat(descriptor).st_ino))
        fsync(descriptor)

    def record_replace(path, target):
        events.append(("rename", path.stat().st_ino))
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(Path, "replace", record_replace)
    save(folder, last=[last])
    names |= {(folder / name).stat().st_ino: name for name in NAMES}
    names |= {path.stat().st_ino: "folder" for path in (folder, folder / "b")}
    named = [(what, names[number]) for what, number in events]
    folders = [] if os.name == "nt" else [("flush", "folder")] * 2
    assert sorted(named[: len(NAMES)]) == [("flush", name) for name in NAMES]
    assert named[len(NAMES) :] == [
        ("rename", f"old {last}"),
        *folders,
        *(("rename", name) for name in [*(name for name in NAMES if name != last), last]),
        *folders,
    ]


# Processes that are killed

CHILD = """
import sys
from pathlib import Path
from hf_bpe._utils.files import staged_folder

with staged_folder(sys.argv[1], ["d.txt"]) as staging:
    for name in sys.argv[3:]:
        (staging / name).parent.mkdir(exist_ok=True)
        (staging / name).write_text(sys.argv[2])
    print("ready", flush=True)
    sys.stdin.read()  # until killed, or let go on
"""


def child(folder):
    command = [sys.executable, "-c", CHILD, str(folder), NEW, *NAMES]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


@needs_sigkill
@pytest.mark.parametrize("renames", range(RENAMES))
def test_killed_process_leaves_one_set_of_files_or_no_last_one(folder, renames):
    def save_and_be_killed():
        kill_before_move(renames, ("replace",))
        save(folder)

    assert forked(save_and_be_killed) == -signal.SIGKILL
    expected = dict.fromkeys(NAMES, OLD) | dict.fromkeys(NAMES[: max(renames - 1, 0)], NEW) | KEPT
    if renames > 0:
        del expected["d.txt"]
    assert saved(folder) == expected
    waiting = interrupted_save(folder, "d.txt")
    assert (waiting is None) == (renames == 0)
    if waiting is not None:
        assert waiting.read_text() == NEW
    save(folder)
    assert contents(folder) == dict.fromkeys(NAMES, NEW) | KEPT
    assert interrupted_save(folder, "d.txt") is None


def test_a_process_that_writes_keeps_its_files_while_others_save(folder):
    with child(folder) as process:
        assert process.stdout.readline().strip() == b"ready"
        (left,) = hidden(folder)
        save(folder, "mine")
        assert hidden(folder) == [left]
        assert contents(folder / left / "new") == dict.fromkeys(NAMES, NEW)
        process.communicate()
    assert process.returncode == 0
    assert contents(folder) == dict.fromkeys(NAMES, NEW) | KEPT


@needs_sigkill
def test_the_next_save_deletes_what_killed_processes_have_left(folder):
    for _ in range(2):
        with child(folder) as process:
            assert process.stdout.readline().strip() == b"ready"
            process.kill()
        assert len(hidden(folder)) == 1
    (folder / ".saving-abcdefgh").mkdir()  # killed before anything was in it
    with staged_folder(folder) as staging:  # at once, for there may be no room for both
        assert hidden(folder) == sorted([staging.parent.name])
    assert contents(folder) == dict.fromkeys(NAMES, OLD) | KEPT


def test_folder_of_others_is_not_one_of_a_killed_process(folder):
    write_all(folder, [".saving-money/plan.txt", ".saving-money/new/plan.txt"], OLD)
    save(folder)
    assert contents(folder / ".saving-money") == {"plan.txt": OLD, "new/plan.txt": OLD}


def test_saves_at_the_same_time_leave_the_files_of_one(tmp_path):
    def save_often(text):
        for number in range(10):
            save(tmp_path, text * (number + 1))

    with ThreadPoolExecutor() as threads:
        [*threads.map(save_often, "xyz")]
    assert {*contents(tmp_path)} == {*NAMES}
    (text,) = {*contents(tmp_path).values()}
    assert text in ("x" * 10, "y" * 10, "z" * 10)


def test_save_may_delete_the_folder_of_one_that_ends(folder, monkeypatch):
    """Let a save begin while another, which has released its staging folder, reads what is in it."""
    is_needed, lexists, read = files._is_needed, os.path.lexists, []

    def is_needed_during_another_save(staging, target):
        read.append(staging)
        if len(read) == 2:  # the first time, the folder is locked

            def begin_another_save(path):
                monkeypatch.setattr(os.path, "lexists", lexists)
                write_atomically(folder / "other.txt", "other")
                assert not staging.exists()
                return lexists(path)

            monkeypatch.setattr(files, "_is_needed", is_needed)
            monkeypatch.setattr(os.path, "lexists", begin_another_save)
        return is_needed(staging, target)

    monkeypatch.setattr(files, "_is_needed", is_needed_during_another_save)
    save(folder)
    assert (folder / "other.txt").exists()
    assert contents(folder) == dict.fromkeys(NAMES, NEW) | KEPT | {"other.txt": "other"}


def test_lock_file_may_be_deleted_while_it_is_looked_at(folder, monkeypatch):
    path, lstat, lexists = folder / ".saving.lock", Path.lstat, os.path.lexists

    def after_the_other_save(function):
        def patched(looked_at, *args):
            result = function(looked_at, *args)
            if looked_at == path:
                path.unlink(missing_ok=True)
            return result

        return patched

    path.touch()
    monkeypatch.setattr(Path, "lstat", after_the_other_save(lstat))
    monkeypatch.setattr(os.path, "lexists", after_the_other_save(lexists))
    save(folder)
    assert contents(folder) == dict.fromkeys(NAMES, NEW) | KEPT


def test_folder_that_is_not_locked_yet_is_left_without_locks(folder):
    """Let a save begin between another's making its staging folder and locking it, where locks have content."""
    (folder / ".saving.lock").write_text("1234\nhost\n")  # as those of a file system without locks
    (folder / ".saving-abcdefgh").mkdir()
    save(folder)
    assert (folder / ".saving-abcdefgh").is_dir()


def test_lock_that_is_released_is_not_that_of_the_next(tmp_path, monkeypatch):
    """Let the next save make its lock file once this one has deleted its own, and not released it."""
    path, unlink, next_lock = tmp_path / ".saving.lock", Path.unlink, FileLock(tmp_path / ".saving.lock", timeout=0)

    def unlink_and_begin_the_next(path, *args, **kwargs):
        monkeypatch.setattr(Path, "unlink", unlink)
        unlink(path, *args, **kwargs)
        next_lock.acquire()

    with files.lock_moves(tmp_path):
        monkeypatch.setattr(Path, "unlink", unlink_and_begin_the_next)
    with next_lock:
        assert path.exists()  # else a third would make another, and both move files


def test_a_lock_that_is_never_released_is_an_error_that_names_it(folder, monkeypatch):
    monkeypatch.setattr(files, "_PATIENCE", 0)
    with FileLock(folder / ".saving.lock"):
        before = saved(folder)
        with pytest.raises(TimeoutError, match=re.escape(f"delete {folder / '.saving.lock'}")):
            save(folder)
        assert saved(folder) == before


def test_lock_file_that_another_save_deletes_is_not_held(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    path, flock = tmp_path / ".saving.lock", fcntl.flock

    def flock_after_another_save_has_ended(*args):
        monkeypatch.setattr(fcntl, "flock", flock)
        path.unlink()
        return flock(*args)

    monkeypatch.setattr(fcntl, "flock", flock_after_another_save_has_ended)
    with files.lock_moves(tmp_path):
        assert path.exists()  # else the next save would make another, and hold that one


def test_an_error_that_ends_the_waiting_for_a_lock_is_passed_on(folder, monkeypatch):
    def interrupted(*args, **kwargs):
        raise TimeoutError("by a signal handler")  # which is an OSError, as those of systems without locks are

    monkeypatch.setattr(FileLock, "acquire", interrupted)
    with pytest.raises(TimeoutError, match="by a signal handler"):
        save(folder)
    assert saved(folder) == dict.fromkeys(NAMES, OLD) | KEPT


@pytest.mark.parametrize("error", [NotImplementedError, OSError])
def test_files_are_saved_where_the_system_has_no_locks(folder, monkeypatch, error):
    def refuse(*args, **kwargs):
        raise error

    write_all(folder, [".saving-abcdefgh/new/a.txt"], OLD)  # of a process that may be alive
    monkeypatch.setattr(FileLock, "acquire", refuse)
    save(folder)
    assert saved(folder) == dict.fromkeys(NAMES, NEW) | KEPT
    assert hidden(folder) == [".saving-abcdefgh"]


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


# Folders of others, with links to places that must not be written


needs_links = pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege on Windows")


@needs_links
@pytest.mark.parametrize("made", ["", "new", "lock", "old"])
def test_staging_folder_that_is_a_link_is_not_used(folder, tmp_path, made):
    """Let `.saving-y`, or what is in it, lead to a folder that is empty, as one of a killed process may be."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = folder / ".saving-y" / made if made else folder / ".saving-y"
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(elsewhere / "file" if made == "lock" else elsewhere)
    save(folder)
    assert link.is_symlink()
    assert [*elsewhere.iterdir()] == []
    assert {name: text for name, text in saved(folder).items() if name in NAMES} == dict.fromkeys(NAMES, NEW)


@needs_links
@pytest.mark.parametrize("target", ["new", "there"])
def test_lock_of_a_save_is_not_written_through_a_link(folder, tmp_path, target):
    (tmp_path / "there").write_text("mine")
    (folder / ".saving.lock").symlink_to(tmp_path / target)
    before = saved(folder)
    with pytest.raises(OSError, match=r"\.saving\.lock is a symbolic link"):
        save(folder)
    assert saved(folder) == before
    assert (tmp_path / "there").read_text() == "mine"
    assert not (tmp_path / "new").exists()


@needs_links
def test_subfolder_that_is_a_link_is_not_written(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    for path in sorted(folder.rglob("b/*")):
        path.unlink()
    (folder / "b").rmdir()
    (folder / "b").symlink_to(tmp_path / "elsewhere")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(NotADirectoryError, match=r"b is a symbolic link; files are only written inside"):
        save(folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert [*(tmp_path / "elsewhere").iterdir()] == []


@pytest.mark.parametrize("content", ["mine", "1234\nhost\n"])
def test_lock_file_with_content_is_left(folder, content):
    (folder / ".saving.lock").write_text(content)
    save(folder)
    assert (folder / ".saving.lock").read_text() == content
