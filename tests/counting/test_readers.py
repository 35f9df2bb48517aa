"""Shards, read: whichever way, the same bytes give the same counts, and what is wrong is said or skipped."""

import codecs
import gzip
import json
import logging
import re
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe import Source, plan
from hf_bpe.counting import _count as counting
from hf_bpe.counting._error_policy import ErrorPolicy, Skipped
from hf_bpe.counting._readers import CountSettings, read, read_documents
from hf_bpe.pretokenizers._byte_level import repair_surrogates
from hf_bpe.pretokenizers._pattern import GPT2
from hf_bpe.reference import count_pre_tokens
from support.cases import case, check_refusals
from support.profiles import by_profile
from support.strategies import any_bytes, any_texts, patterns, texts

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
zstandard = pytest.importorskip("zstandard")
fsspec = pytest.importorskip("fsspec")

from support.reading import (  # noqa: E402
    PACK,
    SPECIALS,
    assert_error_or_skip,
    blocks_of,
    count,
    documents,
    expected_counts,
    joined,
    read_all,
    specials,
    split,
)


def write_folder(folder, kind, pack, all_documents):
    """Write documents to files of a format: a text file each, or the rows of two files."""
    folder.mkdir(parents=True)
    if kind == "txt":
        for number, document in enumerate(all_documents):
            (folder / f"{number}.txt{pack}").write_bytes(PACK[pack](document.encode()))
        return
    for number, rows in enumerate([all_documents[:2], all_documents[2:]]):
        if kind == "jsonl":
            lines = [json.dumps({"id": 1, "text": text}, ensure_ascii=number == 0) for text in rows]
            data = "\r\n".join(lines).encode() + b"\n\n" * number
            (folder / f"{number}.jsonl{pack}").write_bytes(PACK[pack](data))
        else:
            table = arrow.table({"id": [1] * len(rows), "text": arrow.array(rows, arrow.string())})
            parquet.write_table(table, folder / f"{number}.parquet", row_group_size=2)


KINDS = [("txt", pack) for pack in PACK] + [("jsonl", pack) for pack in PACK] + [("parquet", "")]


@pytest.mark.parametrize(("kind", "pack"), KINDS)
@settings(max_examples=by_profile(quick=8, thorough=25))
@given(documents, patterns, specials, st.integers(1, 30), st.integers(1, 20))
def test_counts_are_equal_for_all_formats_and_kinds_of_sources(
    tmp_path_factory, kind, pack, all_documents, pattern, special_tokens, batch_bytes, block
):
    folder = tmp_path_factory.mktemp("sources") / "files"
    write_folder(folder, kind, pack, all_documents)
    (folder / "readme").touch()  # so that there is something if there are no documents
    expected = expected_counts([document.encode() for document in all_documents], pattern, special_tokens)
    memory = fsspec.filesystem("memory")
    memory.put(str(folder), "/sources", recursive=True)
    paths = sorted(folder.glob("*.*"))
    sources = [paths, *([[*map(str, paths)]] if paths else [])]
    if paths:
        sources += [folder, str(folder), f"{folder}/*.*", folder.as_uri(), "memory://sources"]
        sources += [f"memory://sources/*.{kind}{pack}", Source(folder, weight=2), [*map(Source, paths)]]
    try:
        for source in sources:
            with blocks_of(block):
                assert count(source, pattern, special_tokens, batch_bytes=batch_bytes) == expected
    finally:
        memory.rm("/sources", recursive=True)


_LINES = [b'{"text": "low"}', b'{"text": "a\\nb\\u00e9"}', b"", b" ", b"{", b'{"txt": 1}', b"[" * 20]
_lines = st.lists(st.sampled_from([*_LINES, b'{"text": "\xff"}']), max_size=8)


