"""Files in the manner of SentencePiece, compared with `tokenizers`.

Around real vocabularies, every normalizer of these families is put together with every pre-tokenizer. The vocabularies
take turns, and so do decoders, what becomes of unknown characters, templates and the flags of more added tokens.

Ids are compared of all texts; of strings, and of every sixteenth batch of texts, also type ids, offsets, words and
decoded text, in turn without special tokens, with them, and as pairs. Lone surrogates in strings stand for U+FFFD, as
which hf_bpe reads them.
"""

import json
import random
import re
import sys
import tempfile
import unicodedata
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from hf_bpe import BPETokenizer
from hf_bpe.formats import Pipeline
from hf_bpe.formats._files.tokenizer_json import definition_of_json
from hf_bpe.normalizers._backend import panics_as_errors
from support.models.character_files import (
    CONTENTS,
    DECODERS,
    FRAGMENTS,
    GEMMA_SPLIT,
    METASPACES,
    NORMALIZERS,
    PREPEND,
    REPLACE,
    as_gemma_2,
    files,
    texts,
)
from support.profiles import thorough

FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
UNKNOWN = {"bytes": {}, "unk": {"byte_fallback": False}, "fused unk": {"byte_fallback": False, "fuse_unk": True}}
"""What becomes of characters without a token → what the model says."""
MORE_TOKENS = 6
WORDS = ["the", "low", "er", "Größe", "naïve", "слово", "日本語", "한국어", "ไทย", "العربية", "हिन्दी", "x1", "3.14"]
WORDS += ["//", "</", "{}", "::"]
SPACES = [" ", "  ", "    ", "▁", "▁▁", "\t", "\n", "\n\n", "\r\n", "\u00a0", "\u3000", "\u2028", "\x00", "\x7f"]
UNASSIGNED = ["\u0378", "\u038b", "\ue000", "\uf8ff", "\ufdd0", "\U000e0041", "\U0010ffff", "\U00032e88"]
BYTES = ["<0x41>", "<0x0A>", "<0xE2><0x96><0x81>", "<0x", "0x41>"]
SURROGATES = {"high": ["\ud800", "\udbff"], "low": ["\udc00", "\udc80", "\udfff"]}  # not both in a string: they join


def nasty_strings(number, tokens, added):
    """Yield random strings of all that tells tokenizers of characters apart, one in eight with lone surrogates."""
    draw = random.Random(f"{number} 0")
    kinds = [WORDS, WORDS, SPACES, SPACES, FRAGMENTS, UNASSIGNED, BYTES, tokens, added or WORDS]
    for _ in range(number):
        parts = [draw.choice(draw.choice(kinds)) for _ in range(draw.randrange(1, 10))]
        if draw.random() < 0.3:
            code = draw.randrange(0x30000)
            parts.append(chr(code) if unicodedata.category(chr(code)) != "Cs" else "?")
        if draw.random() < 0.125:
            parts.append(draw.choice(SURROGATES[draw.choice([*SURROGATES])]))
        draw.shuffle(parts)
        yield "".join(parts) * draw.choice((1, 1, 1, 2, 17))


def combined(content, number, normalizer, pre_tokenizer):
    """Return what is said of a file with these parts, and its content: all else is chosen by its number."""
    draw = random.Random(number)
    unknown = draw.choice([*UNKNOWN])
    ids = content["model"]["vocab"]
    added = [*content["added_tokens"]]
    contents = {token["content"] for token in added}
    following = max(*ids.values(), *(token["id"] for token in added)) + 1
    for text in draw.sample([text for text in CONTENTS if text not in contents], MORE_TOKENS):
        flags = {flag: draw.random() < 0.5 for flag in FLAGS}
        added.append({"id": ids.get(text, following), "content": text, **flags})
        following += text not in ids
    # Tokens are not searched in text that has another beginning, or in which two are the same.
    if normalizer == NORMALIZERS["strip"] or (normalizer == PREPEND and pre_tokenizer in METASPACES):
        added = [{**token, "normalized": False} for token in added]
    made = {
        "added_tokens": added,
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "decoder": DECODERS[number % len(DECODERS)],
        "model": {**content["model"], **UNKNOWN[unknown]},
    }
    if number % 4 == 0:
        made["post_processor"] = None
    return unknown, {**content, **made}


