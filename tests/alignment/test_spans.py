"""Bytes of tokens and spans of ids, compared with what decoding says byte by byte."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from hf_bpe import BPETokenizer, accelerate, alignment
from hf_bpe.alignment._token_table import token_table
from hf_bpe.formats import Pipeline
from hf_bpe.formats._files.tokenizer_json import definition_of_json
from support import strategies
from support.cases import case
from support.models.character_files import files
from support.models.real_models import real_pipeline
from support.profiles import by_profile, scaled, thorough

TEXTS = ["the lowest 你好 你好 naïve é é 👋🏽 👋 ﷺ ﷺ"] * 3
FAMILIES = by_profile(
    quick=("llama3_1", "mistral_v0_1"),
    thorough=("llama3_1", "mistral_v0_1", "qwen3", "gemma3", "gpt_neox", "internlm2"),
)


@pytest.fixture(scope="module")
def tokenizer():
    return BPETokenizer.train(TEXTS, vocab_size=290, special_tokens=["<|x|>", "<|你|>"], pattern=None)


def replaced_widths(data):
    """Return the number of bytes of each character of `data.decode(errors="replace")`, one character at a time."""
    widths = []
    while data:
        try:
            width = len(data.decode()[0].encode())
        except UnicodeDecodeError as error:
            width = len(data[: error.start].decode()[:1].encode()) or error.end
        widths.append(width)
        data = data[width:]
    return widths


def brute_force(pieces, widths):
    """Return the spans of pieces of bytes in a text whose characters have these widths."""
    owner = [number for number, width in enumerate(widths) for _ in range(width)]
    of_bytes, of_characters, at = [], [], 0
    for piece in pieces:
        begin, at = at, at + len(piece)
        of_bytes.append([begin, at])
        if piece:
            of_characters.append([owner[begin], owner[at - 1] + 1])
        else:
            before = owner[begin - 1] + 1 if begin else 0
            of_characters.append([before, before])
    return of_bytes, of_characters


@given(st.data(), st.booleans())
@settings(max_examples=by_profile(quick=60, thorough=2000))
def test_spans_of_any_ids_are_those_of_their_bytes(tokenizer, data, skips):
    odd = st.sampled_from([*b"\xe4\xbd\xa0\xf0\x9f\x91\x8b\xed\xa0\x80\xf4\x90\xc0\xff\xe0a", 256, 257])
    ids = data.draw(st.lists(st.one_of(st.integers(0, 289), odd), max_size=24))
    special = {256, 257} if skips else set()
    pieces = [b"" if token_id in special else tokenizer.decode_bytes(token_id) for token_id in ids]
    found = tokenizer.spans(ids, skip_special_tokens=skips)
    text = tokenizer.decode(ids, skip_special_tokens=skips)
    widths = replaced_widths(b"".join(pieces))
    assert len(widths) == len(text)
    assert (found.bytes.tolist(), found.characters.tolist()) == brute_force(pieces, widths)


@given(strategies.texts)
def test_spans_of_encoded_ids_are_their_offsets(tokenizer, text):
    encoded = tokenizer(text, return_offsets_mapping=True)
    expected = np.array(encoded["offset_mapping"], np.int64).reshape(-1, 2)
    assert tokenizer.spans(encoded["input_ids"]).characters.tolist() == expected.tolist()


@given(files(), st.data(), st.booleans(), st.booleans())
@settings(max_examples=by_profile(quick=60, thorough=2000))
def test_spans_of_characters_are_those_of_the_decoded_text(content, data, skips, is_continued):
    try:
        pipeline = Pipeline.from_definition(definition_of_json(content))
    except ValueError:
        return  # what is refused by name is tested with the files
    size = Tokenizer.from_str(json.dumps(content)).get_vocab_size(with_added_tokens=True)
    ids = data.draw(st.lists(st.integers(0, size - 1), max_size=10))
    decoder = pipeline.decoder
    if not decoder.is_by_tokens:
        with pytest.raises(ValueError, match="several tokens at once"):
            alignment.spans(pipeline, ids)
        return
    skipped = pipeline.skipped(skips)
    left_out = [token_id < len(skipped) and skipped[token_id] != 0 for token_id in ids]
    kept = [token_id for token_id, out in zip(ids, left_out, strict=True) if not out]
    found = alignment.spans(pipeline, ids, skip_special_tokens=skips, continued=is_continued)
    if is_continued:
        pieces = [decoder.token_bytes(token_id, is_first=False) for token_id in kept]
        text = b"".join(piece for piece, _ in pieces)
        assert found.bytes[-1:, 1].tolist() == [len(text)][: len(ids)]
        if all(is_valid(piece) for piece, _ in pieces):
            assert found.characters[-1:, 1].tolist() == [len(text.decode())][: len(ids)]
        return
    text = pipeline.decode([ids], skips)[0]
    data_of_text = pipeline.decode_bytes(ids, skips)
    ends = [len(pipeline.decode_bytes(ids[: at + 1], skips)) for at in range(len(ids))]
    if is_valid(data_of_text):
        assert text.encode() == data_of_text
        of_bytes = [[begin, max(begin, end)] for begin, end in zip([0, *ends], ends, strict=False)]
        assert found.bytes.tolist() == of_bytes
        characters = [len(data_of_text[:n].decode("utf-8", "ignore")) for n in range(len(data_of_text) + 1)]
        for (begin, end), (first, last) in zip(of_bytes, found.characters.tolist(), strict=True):
            if begin < end:
                assert data_of_text[begin:end] in text[first:last].encode()
                assert first == characters[begin], (text, begin)
    if ids:
        assert found.characters[-1, 1] == len(text)
        assert (np.diff(found.characters[:, 1]) >= 0).all()


def is_valid(data):
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_runs_of_byte_tokens_are_characters_whole_or_singly(test_data):
    pipeline = real_pipeline(test_data, "mistral_v0_1")
    vocab = pipeline.model.printable_vocab()
    byte, letter = [vocab[f"<0x{value:02X}>"] for value in range(256)], vocab["a"]
    ids = [letter, byte[0xC3], byte[0xA9], letter, byte[0xC3], byte[0xA9], byte[0xFF], letter, byte[0x41], byte[0xE4]]
    assert pipeline.decode([ids]) == ["aéa\ufffd\ufffd\ufffda\ufffd\ufffd"]
    expected = [[0, 1], [1, 2], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 8], [8, 9]]
    assert alignment.spans(pipeline, ids).characters.tolist() == expected


def test_a_byte_that_begins_damaged_text_is_not_stripped(test_data):
    pipeline = real_pipeline(test_data, "mistral_v0_1")
    ids = [pipeline.model.printable_vocab()[name] for name in ("<0x20>", "<0xFF>")]
    assert pipeline.decode([ids], True) == ["\ufffd\ufffd"]
    assert pipeline.decode_bytes(ids) == b" \xff"
    assert alignment.spans(pipeline, ids).characters.tolist() == [[0, 1], [1, 2]]
    assert alignment.spans(pipeline, ids[:1]).characters.tolist() == [[0, 0]]


@scaled
@pytest.mark.parametrize("name", FAMILIES)
def test_real_tokenizers_have_the_offsets_of_text(test_data, name):
    pipeline = real_pipeline(test_data, name).with_changes(trim_offsets=False)
    for part in ("multilingual", "code"):
        text = (test_data / f"text/{part}.txt").read_text("utf-8")[: by_profile(quick=20_000, thorough=2_000_000)]
        encoding = pipeline.encodings([(text,)])[0]
        found = alignment.spans(pipeline, encoding.ids)
        if pipeline.decode([encoding.ids]) == [text]:
            with case(name, part):
                assert found.characters.tolist() == [list(pair) for pair in encoding.offsets]
        else:  # it is normalized
            assert found.characters[-1, 1] == len(pipeline.decode([encoding.ids])[0])


def test_token_bytes_are_padded_and_join_to_text(tokenizer):
    data, offsets = tokenizer.token_bytes(size=300)
    assert (data.dtype, offsets.dtype, offsets.shape) == (np.uint8, np.int64, (301,))
    for token_id in range(300):
        expected = tokenizer.decode_bytes(token_id) if token_id < 290 else b""
        assert data[offsets[token_id] : offsets[token_id + 1]].tobytes() == expected
    with pytest.raises(ValueError, match="size: expected at least 290, got 289"):
        tokenizer.token_bytes(size=289)


def test_fast_tokenizers_and_those_of_transformers_agree(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path, portable=True)
    plain = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    ours = accelerate(plain)
    ids = [*tokenizer.encode("the lowest<|x|> 你好 👋🏽"), 0xE4, 0xFF, 289]
    for other in (plain, ours):
        assert [*map(bytes, alignment.token_bytes(other))] == [*map(bytes, tokenizer.token_bytes())]
        for skips in (False, True):
            expected = tokenizer.spans(ids, skip_special_tokens=skips)
            found = alignment.spans(other, ids, skip_special_tokens=skips)
            assert [each.tolist() for each in found] == [each.tolist() for each in expected]
    assert ours.spans(ids).characters.tolist() == tokenizer.spans(ids).characters.tolist()
    assert ours.decode_bytes(ids) == tokenizer.decode_bytes(ids)


def test_a_table_follows_changes_of_its_tokenizer(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path, portable=True)
    for other in (PreTrainedTokenizerFast.from_pretrained(tmp_path), BPETokenizer.from_pretrained(tmp_path)):
        before = token_table(other)
        assert token_table(other) is before
        other.add_tokens([AddedToken("<|new|>")])
        assert alignment.spans(other, [other.convert_tokens_to_ids("<|new|>")]).bytes.tolist() == [[0, 7]]
        assert token_table(other) is not before


def test_unknown_tokenizers_and_ids_are_refused(tokenizer):
    with pytest.raises(TypeError, match="expected a tokenizer of hf_bpe or a fast tokenizer of transformers, got"):
        alignment.token_bytes("gpt2")
    words = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0}, unk_token="a")))
    with pytest.raises(ValueError, match="no decoder"):
        alignment.token_bytes(words)
    words.backend_tokenizer.decoder = decoders.WordPiece()
    with pytest.raises(ValueError, match="WordPiece"):
        alignment.token_bytes(words)
    for ids in (290, [[1]], [0.5], [True]):
        with pytest.raises(TypeError, match="ids: expected a row of ids"):
            tokenizer.spans(ids)
    for ids in ([1, 290], [1, -1], np.array([1, 2**40])):
        with pytest.raises(ValueError, match=r"ids\[1\]: .* is not in the vocabulary"):
            tokenizer.spans(ids)
    for ids in ([], np.array([], np.int64), np.array([1, 2], np.uint16)):
        assert tokenizer.spans(ids).bytes.shape == (len(ids), 2)


@thorough
def test_damaged_text_has_the_characters_of_python():
    tokenizer = BPETokenizer.train([], vocab_size=256)
    leads = [0x41, 0x80, 0xBF, 0xC0, 0xC2, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0x9F, 0xA0, 0x8F, 0x90]
    for number in range(len(leads) ** 4):
        ids = [leads[number // len(leads) ** place % len(leads)] for place in range(4)]
        widths = replaced_widths(bytes(ids))
        assert tokenizer.spans(ids).characters.tolist() == brute_force([bytes([each]) for each in ids], widths)[1]