@settings(max_examples=by_profile(quick=25, thorough=60))
@given(
    _lines,
    st.sampled_from([b"\n", b"\r\n"]),
    st.sampled_from([b"", codecs.BOM_UTF8]),
    st.integers(1, 40),
    st.integers(1, 9),
)
def test_ranges_of_json_lines_give_documents_and_skips_of_all(tmp_path_factory, lines, end, bom, size, block):
    path = tmp_path_factory.mktemp("ranges") / "a.jsonl"
    path.write_bytes(bom + end.join(lines))
    source = Source(path, on_error="skip", max_line_bytes=18)

    def read(shards):
        skipped, said = Skipped(), []
        with blocks_of(block), pytest.MonkeyPatch.context() as patch:
            patch.setattr(ErrorPolicy, "_report", lambda self, problem, error: said.append(problem))
            return [text for shard in shards for text in read_documents(shard, skipped)], skipped, said

    shards = plan(source, shard_bytes=size)
    assert sum(shard.size for shard in shards) == path.stat().st_size
    assert read(shards) == read(plan(source))


@settings(max_examples=by_profile(quick=25, thorough=60))
@given(st.lists(texts.map(str.encode) | any_bytes, max_size=5), patterns, specials, st.integers(1, 30))
def test_iterables_of_any_kind_give_the_same_counts(all_documents, pattern, special_tokens, batch_bytes):
    expected = expected_counts(all_documents, pattern, special_tokens)
    sources = [all_documents, iter(all_documents), [all_documents], (tuple(all_documents),), Source(all_documents)]
    try:
        decoded = [document.decode() for document in all_documents]
        sources += [decoded, (text for text in decoded), [decoded[:2], decoded[2:]], [*decoded[:1], *all_documents[1:]]]
    except UnicodeDecodeError:
        pass
    for source in sources:
        assert count(source, pattern, special_tokens, batch_bytes=batch_bytes) == expected


_pieces = texts.map(str.encode) | any_bytes | st.sampled_from(SPECIALS).map(str.encode)
any_data = st.lists(_pieces, max_size=8).map(b"".join)


@settings(max_examples=by_profile(quick=8, thorough=20))
@given(any_data, patterns, specials, st.integers(1, 60), st.integers(1, 30))
def test_ranges_sum_to_the_whole_in_mappings_and_streams(
    tmp_path_factory, data, pattern, special_tokens, shard_bytes, block
):
    path = tmp_path_factory.getbasetemp() / "ranges.txt"
    path.write_bytes(data)
    expected = expected_counts([data], pattern, special_tokens)
    with blocks_of(block):
        for source in (Source(path, errors="bytes"), Source(path.as_uri(), errors="bytes")):
            for size in (shard_bytes, 2**62):
                counted = count(source, pattern, special_tokens, shard_bytes=size, batch_bytes=block)
                assert counted == expected
        shards = plan(Source(path, errors="bytes"), shard_bytes=shard_bytes)
        parts = (count([shard], pattern, special_tokens) for shard in reversed(shards))
        assert sum(parts, Counter()) == expected


@settings(max_examples=by_profile(quick=8, thorough=20))
@given(any_data, patterns, specials, st.integers(1, 60))
def test_whoever_counts_a_range_cuts_it_at_the_same_places(
    tmp_path_factory, data, pattern, special_tokens, shard_bytes
):
    path = tmp_path_factory.getbasetemp() / "whoever.txt"
    path.write_bytes(data)
    for shard in plan(Source(path, errors="bytes"), shard_bytes=shard_bytes):
        counted = dict(counting.count([shard], pattern=pattern, special_tokens=special_tokens).items())
        assert counted == count([shard], pattern, special_tokens)


@given(documents, st.integers(1, 60))
def test_batches_are_closed_as_soon_as_they_are_full(all_documents, batch_bytes):
    [shard] = plan(iter(all_documents))
    batches = read(shard, CountSettings(GPT2), batch_bytes, Skipped())
    sizes = [[len(text.data) for text in batch.texts] for batch in batches]
    assert all(sum(batch) >= batch_bytes for batch in sizes[:-1])
    assert all(sum(batch[:-1]) < batch_bytes for batch in sizes)