def files_around(folders):
    """Yield the name and the content of each file around the vocabularies of folders."""
    contents = [json.loads((folder / "tokenizer.json").read_text("utf-8")) for folder in folders]
    number = 0
    for name, normalizer in NORMALIZERS.items():
        for pre_tokenizer in [None, *METASPACES, *([GEMMA_SPLIT] if normalizer == REPLACE else [])]:
            which = number % len(folders)
            unknown, content = combined(contents[which], number, normalizer, pre_tokenizer)
            shown = "none" if pre_tokenizer is None else pre_tokenizer["type"]
            if shown == "Metaspace":
                shown += f" {pre_tokenizer['prepend_scheme']}{', split' if pre_tokenizer['split'] else ''}"
            yield f"{folders[which].name}: {name}; {shown}; {unknown}; {number}", content
            number += 1


def check(content, texts, strings):
    """Return kind of comparison → number of rows that differ, or why the file is refused.

    Args:
        content: the content of a `tokenizer.json`.
        texts: what is encoded.
        strings: the number of random strings that are encoded, too.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tokenizer.json")
        path.write_text(json.dumps(content), "utf-8")
        try:
            ours = BPETokenizer.convert_from(path)
        except ValueError as error:
            return str(error).replace(folder, "")
        theirs = Tokenizer.from_file(str(path))
    tokens = [token for token in content["model"]["vocab"] if token]
    added = [token["content"] for token in content["added_tokens"]]
    found = Counter()
    for number, batch in enumerate(batches(texts)):
        expected = [encoding.ids for encoding in theirs.encode_batch_fast(batch, add_special_tokens=False)]
        note(found, "ids", batch, ours.encode_to_lists(batch), expected)
        if number % 16 == 0:
            compare_all(found, ours, theirs, batch, number // 16)
    for number, batch in enumerate(batches(nasty_strings(strings, tokens, added))):
        compare_all(found, ours, theirs, batch, number)
    return found


def batches(texts):
    stream = iter(texts)
    while batch := [*islice(stream, 250)]:
        yield batch


def note(found, kind, texts, ours, theirs):
    """Count the rows that differ, and print the first ones."""
    for text, row, expected in zip(texts, ours, theirs, strict=True):
        if row != expected:
            found[kind] += 1
            if found.total() <= 3:
                print(
                    f"  {kind}: {text!r:.100}\n    ours   {row!r:.200}\n    theirs {expected!r:.200}", file=sys.stderr
                )


def compare_all(found, ours, theirs, texts, number):
    kind = ("text", "text with special tokens", "pair")[number % 3]
    columns = (texts[::2], [*texts[1::2], texts[-1]]) if kind == "pair" else (texts,)
    rows = [*zip(*columns, strict=False)]
    added = kind != "text"
    encodings = encode(theirs, rows, added)
    rows = [row for row, encoding in zip(rows, encodings, strict=True) if encoding is not None]
    encodings = [encoding for encoding in encodings if encoding is not None]
    how = {"return_offsets_mapping": True, "return_token_type_ids": True}
    got = ours(*([row[i] for row in rows] for i in range(len(columns))), add_special_tokens=added, **how)
    note(found, kind, rows, got["input_ids"], [encoding.ids for encoding in encodings])
    if ours.template is not None:  # without a template they are documented to be 0
        note(found, "type ids", rows, got["token_type_ids"], [encoding.type_ids for encoding in encodings])
    note(found, "offsets", rows, got["offset_mapping"], [encoding.offsets for encoding in encodings])
    words = [got.word_ids(i) for i in range(len(rows))]
    note(found, "words", rows, words, [encoding.word_ids for encoding in encodings])
    decoded = theirs.decode_batch(got["input_ids"], skip_special_tokens=False)
    note(found, "decode", rows, ours.batch_decode(got["input_ids"]), decoded)


def encode(theirs, rows, added):
    """Return what `tokenizers` makes of texts or pairs, with None where it panics."""
    read = [[re.sub("[\ud800-\udfff]", "\ufffd", text) for text in row] for row in rows]
    try:
        with panics_as_errors():
            return theirs.encode_batch([row if row[1:] else row[0] for row in read], add_special_tokens=added)
    except ValueError:
        return [encoding for row in rows for encoding in encode(theirs, [row], added)] if len(rows) > 1 else [None]


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
        pipeline = Pipeline.from_definition(definition)
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
    assert check(content, texts, 200_000) == {}


@thorough
def test_parts_around_real_vocabularies_are_as_in_tokenizers(test_data):
    refused = {}
    for name, content in files_around([test_data / "tokenizers" / name for name in NAMES]):
        found = check(content, (), 500)
        if isinstance(found, str):
            refused[name] = found
        else:
            assert found == {}, name
    # The beginning of a text may be what a normalizer removes.
    assert all("expected a normalizer that does not, or another prepend_scheme" in each for each in refused.values())
    assert len(refused) == 4, refused
