import functools
import re
from collections import Counter

import pytest

from hf_bpe.counting import _count as counting

TINY = 40  # bytes a batch, so that a few words make several batches


def count(source, **options):
    return dict(counting.count(source, **options).items())


@pytest.fixture
def tiny_batches(monkeypatch, native):
    monkeypatch.setattr(native, "Counter", functools.partial(native.Counter, chunk_bytes=TINY))
    monkeypatch.setattr(counting, "_BATCH_BYTES", 4 * TINY)


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


def test_progress_is_shown_on_standard_error_when_asked_for(tmp_path, capsys):
    path = tmp_path / "a.txt"
    path.write_text("low" * 100, encoding="utf-8")
    count(path)
    assert capsys.readouterr() == ("", "")
    count(path, show_progress=True)
    output, errors = capsys.readouterr()
    assert output == ""
    assert re.search("Counting: 100%.* 300/300 ", errors)