def test_a_long_stream_comes_in_blocks_that_can_be_counted_apart(tmp_path):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"low lower lowest\n" * 10_000))
    [shard] = plan(path)
    batches = [*read(shard, CountSettings(GPT2), 1000, Skipped())]
    assert max(len(text.data) for batch in batches for text in batch.texts) < 200_000  # one block, unpacked
    assert len(batches) > 1
    assert [batch.read for batch in batches] == sorted(batch.read for batch in batches)
    assert batches[-1].read == path.stat().st_size


class TestInvalidUtf8:
    READ_AS = ("a.txt", "a.txt.gz", "a.txt.zst", "file://", "range")

    def sources(self, folder, data, **options):
        for kind in self.READ_AS:
            path = folder / (kind if kind.startswith("a.") else "a.txt")
            path.write_bytes(PACK[path.suffix if path.suffix in PACK else ""](data))
            yield path, Source(path.as_uri() if kind == "file://" else path, **options)

    @settings(max_examples=by_profile(quick=5, thorough=20))
    @given(any_bytes, st.integers(1, 20), st.integers(1, 30), specials)
    def test_invalid_utf8_is_an_error_with_its_location(
        self, tmp_path_factory, data, block, batch_bytes, special_tokens
    ):
        folder = tmp_path_factory.getbasetemp()
        try:
            data.decode()
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n") + 1
            place = f"a.txt{{}}: not UTF-8: byte 0x{data[error.start]:02X} at offset {error.start} ("
            for path, source in self.sources(folder, data):
                where = re.escape(place.format("" if path.suffix == ".txt" else path.suffix))
                with blocks_of(block), pytest.raises(ValueError, match=rf"{where}.*\) in line {line}; convert the"):
                    joined(source, special_tokens=special_tokens, batch_bytes=batch_bytes, shard_bytes=block)
        else:
            for _, source in self.sources(folder, data):
                with blocks_of(block):
                    assert joined(source, shard_bytes=block) == data

    @given(any_bytes, st.integers(1, 20), patterns)
    def test_invalid_utf8_ends_a_file_if_errors_are_skipped(self, tmp_path_factory, data, block, pattern):
        kept, is_valid = data, True
        try:
            data.decode()
        except UnicodeDecodeError as error:
            kept, is_valid = data[: error.start], False
        for _, source in self.sources(tmp_path_factory.getbasetemp(), data, on_error="skip"):
            skipped = Skipped()
            with blocks_of(block):
                counted = count(source, pattern, skipped=skipped, shard_bytes=block, batch_bytes=block)
            assert counted == count_pre_tokens([kept], pattern)
            assert skipped == Skipped(files=0 if is_valid else 1)

    @pytest.mark.parametrize("on_error", ["raise", "skip"])
    @settings(max_examples=by_profile(quick=5, thorough=20))
    @given(any_bytes, st.integers(1, 20), patterns)
    def test_invalid_utf8_is_replaced_or_counted_on_request(self, tmp_path_factory, on_error, data, block, pattern):
        for errors, expected in (("replace", data.decode("utf-8", "replace").encode()), ("bytes", data)):
            for _, source in self.sources(tmp_path_factory.getbasetemp(), data, errors=errors, on_error=on_error):
                skipped = Skipped()
                with blocks_of(block):
                    counted = count(source, pattern, skipped=skipped, shard_bytes=block, batch_bytes=block)
                assert counted == count_pre_tokens([expected], pattern)
                assert skipped == Skipped()

    LINE = b'{"text": "low \xff\xe4\xbd"}'

    @pytest.mark.parametrize(("errors", "expected"), [("replace", "low ��".encode()), ("bytes", b"low \xff\xe4\xbd")])
    def test_invalid_utf8_in_json_lines_is_handled_identically(self, tmp_path, errors, expected):
        (tmp_path / "a.jsonl").write_bytes(self.LINE)
        assert joined(Source(tmp_path / "a.jsonl", errors=errors)) == expected

    def test_invalid_utf8_in_a_json_line_is_an_error_or_skips_it(self, tmp_path):
        path = tmp_path / "a.jsonl"
        path.write_bytes(b'{"text": "a"}\n' + self.LINE + b'\n{"text": "b"}')
        assert_error_or_skip(
            path, r"a\.jsonl: line 2: not UTF-8: byte 0xFF at offset 14 .* of the line;", b"ab", Skipped(documents=1)
        )

    @pytest.mark.parametrize(
        ("errors", "expected"), [("replace", "a�b".encode()), ("bytes", b"a\xffb"), ("strict", None)]
    )
    def test_invalid_utf8_in_parquet_strings_is_handled_identically(self, tmp_path, errors, expected):
        path = tmp_path / "a.parquet"
        strings = arrow.array([b"c", b"a\xffb"], arrow.binary()).view(arrow.string())
        parquet.write_table(arrow.table({"text": strings}), path)
        if expected is not None:
            assert [*read_all(Source(path, errors=errors))] == [b"c", expected]
            return
        assert_error_or_skip(
            path, r"a\.parquet: row 1: not UTF-8: byte 0xFF at offset 1 .* of the text", b"c", Skipped(documents=1)
        )


