"""Damaged and hostile work folders are refused by file and place, before anything is changed or read elsewhere.

At random, each is refused with an error that names a file, and all that is there is as before; or the work is done, and
all that is outside of the work folder and is no output is as before.
"""

import json
import os
import random
import re
import shutil

import pytest

from hf_bpe import BPETokenizer, count, train
from hf_bpe.training import Superwords
from support.cases import case
from support.folder_snapshots import snapshot
from support.profiles import by_profile, scaled

END = "<|endoftext|>"
TEXTS = ["low lower lowest newest", "the widest of the low", "it's 12345 é 你好", "newer and lower still"]
LOGS = ("manifest.jsonl", "merges.log", "encoding.log")
OTHERS = [
    b'{"audio_filepath": "a.wav", "duration": 1.5}\n{"audio_filepath": "b.wav", "duration": 2.5}',
    b"2026-11-25 INFO merged\n2026-11-25 INFO done",
    b"#version: 0.2\nl o\nlo w",
    b"[" * 100_000,
    b"\x93NUMPY\x01\x00",
    b"{}\n{}\n",
    b"",
]
WRONG = [None, True, -1, 1.5, 10**9, 2**63, 2**70, "", "x", "../outside/secret", "/etc/hostname", [], [[]], {}]


def tokenizer():
    return BPETokenizer.train(TEXTS, num_merges=12, eos_token=END, special_tokens=[END])


class Interrupted(Exception):
    pass


# What resumes in ROOT/work; it reads ROOT/corpus, and writes ROOT/out.


def resume_count(root):
    return count(sorted((root / "corpus").glob("*.txt")), work_dir=root / "work").fingerprint


def resume_train(root, num_merges=9):
    return train([*TEXTS], num_merges=num_merges, work_dir=root / "work").fingerprint


def resume_encode(root):
    options = {"format": "megatron", "shard_tokens": 40, "work_dir": root / "work"}
    (root / "out").mkdir(exist_ok=True)
    written = tokenizer().encode_files(root / "corpus" / "all.jsonl", root / "out" / "x", **options)
    return b"".join(path.read_bytes() for path in written.files)


def begin_count(root):
    files = sorted((root / "corpus").glob("*.txt"))
    for number in (1, 2):
        count(files[:number], work_dir=root / "work")


def begin_train(root):
    resume_train(root, 5)


def begin_encode(root):
    log, fsync = root / "work" / "encoding.log", os.fsync

    def end_after_two_shards(descriptor):
        if log.exists() and log.read_bytes().count(b"\n") == 3:
            raise Interrupted
        fsync(descriptor)

    os.fsync = end_after_two_shards
    try:
        resume_encode(root)
    except Interrupted:
        return
    finally:
        os.fsync = fsync
    raise AssertionError("the corpus is too small")


WORK = {
    "count": (begin_count, resume_count),
    "train": (begin_train, resume_train),
    "encode": (begin_encode, resume_encode),
}


def make(name, root):
    """Leave an interrupted work folder, and what it is about, in a new folder."""
    (root / "corpus").mkdir(parents=True)
    for number, text in enumerate(TEXTS):
        (root / "corpus" / f"{number}.txt").write_text(text, encoding="utf-8")
    lines = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS * 3)
    (root / "corpus" / "all.jsonl").write_text(lines, encoding="utf-8")
    WORK[name][0](root)
    (root / "outside").mkdir()
    (root / "outside" / "secret").write_bytes(b"the user's, without a final newline")
    for path in [*(root / "work").rglob("*")]:
        if path.is_file():
            shutil.copy(path, root / "outside")


# Damages of a work folder


def mutate_value(source, value):
    """Return a JSON value with something in it replaced."""
    if isinstance(value, dict) and value and source.random() < 0.8:
        key = source.choice([*value])
        kind = source.randrange(4)
        if kind == 0:
            return {name: each for name, each in value.items() if name != key}
        if kind == 1:
            new = source.choice(["../outside/secret", "/etc/hostname", "000000001.run", "", "x"])
            return {new if name == key else name: each for name, each in value.items()}
        return {**value, key: mutate_value(source, value[key])}
    if isinstance(value, list) and value and source.random() < 0.8:
        at = source.randrange(len(value))
        return [*value[:at], mutate_value(source, value[at]), *value[at + 1 :]]
    return source.choice(WRONG)


def damage_line(source, path, root):
    lines = path.read_bytes().split(b"\n")
    at = source.randrange(len(lines))
    try:
        lines[at] = json.dumps(mutate_value(source, json.loads(lines[at]))).encode()
    except (ValueError, RecursionError):
        lines[at] = source.choice([b"6c", b"6c 6f 77", b"zz zz", b"6c 6f", b"ffff 00", b"{", b"\xff", b" "])
    path.write_bytes(b"\n".join(lines))


