"""Runs of counted words are merged in order, add up exactly, and are refused where they are damaged."""

import contextlib
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_bpe.counting._runs import FileRun, RunOfCounts, gather, merge_runs, read_valid_words, read_words

pytestmark = pytest.mark.usefixtures("native")

words = st.lists(st.sampled_from([b"a", b"b", b"\0", b"\xff", b"low", b"lower"]), min_size=1, max_size=9).map(b"".join)
tables = st.dictionaries(words, st.integers(1, 300) | st.integers(1, 2**64 - 1), max_size=30)
EVERYTHING = 1 << 40


def run_of(table):
    return RunOfCounts(table).read(EVERYTHING)


def piecewise(run, sizes):
    """Return what reads a run in pieces of the sizes given, over and over."""
    at = 0
    left = []

    def read(size):
        nonlocal at
        left.extend(sizes if not left else [])
        piece = run[at : at + min(size, left.pop())]
        at += len(piece)
        return piece

    return read


def merge(all_tables, multipliers=None, least=1):
    multipliers = multipliers or [1] * len(all_tables)
    total = Counter()
    for table, multiplier in zip(all_tables, multipliers, strict=True):
        for word, count in table.items():
            total[word] += count * multiplier
    return {word: count for word, count in total.items() if count >= max(least, 1)}


@given(tables)
def test_a_run_holds_its_words_in_order(table):
    for read in (read_words, read_valid_words):
        assert list(read(run_of(table))) == sorted(table.items())


@given(
    st.lists(st.tuples(tables, st.integers(1, 5) | st.integers(1, 2**64 - 1)), max_size=5),
    st.integers(0, 400) | st.just(2**70),
    st.integers(1, 100),
    st.lists(st.integers(1, 50), min_size=1),
)
def test_merging_adds_up(weighted, least, piece, sizes):
    all_tables, multipliers = [table for table, _ in weighted], [multiplier for _, multiplier in weighted]
    expected = merge(all_tables, multipliers)
    inputs = [piecewise(run_of(table), sizes) if sizes[0] % 2 else run_of(table) for table in all_tables]
    merger = merge_runs(inputs, multipliers, least)
    if max(expected.values(), default=0) >= 2**64:
        with pytest.raises(OverflowError, match="more than 2\\*\\*64 - 1 times"):
            gather(merger)
        return
    expected = merge(all_tables, multipliers, least)
    pieces = list(iter(lambda: merger.read(piece), b""))
    assert all(len(data) >= piece for data in pieces[:-1])
    assert b"".join(pieces) == run_of(expected)
    assert (merger.words, merger.total) == (len(expected), sum(expected.values()))


def test_the_total_may_pass_64_bits():
    merger = merge_runs([run_of(dict.fromkeys([b"a", b"b", b"c"], 2**64 - 1))], [1])
    gather(merger)
    assert merger.total == 3 * (2**64 - 1)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\0\1a\1\0\1a\1", "words are not in order"),
        (b"\0\1b\1\0\1a\1", "words are not in order"),
        (b"\0\2ab\1\1\1b\1", "words are not in order"),
        (b"\0\1a\1\1\0\1", "a word is no longer than what it shares"),
        (b"\0\1a\1\2\1b\1", "a word shares more bytes than the preceding word has"),
        (b"\0\1a\0", "a word has no count"),
        (b"\0\1a\x80\0", "a number is longer than necessary"),
        (b"\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\1a\1", "it ends inside a record"),
        (b"\0\xff\xff\xff\xff\xff\xff\x7fabc", "it ends inside a record"),  # no memory is taken for the length
        (b"\0\1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\2", "a number has more than 64 bits"),
        (b"\0\1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x80\1", "a number has more than 64 bits"),
    ],
)
def test_damaged_runs_are_refused_for_a_reason(data, problem):
    with pytest.raises(ValueError, match=problem):
        list(read_words(data))


@given(st.lists(st.sampled_from([b"\0\1a\1", b"\1\1a\5", b"\0\1b\x80\1", b"\2\1b\1", b"\x80", b"z"])).map(b"".join))
def test_runs_that_are_read_are_those_of_their_words(data):
    with contextlib.suppress(ValueError):
        assert run_of(dict(read_words(data))) == data


@given(tables.filter(bool), st.data())
def test_a_damaged_run_is_refused_or_another_one(table, data):
    run = run_of(table)
    damaged = bytearray(run)
    at = data.draw(st.integers(0, len(run) - 1))
    damaged[at] ^= data.draw(st.integers(1, 255))
    for other in (run[:at], bytes(damaged)):
        try:
            found = list(read_words(other))
        except ValueError:
            continue
        assert run_of(dict(found)) == other  # there is one way to write each run
        assert found != sorted(table.items())


def test_many_words_are_read_back_from_memory_and_files(tmp_path):
    generator = random.Random(0)
    table = {generator.randbytes(generator.randint(1, 60)): generator.getrandbits(40) + 1 for _ in range(30_000)}
    held = gather(merge_runs([run_of(table)], [1]), max_in_memory=1 << 30)
    filed = gather(merge_runs([held], [1]), folder=tmp_path)
    assert isinstance(held, bytes)
    assert isinstance(filed, FileRun)
    assert not list(tmp_path.iterdir())
    assert list(read_words(held)) == sorted(table.items())
    assert list(read_words(filed.reader())) == sorted(table.items())
    first, second = filed.reader(), filed.reader()  # of one file, at once
    assert gather(merge_runs([first, second], [1, 2]), max_in_memory=1 << 30) == run_of(
        {word: 3 * count for word, count in table.items()}
    )


def test_exceptions_of_the_reader_propagate():
    def read(size):
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        list(read_words(read))
    with pytest.raises(OSError, match="the disk is gone"):
        gather(merge_runs([read], [1]))