MALFORMED_LINES = [
    ('{"text": null}', "expected a JSON object with a string as 'text', got null"),
    ('{"text": 5}', "expected a JSON object with a string as 'text', got int"),
    ('{"text": ["a"]}', "expected a JSON object with a string as 'text', got list"),
    ('{"body": "a", "id": 1}', "got an object with 'body', 'id'; give the column of the text"),
    ("{}", "got an object with nothing; give the column"),
    ('["a"]', "expected a JSON object with a string as 'text', got list"),
    ('"a"', "got str"),
    ("null", "got NoneType"),
    ("low lower", "expected a JSON object, got 'low lower': Expecting value"),
    ('{"text": "a"', 'expected a JSON object, got \'{"text": "a"\': Expecting'),
    ('{"text": "a"} {"text": "b"}', "expected a JSON object, got .*: Extra data"),
    ('{"text": "a\x01"}', "expected a JSON object, got .*: Invalid control character"),
    ("[" * 200_000, "expected a JSON object, got .*: .*recursion"),
    ('{"text": "a", "n": ' + "1" * 5000 + "}", "expected a JSON object, got .*: .*4300"),
]


class TestJsonLines:
    @given(st.lists(any_texts, max_size=4), st.sampled_from(["strict", "replace", "bytes"]), st.integers(1, 9))
    def test_lone_surrogates_in_escapes_are_repaired(self, tmp_path_factory, all_documents, errors, block):
        path = tmp_path_factory.getbasetemp() / "a.jsonl"
        path.write_text("\n".join(json.dumps({"text": text}) for text in all_documents), encoding="ascii")
        with blocks_of(block):
            found = joined(Source(path, errors=errors))
        assert found == b"".join(repair_surrogates(text).encode() for text in all_documents)

    # Bytes that JSON takes as they are, and text that is escaped.
    RAW = any_bytes.map(lambda data: re.sub(rb'[\x00-\x1f"\\]', b"", data))

    @given(st.lists(st.tuples(RAW, any_texts), max_size=5))
    def test_invalid_bytes_do_not_mix_with_escaped_surrogates(self, tmp_path_factory, parts):
        path = tmp_path_factory.getbasetemp() / "mixed.jsonl"
        line = b"".join(raw + json.dumps(text)[1:-1].encode() for raw, text in parts)
        path.write_bytes(b'{"text": "' + line + b'"}')
        expected, escaped = b"", ""
        for raw, text in parts:  # escapes with nothing between may form a pair
            if raw:
                expected += repair_surrogates(escaped).encode() + raw
                escaped = ""
            escaped += text
        assert joined(Source(path, errors="bytes")) == expected + repair_surrogates(escaped).encode()

    def test_escaped_backslashes_do_not_begin_an_escape(self, tmp_path):
        text = "\\ud800 \\\\\ud800\\"
        (tmp_path / "a.jsonl").write_text(json.dumps({"text": text}), encoding="ascii")
        assert joined(Source(tmp_path / "a.jsonl", errors="bytes")) == repair_surrogates(text).encode()

    def test_separators_of_lines_other_than_newline_are_text(self, tmp_path):
        text = "a\u2028b\x85c\x0bd\r"
        (tmp_path / "a.jsonl").write_bytes(b'\xef\xbb\xbf{"text": "a\xe2\x80\xa8b\xc2\x85c\\u000bd\\r"}\r\n')
        assert joined(tmp_path / "a.jsonl") == text.encode()

    def test_malformed_json_lines_are_an_error_or_skipped(self, tmp_path, caplog):
        path = tmp_path / "a.jsonl"
        for line, problem in MALFORMED_LINES:
            caplog.clear()
            path.write_text('{"text": "low"}\n\n  \n' + line + '\n{"text": " lower"}\n', encoding="utf-8")
            with case(line[:20]):
                assert_error_or_skip(path, rf"a\.jsonl: line 4: (?s:.*){problem}", b"low lower", Skipped(documents=1))
                assert re.search(rf"WARNING .*skipped: .*a\.jsonl: line 4: (?s:.*){problem}", caplog.text)


