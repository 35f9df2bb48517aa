"""Lines, rows and text without safe cuts: memory stays within the limit, however well the input is compressed."""

import gzip
import json
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe import Source, plan
from hf_bpe._utils import memory
from hf_bpe.counting import _count as counting
from hf_bpe.counting import _file_formats as formats
from hf_bpe.counting._error_policy import Skipped
from hf_bpe.counting._readers import CountSettings, read
from hf_bpe.encoding._cuts.safe import SafeCuts, find_too_long
from hf_bpe.pretokenizers import Pattern
from support.profiles import by_profile
from support.strategies import patterns, texts

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
zstandard = pytest.importorskip("zstandard")
from support.reading import (  # noqa: E402
    PACK,
    assert_error_or_skip,
    blocks_of,
    count,
    expected_counts,
    joined,
    specials,
    split,
)

MB = 1 << 20


def stretches(text, pattern, special_tokens):
    """Return begin and end of each stretch of text between places where it can be cut, by definition."""
    cuts = SafeCuts(pattern, special_tokens)
    places = [0, *(at for at in range(1, len(text)) if cuts.find_first(text, at, at + 1) == at), len(text)]
    return [*pairwise(places)]


@settings(max_examples=by_profile(quick=60, thorough=200))
@given(texts.map(str.encode), patterns, specials, st.integers(1, 20), st.integers(0, 30), st.integers(0, 30))
def test_the_first_stretch_that_is_too_long_is_found(text, pattern, special_tokens, longest, start, length):
    cuts, stop = SafeCuts(pattern, special_tokens), start + length
    first = 0 if start == 0 else cuts.find_first(text, start)
    expected = None
    if start > 0 and (len(text) if first is None else first) - start > longest:
        expected = start
    elif first is not None:
        found = stretches(text, pattern, special_tokens)
        expected = next((b for b, e in found if first <= b < stop and e - b > longest), None)
    assert find_too_long(text, cuts, start, stop, longest) == expected


@settings(max_examples=by_profile(quick=60, thorough=200))
@given(texts.map(str.encode), patterns, specials, st.integers(1, 20), st.integers(1, 9), st.integers(1, 30))
def test_long_text_is_refused_or_ends_the_file_for_every_reader(
    tmp_path_factory, text, pattern, special_tokens, longest, block, batch_bytes
):
    folder = tmp_path_factory.getbasetemp()
    options = {"pattern": pattern, "special_tokens": special_tokens, "batch_bytes": batch_bytes}
    found = stretches(text, pattern, special_tokens)
    begin = next((begin for begin, end in found if end - begin > longest), None)
    for pack in (*PACK, "file://"):
        path = folder / f"long.txt{pack if pack in PACK else ''}"
        path.write_bytes(PACK.get(pack, bytes)(text))
        name = path.as_uri() if pack == "file://" else path
        skipped = Skipped()
        with blocks_of(block):
            kept = joined(Source(name, max_line_bytes=longest, on_error="skip"), skipped=skipped, **options)
            counts = counting.count(
                Source(name, max_line_bytes=longest, on_error="skip"), pattern=pattern, special_tokens=special_tokens
            )
        assert kept == b"".join(split(text[:begin], special_tokens))
        assert dict(counts.items()) == expected_counts([text[:begin]], pattern, special_tokens)
        assert skipped == Skipped(files=0 if begin is None else 1)
        if begin is not None:
            place = rf"line {1 + text.count(10, 0, begin)}, byte {begin} on: text without a safe cut, of more"
            with (
                blocks_of(block),
                pytest.raises(ValueError, match=rf"long\.txt.*: {place} than {longest} bytes, .*max_l"),
            ):
                joined(Source(name, max_line_bytes=longest), **options)


@pytest.mark.parametrize("pack", PACK)
@given(st.lists(texts, max_size=6), st.integers(1, 40), st.integers(1, 30))
def test_long_lines_of_json_are_refused_or_skipped(tmp_path_factory, pack, all_documents, longest, block):
    path = tmp_path_factory.getbasetemp() / f"long.jsonl{pack}"
    lines = [json.dumps({"text": text}, ensure_ascii=False).encode() for text in all_documents]
    path.write_bytes(PACK[pack](b"\n".join(lines)))
    long = [number for number, line in enumerate(lines, start=1) if len(line) > longest]
    kept = [text.encode() for text, line in zip(all_documents, lines, strict=True) if len(line) <= longest]
    skipped = Skipped()
    with blocks_of(block):
        found = count(Source(path, max_line_bytes=longest, on_error="skip"), skipped=skipped)
    assert found == expected_counts(kept, "gpt2", [])
    assert skipped == Skipped(documents=len(long))
    if long:
        place = rf"long\.jsonl.*: line {long[0]}: a line of more than {longest} bytes, the limit by max_line_bytes; "
        with blocks_of(block), pytest.raises(ValueError, match=place):
            joined(Source(path, max_line_bytes=longest))


