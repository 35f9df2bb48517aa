"""Ids of columns of Arrow are those of the same texts as Python strings."""

import pickle
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_bpe import BPETokenizer

pa = pytest.importorskip("pyarrow")
from hf_bpe.distributed import ArrowEncoder  # noqa: E402

END, BEGIN = "<|endoftext|>", "<|begin|>"
TEXTS = ["low lower", None, "", f"widest {END} 你好", "low", "🙂" * 40, None, "newest", "low lower"]
KINDS = {
    "string": lambda array: array,
    "large_string": lambda array: array.cast(pa.large_string()),
    "binary": lambda array: array.cast(pa.binary()),
    "dictionary": lambda array: array.dictionary_encode(),
    "chunks": lambda array: pa.chunked_array([array[:2], array[2:2], array[2:5], array[5:]]),
    "no chunks": lambda array: pa.chunked_array([array[:0], array]),
    "slice": lambda array: pa.concat_arrays([pa.array(["x", None, "你"]), array, pa.array(["y"])])[3:-1],
}

TYPES = [pa.string(), pa.large_string()]
with suppress(AttributeError, pa.ArrowNotImplementedError):  # older releases cannot cast to views
    pa.array(["low"]).cast(pa.string_view()).cast(pa.large_binary())
    KINDS["string_view"] = lambda array: array.cast(pa.string_view())
    TYPES.append(pa.string_view())


@pytest.fixture(scope="module")
def tokenizer():
    text = "low low lower lower widest newest 你好"
    return BPETokenizer.train([text], num_merges=12, special_tokens=[END, BEGIN])


