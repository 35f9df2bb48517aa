"""Masks of the tokens that may follow: the ids that encoding gives are never left out."""

import random

import pytest
from tokenizers import AddedToken

from hf_bpe import BPEModel
from hf_bpe.pretokenizers._named_patterns import WITH_SCANNER
from support.models.small_tokenizers import bare_tokenizer
from support.strategies import BYTES


def tokenizer_of(pattern, merges=(), added=(), **settings):
    vocab = {**BYTES, **{256 + number: first + second for number, (first, second) in enumerate(merges)}}
    return bare_tokenizer(BPEModel(vocab, [*merges], pattern=pattern, **settings), added)


def forbidden(tokenizer, text):
    """Return the places in the ids of a text at which the mask leaves out the id."""
    ids = tokenizer.encode(text)
    canonical = tokenizer.canonical_ids()
    return [place for place in range(len(ids)) if not canonical.allowed_next(ids[:place])[ids[place]]]


@pytest.mark.parametrize("pattern", ["gpt2", "o200k", "qwen2", None])
def test_long_text_without_spaces_is_allowed(pattern):
    tokenizer = tokenizer_of(pattern, [(b"\xe4", b"\xbd")])
    assert forbidden(tokenizer, "你好，世界。" * 12) == []
    assert tokenizer.canonical_ids().heal(tokenizer.encode("你好，世界。" * 12)[:150]).removed < 40


@pytest.mark.parametrize("pattern", sorted(WITH_SCANNER))
def test_control_and_format_characters_are_allowed(pattern):
    tokenizer = tokenizer_of(pattern)
    for text in ("\0\0a", "\u200b\u200bv", "a\x01\x02\x03 b\u200b", "1\x7f\x7f\x7f1"):
        assert forbidden(tokenizer, text) == [], text


@pytest.mark.parametrize("pattern", ["gpt2", "o200k", None])
def test_added_tokens_that_overlap_are_allowed(pattern):
    draw = random.Random(1)
    contents = ["  ", "   ", "<x>", ">y", "<x>y", " <", "y ", "y  <"]
    merges = [(b"<", b"x"), (b" ", b" "), (b" ", b"y")]
    for _ in range(20):
        chosen = draw.sample(contents, draw.randint(1, 3))
        tokenizer = tokenizer_of(pattern, merges, [AddedToken(content, normalized=False) for content in chosen])
        text = "".join(draw.choices([" ", "  ", "<x>", "y", "<", "x", ">"], k=8))
        assert forbidden(tokenizer, text) == [], (chosen, text)


@pytest.mark.parametrize("is_normalized", [False, True])
def test_marks_after_added_tokens_are_allowed_in_the_normal_form(is_normalized):
    draw = random.Random(1)
    added = [AddedToken("  ", normalized=is_normalized), AddedToken("<e>", normalized=is_normalized)]
    merges = [(b"\xcc", b"\x81"), (b"<", b"e"), (b" ", b"e")]
    tokenizer = tokenizer_of("qwen2", merges, added, normalizer="NFC")
    for _ in range(40):
        text = "".join(draw.choices([" ", "  ", "<e>", "e", "\u0301", "\u0327", ">"], k=8))
        assert forbidden(tokenizer, text) == [], text
    tokenizer = tokenizer_of("qwen2", [], [AddedToken("<e", normalized=is_normalized)], normalizer="NFC")
    mask = tokenizer.canonical_ids().allowed_next([1000, 0xCC])
    # The mark composes with the token if that is found in normalized text.
    assert mask[0x81] == (not is_normalized)


@pytest.mark.parametrize(("normalized", "other"), [("ab", "b<"), ("a<<b", "<<")])
def test_added_tokens_of_both_kinds_that_overlap_are_refused(normalized, other):
    added = [AddedToken(normalized, normalized=True), AddedToken(other, normalized=False)]
    with pytest.raises(ValueError, match="allowed tokens are not known for this tokenizer: the added token"):
        tokenizer_of("gpt2", added=added).canonical_ids().allowed_next([97])


def test_heal_removes_what_an_added_token_may_take():
    merges = [(b"t", b"h"), (b" ", b" ")]
    added = [AddedToken("<|end|>", normalized=False, special=True)]
    tokenizer = tokenizer_of("gpt2", merges, added)
    for text in ("the <|en", "a  <|", "th<|end|><|e", "<"):
        ids = tokenizer.encode(text)
        healed = tokenizer.canonical_ids().heal(ids)
        kept = ids[: len(ids) - healed.removed]
        for rest in ("", "x", *("<|end|>"[size:] for size in range(1, 7) if text.endswith("<|end|>"[:size]))):
            assert tokenizer.encode(text + rest)[: len(kept)] == kept, (text, rest)


def test_packed_masks_are_copies():
    canonical = tokenizer_of("gpt2").canonical_ids()
    expected = canonical.allowed_next([97])
    canonical.allowed_next([97], packed=True)[:] = 0
    assert (canonical.allowed_next([97]) == expected).all()


def test_unmerged_words_are_allowed_next_to_special_tokens():
    model = BPEModel({**BYTES, 256: b"ab", 257: b"<s>"}, [], ("<s>",), "gpt2", ignore_merges=True)
    tokenizer = bare_tokenizer(model)
    assert forbidden(tokenizer, "ab<s>abab<s> ab ab") == []
    mask = tokenizer.canonical_ids().allowed_next([257])
    assert mask[[97, 256]].tolist() == [True, True]
    assert tokenizer.canonical_ids().allowed_next([97])[[97, 98, 256, 257]].tolist() == [True, True, False, True]
