"""Untrusted files: irregular files are refused without blocking, and reading is bounded."""

import json
import os
import re
import socket
import struct
from pathlib import Path

import pytest

from hf_bpe import BPETokenizer, Source, WordCounts, count, plan
from hf_bpe._utils import input_files
from hf_bpe.conversion import _formats as formats
from hf_bpe.conversion import _gguf_file as gguf_file
from hf_bpe.editing import Remap
from hf_bpe.formats._verification.mismatch import MismatchSearch
from hf_bpe.formats._verification.sides import side_of_pattern
from support.cases import case
from support.commands import error, run
from support.fuzz.odd_calls import time_limit

needs_posix = pytest.mark.skipif(os.name == "nt", reason="there are no such files on Windows")


@pytest.fixture(scope="module")
def tokenizer():
    return BPETokenizer.train(["low lower"], vocab_size=258)


@pytest.fixture(scope="module")
def saved(tmp_path_factory, tokenizer):
    folder = tmp_path_factory.mktemp("saved")
    tokenizer.save_pretrained(folder)
    return folder


def make_fifo(path):
    os.mkfifo(path)


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path.name)  # relative, for such names must be short


def link_to_device(path):
    path.symlink_to("/dev/zero")


ODD_FILES = {"a FIFO": make_fifo, "a socket": make_socket, "a character device": link_to_device}
READERS = {
    "count": lambda path, tokenizer: count(path),
    "count of a source": lambda path, tokenizer: count(Source(path, max_document_bytes=5)),
    "count of a glob": lambda path, tokenizer: count(str(path.parent / "odd*")),
    "count of a directory": lambda path, tokenizer: count(path.parent),
    "count of a URL": lambda path, tokenizer: count(path.as_uri()),
    "plan": lambda path, tokenizer: plan(path),
    "train": lambda path, tokenizer: BPETokenizer.train(str(path), 257),
    "encode_files": lambda path, tokenizer: tokenizer.encode_files(path, path.with_name("ids.npy")),
    "convert_from": lambda path, tokenizer: BPETokenizer.convert_from(path),
    "convert_from as text": lambda path, tokenizer: BPETokenizer.convert_from(path, format="tiktoken", pattern="gpt2"),
    "convert_from as GGUF": lambda path, tokenizer: BPETokenizer.convert_from(path, format="gguf"),
    "vocab_file": lambda path, tokenizer: BPETokenizer(path, path),
    "counts": lambda path, tokenizer: WordCounts.load(path),
    "remap": lambda path, tokenizer: Remap.load(path),
    "verified texts": lambda path, tokenizer: MismatchSearch(*[side_of_pattern("gpt2")] * 2).find([path]),
}


@needs_posix
@pytest.mark.parametrize("kind", ODD_FILES)
def test_irregular_files_are_refused_without_blocking(tmp_path, monkeypatch, tokenizer, kind):
    monkeypatch.chdir(tmp_path)
    ODD_FILES[kind](tmp_path / "odd.txt")
    message = rf"odd\.txt.* is ({kind}|not a regular file); expected"
    for name, read in READERS.items():
        with case(name), time_limit(), pytest.raises((OSError, ValueError), match=message):
            read(tmp_path / "odd.txt", tokenizer)


COMMANDS = """
count ODD -o x
train ODD -o x --vocab-size 300
train --counts ODD -o x --vocab-size 300
merge-counts ODD -o x
encode SAVED ODD
encode-files SAVED ODD -o x.npy
decode SAVED ODD
show SAVED ODD
tree ODD a
report SAVED ODD
compare SAVED SAVED/. --on ODD
convert ODD x
convert SAVED x --verify-with ODD
inspect ODD
verify SAVED SAVED ODD
prune SAVED -o x --keep ODD
prune SAVED -o x --keep ODD.npy
prune SAVED -o x --counts ODD --min-count 1
extend SAVED ODD -o x --add 1
truncate ODD -o x --vocab-size 300
pad ODD -o x --multiple 8
add-special-tokens ODD <y> -o x
"""


