"""The real files of Mistral 7B v0.1, Gemma 3 and InternLM 2, compared with `tokenizers` on text and nasty strings."""

import random
import unicodedata
from functools import cache

import pytest
from tokenizers import Tokenizer

from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.formats._tokenizer_json import read_tokenizer_json
from support.character_files import FRAGMENTS
from support.profiles import thorough

NAMES = ("mistral_v0_1", "gemma3", "internlm2")
STRINGS = 200_000
BYTES_OF_TEXT = 2_000_000
WORDS = [
    "the",
    "low",
    "er",
    "Größe",
    "naïve",
    "слово",
    "日本語",
    "한국어",
    "ไทย",
    "العربية",
    "हिन्दी",
    "x1",
    "3.14",
    "//",
    "</",
    "{}",
    "::",
]
SPACES = [" ", "  ", "    ", "▁", "▁▁", "\t", "\n", "\n\n", "\r\n", "\u00a0", "\u3000", "\u2028", "\x00", "\x7f"]
UNASSIGNED = ["\u0378", "\u038b", "\ue000", "\uf8ff", "\ufdd0", "\U000e0041", "\U0010ffff", "\U00032e88"]
BYTES = ["<0x41>", "<0x0A>", "<0xE2><0x96><0x81>", "<0x", "0x41>"]


@cache
def loaded(folder, name):
    path = folder / "tokenizers" / name / "tokenizer.json"
    return Tokenizer.from_file(str(path)), Pipeline.of(read_tokenizer_json(path))


def nasty_strings(number, tokens, added):
    """Return random strings of all that tells tokenizers of characters apart."""
    draw = random.Random(number)
    kinds = [WORDS, WORDS, SPACES, SPACES, FRAGMENTS, UNASSIGNED, BYTES, tokens, added or WORDS]
    for _ in range(number):
        parts = [draw.choice(draw.choice(kinds)) for _ in range(draw.randrange(1, 10))]
        if draw.random() < 0.3:
            code = draw.randrange(0x30000)
            parts.append(chr(code) if unicodedata.category(chr(code)) != "Cs" else "?")
        draw.shuffle(parts)
        yield "".join(parts) * draw.choice((1, 1, 1, 2, 17))


def compare(theirs, ours, rows):
    for adds in (False, True):
        given = [row if len(row) > 1 else row[0] for row in rows]
        expected = theirs.encode_batch(given, add_special_tokens=adds)
        for row, one, other in zip(rows, expected, ours.encodings(rows, adds), strict=True):
            assert other.ids == one.ids, row
            assert other.offsets == one.offsets, row
            assert other.word_ids == one.word_ids, row
    ids = [one.ids for one in expected]
    for skips in (False, True):
        assert ours.decode(ids, skips) == theirs.decode_batch(ids, skip_special_tokens=skips)


@thorough
@pytest.mark.parametrize("name", NAMES)
def test_real_file_gives_ids_offsets_and_text_of_tokenizers(name, test_data):
    theirs, ours = loaded(test_data, name)
    for path in sorted((test_data / "text").glob("*.txt")):
        text = path.read_text("utf-8")[:BYTES_OF_TEXT]
        compare(theirs, ours, [(text[start : start + 2000],) for start in range(0, len(text), 2000)])


@thorough
@pytest.mark.parametrize("name", NAMES)
def test_nasty_strings_give_ids_offsets_and_text_of_tokenizers(name, test_data):
    theirs, ours = loaded(test_data, name)
    tokens = [token.decode() for token in ours.model.vocab.values()]
    added = [token.content for token in ours.added_tokens.values()]
    batch = []
    for text in nasty_strings(STRINGS, tokens, added):
        batch.append((text,))
        if len(batch) == 2000:
            compare(theirs, ours, batch)
            compare(theirs, ours, [(one, other) for (one,), (other,) in zip(batch[::20], batch[1::20], strict=False)])
            batch = []
    compare(theirs, ours, batch or [("",)])
