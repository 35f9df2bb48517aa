"""Python may change its objects while the native core reads them: the core reads what it was given, or refuses it."""

import array
import mmap
import pickle
import random
import sys

import numpy as np
import pytest

from hf_bpe import BPEModel, BPETokenizer
from hf_bpe._native_core import native_core
from hf_bpe.core._arrays import TokenArrays
from hf_bpe.counting._runs import read_words
from hf_bpe.encoding._encoder import AddedTokenTuple, Options
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.reference._options import LearningOptions
from support.engines import native_encoder
from support.fuzz.interrupting_calls import ROUNDS, WAYS, race
from support.strategies import BYTES

LENGTH = 200  # of a text: so short that what is freed is used for the next object of its size
TEXTS_A_SIZE = 5000  # which is a megabyte
KINDS = {
    "ascii": lambda text: text,
    "latin": lambda text: text.replace("a", "é"),
    "wide": lambda text: text.replace("a", "ж"),
    "bytes": str.encode,
}
OPTIONS = Options()


def counted(texts):
    counter = native_core().Counter("gpt2", [], threads=2)
    assert counter.add(texts, check_utf8=False, progress=None) == (None, None)
    return counter.drain().read(1 << 40)


OPERATIONS = {
    "lists": lambda encoder, texts: encoder.encode_batch(texts, OPTIONS, 2),
    "arrays": lambda encoder, texts: [part.tobytes() for part in encoder.encode_to_numpy(texts, OPTIONS, 2)],
    "counts": lambda encoder, texts: encoder.count_tokens(texts, OPTIONS, 2),
    "places": lambda encoder, texts: [part.tobytes() for part in encoder.encode_with_offsets(texts, OPTIONS)],
    "words": lambda _, texts: counted(texts),
}


HAS_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()


class Index:
    """An int that runs code when it is read."""

    def __init__(self, value, code):
        self._value, self._code = value, code

    def __index__(self):
        self._code()
        return self._value


