"""An option of learning is defined once: one that is added to `LearningOptions` arrives at every entry point."""

import inspect
from dataclasses import fields

from hf_bpe.counting._runs import RunOfCounts
from hf_bpe.reference._options import LearningKeywords, LearningOptions
from support.extra_option import check_with_made_up
from support.oracles import oracle

MADE_UP = """
from types import SimpleNamespace

from hf_bpe import BPETokenizer, count, editing, reference, train
from hf_bpe.training import Parity, Superwords, _engine

text, seen = ["low lower lowest of the low"], []

def spied(module, name, option_of):
    function = getattr(module, name)

    def spy(*args, **kwargs):
        seen.append(option_of(*args, **kwargs).made_up)
        return function(*args, **kwargs)

    setattr(module, name, spy)

spied(reference, "learn_merges", lambda counts, **options: SimpleNamespace(**options))
core = _engine.native_core()
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

def check_entry_points():
    assert default_of(train) == 3
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
    _engine.native_core = _engine.require_core = lambda *_: Core
    check_entry_points()
    train({"en": text, "de": text}, num_merges=2, parity=Parity(), made_up=11)
    sees(11)
_engine.native_core = lambda: None
check_entry_points()

# Checkpoints
counts = count(text)
train(counts, num_merges=2, work_dir=folder / "work", made_up=5)
assert "with made_up 6, got 5" in refused(train, counts, num_merges=3, work_dir=folder / "work", made_up=6)
assert len(train(counts, num_merges=3, work_dir=folder / "work", made_up=5).merges) == 3
seen.clear()

# Commands
(folder / "text.txt").write_text(text[0])
for command in ("train {0}/text.txt --num-merges 3 -o {0}/old", "extend {0}/old {0}/text.txt --add 1 -o {0}/new"):
    run(*(word.format(folder) for word in command.split()), "--made-up", 12)
    sees(12)
    shown = run(command.split()[0], "--help")
    assert "--made-up N" in shown and "Make it up." in shown
"""


def test_made_up_option_arrives_at_every_entry_point(tmp_path):
    check_with_made_up(MADE_UP, tmp_path, "LearningOptions")


def test_typed_names_are_those_of_the_options():
    assert {*LearningKeywords.__annotations__} == {each.name for each in fields(LearningOptions) if each.metadata}


def test_the_definition_has_every_option():
    """What it does not have is compared with nothing."""
    others = {"counts", "max_merges", "initial", "alphabet"}
    of_the_definition = {*inspect.signature(oracle.learn_merges).parameters} - others
    assert of_the_definition == {field.name for field in fields(LearningOptions)}


def test_native_core_reads_every_option(native):
    """A field of `LearningOptions` is one of its struct in native/train/pair_index.hpp, read in native/bindings."""
    read = []

    class Options:
        def __getattribute__(self, name):
            read.append(name)
            return getattr(LearningOptions(), name)

    (merge,) = native.learn_merges(
        lambda: RunOfCounts({b"low": 2}).read(1000),
        Options(),
        initial=[],
        max_merges=1,
        parts="gpt2",
        threads=1,
        progress=None,
    )
    assert merge == (b"o", b"w")
    assert {*read} == {field.name for field in fields(LearningOptions)}
