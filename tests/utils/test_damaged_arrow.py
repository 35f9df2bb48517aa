"""Arrow data whose offsets, sizes or indices point beyond their buffers are refused before anything reads them."""

import struct

import numpy as np
import pytest

from hf_bpe import BPETokenizer, Source, count, train
from hf_bpe.counting import NormalizedTexts
from support.cases import case

pa = pytest.importorskip("pyarrow")
from hf_bpe.distributed import ArrowEncoder  # noqa: E402

LONG = "widest newest lowest lower"  # 26 bytes, which a view does not hold itself
TEXTS = ["low", LONG, None, "low lower"]
ROWS = [*"abcdefghijklmnopqrstu"]  # a number of rows that no other number of the stream equals
FAR = 1 << 30


def numbers(*values, dtype="<i4"):
    return np.array(values, dtype).tobytes()


def view(size, index=0, offset=3, prefix=b"wide"):
    return struct.pack("<i4sii", size, prefix, index, offset)


OFFSETS, LONG_OFFSETS, VIEW = (0, 3, 29, 29, 38), numbers(0, 3, 29, 29, 38, dtype="<i8"), view(26)
INDICES = (0, 1, 0, 2)
ROWS_OF_STREAM = numbers(21, dtype="<i8")

# Type of the column, what its stream has once, and what is there instead.
DAMAGED = {
    "offset beyond the data": ("string", numbers(*OFFSETS), numbers(0, 3, 29, 29, 138)),
    "offset far beyond": ("string", numbers(*OFFSETS), numbers(0, 3, FAR, FAR, FAR)),
    "offset beyond in the middle": ("string", numbers(*OFFSETS), numbers(0, FAR, 29, 29, 38)),
    "offsets that decrease": ("string", numbers(*OFFSETS), numbers(0, 30, 3, 29, 38)),
    "negative offset": ("string", numbers(*OFFSETS), numbers(-FAR, 3, 29, 29, 38)),
    "number of nulls": ("string", numbers(4, 1, dtype="<i8"), numbers(4, 3, dtype="<i8")),
    "long offset": ("large_string", LONG_OFFSETS, numbers(0, 3, 29, 29, 1 << 40, dtype="<i8")),
    "offset of bytes": ("binary", numbers(*OFFSETS), numbers(0, 3, 29, 29, FAR)),
    "long offset of bytes": ("large_binary", LONG_OFFSETS, numbers(-(1 << 40), 3, 29, 29, 38, dtype="<i8")),
    "index": ("dictionary", numbers(*INDICES), numbers(0, FAR, 0, 2)),
    "negative index": ("dictionary", numbers(*INDICES), numbers(0, -FAR, 0, 2)),
    "offset of a dictionary": ("dictionary", numbers(0, 3, 29, 38), numbers(0, 3, FAR, FAR)),
    "size of a view": ("string_view", VIEW, view(1000)),
    "negative size of a view": ("string_view", VIEW, view(-1)),
    "offset of a view": ("string_view", VIEW, view(26, 0, FAR)),
    "negative offset of a view": ("string_view", VIEW, view(26, 0, -4096)),
    "buffer of a view": ("string_view", VIEW, view(26, 7)),
    "negative buffer of a view": ("string_view", VIEW, view(26, -7)),
    "prefix of a view": ("string_view", VIEW, view(26, prefix=b"high")),
    "fewer views than rows": ("string_view", ROWS_OF_STREAM, numbers(1 << 24, dtype="<i8")),
    "size of a view of bytes": ("binary_view", VIEW, view(1000)),
    "offset of a view of bytes": ("binary_view", VIEW, view(26, 0, FAR)),
}