def made_texts(size, kind):
    digits = random.Random(size).randbytes(size * TEXTS_A_SIZE * LENGTH // 2).hex()
    return [KINDS[kind](digits[at : at + LENGTH]) for at in range(0, len(digits), LENGTH)]


def replaced(texts):
    """Return what frees the texts of a list, and uses their memory for others."""
    number, junk = len(texts), []

    def replace():
        filler = texts[0][:0] + type(texts[0])().join([texts[0][-1:]] * LENGTH)
        texts.clear()
        junk.extend(filler[:1] * LENGTH for _ in range(number))

    return replace


@pytest.fixture(scope="module")
def model(native):
    merges = [(b"0", b"1"), (b"2", b"3"), (b"01", b"23"), (b"b", b"c"), (b"bc", b"d"), (b"d", b"e")]
    vocab = BYTES | {256 + rank: first + second for rank, (first, second) in enumerate(merges)}
    return BPEModel(vocab, merges, pattern="gpt2")


# Lists that change


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_texts_of_a_list_cleared_meanwhile_are_taken(model, operation, way):
    encoder, first = native_encoder(model), [*OPERATIONS.values()].index(operation)
    for number in range(first, first + ROUNDS):  # so that the operations together try every kind
        kind = [*KINDS][number % len(KINDS)]

        def make(size, kind=kind):
            texts = made_texts(size, kind)
            return lambda: operation(encoder, texts), replaced(texts)

        result, size = race(way, make, nothing=operation(encoder, []))
        assert result == operation(native_encoder(model), made_texts(size, kind))


@pytest.mark.parametrize("way", WAYS)
def test_a_tokenizer_encodes_the_texts_that_it_was_given(model, way):
    tokenizer = BPETokenizer(model=model)

    def make(size):
        texts = made_texts(size, "latin")
        return lambda: tokenizer.count_tokens(texts, num_workers=1), texts.clear

    counts, size = race(way, make, nothing=[])
    assert counts == tokenizer.count_tokens(made_texts(size, "latin"))


def test_a_list_cleared_by_progress_is_counted_whole(native):
    texts = ["low lower lowest " * 1_000_000] * 20
    counter = native.Counter("gpt2", [], threads=1)
    assert counter.add(texts, check_utf8=False, progress=lambda _: replaced(texts)() if texts else None) == (None, None)
    assert texts == []
    assert dict(read_words(counter.drain().read(1000)))[b" lower"] == 20_000_000


@pytest.mark.parametrize("kind", [list, tuple])
def test_ids_of_a_list_cleared_meanwhile_are_decoded_unchanged(model, kind):
    encoder = make_encoder(model)
    for _ in range(ROUNDS):
        row = [1000 % 256] * 1000
        row[3] = Index(65, lambda row=row: (row.clear(), row.extend([object()] * 1000)))
        expected = bytes([232] * 3 + [65] + [232] * 996)
        assert encoder.decode(kind(row), b"") == expected
        rows = [[66], [67, Index(68, lambda: rows.clear())], [69]]  # noqa: B023
        assert encoder.decode_batch(rows, b"", "replace") == ["B", "CD", "E"]


def test_lists_of_numbers_may_change_while_they_are_read(native, model):
    encoder = native_encoder(model)
    ids, spans = np.arange(5000, dtype=np.uint32), np.array([[[0, 5000]]])

    def shrink():
        template_ids.clear()
        special.clear()
        ids.resize(0, refcheck=False)

    special = [Index(7, shrink), *range(1000)]
    template_ids = [special, (8,)]
    with pytest.raises(ValueError, match="spans: expected"):  # there are no ids any more
        native.rows_to_lists(ids, spans, template_ids, 0, 0, False)
    multipliers = [Index(3, lambda: multipliers.clear()), *range(2, 1002)]
    run = b"\0\1a\1"
    merged = native.RunMerger([run] * 1001, multipliers).read(100)
    assert native.RunReader(merged).next(2) == [(b"a", 3 + sum(range(2, 1002)))]
    letters = TokenArrays.of({5: b"a", 6: b"b", 7: b"c", 9: b"bc", 11: b"cb"})
    encoder = native.Encoder(model, make_encoder, letters, b"", "gpt2", excluded_tokens=[b"cb"])
    assert encoder.encode("bc a cb", Options(unknown_id=1)) == [9, 1, 5, 1, 7, 6]


def test_words_that_change_between_two_readings_are_refused(native):
    word = b"\0\4abcd\5"

    def learn(*runs):
        given = iter(runs)
        return native.learn_merges(
            lambda: next(given),
            LearningOptions(),
            initial=[],
            max_merges=10,
            progress=None,
        )

    assert len(learn(word, word)) == 3
    for other in (b"", b"\0\2ab\5", b"\0\5abcde\5", b"\0\4abcd\6"):
        with pytest.raises(RuntimeError, match="the words changed"):
            learn(word, other)


# Buffers that change


@pytest.mark.parametrize("pattern", ["gpt2", r"\w+|\W+"])
@pytest.mark.parametrize("normalizer", [None, "NFC"])
def test_texts_that_can_change_are_refused_with_what_to_give(model, pattern, normalizer):
    vocab, merges = model.vocab, model.merges
    tokenizer = BPETokenizer(model=BPEModel(vocab, merges, pattern=pattern, normalizer=normalizer))
    data = bytearray(b"0123 bcd")
    wrong = [data, memoryview(data), memoryview(data).toreadonly(), memoryview(bytes(data)), array.array("b", data)]
    for text in [*wrong, np.frombuffer(data, np.uint8)]:
        message = f"expected str or bytes, got {type(text).__name__}"
        for encode in (tokenizer.encode_to_lists, tokenizer.encode_to_numpy, tokenizer.count_tokens):
            with pytest.raises(TypeError, match=rf"{message}, which can change; give bytes\(text\)"):
                encode(["é", text])
        with pytest.raises(TypeError, match=message):
            tokenizer.encode_bytes(text)
        with pytest.raises(TypeError, match=f"piece 0 is {type(text).__name__}, expected str or bytes"):
            [*tokenizer.encode_iterable([text])]
    assert tokenizer.encode_bytes(bytes(memoryview(data))) == tokenizer.encode_bytes(b"0123 bcd")


def test_subclasses_of_str_and_bytes_are_texts(model):
    class Str(str):
        __slots__ = ()

    class Bytes(bytes):
        def __buffer__(self, flags):
            return memoryview(b"other")

    encoder = make_encoder(model)
    assert encoder.encode_batch([Str("bé"), Bytes(b"bcd")], OPTIONS, 1) == [[98, 195, 169], [260]]


def test_counted_mappings_are_read_only_and_stay_open(native, tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"low lower lowest " * 1_000_000)

    class Mapping(mmap.mmap):
        pass

    refused = []

    def close(_):
        with pytest.raises(BufferError):
            mapping.close()
        refused.append(True)

    with path.open("r+b") as file:
        wrong = [(mmap.mmap, mmap.ACCESS_WRITE), (mmap.mmap, mmap.ACCESS_COPY), (Mapping, mmap.ACCESS_READ)]
        for make, access in wrong:
            mapping = make(file.fileno(), 0, access=access)
            with mapping, pytest.raises(TypeError, match="expected str, bytes or mmap, got"):
                native.Counter("gpt2", [], threads=1).add([mapping], check_utf8=False, progress=None)
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
            counter = native.Counter("gpt2", [], threads=1)
            assert counter.add([mapping] * 20, check_utf8=True, progress=close) == (None, None)
        assert mapping.closed
    assert refused
    assert dict(read_words(counter.drain().read(1000)))[b" lower"] == 20_000_000


def test_rows_are_written_of_the_spans_that_were_given(native):
    def make(size):
        ids, spans = np.ones(1000, np.uint32), np.tile(np.array([[[0, 900]]]), (1000 * size, 1, 1))

        def change():
            spans[:] = 2**40
            ids[:] = 2

        def call():
            try:
                rows, mask = native.rows_to_arrays(ids, spans, [(), (1,)], 901, 0, False)
            except ValueError:
                if HAS_GIL:
                    raise
                return None  # the spans changed before they were copied
            return rows.shape, mask.shape, rows.min(), rows.max(), mask.min()

        return call, change

    for _ in range(ROUNDS):
        found, size = race("thread", make, nothing=None)
        # Without a GIL, ids may change before they are copied.
        assert found in [((1000 * size, 901), (1000 * size, 901), 1, most, 1) for most in ([1] if HAS_GIL else [1, 2])]


# Arguments of every wrong kind


def added(**changes):
    return AddedTokenTuple("<x>", 300, *[False] * 5)._replace(**changes)


def test_wrong_arguments_are_refused_by_name(native, model):
    encoder = native_encoder(model)
    ids, spans, nothing = np.arange(9, dtype=np.uint32), np.array([[[0, 3]]]), [(), ()]

    def rows(*arguments):
        return lambda: native.rows_to_arrays(*arguments, 0, False)

    def made(vocab, merge_ids=b"", **options):
        tokens = TokenArrays.of(vocab) if isinstance(vocab, dict) else vocab
        return lambda: native.Encoder(model, make_encoder, tokens, merge_ids, None, **options)

    def written(merge_ids, tokens=None, around=("", "", "")):
        tokens = TokenArrays.of({0: b"a"}) if tokens is None else tokens
        return lambda: native.write_tokens(tokens, "json", None, merge_ids, around)

    def ids_of(*ids):
        return array.array("I", ids).tobytes()

    for call, error, message in [
        (lambda: encoder.encode("a", (0, 1, None)), TypeError, "options"),
        (lambda: encoder.encode("a", (False, False, -1)), TypeError, "options"),
        (lambda: encoder.encode("a", (False, False, 2**32)), TypeError, "options"),
        (lambda: encoder.encode(5, OPTIONS), TypeError, "expected str or bytes, got int"),
        (lambda: encoder.encode_batch(["a", None], OPTIONS, 1), TypeError, "expected str or bytes, got NoneType"),
        (lambda: encoder.encode_batch("a", OPTIONS, 1), TypeError, "incompatible"),
        (lambda: encoder.encode_batch(["a"], OPTIONS, 2**32), TypeError, "incompatible"),
        (lambda: encoder.encode_batch(["a"], OPTIONS, -1), TypeError, "incompatible"),
        (lambda: encoder.decode([2**64], b""), KeyError, str(2**64)),
        (lambda: encoder.decode([2**32], b""), KeyError, str(2**32)),
        (lambda: encoder.decode([-1], b""), KeyError, "-1"),
        (lambda: made({3: b"a", 5: b"b"})().decode([3, 4], b""), KeyError, "4"),
        (lambda: encoder.decode([0xFFFFFFFF], b""), KeyError, "4294967295"),
        (lambda: encoder.decode(["a"], b""), TypeError, "integer"),
        (lambda: encoder.decode(7, b""), TypeError, "expected a sequence"),
        (lambda: encoder.with_added_tokens((added(id=2**31),)), ValueError, r"2\*\*31"),
        (lambda: encoder.with_added_tokens((added(id=2**32),)), TypeError, "tokens: expected tuples"),
        (lambda: encoder.with_added_tokens((added(content="\ud800"),)), TypeError, "in valid Unicode"),
        (lambda: encoder.with_added_tokens(([*added()],)), TypeError, "tokens: expected tuples"),
        (rows(ids, spans.astype(np.int64)[0], nothing, 9), TypeError, "three dimensions"),
        (rows("abc", spans, nothing, 9), TypeError, "ids: expected a uint32 array"),
        (rows(ids, np.zeros((2**40, 0, 2), np.int64), [()], 9), ValueError, "one more than sequences"),
        (rows(ids, np.array([[[0, 10]]]), nothing, 9), ValueError, "lie within the ids"),
        (rows(ids, np.array([[[-1, 2]]]), nothing, 9), ValueError, "lie within the ids"),
        (rows(ids, np.array([[[3, 2]]]), nothing, 9), ValueError, "begin before it ends"),
        (rows(ids, spans, [(), (-1,)], 9), TypeError, "template_ids: expected an int from 0"),
        (rows(ids, spans, [(), 5], 9), TypeError, "template_ids: expected a list or tuple, got int"),
        (lambda: encoder.encode_to_rows([], OPTIONS, 1, nothing, None, [2, 0, False]), TypeError, "padding: expected"),
        (rows(ids, spans, nothing, 2), ValueError, "no row exceeds"),
        (rows(ids, spans, nothing, 2**62), MemoryError, "alloc"),
        (made({2**31: b"a"}), ValueError, r"2\*\*31"),
        (made((b"", b"", "")), TypeError, "tokens: expected three bytes"),
        (made((b"a", b"1", b"")), ValueError, "expected uint32 in bytes"),
        (made((b"a", ids_of(1), b"")), ValueError, "tokens: expected a size for each id"),
        (made((b"a", ids_of(1, 2**32 - 1), ids_of(1, 2))), ValueError, "tokens: expected as many bytes"),
        (made({1: b""}, excluded_tokens=[]), ValueError, "empty token"),
        (made({1: b"a"}, excluded_tokens=["a"]), TypeError, "excluded_tokens: expected bytes"),
        (made({1: b"a", 2: b"aa"}, merge_ids=b"12345678"), ValueError, "merge_ids: expected three"),
        (made({1: b"a", 2: b"aa"}, merge_ids=ids_of(1, 1, 3)), ValueError, "merge_ids: an id of no token"),
        (made({1: b"a", 2: b"aa"}, merge_ids=ids_of(2**31, 1, 2)), ValueError, "merge_ids: an id of no token"),
        (made({1: b"a", 2: b"ba"}, merge_ids=ids_of(1, 1, 2)), ValueError, "does not make its result"),
        (made({1: b"a", 2**21: b"aa"}, merge_ids=ids_of(1, 1, 2)), ValueError, "merge_ids: expected ids below"),
        (made({1: b"a", 2: b"aa"}, merge_ids=ids_of(1, 1, 2, 1, 1, 2)), ValueError, "given twice"),
        (lambda: made({1: b"a"})().merge_words(["a"], 0), TypeError, "words: expected bytes"),
        (lambda: native.RunMerger([b""], [-1]), TypeError, "multipliers: expected an int from 0"),
        (lambda: native.RunMerger([b""], []), ValueError, "a multiplier for each run"),
        (lambda: native.from_printable([b"a"]), TypeError, "texts: expected str"),
        (lambda: native.find_tokens((b"", b""), []), TypeError, "tokens: expected three bytes"),
        (lambda: native.change_tokens(TokenArrays.of({}), {-1: b"a"}), TypeError, "changes: expected an int from 0"),
        (lambda: native.change_tokens(TokenArrays.of({}), {1: "a"}), TypeError, "changes: expected bytes"),
        (lambda: native.find_tokens(TokenArrays.of({}), ["a"]), TypeError, "wanted: expected bytes"),
        (written(None, (b"a", b"", ids_of(1))), ValueError, "expected a size for each id"),
        (written(None, around=("", "")), TypeError, "incompatible"),
        (written(b"1"), ValueError, "merge_ids"),
        (written(ids_of(0, 1, 0)), ValueError, "an id of no token"),
        (written(ids_of(0, 2**31, 3), TokenArrays.of({1: b"a"})), ValueError, "an id of no token"),
        (lambda: native.find_last_cut(b"", None, ["a"]), TypeError, "special_tokens: expected bytes"),
    ]:
        with pytest.raises(error, match=message):
            call()


def test_chunks_and_threads_may_be_any_number(native, model):
    text = "0123 bcd " * 1200
    expected = native_encoder(model).encode(text, OPTIONS)
    for chunk_bytes in (0, 1, 2**64 - 1):
        encoder = native_encoder(model, chunk_bytes=chunk_bytes)
        assert encoder.encode_batch([text], OPTIONS, 0) == [expected]
        assert encoder.encode_batch([text, text], OPTIONS, 10**9) == [expected] * 2
        for start, words in ((0, 1200), (4, 1200), (5, 1199)):
            counter = native.Counter("gpt2", [], threads=10**9, chunk_bytes=chunk_bytes)
            counter.add([text], start=start, check_utf8=True, progress=None)
            assert dict(read_words(counter.drain().read(1000)))[b" bcd"] == words
    counter = native.Counter("gpt2", [], threads=2**32 - 1, memory=1)
    assert counter.add([text], check_utf8=True, progress=None)[0] is not None
    with pytest.raises(ValueError, match="first_chunk"):
        counter.add([text], first_chunk=10**9, check_utf8=True, progress=None)


@pytest.mark.filterwarnings("ignore:nanobind")
def test_objects_are_made_once_before_they_are_used(native, model):
    for kind in (native.Encoder, native.Counter, native.RunMerger, native.RunReader):
        made = kind.__new__(kind)
        with pytest.raises(TypeError):
            getattr(made, {"Encoder": "reduce", "RunReader": "next"}.get(kind.__name__, "drain"), made.__init__)(None)
    encoder = native_encoder(model)
    with pytest.raises(TypeError):
        encoder.__init__(model, make_encoder, {1: b"a"}, [], None)
    assert encoder.encode("bcd", OPTIONS) == [260]
    with pytest.raises(TypeError):
        pickle.dumps(native.Counter("gpt2", [], threads=1))


@pytest.mark.parametrize("read", ["words", "total"])
def test_run_that_is_being_read_refuses_other_calls(native, read):
    pieces = iter([b"\0\1a", b"\1", b""])

    def piece(_):
        if merger is not None:
            with pytest.raises(RuntimeError, match="another thread is using this object"):
                getattr(merger, read)
        return next(pieces, b"")

    merger = None
    merger = native.RunMerger([piece], [1])
    assert merger.read(1 << 20) == b"\0\1a\1"
    assert getattr(merger, read) == 1


def test_a_run_that_failed_is_not_read_on(native):
    pieces = iter([b"\0\1a\1\1\1b\1", KeyError("lost"), b"\2\1c\1", b""])

    def piece(_):
        given = next(pieces)
        if isinstance(given, Exception):
            raise given
        return given

    reader = native.RunReader(piece)
    assert reader.next(1) == [(b"a", 1)]
    with pytest.raises(KeyError):
        reader.next(5)
    with pytest.raises(RuntimeError, match="reading this run has failed"):
        reader.next(5)
