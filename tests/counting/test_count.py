import multiprocessing
import os
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_bpe import Source
from hf_bpe.counting import _count as counting
from hf_bpe.counting import _count_tables
from hf_bpe.reference import count_pre_tokens
from support.strategies import patterns, texts

TINY = 40  # bytes a batch, so that a few words make several batches
SPECIALS = ["<x>", "<x>y", "x>y", "yy", "你<", "<x"]
special_texts = st.lists(st.sampled_from([*"<x>y你é ", *SPECIALS]), max_size=20).map("".join)


def count(source, **options):
    return dict(counting.count(source, **options).items())


@pytest.fixture
def tiny_batches(monkeypatch, native):
    def native_counter(pattern, special_tokens, threads, memory):
        encoded = [special.encode() for special in special_tokens]
        return native.Counter(pattern, encoded, threads=threads, chunk_bytes=TINY)

    monkeypatch.setattr(_count_tables, "native_counter", native_counter)
    monkeypatch.setattr(counting, "_BATCH_BYTES", 4 * TINY)


@given(st.lists(texts, min_size=1, max_size=4), patterns)
def test_counts_are_equal_for_all_kinds_of_sources(tmp_path_factory, documents, pattern):
    folder = tmp_path_factory.mktemp("documents")
    paths = [folder / f"{number}.txt" for number in range(len(documents))]
    encoded = [document.encode() for document in documents]
    for path, document in zip(paths, encoded, strict=True):
        path.write_bytes(document)
    names = [*map(str, paths)]
    roads = [documents, tuple(documents), iter(documents), (document for document in documents)]
    roads += [encoded, iter(encoded), [encoded[0], *documents[1:]]]
    roads += [[documents], iter([documents[:1], tuple(documents[1:])])]
    roads += [names, tuple(names), paths, tuple(paths)]
    for road in roads:
        assert count(road, pattern=pattern) == count_pre_tokens(encoded, pattern)
    for road in (paths[0], names[0]):
        assert count(road, pattern=pattern) == count_pre_tokens(encoded[:1], pattern)


@pytest.mark.usefixtures("tiny_batches")
@pytest.mark.parametrize("pattern", ["gpt2", "o200k", None])
def test_counts_do_not_depend_on_the_number_of_workers(pattern):
    documents = ["low lower lowest " * number + "<x>\n你好" for number in range(40)]
    expected = count_pre_tokens((part for text in documents for part in text.encode().split(b"<x>")), pattern)
    for workers in (1, 2, 3):
        assert count(documents, pattern=pattern, special_tokens=["<x>"], num_workers=workers) == expected
    assert not multiprocessing.active_children()


@given(special_texts, st.permutations(SPECIALS), st.integers(0, len(SPECIALS)))
def test_text_is_split_at_special_tokens_longest_first(tmp_path_factory, text, specials, kept):
    specials = specials[:kept]
    longest_first = "|".join(map(re.escape, sorted(specials, key=len, reverse=True)))
    expected = [piece.encode() for piece in (re.split(longest_first, text) if specials else [text]) if piece]
    path = tmp_path_factory.getbasetemp() / "special.txt"
    path.write_bytes(text.encode())
    for source in ([text], [text.encode()], path):
        assert count(source, pattern=None, special_tokens=specials) == Counter(expected)


@pytest.mark.usefixtures("tiny_batches")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_file_that_is_not_utf8_is_refused(tmp_path, workers):
    (tmp_path / "good.txt").write_text("low " * 50, encoding="utf-8")
    (tmp_path / "bad.txt").write_bytes(b"low " * 50 + b"\xed\xa0\x80")
    with pytest.raises(ValueError, match=r"bad\.txt: not UTF-8: byte 0xED at offset 200 .*; convert the file"):
        count([tmp_path / "good.txt", tmp_path / "bad.txt"], special_tokens=["<x>"], num_workers=workers)


def test_nothing_is_counted_of_nothing(tmp_path):
    empty = tmp_path / "empty.txt"
    empty.touch()
    for source in (empty, [empty, empty], [], (), iter([]), [""], [b""], [[]], [["", ""]], ["<x>"]):
        assert count(source, special_tokens=["<x>"]) == Counter()


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="needs /dev/fd")
def test_a_pipe_is_read_to_its_end():
    reading, writing = os.pipe()
    os.write(writing, b"low low")
    os.close(writing)
    assert count(f"/dev/fd/{reading}") == {b"low": 1, b" low": 1}
    os.close(reading)


@pytest.mark.parametrize("workers", [0, -1])
def test_number_of_processes_is_checked(workers):
    with pytest.raises(ValueError, match=f"num_workers: expected at least 1, got {workers}"):
        count(["low"], num_workers=workers)


@pytest.mark.usefixtures("tiny_batches")
@pytest.mark.parametrize("workers", [1, 2])
def test_interrupt_in_the_source_leaves_no_process(workers):
    def interrupted():
        for _ in range(20):
            yield "low lower lowest " * 9
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        count(interrupted(), num_workers=workers)
    assert not multiprocessing.active_children()


def test_progress_is_shown_on_standard_error_when_asked_for(tmp_path, capsys):
    path = tmp_path / "a.txt"
    path.write_text("low" * 100, encoding="utf-8")
    count(path)
    assert capsys.readouterr() == ("", "")
    count(path, show_progress=True)
    output, errors = capsys.readouterr()
    assert output == ""
    assert re.search("Counting: 100%.* 300/300 ", errors)


def test_a_source_that_reads_files_its_own_way_is_counted(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "low low"}\n{"text": 5}\n', encoding="utf-8")
    (tmp_path / "b.txt").write_bytes(b"low\xff")
    bytes_as_they_are = Source(tmp_path / "b.txt", errors="bytes")
    expected = {b"low": 2, b" low": 1, b"\xff": 1}
    assert count([Source(tmp_path / "a.jsonl", on_error="skip"), bytes_as_they_are]) == expected