@needs_posix
def test_commands_refuse_a_fifo_without_waiting(tmp_path, monkeypatch, saved):
    monkeypatch.chdir(tmp_path)
    for name in ("odd", "odd.npy"):
        os.mkfifo(tmp_path / name)
    for command in COMMANDS.strip().split("\n"):
        arguments = [word.replace("ODD", "odd").replace("SAVED", str(saved)) for word in command.split()]
        with case(command), time_limit():
            assert "odd" in (message := error(*arguments))
            assert "is a FIFO; expected a regular file" in message


@needs_posix
def test_a_file_that_was_replaced_by_a_fifo_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("low")
    regular = path.stat()
    path.unlink()
    os.mkfifo(path)
    monkeypatch.setattr(os, "stat", lambda *args, **kwargs: regular)
    with time_limit(), pytest.raises(OSError, match="is a FIFO; expected a regular file"):
        input_files.open_regular(path)


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="needs /dev/fd")
def test_a_pipe_that_is_open_is_read_as_the_shell_passes_it(tmp_path, tokenizer, saved):
    def pipe(data):
        reading, writing = os.pipe()
        os.write(writing, data)
        os.close(writing)
        return reading

    for read, expected in (
        (lambda path: count(path).total, 2),
        (lambda path: tokenizer.encode_files(path, tmp_path / "x.npy").num_tokens, 3),
        (lambda path: run("encode", saved, path).stdout, "257 32 257\n"),
        (lambda path: run("decode", saved, path, stdin=b"").stdout, "ab"),
        (lambda path: run("show", saved, path).stdout, "low|·|low\n"),
    ):
        reading = pipe(b"97 98" if expected == "ab" else b"low low")
        with time_limit():
            assert read(f"/dev/fd/{reading}") == expected
        os.close(reading)


def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path, tokenizer):
    for read in (input_files.open_regular, input_files.read_bounded, WordCounts.load, Remap.load):
        with pytest.raises(IsADirectoryError):
            read(tmp_path)


BRACKETS = {"lists": "[],", "objects": "{},", "deep": "["}


@pytest.mark.parametrize("unit", BRACKETS.values(), ids=BRACKETS)
def test_json_of_too_many_parts_is_not_parsed(tmp_path, monkeypatch, unit):
    path = tmp_path / "tokenizer.json"
    text = f'{{"model": [{unit * (1 << 23)}'
    path.write_text(text)
    monkeypatch.setattr(json, "loads", pytest.fail)
    monkeypatch.setattr(json, "load", pytest.fail)
    for read in (
        BPETokenizer.convert_from,
        lambda path: BPETokenizer.from_pretrained(path.parent),
        lambda path: BPETokenizer(path, path),
        Remap.load,
    ):
        with pytest.raises(ValueError, match=r"tokenizer\.json: got \d+ brackets and \d+ commas, expected at most"):
            read(path)


def test_json_of_as_many_parts_as_a_vocabulary_has_is_parsed(monkeypatch):
    text = json.dumps({"vocab": {str(i): i for i in range(10)}, "merges": [["a", "b"]] * 10})
    monkeypatch.setattr(input_files, "_MAX_BRACKETS", text.count("[") + text.count("{"))
    monkeypatch.setattr(input_files, "_MAX_COMMAS", text.count(","))
    assert input_files.parse_json("x", text) == json.loads(text)
    with pytest.raises(ValueError, match="brackets"):
        input_files.parse_json("x", text.replace('"a"', "[]"))
    with pytest.raises(ValueError, match="commas"):
        input_files.parse_json("x", text.replace('"a"', '"a,"'))


@pytest.mark.parametrize("text", ["9" * 101, "-" + "9" * 5000, '{"a": 1%s}' % ("0" * 4300)])
def test_long_numbers_are_refused_by_the_name_of_the_file(text):
    with pytest.raises(ValueError, match=r"x\.json: the number -?\d+… has \d+ digits; expected at most 100"):
        input_files.parse_json("x.json", text)


def test_long_numbers_in_text_are_text():
    assert input_files.parse_json("x", json.dumps({"9" * 5000: 10**30})) == {"9" * 5000: 10**30}