def test_skips_are_logged_one_by_one_up_to_a_limit(tmp_path, caplog):
    (tmp_path / "a.jsonl").write_text("low\n" * 150, encoding="utf-8")
    skipped = Skipped()
    with caplog.at_level(logging.WARNING, "hf_bpe"):
        assert joined(Source([tmp_path / "a.jsonl"] * 2, on_error="skip"), skipped=skipped) == b""
    assert skipped == Skipped(documents=300)
    assert len(caplog.records) == 101
    assert "line 101" in caplog.records[-1].message
    assert caplog.records[-1].message.endswith("; further skips are counted but not logged")


class TestCompressed:
    TEXT = b"low lower\n" * 40 + bytes(range(97, 123))

    @pytest.mark.parametrize(("pack", "name"), [(".gz", "gzip"), (".zst", "zstd")])
    @given(st.data(), st.integers(1, 30), st.sampled_from(["strict", "replace", "bytes"]))
    def test_files_that_end_too_early_are_an_error_or_read_to_there(
        self, tmp_path_factory, pack, name, data, block, errors
    ):
        path = tmp_path_factory.getbasetemp() / f"cut.txt{pack}"
        packed = PACK[pack](self.TEXT + "你".encode() * 9)
        path.write_bytes(packed[: data.draw(st.integers(1, len(packed) - 1))])
        with (
            blocks_of(block),
            pytest.raises(ValueError, match=rf"cut\.txt{pack}: its {name} data end too early, after"),
        ):
            joined(Source(path, errors=errors))
        skipped = Skipped()
        with blocks_of(block):
            kept = joined(Source(path, errors=errors, on_error="skip"), skipped=skipped)
        assert (self.TEXT + "你".encode() * 9).startswith(kept)
        assert skipped == Skipped(files=1)

    @pytest.mark.parametrize(("pack", "name"), [(".gz", "gzip"), (".zst", "zstd")])
    def test_files_that_are_something_else_are_an_error_or_skipped(self, tmp_path, caplog, pack, name):
        path = tmp_path / f"a.jsonl{pack}"
        path.write_bytes(b"low lower lowest")
        assert_error_or_skip(
            path, rf"a\.jsonl{pack}: not {name}, within its first 16 bytes: .*; copy it again", b"", Skipped(files=1)
        )
        assert f"a.jsonl{pack}: not {name}" in caplog.text

    @pytest.mark.parametrize("pack", [".gz", ".zst"])
    def test_text_before_damaged_bytes_is_kept_if_errors_are_skipped(self, tmp_path, pack):
        path = tmp_path / f"a.txt{pack}"
        path.write_bytes(PACK[pack](self.TEXT) + b"not packed")
        with blocks_of(5):
            assert_error_or_skip(path, r"not (gzip|zstd), within its first \d+ bytes", self.TEXT, Skipped(files=1))

    @pytest.mark.parametrize("pack", [".gz", ".zst"])
    @given(st.lists(st.binary(max_size=9), max_size=4), st.integers(1, 40))
    def test_files_of_several_parts_and_zeros_are_read_to_the_end(self, tmp_path_factory, pack, parts, block):
        path = tmp_path_factory.getbasetemp() / f"parts.txt{pack}"
        path.write_bytes(b"".join(PACK[pack](part) + b"\0" * 3 for part in parts))
        with blocks_of(block):
            assert joined(Source(path, errors="bytes")) == b"".join(parts)

    def test_empty_zstd_frames_are_skipped(self, tmp_path):
        skippable = b"\x50\x2a\x4d\x18\x04\0\0\0abcd"
        (tmp_path / "a.txt.zst").write_bytes(skippable + PACK[".zst"](b"low") + skippable)
        assert joined(tmp_path / "a.txt.zst") == b"low"

    def test_zstd_of_the_longest_distance_is_read(self, tmp_path):
        parameters = zstandard.ZstdCompressionParameters(window_log=30, compression_level=1)
        packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()  # of unknown size
        (tmp_path / "a.txt.zst").write_bytes(packer.compress(b"low") + packer.flush())
        assert joined(tmp_path / "a.txt.zst") == b"low"

    def test_last_line_of_a_truncated_file_is_no_document(self, tmp_path):
        lines = b"".join(b'{"text": "%d"}\n' % number for number in range(1000))
        (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines)[:-200])
        skipped = Skipped()
        kept = joined(Source(tmp_path / "a.jsonl.gz", on_error="skip"), skipped=skipped)
        assert kept
        assert b"".join(b"%d" % number for number in range(1000)).startswith(kept)
        assert skipped == Skipped(files=1)