def test_long_rows_of_parquet_are_refused_or_skipped(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(arrow.table({"text": ["low", "lowest", "low"]}), path)
    message = r"a\.parquet: row 1: a text of more than 5 bytes, the limit by max_line_bytes"
    assert_error_or_skip(path, message, b"lowlow", Skipped(documents=1), max_line_bytes=5)


@pytest.mark.parametrize("on_error", ["raise", "skip"])
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.jsonl", "a.jsonl.zst"])
def test_text_beyond_memory_is_an_error_even_with_skip(tmp_path, name, on_error):
    text = b"low " + b"o" * 50
    data = b'{"text": "%s"}' % text if "jsonl" in name else text
    (tmp_path / name).write_bytes(PACK[("." + name.split(".")[2]) if name.count(".") > 1 else ""](data))
    [shard] = plan(Source(tmp_path / name, on_error=on_error))
    options = CountSettings(Pattern("gpt2")), 10, Skipped()
    assert [*read(shard, *options, max_bytes=100)]
    with pytest.raises(MemoryError, match=rf"{name}: line 1.* of more than 20 bytes, the limit by max_memory"):
        [*read(shard, *options, max_bytes=20)]


def bombs(folder, size):
    """Write compressed files of about a thousandth of their content: one line of `size` bytes."""
    part, times = gzip.compress(b"a" * MB), size // MB
    (folder / "bomb.txt.gz").write_bytes(gzip.compress(b"low ") + part * times)
    (folder / "bomb.jsonl.gz").write_bytes(gzip.compress(b'{"text": "') + part * times + gzip.compress(b'"}'))
    frame = zstandard.ZstdCompressor().compress(b"a" * MB)
    (folder / "bomb.txt.zst").write_bytes(frame * times)
    with (folder / "sparse.txt").open("wb") as file:
        file.truncate(size)
    return ["bomb.txt.gz", "bomb.jsonl.gz", "bomb.txt.zst", "sparse.txt"]


def test_reader_unpacks_no_more_than_the_limit(tmp_path, monkeypatch):
    unpacked = []
    unpack = formats._unpack
    monkeypatch.setattr(
        formats, "_unpack", lambda *args: (unpacked.append(len(part)) or part for part in unpack(*args))
    )
    for name in bombs(tmp_path, 64 * MB):
        unpacked.clear()
        with pytest.raises(ValueError, match=rf"{name}: line 1.* more than 1000000 bytes, the limit by max_line_bytes"):
            counting.count(Source(tmp_path / name, max_line_bytes=10**6))
        assert sum(unpacked) < 4 * MB


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="measures what Linux reports")
def test_the_memory_of_the_process_stays_below_its_bound(tmp_path):
    code = """
import sys
from hf_bpe import count
try:
    count(sys.argv[1], max_memory="150MB", num_workers=1)
except MemoryError as error:
    assert "max_memory" in str(error)
else:
    raise AssertionError
[peak] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
assert int(peak) * 1024 < 150_000_000, peak
"""
    for name in bombs(tmp_path, 1 << 30):
        subprocess.run([sys.executable, "-c", code, str(tmp_path / name)], check=True)


def test_a_window_that_takes_more_than_there_is_is_refused(tmp_path):
    parameters = zstandard.ZstdCompressionParameters(window_log=27, compression_level=1)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()  # of unknown size
    path = tmp_path / "a.txt.zst"
    path.write_bytes(packer.compress(b"low") + packer.flush())
    [shard] = plan(path)
    options = CountSettings(Pattern("gpt2")), 10, Skipped()
    assert [*read(shard, *options, max_bytes=1 << 25)]
    with pytest.raises(MemoryError, match=r"a\.txt\.zst: .* takes more than 67108864 bytes, .* max_memory"):
        [*read(shard, *options, max_bytes=1 << 24)]


def test_max_memory_decides_how_long_a_line_may_be(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "low " * 500_000}))
    assert counting.count(path, max_memory="1TB").total == 500_001
    monkeypatch.setattr(counting, "_room", lambda limit: 14 * 10**6)
    message = r"a\.jsonl: line 1: a line of more than 1000000 bytes, the limit by max_memory"
    with pytest.raises(MemoryError, match=message):
        counting.count(path, max_memory=memory.resident_bytes() + 10**9)