def gguf(kind, count, key="tokenizer.ggml.tokens", keys=1):
    name = key.encode()
    header = b"GGUF" + struct.pack("<IQQ", 3, 0, keys) + struct.pack("<Q", len(name)) + name
    return header + struct.pack("<IIQ", 9, kind, count)


SPARSE = {
    "strings": (gguf(8, 1 << 30), "tokenizer.ggml.tokens: 1073741824 entries cannot be in the 268435387 bytes"),
    "fewer strings": (gguf(8, 1 << 24), "tokenizer.ggml.tokens: 16777216 strings; expected at most 4194304 in all"),
    "strings that are passed over": (gguf(8, 1 << 24, "a"), "a: 16777216 strings; expected at most 4194304 in all"),
    "bytes": (gguf(0, 1 << 25), "tokenizer.ggml.tokens: 33554432 entries; expected at most 4194304"),
    "doubles": (gguf(12, 1 << 36), "tokenizer.ggml.tokens: 68719476736 entries cannot be in"),
    "keys": (gguf(8, 1, keys=1 << 30), "byte 16: 1073741824 keys cannot be in the 268435432 bytes that follow"),
    "a string": (
        gguf(8, 1) + struct.pack("<Q", 1 << 39),
        "expected 549755813888 bytes, what may hold a vocabulary, 256",
    ),
}


def test_sparse_gguf_files_are_refused_before_they_are_read(tmp_path, monkeypatch):
    path, taken, take = tmp_path / "sparse.gguf", [], gguf_file._Reader.take
    monkeypatch.setattr(gguf_file._Reader, "take", lambda *args: taken.append(args[1]) or take(*args))
    for name, (header, message) in SPARSE.items():
        write_sparse(path, header)
        taken.clear()
        with case(name), pytest.raises(ValueError, match=rf"sparse\.gguf: .*{message}"):
            formats.read(path)
        assert len(taken) < 20


def write_sparse(path, header):
    """Write a file of a terabyte that takes no room."""
    with path.open("wb") as file:
        file.write(header)
        try:
            file.truncate(1 << 40)
        except OSError:
            pytest.skip("the file system takes no file of a terabyte")


def npy(shape, size, dtype="<u2"):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + b"\0" * size


ARRAYS = {
    "more than there is": npy("(1000000000000,)", 100),
    "more than memory has": npy(f"({10**18},)", 100),
    "past 64 bits": npy(f"({10**30},)", 100),
    "less than nothing": npy("(-5,)", 100),
    "objects": npy("(1,)", 100, "|O"),
    "floats": npy("(2,)", 16, "<f8"),
    "text": npy("(2,)", 16, "<U2"),
    "cut off": npy("(2,)", 16)[:20],
    "empty": b"",
    "no array": b"97 98\n",
    "an odd header": npy("[" * 50, 100),
}


def test_arrays_that_are_not_what_they_say_are_refused(tmp_path, saved):
    path = tmp_path / "ids.npy"
    for name, content in ARRAYS.items():
        path.write_bytes(content)
        with case(name):
            assert "ids.npy: " in error("prune", saved, "-o", tmp_path / "x", "--keep", path)


def test_arrays_are_read_piece_by_piece(tmp_path, saved, monkeypatch):
    from hf_bpe.cli import id_files

    path = tmp_path / "ids.npy"
    path.write_bytes(npy("(3, 2)", 0) + struct.pack("<6H", 257, 97, 257, 98, 97, 256))
    monkeypatch.setattr(id_files, "_IDS_AT_ONCE", 2)
    assert id_files.distinct_ids(path) == {97, 98, 256, 257}


def damaged_counts(change):
    def damage(path):
        data = path.read_bytes()
        length = int.from_bytes(data[-24:-16], "little")
        about = json.loads(data[-24 - length : -24])
        change(about)
        footer = json.dumps(about).encode()
        path.write_bytes(data[: -24 - length] + footer + len(footer).to_bytes(8, "little") + data[-16:])

    return damage