WRONG_TABLES = [
    ({"body": ["a"], "id": [1]}, "there is no column 'text'; give the column of the text: 'body', 'id'"),
    ({"text": [5]}, "column 'text': expected strings or bytes, got int64"),
    ({"text": [["a"]]}, "column 'text': expected strings or bytes, got list<"),
    (b"low lower lowest", "cannot be read as Parquet: Parquet magic bytes not found"),
    (b"", "cannot be read as Parquet: "),
    (b"PAR1" + b"\xff" * 100 + b"\x10\0\0\0PAR1", "cannot be read as Parquet: "),
]


class TestParquet:
    @pytest.mark.parametrize("kind", ["string", "large_string", "binary", "large_binary", "dictionary"])
    def test_strings_and_bytes_of_every_type_are_read(self, tmp_path, kind):
        values = ["low", "é", ""] if kind not in ("binary", "large_binary") else [b"low", "é".encode(), b"\xff"]
        column = arrow.array(values, getattr(arrow, kind)()) if kind != "dictionary" else arrow.array(values)
        column = column.dictionary_encode() if kind == "dictionary" else column
        parquet.write_table(arrow.table({"text": column}), tmp_path / "a.parquet")
        expected = [value.encode() if isinstance(value, str) else value for value in values if value]
        assert [*read_all(tmp_path / "a.parquet")] == expected

    def test_the_column_that_is_named_is_read(self, tmp_path):
        parquet.write_table(arrow.table({"text": [1], "body": ["low"]}), tmp_path / "a.parquet")
        assert joined(Source(tmp_path / "a.parquet", column="body")) == b"low"
        assert joined(Source((tmp_path / "a.parquet").as_uri(), column="body")) == b"low"

    def test_nulls_are_an_error_that_names_the_row_or_skipped(self, tmp_path):
        path = tmp_path / "a.parquet"
        parquet.write_table(arrow.table({"text": ["low", None, " lower", None]}), path, row_group_size=1)
        assert_error_or_skip(
            path, r"a\.parquet: row 1: expected a string, got null", b"low lower", Skipped(documents=2)
        )

    def test_a_column_of_nothing_but_nulls_is_rows_that_are_wrong(self, tmp_path):
        parquet.write_table(arrow.table({"text": arrow.nulls(3)}), tmp_path / "a.parquet")
        assert_error_or_skip(tmp_path / "a.parquet", "row 0: expected a string", b"", Skipped(documents=3))

    def test_files_that_are_wrong_are_an_error_or_skipped(self, tmp_path):
        path = tmp_path / "a.parquet"
        for table, problem in WRONG_TABLES:
            if isinstance(table, bytes):
                path.write_bytes(table)
            else:
                parquet.write_table(arrow.table(table), path)
            with case(table):
                assert_error_or_skip(path, rf"a\.parquet: {problem}", b"", Skipped(files=1))

    def test_damaged_pages_are_an_error_or_skipped(self, tmp_path):
        path = tmp_path / "a.parquet"
        parquet.write_table(arrow.table({"text": ["low lower " * 50] * 50}), path, use_dictionary=False)
        data = bytearray(path.read_bytes())
        data[4:120] = b"\xff" * 116
        path.write_bytes(data)
        assert_error_or_skip(path, r"a\.parquet: cannot be read as Parquet", b"", Skipped(files=1))


