"""Sources as shards: nothing is read here."""

import logging
import os
import pickle
import sys
import zipfile
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_bpe import Source, count, plan
from support.cases import case, check_refusals

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Stand in a folder with some files."""
    monkeypatch.chdir(tmp_path)
    for name in [
        "a.txt",
        "b.jsonl.gz",
        "notes.md",
        ".hidden.txt",
        "data/c.TXT",
        "data/d.parquet",
        "data/deep/e.ndjson",
        "data/deep/f.txt.zst",
        "data/deep/f.csv",
        "data/.cache/g.txt",
        "others/h.md",
    ]:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    return tmp_path


def names(source):
    """Return the files of a plan, from the folder that we stand in."""
    return [Path(os.path.relpath(shard.name)).as_posix() for shard in plan(source)]


IN_DATA = ["data/c.TXT", "data/d.parquet", "data/deep/e.ndjson", "data/deep/f.txt.zst"]


FILES = [
    ("a.txt", ["a.txt"]),
    (Path("notes.md"), ["notes.md"]),
    ("./data/../a.txt", ["a.txt"]),
    ("data", IN_DATA),
    ("data/", IN_DATA),
    (Path("data"), IN_DATA),
    (".", ["a.txt", "b.jsonl.gz", *IN_DATA]),
    ("*.txt", ["a.txt"]),
    ("data/*", ["data/c.TXT", "data/d.parquet"]),
    ("data/**", [*IN_DATA[:2], "data/deep/e.ndjson", "data/deep/f.csv", "data/deep/f.txt.zst"]),
    ("**/[ef].*", ["data/deep/e.ndjson", "data/deep/f.csv", "data/deep/f.txt.zst"]),
    (Path("*/*.md"), ["others/h.md"]),
    (["notes.md", "a.txt"], ["notes.md", "a.txt"]),
    (("*.txt", "data", Path("others/h.md")), ["a.txt", *IN_DATA, "others/h.md"]),
    (["a.txt", "a.txt"], ["a.txt", "a.txt"]),
    (["a.txt", Path("notes.md")], ["a.txt", "notes.md"]),
    (["a.txt", Source("data/*.parquet"), Path("notes.md")], ["a.txt", "data/d.parquet", "notes.md"]),
    (Source(["a.txt", "*.md"]), ["a.txt", "notes.md"]),
    (Source("data", format="jsonl"), ["data/deep/e.ndjson"]),
    (Source("data/*.TXT", format="jsonl"), ["data/c.TXT"]),
]


@pytest.mark.usefixtures("here")
def test_names_stand_for_files():
    for source, expected in FILES:
        with case(source):
            assert names(source) == expected


def test_a_name_that_looks_like_a_glob_is_a_file_if_there_is_one(here):
    Path("[a].txt").touch()
    assert names("[a].txt") == ["[a].txt"]
    assert names(["[a].txt"]) == ["[a].txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_links_are_followed_once_and_keep_their_names(here):
    Path("data/deep/loop").symlink_to(here / "data")
    Path("data/elsewhere").symlink_to(here / "others")
    Path("others/i.txt").touch()
    Path("data/z.jsonl").symlink_to(here / "notes.md")
    assert names("data") == sorted([*IN_DATA, "data/elsewhere/i.txt", "data/z.jsonl"])
    Path("data/broken.txt").symlink_to("nothing")
    with pytest.raises(FileNotFoundError, match=r"broken\.txt"):
        plan("data")


@pytest.mark.usefixtures("here")
def test_other_files_of_a_directory_are_counted_in_the_log(caplog):
    with caplog.at_level(logging.INFO, "hf_bpe"):
        plan("data")
    assert "data: left out 1 file without these suffixes: .txt .jsonl" in caplog.text


TEXTS = [
    [],
    ["low"],
    ["low", "lower"],
    ["low", ".", "..", "/", "*", "**", "/**", "?", ""],  # which are directories, or match some
    ["/"],
    [".", "*"],
    ["how are you?", "z*", "low\nlower * /", "[x]", "\0", "*\0", "low " * 80, "a/" * 5000, "*/" * 2000],
    [" a.txt", "a.txt\n", "see https://example.com/"],
    ["low", b"lower"],
    [["a.txt"]],
    [("a.txt",), "a.txt"],
    (text for text in ["a.txt"]),
    iter(["a.txt"]),
    {"a.txt"},
]


@pytest.mark.usefixtures("here")
def test_strings_that_name_no_file_are_texts():
    for texts in TEXTS:
        with case(texts):
            [shard] = plan(texts)
            assert (shard.name, shard.size, shard.version) == ("iterable 0", None, None)
            assert shard.source.data is texts
            assert not shard.is_file


INVALID = [
    ("no-such.txt", FileNotFoundError, "no file 'no-such.txt'; a str is a path: for a text itself give"),
    (Path("no-such.txt"), FileNotFoundError, "no file 'no-such.txt'"),
    ([Path("a.txt"), Path("no-such.txt")], FileNotFoundError, "no file 'no-such.txt'"),
    ([Source("a.txt"), "no-such.txt"], FileNotFoundError, "no file 'no-such.txt'"),
    ("", FileNotFoundError, "no file ''"),
    ("low lower " * 30, FileNotFoundError, "no file 'low lower .*; a str is a path"),
    ("low lower " * 3000, FileNotFoundError, "no file 'low lower .*; a str is a path"),
    ("low\0lower", FileNotFoundError, "no file .*; a str is a path"),
    ("how are you?", FileNotFoundError, r"no file matches 'how are you\?'; a str is a path"),
    ("*/" * 2000, FileNotFoundError, "no file matches '.*'; a str is a path"),
    ("a.txt/b.txt", FileNotFoundError, "no file 'a.txt/b.txt'"),
    ("dat[ab]", FileNotFoundError, r"'dat\[ab\]' matches directories only; give 'dat\[ab\]/\*\*'"),
    ("others", FileNotFoundError, r"'others' is a directory without text files: .*\.txt \.jsonl .*others/\*\*/\*"),
    (Source("others", format="parquet"), FileNotFoundError, "'others' is a directory without parquet files"),
    (["a.txt", "low lower"], ValueError, "'a.txt' names a file or directory and 'low lower' does not"),
    (["low " * 80, "a.txt"], ValueError, "'a.txt' names a file or directory and 'low low .*' does not"),
    (["a.txt", "."], ValueError, r"'a.txt' names a file or directory and '\.' does not"),
    (["data", "dta"], ValueError, "'data' names a file or directory and 'dta' does not"),
    (["*.txt", "*.text"], ValueError, r"'\*\.txt' names a file or directory and '\*\.text' does not"),
    (["s3://bucket/a.txt", "low"], ValueError, "a.txt' is a URL and 'low' is not; give only paths and URLs for files"),
    (b"low lower", TypeError, r"got bytes; to train on one text give \[text\]"),
    (5, TypeError, "expected a path, paths or an iterable of texts, got int"),
    (None, TypeError, "got NoneType"),
    ({"en/*.txt": 3}, TypeError, "got a dict, which stands for its keys; give a list"),
    ([Path("a.txt"), b"a.txt"], TypeError, "source: element 1 is bytes, expected a path like the others"),
    ([5, Path("a.txt")], TypeError, "source: element 0 is int, expected a path like the others"),
    (
        [Source("a.txt"), ["low"]],
        TypeError,
        "source: element 1 is list, expected a Source or a path like the others",
    ),
    ("a.parquet.gz", ValueError, "a.parquet.gz: Parquet is compressed inside; unpack the file"),
    (Source(["low"], format="jsonl"), ValueError, "format: expected None for an iterable, got 'jsonl'"),
    ("nosuch://bucket/a.txt", ValueError, "nosuch://bucket/a.txt: Protocol not known: nosuch"),
    ("memory://no-such.txt", FileNotFoundError, "no file 'memory://no-such.txt'"),
    ("memory://no-*.txt", FileNotFoundError, r"no file matches 'memory://no-\*\.txt'"),
]


@pytest.mark.usefixtures("here")
def test_invalid_sources_are_refused():
    for source, error, message in INVALID:
        with case(source):
            Path("a.parquet.gz").touch()
            with pytest.raises(error, match=message):
                plan(source)


def test_file_missing_in_a_store_names_what_may_be_wrong(monkeypatch):
    class Empty(fsspec.get_filesystem_class("memory")):
        protocol = "s3"

    monkeypatch.setitem(fsspec.get_filesystem_class.__globals__["_registry"], "s3", Empty)
    message = r"no file .s3://no-bucket/a\.txt.; expected a bucket .* the credentials"
    with pytest.raises(FileNotFoundError, match=message):
        plan("s3://no-bucket/a.txt")


WRONG_SOURCES = [
    (lambda: Source(5), TypeError, "got int"),
    (lambda: Source(Source("a.txt")), TypeError, "got Source in a Source; give a list of Sources"),
    (lambda: Source([Source("a.txt")]), TypeError, "got Source in a Source"),
    (lambda: Source("a", weight=0), ValueError, "weight: expected more than 0, got 0"),
    (lambda: Source("a", weight=-0.5), ValueError, "weight: expected more than 0, got -0.5"),
    (lambda: Source("a", weight=float("nan")), ValueError, "weight: expected a finite number, got nan"),
    (lambda: Source("a", weight=float("inf")), ValueError, "weight: expected a finite number, got inf"),
    (lambda: Source("a", weight=Decimal("Infinity")), ValueError, "weight: expected a finite number"),
    (lambda: Source("a", weight=Decimal("NaN")), ValueError, "weight: expected a finite number"),
    (lambda: Source("a", weight="1/0"), ValueError, "weight: expected a finite number, got '1/0'"),
    (lambda: Source("a", weight="much"), ValueError, "weight: expected a finite number, got 'much'"),
    (lambda: Source("a", weight=True), TypeError, "weight: expected a number or a str .*, got True"),
    (lambda: Source("a", weight=None), TypeError, "weight: expected a number or a str"),
    (lambda: Source("a", weight=[1]), TypeError, "weight: expected a number or a str"),
    (lambda: Source("a", format="csv"), ValueError, "format: expected one of None, 'text', 'jsonl', 'parquet'"),
    (lambda: Source("a", errors="ignore"), ValueError, "errors: expected one of 'strict', 'replace', 'bytes'"),
    (lambda: Source("a", on_error="warn"), ValueError, "on_error: expected one of 'raise', 'skip', got 'warn'"),
    (lambda: Source("a", column=3), TypeError, "column: expected a str, got 3"),
    (lambda: Source("a", max_document_bytes=0), ValueError, "max_document_bytes: expected at least 1, got 0"),
    (lambda: Source("a", max_document_bytes=1.5), TypeError, "max_document_bytes: expected an int"),
    (lambda: Source("a", max_document_bytes=True), TypeError, "max_document_bytes: expected an int"),
    (lambda: Source("a", max_line_bytes=0), ValueError, "max_line_bytes: expected at least 1, got 0"),
    (lambda: Source("a", max_line_bytes=None), TypeError, "max_line_bytes: expected an int"),
    (lambda: Source("a", max_line_bytes=1.5), TypeError, "max_line_bytes: expected an int"),
    (lambda: Source("a.txt", 3), TypeError, "positional argument"),
    (lambda: plan(["low"], shard_bytes=0), ValueError, "shard_bytes: expected at least 1, got 0"),
]


def test_a_source_checks_itself():
    check_refusals(WRONG_SOURCES, lambda make: make())


WEIGHTS = [
    (3, Fraction(3)),
    (0.1, Fraction(1, 10)),
    (1e-7, Fraction(1, 10**7)),
    (2.5e20, Fraction(25 * 10**19)),
    ("0.30", Fraction(3, 10)),
    ("1/3", Fraction(1, 3)),
    (Decimal("0.1"), Fraction(1, 10)),
    (Fraction(2, 7), Fraction(2, 7)),
    (np.float64(0.1), Fraction(1, 10)),
    (np.int64(2), Fraction(2)),
]


def test_weights_are_exact():
    for weight, exact in WEIGHTS:
        with case(weight):
            source = Source("a.txt", weight=weight)
            assert source.weight == exact
            assert type(source.weight) is Fraction
            assert plan(Source(["low"], weight=weight))[0].weight == exact


@given(st.floats(min_value=0, exclude_min=True, allow_infinity=False))
def test_a_float_weighs_what_python_prints_for_it(weight):
    assert Source("a.txt", weight=weight).weight == Fraction(repr(weight)) == Fraction(Decimal(repr(weight)))


KINDS = [
    ("a.txt", ("text", None)),
    ("A.TXT.GZ", ("text", "gzip")),
    ("a.jsonl.zst", ("jsonl", "zstd")),
    ("dir.gz/a.ndjson", ("jsonl", None)),
    ("a.parquet", ("parquet", None)),
    ("a.gz", ("text", "gzip")),
    ("a.md.zst", ("text", "zstd")),
    ("a", ("text", None)),
    ("dir.txt/a", ("text", None)),
    ("s3://bucket/a.jsonl", ("jsonl", None)),
    ("https://example.com/a.jsonl.gz?download=true", ("jsonl", "gzip")),
]


def test_the_name_tells_format_and_compression():
    [shard] = plan(["low"])
    for name, kind in KINDS:
        named = replace(shard, name=name)
        with case(name):
            assert (named.format, named.compression) == kind


def test_a_shard_knows_how_its_file_is_read(here):
    def how(source):
        [shard] = plan(source)
        return shard.format, shard.compression, shard.is_file, shard.is_local

    assert how("a.txt") == ("text", None, True, True)
    assert how(Source("b.jsonl.gz", format="text")) == ("text", "gzip", True, True)
    assert how((here / "a.txt").as_uri()) == ("text", None, True, True)
    assert how(["low"])[2:] == (False, False)


@given(st.integers(1, 300), st.integers(1, 60))
def test_ranges_follow_each_other_to_the_end(tmp_path_factory, size, shard_bytes):
    path = tmp_path_factory.getbasetemp() / "ranges.txt"
    path.write_bytes(b"x" * size)
    shards = plan(path, shard_bytes=shard_bytes)
    assert shards[0].start == 0
    assert shards[-1].stop is None
    assert [shard.start for shard in shards[1:]] == [shard.stop for shard in shards[:-1]]
    assert sum(shard.size for shard in shards) == size
    assert all(0 < shard.size <= shard_bytes for shard in shards)
    assert len({shard.key for shard in shards}) == len(shards)


CUT = [
    (Source("a.txt"), True),
    (Source("notes.md"), True),
    (Source("a.txt", errors="bytes"), True),
    (Source("a.txt", errors="bytes", on_error="skip"), False),
    (Source("b.jsonl.gz", format="text"), False),
    (Source("a.txt", format="jsonl", on_error="skip"), True),
    (Source("a.txt", format="parquet"), False),
    # Which take what is before to know what becomes of a byte.
    (Source("a.txt", errors="replace"), False),
    (Source("a.txt", on_error="skip"), False),
    (Source("a.txt", max_document_bytes=9), False),
]


@pytest.mark.usefixtures("here")
def test_plan_cuts_uncompressed_text_and_lines_into_ranges():
    for source, is_cut in CUT:
        with case(source):
            assert (len(plan(source, shard_bytes=2)) > 1) is is_cut


@pytest.mark.usefixtures("here")
def test_shards_are_taken_as_they_are():
    shards = plan(["a.txt", "data"], shard_bytes=2)
    assert plan(shards) == shards
    assert plan(shards[1::2]) == shards[1::2]
    assert plan(shards[0]) == shards[:1]
    assert plan([*shards, Source("notes.md"), "notes.md"]) == [*shards, *plan(["notes.md"] * 2)]


@pytest.mark.usefixtures("here")
def test_iterables_are_numbered():
    shards = plan([Source(["low"]), "a.txt", Source(iter(["low"]), weight=2)])
    assert [shard.name for shard in shards] == ["iterable 0", str(Path("a.txt").absolute()), "iterable 1"]


@pytest.mark.usefixtures("here")
def test_shards_of_files_can_be_pickled():
    shards = plan([Source("data", weight="1/3", column="c"), "a.txt"], shard_bytes=2)
    assert pickle.loads(pickle.dumps(shards)) == shards


@pytest.mark.usefixtures("here")
def test_a_key_tells_what_is_read_and_how():
    [shard] = plan("a.txt")
    assert [shard.key] == [shard.key for shard in plan(Source("./a.txt", weight=1.0))]
    others = [
        Source("notes.md"),
        Source("a.txt", weight=2),
        Source("a.txt", weight="1/2"),
        Source("a.txt", format="jsonl"),
        Source("a.txt", column="c"),
        Source("a.txt", errors="bytes"),
        Source("a.txt", on_error="skip"),
        Source("a.txt", max_document_bytes=9),
        Source("a.txt", max_line_bytes=5),
    ]
    keys = {shard.key, *(shard.key for shard in plan(others)), *(shard.key for shard in plan("a.txt", shard_bytes=2))}
    assert len(keys) == 1 + len(others) + 3
    assert "268435456" not in shard.key  # the default of max_line_bytes is left out, so that old keys stay valid


@pytest.mark.parametrize("is_url", [False, True])
def test_a_version_changes_with_the_file(here, is_url):
    path = here / "a.txt"
    source = path.as_uri() if is_url else path
    [first], [again] = plan(source), plan(source)
    assert first.version == again.version
    assert first == again
    assert first.size == 5
    os.utime(path, ns=(1, 1))
    [later] = plan(source)
    assert later.version not in (None, first.version)
    path.write_bytes(b"longer")
    os.utime(path, ns=(1, 1))
    [longer] = plan(source)
    assert longer.version != later.version


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="needs /dev/fd")
def test_a_pipe_has_no_size_and_no_version():
    reading, writing = os.pipe()
    [shard] = plan(f"/dev/fd/{reading}")
    assert (shard.size, shard.version) == (None, None)
    os.close(reading)
    os.close(writing)


class TestUrls:
    @pytest.fixture(autouse=True)
    def _memory(self):
        system = fsspec.filesystem("memory")
        for name in ["a.txt", "in/b.jsonl", "in/c d.parquet", "in/deep/e.txt", "in/.f.txt", "in/.g/h.txt", "in/i.md"]:
            system.pipe(f"/corpus/{name}", name.encode())
        yield
        system.rm("/corpus", recursive=True)

    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            ("a.txt", ["a.txt"]),
            ("in", ["in/b.jsonl", "in/c d.parquet", "in/deep/e.txt"]),
            ("in/", ["in/b.jsonl", "in/c d.parquet", "in/deep/e.txt"]),
            ("*.txt", ["a.txt"]),
            ("in/*", ["in/b.jsonl", "in/c d.parquet", "in/i.md"]),
            ("**/*.txt", ["a.txt", "in/deep/e.txt"]),
        ],
    )
    def test_urls_resolve_to_files(self, source, expected):
        shards = plan([f"memory:///corpus/{source}"])
        assert [shard.name for shard in shards] == [f"memory:///corpus/{name}" for name in expected]
        assert [shard.size for shard in shards] == [*map(len, expected)]
        assert all(shard.version and shard.is_file and not shard.is_local for shard in shards)
        assert [again for shard in shards for again in plan(shard.source)] == shards

    def test_urls_that_match_only_directories_are_refused(self):
        with pytest.raises(FileNotFoundError, match="matches directories only"):
            plan("memory://corpus/i*")

    def test_urls_of_archive_members_are_read(self, tmp_path):
        archive = tmp_path / "all.zip"
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("a.txt", b"low")
            file.writestr("in/b.txt", b"lower")
        names = [f"zip://{name}::{archive.as_uri()}" for name in ("a.txt", "in/b.txt")]
        assert [shard.name for shard in plan(f"zip://**/*.txt::{archive.as_uri()}")] == names
        assert [shard.name for shard in plan(names)] == names
        assert dict(count(names).items()) == {b"low": 1, b"lower": 1}

    def test_missing_package_of_a_protocol_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "s3fs", None)
        monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "s3", raising=False)
        expected = r"s3://bucket/a.txt: this URL needs another package besides fsspec: Install s3fs .*'hf_bpe\[s3\]'$"
        with pytest.raises(ImportError, match=expected):
            plan("s3://bucket/a.txt")

    def test_missing_fsspec_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "fsspec.core", None)
        with pytest.raises(ImportError, match=r"memory://a.txt: this URL needs fsspec: .*fsspec"):
            plan("memory://a.txt")
