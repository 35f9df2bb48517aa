"""Files in the manner of SentencePiece, compared with `tokenizers`."""

import json
from itertools import islice

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from hf_bpe.formats import Pipeline
from hf_bpe.formats._files.tokenizer_json import definition_of_json
from support import character_check
from support.character_files import METASPACES, PREPEND, REPLACE, as_gemma_2, files, texts
from support.profiles import thorough
from support.strategies import FLAGS

PLAIN = {
    "version": "1.0",
    "post_processor": None,
    "decoder": {"type": "Fuse"},
    "model": {"type": "BPE", "unk_token": "▁", "vocab": {"▁": 0, "a": 1}, "merges": []},
}
DOUBLES = [{"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}] * 9
_COLUMNS = ("ids", "offsets", "word_ids", "type_ids", "special_tokens_mask")


def _load(content):
    """Return the tokenizers of both, or leave out a file that is refused by name."""
    try:
        definition = definition_of_json(content)
        pipeline = Pipeline.of(definition)
    except ValueError as error:
        known = (
            "becomes empty by",
            "become equal by",
            "and its normalizer may remove that",
        )
        assume(not any(part in str(error) for part in known))
        raise
    return Tokenizer.from_str(json.dumps(content)), pipeline


@given(files(), st.lists(texts, min_size=1, max_size=4), st.booleans())
def test_ids_offsets_words_equal_tokenizers(content, samples, adds):
    theirs, ours = _load(content)
    for rows in ([(text,) for text in samples], [(text, samples[0]) for text in samples]):
        expected = theirs.encode_batch([row if len(row) > 1 else row[0] for row in rows], add_special_tokens=adds)
        for row, one, other in zip(rows, expected, ours.encodings(rows, adds), strict=True):
            for name in _COLUMNS:
                assert getattr(other, name) == getattr(one, name), (name, row)


@given(files(), st.data())
def test_decoded_text_equals_tokenizers(content, data):
    theirs, ours = _load(content)
    size = theirs.get_vocab_size(with_added_tokens=True)
    rows = data.draw(st.lists(st.lists(st.integers(0, size - 1), max_size=8), min_size=1, max_size=6))
    for skips in (False, True):
        expected = [theirs.decode(row, skip_special_tokens=skips) for row in rows]
        got = ours.decode(rows, skips)
        assert got == expected, (got, expected)
        for row, text in zip(rows, expected, strict=True):
            if not ours.decoder.is_by_tokens:
                with pytest.raises(ValueError, match="several tokens at once"):
                    ours.decode_stream(ours.decode_bytes, skips)
                continue
            stream = ours.decode_stream(ours.decode_bytes, skips)
            streamed = "".join(map(stream.step, row)) + stream.finish()
            assert streamed == text or "\ufffd" in streamed, (streamed, text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decoder": None}, "has no decoder"),
        ({"decoder": {"type": "Sequence", "decoders": DOUBLES}}, "512 times as long; expected at most 256"),
        ({"decoder": {"type": "CTC", "pad_token": "", "word_delimiter_token": "", "cleanup": True}}, "'CTC'"),
        ({"pre_tokenizer": {"type": "WhitespaceSplit"}}, "neither Metaspace"),
    ],
)
@given(files=files(normalizers=(None,)))
def test_unknown_parts_are_refused_by_name(change, message, files):
    with pytest.raises(ValueError, match=message):
        definition_of_json({**files, **change})


@pytest.mark.parametrize("special", [False, True])
def test_missing_byte_tokens_of_unknown_characters_are_refused(special):
    texts = ["▁", "B", *(f"<0x{byte:02X}>" for byte in range(256) if byte not in (0x41, 0x42))]
    added = [{**dict.fromkeys(FLAGS, False), "id": len(texts), "content": "<0x41>", "special": special}]
    vocab = {text: token_id for token_id, text in enumerate(texts)}
    content = {**PLAIN, "added_tokens": added, "model": {**PLAIN["model"], "vocab": vocab, "byte_fallback": True}}
    with pytest.raises(ValueError, match="character is not a token, and <0x41> is not in the vocabulary"):
        definition_of_json(content)


@pytest.mark.parametrize("normalizer", [None, PREPEND, REPLACE])
def test_whole_words_before_merges_are_refused(normalizer):
    vocab = {text: token_id for token_id, text in enumerate(["▁", *(f"<0x{byte:02X}>" for byte in range(256))])}
    model = {**PLAIN["model"], "vocab": vocab, "byte_fallback": True, "ignore_merges": True}
    with pytest.raises(ValueError, match="ignore_merges: expected False, as the model has characters"):
        definition_of_json({**PLAIN, "normalizer": normalizer, "model": model})


def test_tokens_are_not_searched_where_spaces_are_of_two_kinds():
    content = {
        **PLAIN,
        "normalizer": PREPEND,
        "pre_tokenizer": METASPACES[0],
        "added_tokens": [{**dict.fromkeys(FLAGS, False), "id": 2, "content": "foo", "normalized": True}],
    }
    with pytest.raises(ValueError, match="'foo' is searched in normalized text"):
        definition_of_json(content)


NAMES = ("mistral_v0_1", "gemma3", "internlm2")


def pieces(path):
    """Yield the beginning of a file in pieces."""
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        yield from islice(iter(lambda: file.read(4096), ""), 500)


@thorough
@pytest.mark.parametrize("name", [*NAMES, "gemma3 as Gemma 2"])
def test_real_files_give_what_tokenizers_gives(name, test_data):
    folder, _, is_changed = name.partition(" as ")
    content = json.loads((test_data / "tokenizers" / folder / "tokenizer.json").read_text("utf-8"))
    content = as_gemma_2(content) if is_changed else content
    paths = sorted((test_data / "text").glob("*.txt"))
    texts = [piece for path in paths for piece in pieces(path)]
    assert sum(len(text.encode()) for text in texts) > 8_000_000
    assert character_check.check(content, texts, 200_000) == {}


@thorough
def test_parts_around_real_vocabularies_are_as_in_tokenizers(test_data):
    refused = {}
    for name, content in character_check.files([test_data / "tokenizers" / name for name in NAMES]):
        found = character_check.check(content, (), 500)
        if isinstance(found, str):
            refused[name] = found
        else:
            assert found == {}, name
    # The beginning of a text may be what a normalizer removes.
    assert all("expected a normalizer that does not, or another prepend_scheme" in each for each in refused.values())
    assert len(refused) == 4, refused
