"""Counts of words are merged, pruned, saved and read without the loss of one."""

import hashlib
import json
import pickle
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_bpe import WordCounts
from hf_bpe.counting import _word_counts as counts_module
from hf_bpe.pretokenizers import UNICODE_VERSION
from support.cases import check_refusals

words = st.binary(min_size=1, max_size=4) | st.sampled_from([b"low", b"lower", b"lowest"])
tables = st.dictionaries(words, st.integers(0, 2**20), max_size=12)
weights = st.fractions(min_value=Fraction(1, 50), max_value=50, max_denominator=50)


def exact(counts):
    """Return word → count, divided by the scale."""
    return {word: Fraction(count, counts.scale) for word, count in counts.items()}


@given(tables)
def test_word_counts_hold_the_given_words(table):
    counts = WordCounts(table)
    table = {word: count for word, count in table.items() if count}
    assert list(counts.items()) == sorted(table.items())
    assert list(counts) == sorted(table)
    assert (len(counts), counts.total) == (len(table), sum(table.values()))
    assert counts.top(3) == sorted(table.items(), key=lambda item: (-item[1], item[0]))[:3]


@given(st.lists(st.tuples(tables, weights), min_size=1, max_size=4), st.randoms())
def test_merging_is_exact_and_its_order_does_not_count(weighted, random):
    expected = {}
    for table, weight in weighted:
        for word, count in table.items():
            expected[word] = expected.get(word, 0) + weight * count
    parts = [(WordCounts(table), str(weight)) for table, weight in weighted]
    merged = parts[0][0].merge(*(counts for counts, _ in parts[1:]), weights=[weight for _, weight in parts])
    assert exact(merged) == {word: count for word, count in expected.items() if count}
    random.shuffle(parts)
    one_by_one = parts[0][0].merge(weights=[parts[0][1]])
    for counts, weight in parts[1:]:
        one_by_one = one_by_one.merge(counts, weights=[1, weight])
    assert one_by_one == merged
    assert one_by_one.fingerprint == merged.fingerprint


@given(tables, st.integers(0, 5), weights)
def test_pruning_goes_by_the_counts_without_scale(table, least, weight):
    counts = WordCounts(table).merge(weights=[str(weight)])
    assert exact(counts.prune(least)) == {word: count for word, count in exact(counts).items() if count >= least}


@given(tables)
def test_a_file_gives_the_same_back(tmp_path_factory, table):
    path = tmp_path_factory.getbasetemp() / "some.counts"
    counts = WordCounts(table, pattern=r"\w+", special_tokens=["<x>", "<y>"]).merge(weights=["0.3"])
    counts.save(path)
    loaded = WordCounts.load(path)
    for other in (loaded, pickle.loads(pickle.dumps(loaded)), pickle.loads(pickle.dumps(counts))):
        assert other == counts
        assert list(other.items()) == list(counts.items())
        assert (len(other), other.total, other.scale) == (len(counts), counts.total, counts.scale)
        assert (other.pattern, other.special_tokens) == (counts.pattern, counts.special_tokens)
        assert repr(other) == repr(counts)
    loaded.save(path)  # over itself
    assert WordCounts.load(path) == counts
    assert list(loaded.items()) == list(counts.items())


def test_counts_file_matches_its_documentation(tmp_path):
    WordCounts({"low": 2, "lower": 300}, special_tokens=["<x>"]).save(tmp_path / "some.counts")
    data = (tmp_path / "some.counts").read_bytes()
    run = b"\x00\x03low\x02" + b"\x03\x02er\xac\x02"
    assert data.startswith(b"hf_bpe counts 1\n" + run + b"{")
    assert data.endswith(b"hf_bpe counts 1\n")
    size = int.from_bytes(data[-24:-16], "little")
    about = json.loads(data[-24 - size : -24])
    settings = {"pattern": "gpt2", "special_tokens": ["<x>"], "unicode": UNICODE_VERSION}
    assert about == {
        **settings,
        "scale": 1,
        "words": 2,
        "total": 302,
        "fingerprint": hashlib.sha256(json.dumps([settings, 1]).encode() + run).hexdigest(),
        "skipped": {},
        "sources": [],
    }


