"""An option of learning is defined once: one that is added to `LearningOptions` arrives at every entry point."""

import inspect
import subprocess
import sys
from dataclasses import fields

from hf_bpe.counting._native import run_factory
from hf_bpe.pretokenizers._native import native_pattern
from hf_bpe.pretokenizers._pattern import GPT2
from hf_bpe.reference._options import TRAIN_CHECKS, LearningKeywords, LearningOptions
from support import oracle

# Edits _options.py, as one would who adds an option, before anything imports it.
MADE_UP = """
import contextlib, importlib.abc, importlib.machinery, inspect, io, sys
from pathlib import Path

NAME = "hf_bpe.reference._options"
EDITS = {
    "    max_words: int | None = None\\n": (
        "    made_up: int = field(default=3, metadata=_number_of_train('Make it up.', 1, record='fancy'))\\n"
    ),
    "    tie_break: TieBreak\\n    min_frequency: int\\n": "    made_up: int\\n",
}

class Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname):
        source = self.get_source(fullname)
        for before, line in EDITS.items():
            assert source.count(before) == 1, before
            source = source.replace(before, line + before)
        return compile(source, self.path, "exec")

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == NAME:
            file = str(Path(path[0], "_options.py"))
            return importlib.machinery.ModuleSpec(name, Loader(name, file), origin=file)

sys.meta_path.insert(0, Finder())

import hf_bpe
from hf_bpe import BPETokenizer, count, editing, train
from hf_bpe.cli.program import app
from hf_bpe.reference import _trainer
from hf_bpe.training import Parity, Superwords, _dispatch

folder, text = Path(sys.argv[1]), ["low lower lowest of the low"]
seen = []

def spied(module, name, option_of):
    function = getattr(module, name)

    def spy(*args, **kwargs):
        seen.append(option_of(*args, **kwargs).made_up)
        return function(*args, **kwargs)

    setattr(module, name, spy)

spied(_trainer, "learn_pairs", lambda tokens, encode, options, **_: options)
core = _dispatch.native_core()
if core is not None:
    class Core:
        learn_merges, learn_parity_merges, training_bytes = (
            core.learn_merges, core.learn_parity_merges, core.training_bytes
        )

    spied(Core, "learn_merges", lambda counts, options, **_: options)
    spied(Core, "learn_parity_merges", lambda languages, dev, options, **_: options)

def sees(value, times=1):
    assert seen == [value] * times, (seen, value)
    seen.clear()

def refused(function, *arguments, **options):
    try:
        function(*arguments, **options)
    except ValueError as error:
        return str(error)
    raise AssertionError("not refused")

def check_entry_points():
    parameter = inspect.signature(train).parameters["made_up"]
    assert (parameter.default, parameter.kind) == (3, inspect.Parameter.KEYWORD_ONLY)
    for entry_point in (train, BPETokenizer.train):
        assert "made_up: expected" in refused(entry_point, text, num_merges=3, made_up=0)
        made = entry_point(text, num_merges=3, made_up=7)
        sees(7)
        assert "|fancy=7|" in (made.model if isinstance(made, BPETokenizer) else made).signature
        entry_point(text, num_merges=3)
        sees(3)
    made.train_new_from_iterator(text, 259, made_up=8)
    sees(8)
    editing.extend(made.model, text, 1, made_up=9)
    sees(9)
    train(text, num_merges=4, superwords=Superwords(after=2), made_up=10)
    sees(10, 2)

# The native core, and the reference
if core is not None:
    _dispatch.native_core = _dispatch.require_core = lambda *_: Core
    check_entry_points()
    train({"en": text, "de": text}, num_merges=2, parity=Parity(), made_up=11)
    sees(11)
_dispatch.native_core = lambda: None
check_entry_points()

# Checkpoints
counts = count(text)
train(counts, num_merges=2, work_dir=folder / "work", made_up=5)
assert "with made_up 6, got 5" in refused(train, counts, num_merges=3, work_dir=folder / "work", made_up=6)
assert len(train(counts, num_merges=3, work_dir=folder / "work", made_up=5).merges) == 3
seen.clear()

# Commands
(folder / "text.txt").write_text(text[0])
for command in (
    "train {0}/text.txt --num-merges 3 -o {0}/trained",
    "extend {0}/trained {0}/text.txt --add 1 -o {0}/longer",
):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        app([*(word.format(folder) for word in command.split()), "--made-up", "12"], standalone_mode=False)
    sees(12)
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
        app([command.split()[0], "--help"], standalone_mode=False)
    assert "--made-up N" in output.getvalue() and "Make it up." in output.getvalue()
"""


def test_made_up_option_arrives_at_every_entry_point(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", MADE_UP, tmp_path], capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr


def test_typed_names_are_those_of_the_options():
    assert LearningKeywords.__annotations__.keys() == TRAIN_CHECKS.keys()


def test_the_definition_has_every_option():
    """What it does not have is compared with nothing."""
    of_the_definition = {*inspect.signature(oracle.learn_merges).parameters} - {
        "counts",
        "max_merges",
        "initial",
        "alphabet",
    }
    assert of_the_definition == {field.name for field in fields(LearningOptions)}


def test_native_core_reads_every_option(native):
    """A field of `LearningOptions` is one of its struct in native/train/pair_index.hpp, read in native/bindings."""
    read = []

    class Options:
        def __getattribute__(self, name):
            read.append(name)
            return getattr(LearningOptions(), name)

    words = {b"low": 2}
    (merge,) = native.learn_merges(
        run_factory(words),
        Options(),
        initial=[],
        max_merges=1,
        parts=native_pattern(native, GPT2),
        threads=1,
        progress=None,
    )
    assert merge == (b"o", b"w")
    assert {*read} == {field.name for field in fields(LearningOptions)}
