"""The bulk API of BPETokenizer gives the ids of its calls, in arrays, lists and files."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AddedToken

from hf_bpe import BPEModel, BPETokenizer
from support.strategies import any_bytes, any_texts

CORPUS = [
    "low low low lower lower widest widest newest newest newest 你好 你好 42 42!\n\n<|endoftext|>the lowest of the low"
]
SPECIALS = ["<|endoftext|>", "<pad>", "<|user|>"]
TEXTS = ["lowest of the low<|endoftext|>", "", " ", "<|user|>newest 你好<pad>", "a\u0301 \U0001f44b\r\n\t x  y"]


@pytest.fixture(scope="module")
def tokenizer():
    return BPETokenizer.train(CORPUS, num_merges=15, special_tokens=SPECIALS, pad_token="<pad>")


@pytest.fixture(scope="module", params=["plain", "flags", "regular expression", "observed"])
def any_tokenizer(request):
    if request.param == "flags":
        made = BPETokenizer.train(CORPUS, num_merges=15, special_tokens=SPECIALS, add_prefix_space=True)
        made.add_tokens([AddedToken("low", single_word=True, lstrip=True), AddedToken("est", rstrip=True)])
        return made
    options = {
        "plain": {"special_tokens": SPECIALS},
        "regular expression": {"special_tokens": SPECIALS, "pattern": r"\w+|\s+|[^\w\s]"},
        "observed": {"initial_alphabet": "observed", "unk_token": "<unk>"},
    }[request.param]
    return BPETokenizer.train(CORPUS, num_merges=15, **options)


@given(texts=st.lists(any_texts, max_size=5), split=st.sampled_from([None, True, False]))
def test_bulk_methods_give_the_ids_of_a_call(any_tokenizer, texts, split):
    called = {} if split is None else {"split_special_tokens": split}
    expected = [any_tokenizer.encode(text, add_special_tokens=False, **called) for text in texts]
    options = {"split_special_tokens": split, "num_workers": 2}
    assert any_tokenizer.encode_to_lists(texts, **options) == expected
    assert any_tokenizer.count_tokens(texts, **options) == [*map(len, expected)]
    ids, offsets = any_tokenizer.encode_to_numpy(texts, **options)
    assert (ids.dtype, offsets.dtype) == (np.uint32, np.int64)
    assert [ids[start:end].tolist() for start, end in pairwise(offsets)] == expected
    assert [*any_tokenizer.encode_iterable(iter(texts), **options)] == any_tokenizer.encode(
        "".join(texts), add_special_tokens=False, **called
    )


@given(data=any_bytes)
def test_bulk_methods_accept_bytes(tokenizer, data):
    ids = tokenizer.encode_bytes(data)
    assert tokenizer.decode_bytes(ids) == data
    assert tokenizer.encode_to_lists([data]) == [ids]
    assert [*tokenizer.encode_iterable([data[:3], data[3:]])] == ids


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("length", [None, 0, 3, 40])
def test_padded_rows_are_those_that_transformers_gives(tokenizer, side, length):
    twin = pickle.loads(pickle.dumps(tokenizer))
    twin.padding_side = side
    ids, mask = twin.encode_to_padded(TEXTS, length=length)
    assert ids.dtype == mask.dtype == np.int64
    if length is None or length == 40:  # transformers cuts on the other side, or not at all
        padding = {"padding": True} if length is None else {"padding": "max_length", "max_length": length}
        expected = twin(TEXTS, add_special_tokens=False, **padding)
        assert (ids.tolist(), mask.tolist()) == (expected["input_ids"], expected["attention_mask"])
    else:
        rows = twin.encode_to_lists(TEXTS)
        assert [row[keep == 1].tolist() for row, keep in zip(ids, mask, strict=True)] == [row[:length] for row in rows]
    assert twin.encode_to_padded([])[0].shape == (0, 0)


def test_padding_needs_a_token_and_a_length(tokenizer):
    bare = BPETokenizer(model=tokenizer.model, pad_token=None)
    assert bare.encode_to_padded(["a", "b"])[1].tolist() == [[1], [1]]
    with pytest.raises(ValueError, match="need a pad_token, but there is none"):
        bare.encode_to_padded(["a", "bc d"])
    with pytest.raises(ValueError, match="length: expected at least 0, got -1"):
        tokenizer.encode_to_padded(["a"], length=-1)


def test_wrong_arguments_are_refused(tokenizer):
    for method in (tokenizer.encode_to_lists, tokenizer.encode_to_numpy, tokenizer.count_tokens):
        with pytest.raises(TypeError, match=r"expected a list of texts, got a single str; write \[text\]"):
            method("low")
        with pytest.raises(TypeError, match=r"texts\[1\]: expected str or bytes, got 5"):
            method(["low", 5])
        with pytest.raises(ValueError, match="num_workers: expected at least 1, got 0"):
            method(["low"], num_workers=0)
    with pytest.raises(TypeError, match="piece 1 is int, expected str or bytes"):
        [*tokenizer.encode_iterable(["low", 5])]


@given(rows=st.lists(st.lists(st.integers(0, 300), max_size=20), max_size=4), skip=st.booleans())
def test_decoding_many_is_decoding_each(tokenizer, rows, skip):
    expected = [tokenizer.decode(row, skip_special_tokens=skip) for row in rows]
    assert tokenizer.decode_to_texts(rows, skip_special_tokens=skip) == expected
    arrays = [np.array(row, np.uint16) for row in rows]
    assert tokenizer.decode_to_texts(arrays, skip_special_tokens=skip) == expected


def test_an_id_outside_the_vocabulary_is_unk_token_even_where_special_tokens_are_skipped(tokenizer):
    known = BPETokenizer(model=tokenizer.model, unk_token="<pad>")
    ids = [97, 10_000, known.eos_token_id, known.unk_token_id]
    assert known.decode_bytes(ids) == b"a<pad><|endoftext|><pad>"
    assert known.decode_bytes(ids, skip_special_tokens=True) == b"a<pad>"
    assert known.decode_to_texts([ids], skip_special_tokens=True) == ["a<pad>"]
    assert tokenizer.decode_bytes([97, 10_000, 98]) == b"ab"
    for below in range(-300, 0):
        assert known.decode_bytes([97, below], skip_special_tokens=True) == b"a<pad>"
        assert known.convert_ids_to_tokens([97, below], skip_special_tokens=True) == ["a", "<pad>"]


DOCUMENTS = [
    b"low lower<|endoftext|>lowest of the low\n<|endoftext|><|endoftext|>the rest",
    b"",
    b"new\xff low<|endoftext|>",
]


OUTPUTS = ["out.manifest.json", "out.npy", "out.offsets.npy"]


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / f"{number}.txt" for number in range(len(DOCUMENTS))]
    for path, data in zip(paths, DOCUMENTS, strict=True):
        path.write_bytes(data)
    return paths


def test_files_hold_the_ids_of_each_document(any_tokenizer, files, tmp_path):
    twin = pickle.loads(pickle.dumps(any_tokenizer))
    if "<|endoftext|>" not in twin.added_tokens_encoder:
        twin.add_special_tokens({"eos_token": "<|endoftext|>"})
    written = twin.encode_files(files, tmp_path / "out.npy", num_workers=2, append_separator=False)
    ids, offsets = np.load(written.ids, mmap_mode="r"), np.load(tmp_path / "out.offsets.npy")
    assert (ids.dtype, offsets.dtype) == (np.uint16, np.int64)
    documents = [b"low lower<|endoftext|>", b"lowest of the low\n<|endoftext|>", b"<|endoftext|>", b"the rest"]
    documents.append(b"new\xff low<|endoftext|>")
    found = [ids[start:end].tolist() for start, end in pairwise(offsets)]
    assert found == twin.encode_to_lists(documents)
    assert (written.num_tokens, written.num_documents) == (len(ids), len(documents))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.txt", "1.txt", "2.txt", *OUTPUTS]


def test_other_separators_and_none(tokenizer, files, tmp_path):
    assert tokenizer.encode_files(files[0], str(tmp_path / "a.npy"), separator="<|user|>").num_documents == 1
    bare = BPETokenizer(model=tokenizer.model, eos_token=None)
    assert bare.encode_files(files, tmp_path / "b.npy").num_documents == 2
    with pytest.raises(ValueError, match="'low' is not a special or added token"):
        tokenizer.encode_files(files, tmp_path / "c.npy", separator="low")
    with pytest.raises(ValueError, match=r"expected a name that ends in \.npy, got"):
        tokenizer.encode_files(files, tmp_path / "c.bin")


def test_ids_beyond_16_bits_are_written_in_32(files, tmp_path):
    others = {256 + number: b"x%d" % number for number in range(2**16)}
    vocab = {byte: bytes([byte]) for byte in range(256)} | others | {66_000: b"<|x|>"}
    tokenizer = BPETokenizer(model=BPEModel(vocab, [], ["<|x|>"]))
    files[0].write_text("low<|x|>", encoding="utf-8")
    ids = np.load(tokenizer.encode_files(files[0], tmp_path / "out.npy").ids)
    assert ids.dtype == np.uint32
    assert ids.tolist() == tokenizer.encode("low<|x|>") == [*b"low", 66_000]


def test_a_file_that_fails_leaves_the_old_ones(tokenizer, files, tmp_path):
    tokenizer.encode_files(files, tmp_path / "out.npy")
    before = (tmp_path / "out.npy").read_bytes()
    with pytest.raises(FileNotFoundError):
        tokenizer.encode_files([files[0], tmp_path / "no such file"], tmp_path / "out.npy")
    files[0].write_bytes(b"x")
    bare = BPETokenizer.train(["low"], num_merges=1, initial_alphabet="observed")
    with pytest.raises(ValueError, match="no token for the byte 0x78"):
        bare.encode_files(files, tmp_path / "out.npy")
    assert (tmp_path / "out.npy").read_bytes() == before
    assert len([*tmp_path.iterdir()]) == len(files) + len(OUTPUTS)