class TestDatasets:
    @pytest.fixture
    def datasets(self):
        return pytest.importorskip("datasets")

    ROWS = ("low", "", "é", " lower")

    def kinds_of_datasets(self, datasets, rows, column="text"):
        data = datasets.Dataset.from_dict({"id": [*range(len(rows))], column: [*rows]})
        yield data
        yield data.to_iterable_dataset()
        yield data.with_format("numpy")
        yield data.select(range(len(rows)))
        yield datasets.IterableDataset.from_generator(lambda: ({"id": 1, column: text} for text in rows))

    @pytest.mark.parametrize("batch_bytes", [1, 1000])
    def test_datasets_in_memory_and_streaming_are_read(self, datasets, batch_bytes):
        for data in self.kinds_of_datasets(datasets, self.ROWS):
            with blocks_of(3):
                assert [*read_all(data, batch_bytes=batch_bytes)] == [b"low", "é".encode(), b" lower"]
        for data in self.kinds_of_datasets(datasets, self.ROWS, "body"):
            assert joined(Source(data, column="body", weight=2)) == "lowé lower".encode()

    def test_wrong_rows_are_an_error_that_names_them_or_skipped(self, datasets):
        for data in self.kinds_of_datasets(datasets, ["low", None, " lower"]):
            assert_error_or_skip(
                data,
                "source: iterable 0: row 1: expected a string as 'text', got null",
                b"low lower",
                Skipped(documents=1),
            )
        with pytest.raises(ValueError, match="row 0: expected a string as 'id', got int"):
            joined(Source(datasets.Dataset.from_dict({"id": [1]}), column="id"))

    def test_a_missing_column_is_an_error_that_names_those_there_are(self, datasets):
        for data in self.kinds_of_datasets(datasets, self.ROWS, "body"):
            with pytest.raises(ValueError, match=r"iterable 0: .*give the .* of the text|with 'id', 'body'; give the"):
                joined(data)

    def test_several_splits_are_refused(self, datasets):
        data = datasets.Dataset.from_dict({"text": ["low"]})
        for splits in (
            datasets.DatasetDict(train=data),
            datasets.IterableDatasetDict(train=data.to_iterable_dataset()),
        ):
            with pytest.raises(TypeError, match=r"DatasetDict, .*such as dataset\['train'\]\['text'\]"):
                Source(splits)


def shortened(text, limit):
    """Return the longest beginning of whole characters that is not longer than a limit."""
    kept = ""
    for char in text:
        if len((kept + char).encode()) > limit:
            break
        kept += char
    return kept.encode()


