"""Masks of models like those of Qwen and Llama 3, compared with encoding each token after decoding.

Qwen's have the normalizer NFC, Llama 3's have tokens that only `ignore_merges` makes, and merges that come before those
that make their parts but are never made. The models here are small and random, and have all of it.
"""

import itertools
import unicodedata
from random import Random

import pytest
from tokenizers import AddedToken

from hf_bpe import BPEModel, BPETokenizer, train
from hf_bpe.reference import pre_tokenize
from support.cases import case
from support.models.small_tokenizers import bare_tokenizer
from support.oracles.partial_characters import is_viable
from support.profiles import by_profile, scaled, thorough

LETTERS = {
    "latin": ["e", "\u0301", "\u0327", "\xe9", " ", "a", "\u212b"],
    "indic": ["\u09c7", "\u09be", "\u09d7", "\u0995", " ", "\u09cd"],
    "korean": ["\u1100", "\u1161", "\u11a8", "\uac00", "!", " "],
    "words": ["z", "Z", "\u4e2d", "1", " ", "\n", "."],
    "numbers": ["1", "2", "3", " ", "z"],
    "contractions": ["'", "s", "l", "e", " ", "!"],
}
# Whatever kind of text follows; none of it joins a character before it, except the first ones.
MORE = ["", *"zZ\u4e2d1! \n\u20dd\u0301'sl/\u30fc", "ll", "zz", "  ", " z", "11", "\nz", "z z", "zzz", "  z"]


def random_model(letters, seed, *, normalizer, has_words, merges=12):
    """Return a model learned from random text, and the words that are no result of its merges."""
    random = Random(seed)
    corpus = ["".join(random.choices(letters, k=random.randrange(20, 80))) for _ in range(30)]
    pattern = random.choice(["llama3", "qwen2", "gpt2", "o200k"] if has_words else ["llama3", "qwen2", "o200k", None])
    learned = train(corpus, num_merges=merges, pattern=pattern).merges
    tokens = [bytes([i]) for i in range(256)] + [a + b for a, b in learned]
    words = []
    if has_words:
        pre_tokens = {word for text in corpus for word in pre_tokenize(text.encode(), pattern) if 1 < len(word) <= 9}
        words = random.sample(sorted(pre_tokens - {*tokens}), k=8)
        made_otherwise = [
            (token[:size], token[size:])
            for token in tokens[256:]
            for size in range(1, len(token))
            if token[:size] in tokens and token[size:] in tokens and (token[:size], token[size:]) not in learned
        ]
        for merge in random.sample(made_otherwise, k=min(3, len(made_otherwise))):
            first = learned.index(next(pair for pair in learned if b"".join(pair) == b"".join(merge)))
            learned = [*learned[: first + 1], merge, *learned[first + 1 :]]  # comes too late for the token's own bytes
    vocab = dict(enumerate([*words, *tokens]))
    return BPEModel(vocab, learned, pattern=pattern, normalizer=normalizer, ignore_merges=has_words), words


def encode(tokenizer, text):
    return tokenizer.encode(text, add_special_tokens=False)


def is_canonical(tokenizer, ids, data):
    """Say whether encoding the text of ids gives these."""
    try:
        return encode(tokenizer, data.decode()) == ids
    except UnicodeDecodeError:
        return False


def check_masks(tokenizer, letters, length):
    """Compare the masks after the ids of all short texts with encoding each token after decoding."""
    canonical, vocab = tokenizer.canonical_ids(), tokenizer.model.vocab
    more = [*MORE, *letters, *map("".join, itertools.product(letters, repeat=2))]
    bytes_of_letters = {*"".join(letters).encode(), *b" z"}
    tokens = [i for i, token in vocab.items() if {*token} <= bytes_of_letters and len(token) < 10]
    beginnings = set()
    for text in map("".join, itertools.product(letters, repeat=length)):
        ids = encode(tokenizer, text)
        beginnings.update(tuple(ids[:size]) for size in range(len(ids) + 1))
    random = Random(1)
    counts = {True: 0, False: 0}
    for ids in random.sample(sorted(beginnings), k=min(len(beginnings), by_profile(quick=3, thorough=100))):
        data = b"".join(map(vocab.__getitem__, ids))
        mask = canonical.allowed_next(ids)
        for token_id in tokens:
            longer, after = [*ids, token_id], data + vocab[token_id]
            expected = is_canonical(tokenizer, longer, after) or is_viable(tokenizer, longer, after, more)
            assert mask[token_id] == expected, (ids, token_id, after)
            counts[expected] += 1
    return counts


KINDS = {"NFC": ("NFC", False), "whole words": (None, True), "both": ("NFC", True)}


@scaled
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("letters", LETTERS)
def test_masks_are_those_of_encoding_each_token(kind, letters):
    normalizer, has_words = KINDS[kind]
    for seed in range(by_profile(quick=1, thorough=12)):
        with case(seed):
            model, _ = random_model(LETTERS[letters], seed, normalizer=normalizer, has_words=has_words)
            counts = check_masks(bare_tokenizer(model), LETTERS[letters], length=3)
            assert min(counts.values()) > 5


