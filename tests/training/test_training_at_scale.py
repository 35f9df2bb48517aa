"""Trainings of several sizes, on counts, in little memory, and those that are resumed are single ones."""

import random
import re
import subprocess
import sys

import pytest

from hf_bpe import BPEModel, Source, WordCounts, count, train
from hf_bpe.training import Superwords
from hf_bpe.training import _checkpoint as merge_log
from hf_bpe.training import _learning as learning
from support.oracles.learning import training_bytes
from support.profiles import thorough

SPECIALS = ["<|x|>", "<|y|>"]
TEXT = "low low low low low lower lower widest widest widest newest newest newest<|x|>newest newest newest 你好你好"
TIES = ["lexicographic", "huggingface"]


pytestmark = pytest.mark.filterwarnings("ignore:the text gives:UserWarning")  # most texts here are small


def sentences(seed=0, number=300):
    generator = random.Random(seed)
    words = ["".join(generator.choices("etaoinshrdlu", k=generator.randrange(1, 9))) for _ in range(200)]
    return [" ".join(generator.choices(words, k=12)) for _ in range(number)]


@pytest.mark.parametrize("tie_break", TIES)
@pytest.mark.parametrize("alphabet", ["bytes", "observed"])
def test_models_of_several_sizes_equal_single_trainings(tie_break, alphabet):
    options = {"tie_break": tie_break, "initial_alphabet": alphabet, "special_tokens": SPECIALS}
    sizes = [300, 260, 420, 300]
    models = train(sentences(), sizes, **options)
    assert models == [train(sentences(), size, **options) for size in sizes]
    assert models == [models[2].truncate(size) for size in sizes]
    single = [train(sentences(), num_merges=number, **options) for number in (3, 40)]
    assert train(sentences(), num_merges=[3, 40], **options) == single


def test_unreachable_sizes_give_the_largest_possible_model():
    with pytest.warns(UserWarning, match=r"the text gives 2 of the 1000 requested merges"):
        small, large = train(["low"], num_merges=[1, 1000])
    assert (len(small.merges), len(large.merges)) == (1, 2)


@pytest.mark.parametrize("tie_break", TIES)
def test_training_from_an_initial_model_continues_its_training(tie_break):
    options = {"tie_break": tie_break, "special_tokens": SPECIALS}
    first, whole = (train(sentences(), size, **options) for size in (300, 400))
    assert train(sentences(), 400, initial=first, tie_break=tie_break) == whole
    other = train(sentences(seed=1), 400, initial=first, tie_break=tie_break)
    assert {token_id: other.vocab[token_id] for token_id in first.vocab} == first.vocab
    assert other.merges[: len(first.merges)] == first.merges
    assert other != whole


def test_new_bytes_and_special_tokens_follow_behind_the_old_ids():
    initial = BPEModel({7: b"a", 3: b"b", 9: b"ab", 12: b"<|x|>"}, [(b"a", b"b")], ("<|x|>",), "cl100k")
    model = train(
        ["abc abc<|y|>abc"], num_merges=1, special_tokens=["<|y|>"], initial=initial, initial_alphabet="observed"
    )
    assert model.vocab == {**initial.vocab, 13: b" ", 14: b"c", 15: b"<|y|>", 16: b"abc"}
    assert model.merges == [(b"a", b"b"), (b"ab", b"c")]
    assert (model.special_tokens, model.pattern) == (("<|x|>", "<|y|>"), "cl100k")


def test_a_merge_that_makes_an_old_token_takes_no_new_id():
    initial = BPEModel({97: b"a", 98: b"b", 99: b"c", 100: b"ab"}, [], pattern=None)
    model = train(["ababab c ababab"], 6, initial=initial, initial_alphabet="observed")
    assert model.merges == [(b"a", b"b"), (b"ab", b"ab")]
    assert model.vocab == {**initial.vocab, 101: b" ", 102: b"abab"}


# Counts.


@pytest.mark.parametrize("tie_break", TIES)
def test_training_on_counts_is_training_on_their_text(tmp_path, tie_break):
    counts = count([TEXT, *sentences()], special_tokens=SPECIALS)
    counts.save(tmp_path / "all.counts")
    expected = train([TEXT, *sentences()], 400, SPECIALS, tie_break=tie_break)
    for given_ in (counts, WordCounts.load(tmp_path / "all.counts"), counts.merge()):
        assert train(given_, 400, tie_break=tie_break) == expected
        assert train(given_, 400, SPECIALS, tie_break=tie_break, pattern="gpt2") == expected
    options = {"num_merges": 20, "initial_alphabet": "observed"}
    assert train(counts, **options) == train([TEXT, *sentences()], special_tokens=SPECIALS, **options)