def move_lines(source, path, root):
    lines = path.read_bytes().splitlines(keepends=True)
    kind = source.randrange(3)
    at, to = source.randrange(len(lines)), source.randrange(len(lines))
    if kind == 0:
        lines.insert(to, lines[at])
    elif kind == 1:
        del lines[at]
    else:
        lines[at], lines[to] = lines[to], lines[at]
    path.write_bytes(b"".join(lines))


def flip_byte(source, path, root):
    data = bytearray(path.read_bytes())
    if data:
        data[source.randrange(len(data))] = source.randrange(256)
    path.write_bytes(data)


def cut_off(source, path, root):
    data = path.read_bytes()
    path.write_bytes(data[: source.randrange(len(data) + 1)])


def append(source, path, root):
    with path.open("ab") as file:
        file.write(source.choice([b"x", b"\n", b"{}\n", b'{"shards": {"', b"6c", b"6c 6f\n", b"\x00" * 9]))


def replace(source, path, root):
    path.write_bytes(source.choice(OTHERS))


def delete(source, path, root):
    path.unlink()


def link(source, path, root):
    path.unlink()
    path.symlink_to(source.choice([root / "outside" / "secret", root / "outside" / path.name, root / "x", "../corpus"]))


def make_other(source, path, root):
    path.unlink()
    if source.random() < 0.5 or not hasattr(os, "mkfifo"):
        path.mkdir()
    else:
        os.mkfifo(path)


def add(source, path, root):
    names = ["000000009.run", "999999999.run", "mine.run", "pieces/mine.part", "pieces/000000-000009.piece"]
    new = path.parent / source.choice(names)
    new.parent.mkdir(exist_ok=True)
    new.write_bytes(source.choice(OTHERS))


def link_folder(source, path, root):
    folder = root / "work" / "pieces"
    if folder.exists():
        shutil.move(folder, root / "outside" / "moved")
    else:
        (root / "outside" / "moved").mkdir()
    folder.symlink_to(root / "outside" / "moved")


OF_LOGS = [damage_line] * 8 + [move_lines] * 2
OF_FILES = [flip_byte, flip_byte, cut_off, append, replace, delete, link, make_other, add]


def damage(source, root):
    """Damage a work folder once or several times; return how."""
    done = []
    for _ in range(source.choice([1, 1, 1, 2, 3])):
        paths = [path for path in sorted((root / "work").rglob("*")) if path.is_file() and not path.is_symlink()]
        logs = [path for path in paths if path.name in LOGS and path.stat().st_size]
        if logs and source.random() < 0.5:
            path, how = source.choice(logs), source.choice(OF_LOGS)
        elif source.random() < 0.05 and not (root / "outside" / "moved").exists():
            path, how = root / "work", link_folder
        elif paths:
            path, how = source.choice(paths), source.choice(OF_FILES)
        else:
            break
        how(source, path, root)
        done.append(f"{how.__name__} {path.relative_to(root)}")
    return ", ".join(done)


def check(name, template, seed):
    """Damage a work folder, and resume in it.

    Args:
        name: of the work.
        template: the folder that `make` made; it is moved aside meanwhile, because logs name absolute paths.
        seed: what decides the damage.

    Raises:
        AssertionError: something was changed or read that should not, or the error does not say where.
    """
    saved = template.with_name(f"{template.name}.saved")
    template.rename(saved)
    shutil.copytree(saved, template)
    try:
        resume_damaged(name, template, random.Random(f"{name} {seed}"), f"{name} {seed}")
    finally:
        shutil.rmtree(template)
        saved.rename(template)


def resume_damaged(name, root, source, where):
    how = damage(source, root)
    before = snapshot(root)
    try:
        result, end = WORK[name][1](root), "done"
    except (ValueError, OSError) as error:
        result, end = None, f"{type(error).__name__}: {error}"
    except BaseException as error:
        raise AssertionError(f"{where}: {how}: {error!r}") from error
    after = snapshot(root)
    changed = [path for path in sorted(before.keys() | after.keys()) if before.get(path) != after.get(path)]
    where = f"{where}: {how}: {end}"
    if end == "done":
        assert all(path.startswith(("work", "out/")) for path in changed), f"{where}, changed {changed}"
        if "merges.log" not in how:  # a merge may become another one that can be learned
            assert result == expected(name, root), f"{where}: another result"
        return
    assert re.search(r"/(work|out)\b", end), f"{where}: names no file"
    if "expected a training with" in end:  # what it was of is known only when the text is counted
        changed = [path for path in changed if not path.endswith((".run", "manifest.jsonl"))]
    assert not changed, f"{where}: changed {changed}"


_expected = {}


def expected(name, root):
    """Return the result without interruption and damage."""
    if name not in _expected:
        for done in (root / "work", root / "out"):
            shutil.rmtree(done, ignore_errors=True)
        _expected[name] = WORK[name][1](root)
    return _expected[name]


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