def test_word_of_several_tokens_must_go_on():
    merges = [(b"1", b"2"), (b" ", b"f"), (b"o", b"o"), (b"3", b"4")]
    tokens = [*map(bytes, zip(range(256))), *map(b"".join, merges), b"123", b" foo", b" fool"]
    model = BPEModel(dict(enumerate(tokens)), merges, pattern="llama3", ignore_merges=True)
    tokenizer = bare_tokenizer(model, [AddedToken("<x>", normalized=False, special=True)])
    canonical = tokenizer.canonical_ids()
    ids = {token: token_id for token_id, token in enumerate(tokens)}

    def allowed(so_far, *candidates):
        mask = canonical.allowed_next([ids[token] for token in so_far])
        return [token for token in candidates if mask[ids.get(token, 1000)]]

    # 123 is one token; a run of digits goes on after one or two, never after three.
    assert allowed([b"12"], b"3", b"4", b" f") == [b"4", b" f"]
    assert allowed([b"1"], b"2", b"3", b"123", b"12") == [b"3", b"12"]
    assert allowed([b"123"], b"4", b" f", b"123", "<x>") == [b"4", b" f", b"123", "<x>"]
    # So is " foo", but " fools" has the tokens of its merges.
    assert allowed([b" f"], b"oo", b"o") == [b"oo", b"o"]
    assert allowed([b" f", b"oo"], b"l", b"d", b" ", b" f", "<x>") == [b"l", b"d"]
    assert allowed([b" f", b"oo", b"l"], b"s", b" ", "<x>") == [b"s"]
    assert allowed([b" foo"], b"l", b"d", b" ", "<x>") == [b" ", "<x>"]
    assert canonical.heal(tokenizer.encode("12 foo")) == (1, b" foo")


def test_marks_that_compose_do_not_follow():
    tokens = [*map(bytes, zip(range(256))), "\u0301".encode(), "\u20dd".encode(), "e\u0301".encode(), "\u212b".encode()]
    merges = [(b"\xcc", b"\x81"), (b"\xe2", b"\x83"), (b"\xe2\x83", b"\x9d"), (b"e", b"\xcc\x81")]
    tokens = [*tokens, b"\xe2\x83"]
    model = BPEModel(dict(enumerate(tokens)), merges, pattern="qwen3.5", normalizer="NFC")
    canonical = bare_tokenizer(model, [AddedToken("<x>", normalized=False)]).canonical_ids()
    acute, circle, decomposed, angstrom = range(256, 260)
    after_e, after_added, after_comma = (canonical.allowed_next(ids) for ids in ([101], [101, 1000], [44]))
    assert not after_e[acute]
    assert after_e[circle]
    assert after_e[0xCC]  # U+033F does not compose with e
    assert after_added[acute]  # each segment is normalized by itself
    assert after_comma[acute]
    assert not any(mask[[decomposed, angstrom]].any() for mask in (after_e, after_added, after_comma))
    after_half = canonical.allowed_next([101, 0xCC])
    assert [byte for byte in (0x80, 0x81, 0xBF, 0x87) if after_half[byte]] == [0xBF]
    with pytest.raises(ValueError, match="expected canonical ids"):
        canonical.heal([44, 101, decomposed])


@scaled
@pytest.mark.parametrize("kind", KINDS)
def test_healed_prompts_keep_what_texts_in_the_form_share(kind):
    normalizer, has_words = KINDS[kind]
    for seed in range(by_profile(quick=2, thorough=20)):
        with case(seed):
            letters = LETTERS[["words", "latin", "numbers"][seed % 3]]
            model, _ = random_model(letters, seed, normalizer=normalizer, has_words=has_words)
            tokenizer = bare_tokenizer(model)
            random = Random(seed)
            more = [*MORE, *("".join(each) for size in (1, 2, 3) for each in itertools.product(letters, repeat=size))]
            for _ in range(8):
                prompt = tokenizer.decode(encode(tokenizer, "".join(random.choices(letters, k=5))))
                check_healing(tokenizer, prompt, more)


def check_healing(tokenizer, prompt, more):
    ids = encode(tokenizer, prompt)
    texts = [prompt + each for each in more]
    if tokenizer.model.normalizer:  # no canonical ids have other texts
        texts = [text for text in texts if unicodedata.is_normalized("NFC", text)]
    rows = [encode(tokenizer, text) for text in texts]
    shared = next(n for n in range(len(ids), -1, -1) if all(row[:n] == ids[:n] for row in rows))
    removed, data = tokenizer.canonical_ids().heal(ids)
    assert (len(ids) - removed, data) == (shared, tokenizer.decode_bytes(ids[shared:])), prompt


REAL = ["qwen3", "llama3_1", pytest.param("gptoss", marks=thorough), pytest.param("mistral_nemo", marks=thorough)]


@scaled
@pytest.mark.parametrize("name", REAL)
def test_ids_of_real_text_are_allowed(name, test_data):
    tokenizer = BPETokenizer.from_pretrained(test_data / "tokenizers" / name)
    canonical, random = tokenizer.canonical_ids(), Random(1)
    text = (test_data / "text" / "multilingual.txt").read_text("utf-8")
    some = by_profile(quick=25, thorough=400)
    for start in range(0, len(text) - 500, len(text) // by_profile(quick=3, thorough=20)):
        ids = encode(tokenizer, unicodedata.normalize("NFC", text[start : start + 400].strip()))[:some]
        for size, token_id in enumerate(ids):
            mask = canonical.allowed_next(ids[:size])
            assert mask[token_id], (ids[:size], token_id)
        for token_id in random.sample(range(len(mask)), k=some):
            longer = [*ids[:-1], token_id]
            assert mask[token_id] >= canonical.is_canonical(longer), longer
        removed, data = canonical.heal(ids)
        assert (removed < 12, data) == (True, tokenizer.decode_bytes(ids[len(ids) - removed :]))