class TestCap:
    @pytest.mark.parametrize(("kind", "pack"), KINDS)
    @settings(max_examples=by_profile(quick=8, thorough=25))
    @given(documents, specials, st.integers(1, 12), st.integers(1, 30))
    def test_documents_of_all_sources_are_shortened_at_a_character(
        self, tmp_path_factory, kind, pack, all_documents, special_tokens, limit, block
    ):
        folder = tmp_path_factory.mktemp("cap") / "files"
        write_folder(folder, kind, pack, all_documents)
        parts = [part.decode() for text in all_documents for part in split(text.encode(), special_tokens)]
        expected = count_pre_tokens([shortened(part, limit) for part in parts], "gpt2")
        longer = sum(len(part.encode()) > limit for part in parts)
        for data in [[*sorted(folder.iterdir())], [path.as_uri() for path in sorted(folder.iterdir())], all_documents]:
            skipped = Skipped()
            source = Source(data, max_document_bytes=limit)
            with blocks_of(block):
                assert count(source, "gpt2", special_tokens, batch_bytes=block, skipped=skipped) == expected
            assert skipped == Skipped(shortened=longer)

    @settings(max_examples=by_profile(quick=25, thorough=60))
    @given(
        st.lists(any_bytes | st.sampled_from([b" ", b"<x>", b"a "]), max_size=8).map(b"".join),
        specials,
        st.integers(1, 12),
        st.integers(1, 9),
    )
    def test_invalid_bytes_are_shortened_identically(self, tmp_path_factory, data, special_tokens, limit, block):
        path = tmp_path_factory.getbasetemp() / "any.txt"
        path.write_bytes(data)
        options = {"max_document_bytes": limit, "errors": "bytes"}
        found = []
        for source in (path, path.as_uri(), [data]):
            with blocks_of(block):
                found.append(count(Source(source, **options), "gpt2", special_tokens, batch_bytes=block))
        assert found == [found[0]] * 3
        kept = [*read_all(Source([data], **options), "gpt2", special_tokens)]
        parts = [part for part in split(data, special_tokens) if part]
        assert sum(map(len, kept)) >= sum(max(min(len(part), limit - 3), 0) for part in parts)
        assert all(len(part) <= limit for part in kept)


NO_TEXTS = [
    ([5], "source: iterable 0: text 0: expected str or bytes, got int"),
    (["low", ["lower", None]], "iterable 0: text 1: expected str or bytes, got NoneType"),
    ([[["low"]]], "iterable 0: text 0: expected str or bytes, got list"),
    ([{"text": "low"}], "iterable 0: text 0: expected str or bytes, got dict"),
    ({Source("a.txt")}, "iterable 0: text 0: .* got Source; give paths and Sources in a list"),
]


def test_an_element_that_is_no_text_is_a_type_error():
    check_refusals(NO_TEXTS, joined, TypeError)


def test_an_element_that_is_no_text_can_be_skipped():
    skipped = Skipped()
    assert joined(Source(["low", None, [5, " lower"]], on_error="skip"), skipped=skipped) == b"low lower"
    assert skipped == Skipped(documents=2)


@pytest.mark.parametrize(
    ("name", "module", "extra"), [("a.parquet", "pyarrow", "parquet"), ("a.txt.zst", "zstandard", "zstd")]
)
def test_missing_package_is_named_with_its_extra(tmp_path, monkeypatch, name, module, extra):
    (tmp_path / name).write_bytes(b"x")
    monkeypatch.setitem(sys.modules, module, None)
    message = rf"{name}: reading it needs {module}, which is not installed; pip install 'hf_bpe\[{extra}\]'"
    with pytest.raises(ImportError, match=message):
        joined(Source(tmp_path / name, on_error="skip"))


def test_an_error_of_the_system_is_never_skipped(tmp_path):
    for name in ("a.txt", "a.jsonl", "a.parquet"):
        path = tmp_path / name
        path.touch()
        shards = plan(Source(path, on_error="skip"))
        path.unlink()
        with pytest.raises(FileNotFoundError):
            joined(shards)