def test_special_tokens_have_ids_in_the_order_of_the_argument():
    counts = count([TEXT], special_tokens=SPECIALS)
    assert train(counts, num_merges=0).special_tokens == tuple(SPECIALS)
    assert train(counts, num_merges=0, special_tokens=SPECIALS[::-1]).special_tokens == tuple(SPECIALS[::-1])


def test_special_tokens_in_no_counted_pre_token_are_added(caplog):
    counts = count(["low lower <pad> low"], special_tokens=["<|x|>"])
    model = train(counts, num_merges=3, special_tokens=["<|x|>", "<|pad|>"])
    assert model.vocab[257] == b"<|pad|>"
    assert "without the special token '<|pad|>': fine if the text does not contain it" in caplog.text
    with pytest.raises(ValueError, match=r"special token 'owe': .* the pre-token b' lower' holds it; count again"):
        train(counts, num_merges=3, special_tokens=["<|x|>", "owe"])
    with pytest.raises(ValueError, match=re.escape("['<|x|>'] are missing, but the text of these counts was split")):
        train(counts, num_merges=3, special_tokens=["<|pad|>"])


@pytest.mark.parametrize(
    "options",
    [{"pattern": "cl100k"}, {"initial": BPEModel({97: b"a"}, [], pattern="o200k")}],
)
def test_another_pattern_than_that_of_the_counts_is_refused(options):
    with pytest.raises(ValueError, match=r"pattern: that of the counts is 'gpt2', .* they must be the same"):
        train(WordCounts({"low": 1}), num_merges=1, **options)


def test_a_pattern_may_be_named_as_the_counts_have_it():
    assert train(WordCounts({"low": 1}, pattern="cl100k"), num_merges=1, pattern="cl100k").pattern == "cl100k"
    assert train(WordCounts({"low": 1}, pattern=None), num_merges=1, pattern=None).pattern is None


def test_limits_and_penalties_go_by_counts_without_scale():
    weighted = count([Source([TEXT], weight="0.5"), Source(sentences(), weight=1)])
    whole = count([Source([TEXT], weight=1), Source(sentences(), weight=2)])
    assert (weighted.scale, whole.scale) == (2, 1)
    for options in ({"min_frequency": 40}, {"length_penalty": 7.5}):
        doubled = {name: value * 2 for name, value in options.items()}
        one, other = train(weighted, num_merges=500, **options), train(whole, num_merges=500, **doubled)
        assert one.merges == other.merges
        assert one.merges != train(whole, num_merges=500, **options).merges


# Memory.


