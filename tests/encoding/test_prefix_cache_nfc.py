"""Prefix caches of tokenizers with NFC: what is certainly in NFC, what is not, and text that NFC changes."""

import unicodedata
from functools import partial

import pytest
from tokenizers import AddedToken

from hf_bpe._native_core import require_core
from hf_bpe.encoding._encoder import Options
from support.small_tokenizers import tokenizer_of

ENGLISH = "the lowest of the low, isn\u2019t it?\n\nThe newest 2024 of <|x|>the new: lower and lower; "
DECOMPOSED = "e\u0301 caf\u00e9 \u4f60\u597d "
WIDE = "\U0001f469\u200d\U0001f4bb"


@pytest.fixture
def tokenizer():
    made = tokenizer_of("cl100k", "NFC", [AddedToken("<|x|>", special=True, normalized=False)])
    made.prefix_cache = "10MB"
    return made


def without_cache(tokenizer, text):
    cache, tokenizer.prefix_cache = tokenizer.prefix_cache, None
    try:
        return tokenizer.encode(text)
    finally:
        tokenizer.prefix_cache = cache


def check(tokenizer, text):
    ids = tokenizer.encode(text)
    assert ids == without_cache(tokenizer, text)
    assert tokenizer(text)["input_ids"] == ids
    assert tokenizer([text, "low"])["input_ids"][0] == ids
    assert tokenizer(text, return_tensors="np")["input_ids"][0].tolist() == ids


def inert_characters():
    """Yield the characters that NFC neither changes nor joins with others nor moves."""
    second = {chr(code) for code in (*range(0x1161, 0x1176), *range(0x11A7, 0x11C3))}  # of Korean syllables
    for char in map(chr, range(0x110000)):
        parts = unicodedata.decomposition(char).split()
        if len(parts) > 1 and not parts[0].startswith("<"):
            second.update(chr(int(part, 16)) for part in parts[1:])
    for char in map(chr, range(0x110000)):
        if not unicodedata.combining(char) and unicodedata.is_normalized("NFC", char) and char not in second:
            yield char


@pytest.mark.parametrize("given", [str, partial(str.encode, errors="surrogatepass")], ids=["str", "bytes"])
def test_only_what_nfc_cannot_change_is_accepted(tokenizer, given):
    encoder = tokenizer._pipeline.encoder.refusing
    refusal = require_core("prefix caches").MayNotBeNfc
    inert = {*inert_characters()} - {*map(chr, range(0xD800, 0xE000))}

    def is_accepted(text):
        try:
            encoder.encode(given(text), Options())
        except refusal:
            return False
        return True

    for begin in range(0, 0x110000, 0x100):
        chars = [chr(code) for code in range(begin, begin + 0x100)]
        if is_accepted("".join(chars)):
            assert inert.issuperset(chars), hex(begin)
        elif begin < 0x20000:
            accepted = [char for char in chars if is_accepted(char)]
            assert inert.issuperset(accepted), hex(begin)
    for text in ("caf\u00e9 \u201cquoted\u201d \u4f60\u597d \uac00 \u3042 \u0416 \u0394", WIDE + "\ufe0f"):
        assert is_accepted(text)


def test_a_mark_joins_the_last_character_that_is_known(tokenizer):
    for base in (ENGLISH * 30, ENGLISH * 200, ENGLISH * 100 + "\u4f60", ENGLISH * 100 + WIDE):
        for size in (0, 1, 2, 3):
            known = base[: len(base) - size] + "e"
            tokenizer.encode(known)
            for end in ("\u0301", "\u0301 low", "\u0323\u0307 low", "\u1161", "low", "\ud83d", "\ude00"):
                check(tokenizer, known + end)
                check(tokenizer, known + end + ENGLISH * 20)


def test_text_that_nfc_changes_is_looked_up_normalized(tokenizer):
    stretch = (DECOMPOSED + ENGLISH.replace("<|x|>", "")) * 50
    for turn in range(6):
        check(tokenizer, "<|x|>".join([stretch] * (turn + 1)))
    statistics = tokenizer.prefix_cache.statistics()
    assert statistics.reused_bytes > 0.9 * statistics.text_bytes


def test_surrogates_at_all_places_of_wide_texts():
    for pattern, normalizer in (("gpt2", None), ("cl100k", "NFC")):
        tokenizer = tokenizer_of(pattern, normalizer)
        tokenizer.prefix_cache = "10MB"
        for pair in ("\ud83d\ude00", "\ud83d\ud83d\ude00", "\ud83d", "\ude00\ud83d"):
            for width in ("\u201c", WIDE):
                for shift in range(5):
                    text = width + "a" * shift + pair * 6000
                    for end in ("", "low ", pair + " low"):
                        assert tokenizer.encode(text + end) == without_cache(tokenizer, text + end)
