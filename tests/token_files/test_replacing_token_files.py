"""Token files that replace others: whatever ends the process, the old corpus or the new one is whole."""

import itertools
import json
import os
import shutil
import signal
from random import Random

import pytest

from hf_bpe import BPETokenizer
from support.folder_snapshots import snapshot
from support.fuzz.killing import forked, kill_before_move
from support.profiles import by_profile, scaled
from support.token_files import END, set_limits, write_jsonl

OLD = ["low lower", "lowest", "newest low", "widest"] * 3
NEW = ["newer and wider", "it's 12345", "你好 low", "lowest of the low", "widest"] * 4

FORMS = {
    "shards": {"format": "megatron", "shard_tokens": 40},
    "one": {"format": "npy"},
    "folder": {"format": "mds", "shard_tokens": 40},
}
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


@pytest.fixture(scope="module")
def tokenizer():
    return BPETokenizer.train([*OLD, *NEW], num_merges=12, special_tokens=[END])


class Corpus:
    """An old corpus in FOLDER/out, and how it is replaced."""

    def __init__(self, tokenizer, folder, form, has_work_dir):
        self.tokenizer, self.folder, self.options = tokenizer, folder, FORMS[form]
        self.work = folder / "work" if has_work_dir else None
        self.output = folder / "out" / ("x.npy" if form == "one" else "x")
        self.place = self.output if form == "folder" else folder / "out"
        self.manifest = "manifest.json" if form == "folder" else "x.manifest.json"
        self.replacing = self.place / f".{self.manifest}.replacing"
        self.new_source = write_jsonl(folder / "new.jsonl", NEW)
        (folder / "out").mkdir()
        write = tokenizer.encode_files
        write(self.new_source, self.output, **self.options)
        self.new = self.files()
        shutil.rmtree(folder / "out")
        (folder / "out").mkdir()
        write(write_jsonl(folder / "old.jsonl", OLD), self.output, **self.options)
        self.old = self.files()

    def replace(self):
        options = {"overwrite": True, "work_dir": self.work, **self.options}
        return self.tokenizer.encode_files(self.new_source, self.output, **options)

    def files(self):
        """Return what readers see: all that is not hidden."""
        return {name: what for name, what in snapshot(self.place).items() if not name.startswith(".")}

    def check_readable(self):
        """Check that files are never of both corpora, and that with a manifest there are all of one."""
        files = self.files()
        assert files.items() <= self.old.items() or files.items() <= self.new.items()
        if self.manifest in files:
            whole = self.old if files[self.manifest] == self.old[self.manifest] else self.new
            assert files == whole


@pytest.fixture(params=FORMS)
def form(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["no work folder", "work folder"])
def corpus(request, form, tokenizer, tmp_path):
    return Corpus(tokenizer, tmp_path, form, request.param)


def test_corpus_is_replaced_as_a_whole(corpus):
    written = corpus.replace()
    assert corpus.files() == corpus.new != corpus.old
    assert {path.name for path in corpus.place.iterdir()} == {*corpus.new}
    assert corpus.replace() == written  # with a work folder, of what is there
    assert corpus.files() == corpus.new


def test_failure_after_a_shard_leaves_the_old_corpus(corpus, monkeypatch):
    set_limits(monkeypatch, block_bytes=1)  # so that shards are written before the source is read on
    good = corpus.new_source.read_text()
    corpus.new_source.write_text(good + "no JSON\n")
    with pytest.raises(ValueError, match="line 21: expected a JSON object"):
        corpus.replace()
    assert corpus.files() == corpus.old
    if corpus.work is None:
        assert {path.name for path in corpus.place.iterdir()} == {*corpus.old}
        corpus.new_source.write_text(good)
        corpus.replace()
        assert corpus.files() == corpus.new


@scaled
@needs_fork
def test_replacement_killed_at_any_step_is_finished_by_the_next(corpus, request):
    saved = corpus.folder.parent / f"{corpus.folder.name}.saved"
    shutil.copytree(corpus.folder, saved)
    every = by_profile(quick=8, thorough=1)  # of steps, and others for each form
    for number in itertools.count(Random(request.node.callspec.id).randrange(every), every):

        def replace_and_be_killed(number=number):
            kill_before_move(number, ("replace", "unlink", "mkdir", "rmdir"))
            corpus.replace()

        code = forked(replace_and_be_killed)
        corpus.check_readable()
        if code == 0:
            break
        assert code == -signal.SIGKILL
        corpus.replace()
        assert corpus.files() == corpus.new, f"killed before step {number}"
        assert {path.name for path in corpus.place.iterdir()} == {*corpus.new}
        shutil.rmtree(corpus.folder)
        shutil.copytree(saved, corpus.folder)
    assert number > 20
    assert corpus.files() == corpus.new


@pytest.mark.parametrize("corpus", [False], indirect=True)
def test_replacement_of_another_program_is_not_carried_out(corpus):
    """Put a folder there that looks as if a killed process had left it, with other names of files in it."""
    ready, secret = corpus.replacing, corpus.folder / "secret"
    secret.write_text("the user's")
    mark = "hf_bpe replacing 1"
    for order, message in (
        ({"format": mark, "old": ["../../secret"], "new": []}, "'../../secret' is no file of this output"),
        ({"format": mark, "old": [], "new": [str(secret)]}, "is no file of this output"),
        ({"format": mark, "old": [".."], "new": []}, "is no file of this output"),
        ({"format": "other 1", "old": [], "new": []}, "its format is not"),
        ({"format": mark, "old": {}, "new": []}, "old: expected a list"),
        ([], "expected an object"),
    ):
        ready.mkdir()
        (ready / "replace.json").write_text(json.dumps(order))
        before = snapshot(corpus.folder)
        with pytest.raises(ValueError, match=f"replace.json is damaged .*{message}.*delete that folder"):
            corpus.replace()
        assert snapshot(corpus.folder) == before
        shutil.rmtree(ready)


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege on Windows")
@pytest.mark.parametrize("corpus", [False], indirect=True)
def test_folder_of_a_replacement_is_no_link(corpus):
    corpus.replacing.symlink_to(corpus.folder)
    with pytest.raises(NotADirectoryError, match="replacing is a link or a file"):
        corpus.replace()
    assert corpus.files() == corpus.old