TOKENIZER = BPETokenizer.train(["low lower lowest"], num_merges=3, pad_token="<pad>")
NORMALIZING = BPETokenizer.train(["low lower lowest"], num_merges=3, normalizer="NFC")
WAYS = {
    "encode_to_arrow": TOKENIZER.encode_to_arrow,
    "encode_to_arrow, normalized": NORMALIZING.encode_to_arrow,
    "encode_to_arrow, chunks": lambda array: TOKENIZER.encode_to_arrow(pa.chunked_array([array[:0], array])),
    "encode_to_numpy": TOKENIZER.encode_to_numpy,
    "encode_to_lists": TOKENIZER.encode_to_lists,
    "encode_to_padded": TOKENIZER.encode_to_padded,
    "count_tokens": TOKENIZER.count_tokens,
    "encode_iterable": lambda array: [*TOKENIZER.encode_iterable(array)],
    "count": count,
    "count a Source": lambda array: count([Source(array)]),
    "train": lambda array: train(array, num_merges=3),
    "train_new_from_iterator": lambda array: TOKENIZER.train_new_from_iterator(array, 259),
    "NormalizedTexts": lambda array: [*NormalizedTexts(array)],
}
WAYS_OF_BATCHES = {
    "ArrowEncoder, batch": lambda batch: ArrowEncoder(TOKENIZER)(batch),
    "ArrowEncoder, table": lambda batch: ArrowEncoder(TOKENIZER)(pa.Table.from_batches([batch])),
    "ArrowEncoder, map": lambda batch: [*ArrowEncoder(TOKENIZER).map([batch])],
}


def batch_of_stream(kind, old=b"", new=b""):
    """Return the batch of a stream of Arrow in which some bytes are replaced, or None if pyarrow lacks the type."""
    array = pa.array(ROWS if old == ROWS_OF_STREAM else TEXTS)
    try:
        array = array.dictionary_encode() if kind == "dictionary" else array.cast(getattr(pa, kind)())
    except (AttributeError, pa.ArrowNotImplementedError):  # older releases cannot cast to views
        return None
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([array], ["text"])
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    stream = sink.getvalue().to_pybytes()
    assert old in stream
    return pa.ipc.open_stream(stream.replace(old, new)).read_next_batch()


def damaged_batches():
    made = {name: batch_of_stream(*damage) for name, damage in DAMAGED.items()}
    return {name: batch for name, batch in made.items() if batch is not None}


def test_damaged_columns_are_refused_on_every_way_in():
    for name, batch in damaged_batches().items():
        column = batch.column(0)
        calls = [(way, call, column) for way, call in WAYS.items()]
        calls += [(way, call, batch) for way, call in WAYS_OF_BATCHES.items()]
        for way, call, argument in calls:
            with case(name, way), pytest.raises(ValueError, match=rf"damaged data of Arrow's type .*{column.type}"):
                call(argument)


def test_refusals_of_arrow_arrays_do_not_print_them():
    for name, batch in damaged_batches().items():
        with case(name), pytest.raises(ValueError, match=r"text: expected a str, .*; got a value of type "):
            TOKENIZER(batch.column(0))
        with case(name), pytest.raises(TypeError, match="data: expected str or bytes, got a value of type "):
            TOKENIZER.encode_bytes(batch)


def test_damaged_numbers_of_texts_are_refused():
    encode = ArrowEncoder(TOKENIZER, column="text", first_text="text", dropout=0.5, seed=1)
    for name, batch in damaged_batches().items():
        with case(name), pytest.raises(ValueError, match="first_text: damaged data of Arrow's type"):
            encode(batch)


def test_strings_that_are_not_utf8_are_encoded_as_bytes():
    data = [b"low\xff", b"\x80 lower, longer than a view"]
    for kind in ("string", "large_string", "string_view"):
        if (batch := batch_of_stream(kind)) is not None:
            column = pa.array(data, getattr(pa, kind.replace("string", "binary"))()).view(batch.column(0).type)
            with case(kind):
                assert TOKENIZER.encode_to_arrow(column).to_pylist() == TOKENIZER.encode_to_lists(data)


def test_offsets_may_lie_in_a_buffer_with_room_left():
    offsets = pa.py_buffer(numbers(0, 3, dtype="<i8") + b"odd")
    column = pa.Array.from_buffers(pa.large_string(), 1, [None, offsets, pa.py_buffer(b"low")])
    assert TOKENIZER.encode_to_arrow(column).to_pylist() == TOKENIZER.encode_to_lists(["low"])