def test_too_little_memory_is_refused_with_advice(monkeypatch):
    counts = WordCounts({f"word{number}": number % 7 + 1 for number in range(1000)})
    needed = training_bytes(counts, 100)
    monkeypatch.setattr(learning, "available_bytes", lambda: needed // 2)
    message = r"from 1,000 distinct pre-tokens takes up to .*; counts.prune\(5\) would leave 428"
    with pytest.raises(MemoryError, match=message):
        train(counts, num_merges=100)
    for source in (Source(sentences()), Source(sentences(), weight="0.01")):  # of some 18 occurrences each
        with pytest.raises(MemoryError, match="train on less" if source.weight < 1 else r"counts\.prune\("):
            train(source, num_merges=100)
    monkeypatch.setattr(learning, "available_bytes", lambda: 1)
    for hopeless in (counts, WordCounts({})):
        with pytest.raises(MemoryError, match="train on less text, or on a machine with more memory"):
            train(hopeless, num_merges=100)
    monkeypatch.setattr(learning, "available_bytes", lambda: None)
    assert len(train(counts, num_merges=100).merges) == 100


# Interrupt and resume.


@pytest.mark.parametrize("tie_break", TIES)
def test_training_resumes_from_its_folder(tmp_path, tie_break, monkeypatch):
    monkeypatch.setattr(merge_log, "_SECONDS", 0)
    options = {"special_tokens": SPECIALS, "tie_break": tie_break, "work_dir": tmp_path / "work"}
    (tmp_path / "text.txt").write_text("\n".join(sentences()))
    expected = train(tmp_path / "text.txt", 600, SPECIALS, tie_break=tie_break)
    log = tmp_path / "work" / "merges.log"

    def stop(event):
        if event.stage == "merging" and event.done > 0:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        train(tmp_path / "text.txt", 600, callback=stop, **options)
    assert log.read_bytes().splitlines()
    with log.open("ab") as file:
        file.write(b"6c6f 77")  # a line that was being written
    assert train(tmp_path / "text.txt", 600, **options) == expected
    expected = train(tmp_path / "text.txt", [300, 600, 650], SPECIALS, tie_break=tie_break)
    assert train(tmp_path / "text.txt", [300, 600, 650], **options) == expected


def test_a_folder_of_another_training_is_refused(tmp_path):
    counts = WordCounts({"low": 2, "lower": 1})
    train(counts, num_merges=2, work_dir=tmp_path)
    for other, options, name in (
        (WordCounts({"low": 3}), {}, "counts"),
        (counts, {"min_frequency": 2}, "min_frequency"),
        (counts, {"tie_break": "huggingface"}, "tie_break"),
        (counts, {"initial": train(counts, num_merges=1)}, "initial"),
    ):
        message = f"merges.log: expected a training with {name} .*; resume with the same input"
        with pytest.raises(ValueError, match=message):
            train(other, num_merges=2, work_dir=tmp_path, **options)
    (header, *_) = (tmp_path / "merges.log").read_bytes().splitlines(keepends=True)
    for damaged in (header + b"6c\n", header + b"6c 6f\n6c \xff\n", header.replace(b"}", b"")):
        (tmp_path / "merges.log").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"merges.log, line [123] is damaged .*; delete it"):
            train(counts, num_merges=2, work_dir=tmp_path)


def test_a_training_that_failed_lets_others_in(tmp_path, monkeypatch):
    counts = WordCounts({"low": 5, "lower": 2})
    monkeypatch.setattr(learning.Learning, "_check_memory", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError) as error:  # which keeps the frames, as notebooks do
        train(counts, num_merges=2, work_dir=tmp_path)
    monkeypatch.undo()
    assert train(counts, num_merges=2, work_dir=tmp_path).merges
    assert error


def test_a_listener_hears_of_every_merge():
    counts = WordCounts({"low": 5, "lower": 2})
    events = []
    model = train(counts, num_merges=4, callback=events.append)
    assert events[-1].done == events[-1].total == 4
    assert events[-1].merge == model.merges[-1]
    assert events[-1].count == 2
    assert {event.stage for event in events} == {"merging"}


DIES_WRITING = """
import os, sys
from hf_bpe import train
from hf_bpe._utils.work_log import WorkLog
from hf_bpe.training import Superwords, _checkpoint as merge_log

append, limit = WorkLog.append, int(sys.argv[3])

def append_half_and_die(log, text):
    lines = log.path.read_bytes().count(b"\\n") if log.path.exists() else 0
    if log.path.name == "merges.log" and lines + len(text.splitlines()) > limit:
        with log.path.open("ab") as file:
            file.truncate(log._end)
            file.write(text.encode()[:len(text) // 2])
        os._exit(9)
    append(log, text)

merge_log._SECONDS = 0
WorkLog.append = append_half_and_die
print(train(sys.argv[1], num_merges=599, superwords=eval(sys.argv[4]), work_dir=sys.argv[2]).fingerprint)
"""


@pytest.mark.parametrize(
    ("superwords", "lines"),
    [(None, (0, 1, 400, 500)), pytest.param(Superwords(after=300), (0, 100, 250), marks=thorough)],
    ids=["words", "superwords"],
)
def test_training_killed_while_writing_resumes_with_equal_merges(tmp_path, superwords, lines):
    (tmp_path / "text.txt").write_text("\n".join(sentences(number=900)))
    command = [sys.executable, "-c", DIES_WRITING, str(tmp_path / "text.txt"), str(tmp_path / "work")]
    for line in lines:
        assert subprocess.run([*command, str(line), repr(superwords)], check=False).returncode == 9
    ran = subprocess.run([*command, "9999", repr(superwords)], capture_output=True, text=True, check=True)
    expected = train(tmp_path / "text.txt", num_merges=599, superwords=superwords)
    assert ran.stdout.strip() == expected.fingerprint