def test_a_damaged_file_is_refused_whatever_the_damage(tmp_path):
    path = tmp_path / "some.counts"
    WordCounts({"low": 2, "lower": 300}).save(path)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=re.escape(str(path)) + ": (expected a|this) counts file"):
            WordCounts.load(path)
    end = whole.index(b'"words"')
    for at in [*range(end), *range(len(whole) - 24, len(whole))]:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(ValueError, match=re.escape(str(path)) + ": (expected a|this) counts file"):
            WordCounts.load(path)
    path.write_bytes(whole)
    assert len(WordCounts.load(path)) == 2


def test_a_file_by_another_unicode_is_refused(tmp_path, monkeypatch):
    WordCounts({"low": 2}).save(tmp_path / "some.counts")
    monkeypatch.setattr(counts_module, "UNICODE_VERSION", "17.0")
    with pytest.raises(ValueError, match=r"with Unicode 16.0, this version of hf_bpe uses 17.0"):
        WordCounts.load(tmp_path / "some.counts")


def test_the_order_of_special_tokens_does_not_count():
    one, other = (WordCounts({"low": 1}, special_tokens=tokens) for tokens in (["<x>", "<y>"], ["<y>", "<x>"]))
    assert one == other
    assert one.merge(other).top(1) == [(b"low", 2)]


COUNTS = WordCounts({"low": 1})
WRONG = [
    (lambda: WordCounts({b"": 1}), ValueError, "non-empty"),
    (lambda: WordCounts({b"low": -1}), ValueError, "got b'low': -1"),
    (lambda: WordCounts({b"low": 2**64}), ValueError, "0 to 2\\*\\*64 - 1"),
    (lambda: WordCounts({b"low": 1.5}), TypeError, "got b'low': 1.5"),
    (lambda: WordCounts({3: 1}), TypeError, "got 3: 1"),
    (lambda: WordCounts({}, pattern="gpt3"), ValueError, "pattern 'gpt3' is not known"),
    (lambda: WordCounts({}, special_tokens=[""]), ValueError, "special token ''"),
    (lambda: WordCounts({}, scale=0), ValueError, "scale: expected at least 1, got 0"),
    (
        lambda: COUNTS.merge(WordCounts({"low": 1}, pattern="cl100k")),
        ValueError,
        "pattern 'gpt2' and 'cl100k'; count again with the same settings",
    ),
    (
        lambda: COUNTS.merge(WordCounts({"low": 1}, special_tokens=["<x>"])),
        ValueError,
        r"special_tokens \[\] and \['<x>'\]; count again with the same settings",
    ),
    (lambda: COUNTS.merge(COUNTS, weights=[1]), ValueError, "weights: expected one for each of 2 counts, got 1"),
]


def test_wrong_words_weights_and_mixed_settings_are_refused():
    check_refusals(WRONG, lambda call: call())


def test_any_number_of_counts_is_merged_a_few_at_a_time(monkeypatch):
    monkeypatch.setattr(counts_module, "FAN_IN", 3)
    first, *others = [WordCounts({b"low": number, bytes([number]): 1}) for number in range(1, 30)]
    expected = {b"low": sum(range(1, 30)), **{bytes([number]): 1 for number in range(1, 30)}}
    assert first.merge(*others) == WordCounts(expected)
    doubled = WordCounts({word: 2 * count for word, count in expected.items()})
    assert first.merge(*others, weights=[2] * 29) == doubled


def test_long_runs_stay_in_files(monkeypatch, tmp_path):
    monkeypatch.setattr(counts_module, "IN_MEMORY", 10)
    table = {f"word{number}": number + 1 for number in range(1000)}
    counts = WordCounts({"low": 1}).merge(WordCounts(table))
    assert not isinstance(counts._run, bytes)
    monkeypatch.setattr(counts_module, "PIECE", 100)  # the system reads no more than 2 GB at once
    for other in (counts, pickle.loads(pickle.dumps(counts))):
        assert list(other.items()) == sorted((word.encode(), count) for word, count in {**table, "low": 1}.items())
    counts.save(tmp_path / "some.counts")
    assert WordCounts.load(tmp_path / "some.counts") == counts