COUNTS = {
    "a length that is not there": lambda path: path.write_bytes(
        path.read_bytes()[:-24] + (1 << 60).to_bytes(8, "little") + path.read_bytes()[-16:]
    ),
    "more words than there is room for": damaged_counts(lambda about: about.update(words=10**12)),
    "words that are no number": damaged_counts(lambda about: about.update(words="5")),
    "a negative total": damaged_counts(lambda about: about.update(total=-5)),
    "a scale of zero": damaged_counts(lambda about: about.update(scale=0)),
    "a weight of zero": damaged_counts(lambda about: about["sources"].append({"name": "x", "weight": "1/0"})),
    "sources that are none": damaged_counts(lambda about: about.update(sources=[5])),
    "skipped that are none": damaged_counts(lambda about: about.update(skipped=[5])),
    "a list": damaged_counts(lambda about: about.clear()),
}


def test_counts_files_that_are_not_what_they_say_are_refused(tmp_path):
    path, counts = tmp_path / "x.counts", count(["low lower"])
    for name, damage in COUNTS.items():
        path.unlink(missing_ok=True)
        counts.save(path)
        damage(path)
        with case(name), pytest.raises(ValueError, match=r"x\.counts: this counts file (cannot be read|is cut off)"):
            WordCounts.load(path)


def test_a_sparse_counts_file_does_not_fill_memory(tmp_path):
    path, mark = tmp_path / "x.counts", b"hf_bpe counts 1\n"
    write_sparse(path, mark)
    with path.open("ab") as file:
        file.write((1 << 39).to_bytes(8, "little") + mark)
    with pytest.raises(ValueError, match=r"x\.counts: this counts file is cut off or damaged"):
        WordCounts.load(path)


def test_a_line_of_ids_may_be_of_any_length(saved, monkeypatch):
    from hf_bpe.cli.commands import using

    for size in (1, 2, 3, 5, 8, 100):
        monkeypatch.setattr(using, "_PART_BYTES", size)
        assert run("decode", saved, stdin=b"97 256  98\n\n257 97").stdout == "aowblowa"
        lines = run("decode", saved, "--lines", stdin=b"97 256  98\n\n257 97").stdout
        assert lines == "aowb\n\nlowa\n"
        assert run("decode", saved, "--lines", stdin=b"97 256\n").stdout == "aow\n"
        assert run("decode", saved, "--lines", stdin=b"").stdout == ""
        result = run("decode", saved, stdin=b"97\n98\n99 x", code=1)
        assert "line 3: expected a token id, got 'x'" in result.stderr


SHAPE = {"a": [(str, int)], "b": input_files.Optional(bool), "c": {re.compile("[0-9]+"): {"d": object, ...: object}}}


def test_values_of_another_shape_are_errors_with_their_places():
    for value, message in (
        ([], "expected an object, got []"),
        ({}, "a is missing"),
        ({"a": {}}, "a: expected a list, got {}"),
        ({"a": [["x"]]}, "a[0]: expected a list of 2, got ['x']"),
        ({"a": [["x", 1], ["x", True]]}, "a[1][1]: expected a number from 0 to 2^63 - 1, got True"),
        ({"a": [["x", -1]]}, "a[0][1]: expected a number from 0 to 2^63 - 1, got -1"),
        ({"a": [["x", 2**63]]}, "a[0][1]: expected a number from 0 to 2^63 - 1, got 9223372036854775808"),
        ({"a": [[1, 1]]}, "a[0][0]: expected a string, got 1"),
        ({"a": [], "b": 0}, "b: expected true or false, got 0"),
        ({"a": [], "b": None, "c": {"x": {"d": 1}}}, "c: expected names like [0-9]+, got 'x'"),
        ({"a": [], "b": None, "c": {"1": {"e": 1}}}, "c.1.d is missing"),
        ({"a": [], "b": None, "c": {}, "e": 1}, "expected no other keys than a, b, c, got 'e'"),
    ):
        with case(value), pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            input_files.check_shape(value, SHAPE)


def test_value_of_the_shape_is_returned():
    value = {"a": [["x", 0], ["y", 2**63 - 1]], "b": None, "c": {"12": {"d": [1], "e": 2}}}
    assert input_files.check_shape(value, SHAPE) is value