def rows(tokenizer, texts, numbers=None, **random):
    """Return the ids of texts one by one, at random if they have numbers; null for null."""
    options = [{} if numbers is None else {"first_text": numbers[at], **random} for at in range(len(texts))]
    return [
        None if text is None else tokenizer.encode_to_lists([text], **each)[0]
        for text, each in zip(texts, options, strict=True)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_of_any_type_have_the_ids_of_their_texts(tokenizer, kind):
    array = KINDS[kind](pa.array(TEXTS))
    encoded = tokenizer.encode_to_arrow(array)
    assert isinstance(encoded, pa.ChunkedArray if "chunks" in kind else pa.ListArray)
    assert encoded.type == pa.list_(pa.uint32())
    encoded.validate(full=True)
    assert encoded.to_pylist() == rows(tokenizer, TEXTS)
    assert tokenizer.encode_to_arrow(array, large=True).type == pa.large_list(pa.uint32())
    whole = KINDS[kind](pa.array([text or "" for text in TEXTS]))
    ids, offsets = tokenizer.encode_to_numpy(whole)
    expected = tokenizer.encode_to_numpy([text or "" for text in TEXTS])
    assert (ids.tolist(), offsets.tolist()) == (expected[0].tolist(), expected[1].tolist())
    with pytest.raises(ValueError, match=r"texts\[1\] is null, for which arrays have no place; use encode_to_arrow"):
        tokenizer.encode_to_numpy(array)
    random = {"dropout": 0.5, "seed": 3}
    numbers = [7, 0, 1, 2**40, 5, 9, 9, 0, 3]
    expected = rows(tokenizer, TEXTS, numbers, **random)
    assert tokenizer.encode_to_arrow(array, first_text=numbers, **random).to_pylist() == expected
    expected = rows(tokenizer, TEXTS, range(4, 99), **random)
    assert tokenizer.encode_to_arrow(array, first_text=4, **random).to_pylist() == expected


@given(texts=st.lists(st.none() | st.text(max_size=20), max_size=20), cut=st.integers(0, 20), data=st.data())
def test_any_texts(tokenizer, texts, cut, data):
    kind = data.draw(st.sampled_from(TYPES))
    array = pa.array(texts, pa.string()).cast(kind)[min(cut, len(texts)) :]
    assert tokenizer.encode_to_arrow(array).to_pylist() == rows(tokenizer, texts[cut:])


def test_lists_and_other_encoders(tokenizer, monkeypatch):
    array = pa.array([text for text in TEXTS if text is not None])
    assert tokenizer.encode_to_arrow(array.to_pylist()).equals(tokenizer.encode_to_arrow(array))
    normalizing = BPETokenizer.train(["low é"], num_merges=2, normalizer="NFC")
    assert normalizing.encode_to_arrow(pa.array(["e\u0301", None])).to_pylist() == rows(normalizing, ["e\u0301", None])
    monkeypatch.setattr("hf_bpe.encoding._arrow_texts._TOGETHER", 1)
    chunked = pa.chunked_array([array[:3], array[3:]])
    assert tokenizer.encode_to_arrow(chunked).num_chunks == 2
    assert tokenizer.encode_to_arrow(chunked).to_pylist() == rows(tokenizer, array.to_pylist())


def test_buffers_are_checked(tokenizer):
    encoder, options = tokenizer.pipeline.encoder, tokenizer.pipeline.options()

    def encode(data, begins, ends):
        return encoder.encode_utf8(data, np.array(begins, np.int64), np.array(ends, np.int64), options, 1)

    for begins, ends in (([0], [4]), ([-1], [1]), ([2], [1]), ([2**62], [2**62])):
        with pytest.raises(ValueError, match="begins, ends: expected positions in order and within the data"):
            encode(b"low", begins, ends)
    with pytest.raises(ValueError, match="expected one of each for a text"):
        encode(b"low", [0], [])
    with pytest.raises(TypeError, match="begins: expected an int64 array of one dimension"):
        encoder.encode_utf8(b"low", np.array([[0]]), np.array([1]), options, 1)
    assert encode(b"", [0, 0], [0, 0])[1].tolist() == [0, 0, 0]


def test_wrong_values_are_refused(tokenizer):
    with pytest.raises(TypeError, match="texts: expected strings, got Arrow's int64; give a column of strings"):
        tokenizer.encode_to_numpy(pa.array([1]))
    with pytest.raises(TypeError, match="texts: expected texts, got a Table, which stands for its columns"):
        tokenizer.encode_to_arrow(pa.table({"text": ["low"]}))
    with pytest.raises(ValueError, match="first_text: expected a number for each of 1 texts, got 2"):
        tokenizer.encode_to_arrow(pa.array(["low"]), dropout=0.5, seed=1, first_text=[1, 2])


@pytest.fixture(scope="module")
def table():
    return pa.table({"id": range(len(TEXTS)), "text": TEXTS, "url": [f"u{each}" for each in range(len(TEXTS))]})


def framed(tokenizer, begin=None, end=None, length=None):
    """Return the rows of a plain definition: the separator is ordinary text in a text."""
    expected = []
    for text in TEXTS:
        ids = None if text is None else [*tokenizer.encode_to_lists([text])[0]]
        if ids and end:
            ids = [i for part in text.split(END) for i in [*tokenizer.encode_to_lists([part])[0], None]][:-1]
            plain = tokenizer.encode(END, split_special_tokens=True, add_special_tokens=False)
            ids = [each for i in ids for each in (plain if i is None else [i])]
        if ids:
            extra = len([each for each in (begin, end) if each])
            ids = ids if length is None else ids[: length - extra]
            ids = [*([tokenizer.convert_tokens_to_ids(begin)] if begin else []), *ids]
            ids += [tokenizer.convert_tokens_to_ids(end)] if end else []
        expected.append(ids)
    return expected


@pytest.mark.parametrize("length", [None, 2, 3, 9])
@pytest.mark.parametrize(("begin", "end"), [(None, None), (BEGIN, None), (None, END), (BEGIN, END)])
def test_rows_are_framed_and_cut(tokenizer, table, begin, end, length):
    encode = ArrowEncoder(tokenizer, begin_token=begin, separator=end, max_length=length)
    encoded = encode(table)
    assert encoded.column_names == ["id", "text", "url", "input_ids"]
    assert encoded.drop_columns("input_ids").equals(table)
    encoded.validate(full=True)
    assert encoded["input_ids"].to_pylist() == framed(tokenizer, begin, end, length)
    assert encoded.schema.equals(encode.schema(table.schema))
    batches = [*encode.map(table.to_batches(4))]
    assert pa.Table.from_batches(batches).equals(encoded.combine_chunks().select(encoded.column_names))
    assert all(isinstance(batch, pa.RecordBatch) for batch in batches)


def test_columns_and_types(tokenizer, table, tmp_path):
    tokenizer.save_pretrained(tmp_path / "tok")
    encode = ArrowEncoder(tmp_path / "tok", output="text", columns=["text", "id"], dtype="int32", large=True)
    data = pickle.dumps(encode)
    assert len(data) < 1000
    encoded = pickle.loads(data)(table)
    assert encoded.column_names == ["text", "id"]
    assert encoded.schema.field("text").type == pa.large_list(pa.int32())
    assert encoded["text"].to_pylist() == rows(tokenizer, TEXTS)
    assert encode(table[:0])["text"].to_pylist() == []
    assert encode(table.to_batches()[0][:0]).num_rows == 0
    random = {"dropout": 0.5, "seed": 3}
    encode = pickle.loads(pickle.dumps(ArrowEncoder(tokenizer, first_text="id", dtype="int64", **random)))
    expected = rows(tokenizer, TEXTS, range(99), **random)
    assert encode(table)["input_ids"].to_pylist() == expected
    assert encode(table[4:])["input_ids"].to_pylist() == expected[4:]


def test_wrong_encoders_are_refused(tokenizer, table):
    def fails(error, message, *args, **options):
        with pytest.raises(error, match=message):
            ArrowEncoder(*(args or [tokenizer]), **options)(table)

    fails(TypeError, "tokenizer: expected a path or a BPETokenizer, got int", 7)
    fails(ValueError, "separator: 'x' is not a special or added token", separator="x")
    fails(ValueError, "expected one column 'texts', got none among", column="texts")
    fails(TypeError, "id: expected strings, got Arrow's int64", column="id")
    fails(ValueError, "first_text: expected a column with the number of each text for dropout", dropout=0.5, seed=1)
    fails(ValueError, "first_text: expected a column .* and only for that, got 'id'", first_text="id")
    fails(ValueError, "first_text: expected an integer in each row of 'url'", dropout=0.5, seed=1, first_text="url")
    fails(ValueError, "max_length: expected at least 1, got 0", max_length=0, separator=END)
    fails(ValueError, "max_length: expected at least 2, the number of", max_length=1, separator=END, begin_token=BEGIN)
    fails(ValueError, "dtype: expected one of 'uint32', 'int32', 'int64'", dtype="int8")
    with pytest.raises(TypeError, match="rows: expected a RecordBatch or a Table of pyarrow, got list"):
        ArrowEncoder(tokenizer)([1])
