"""Tokens that may follow ids, compared with all texts over small alphabets."""

import itertools
from random import Random

import pytest
from tokenizers import AddedToken

from hf_bpe import BPEModel, train
from hf_bpe.pretokenizers._named_patterns import WITH_SCANNER
from hf_bpe.reference import Encoder
from support.cases import case
from support.models.small_tokenizers import bare_tokenizer
from support.oracles.partial_characters import is_viable
from support.profiles import by_profile, scaled, thorough
from support.strategies import BYTES

ALPHABETS = [
    ["z", "Z", "\u4e2d", "1", "!", " ", "\n"],
    ["'", "s", "l", "e", "z", " ", "!"],
    ["a", "\xe9", "\xe8", "\u4e2d", "\u4e2e", " "],
    ["1", "2", " ", "a", "A"],
    ["a", "A", "\u30a2", "\u4e2d", "\u0301", ".", "/"],
    [" ", "\n", "\t", "\r", "!", "a"],
]
MORE = ["", *"zZ\u4e2d1! \n\u0301'sl/\u30fc", "ll", "zz", "  ", " z", "11", "\nz"]


def model_of(pattern, alphabet, seed, merges=12):
    """Return a model learned from random text of an alphabet."""
    random = Random(seed)
    corpus = ["".join(random.choices(alphabet, k=random.randrange(20, 80))) for _ in range(30)]
    merges = train(corpus, num_merges=merges, pattern=random.choice([pattern, pattern, None])).merges
    vocab = {**BYTES, **{256 + i: a + b for i, (a, b) in enumerate(merges)}}
    return BPEModel(vocab, merges, pattern=pattern)


def beginnings_of(tokenizer, alphabet, length):
    """Return the beginnings of the ids of all texts of up to some length."""
    found = set()
    for size in range(length + 1):
        texts = ["".join(chars) for chars in itertools.product(alphabet, repeat=size)]
        for row in map(tuple, tokenizer.encode_to_lists(texts)):
            found.update(row[:end] for end in range(len(row) + 1))
    return found


QUICK = ("gpt2", "cl100k", "qwen3.5")


@scaled
@pytest.mark.parametrize(
    "pattern",
    [None, *(pytest.param(name, marks=() if name in QUICK else thorough) for name in sorted(WITH_SCANNER))],
)
def test_mask_is_that_of_all_texts(pattern):
    for number, letters in enumerate(ALPHABETS[: by_profile(quick=1, thorough=len(ALPHABETS))]):
        with case(letters):
            check_masks(model_of(pattern, letters, seed=number), letters, length=5)


def check_masks(model, letters, length):
    tokenizer = bare_tokenizer(model)
    canonical, viable = tokenizer.canonical_ids(), beginnings_of(tokenizer, letters, length)
    data_of = {ids: b"".join(map(model.vocab.__getitem__, ids)) for ids in viable}
    tokens = [i for i, token in model.vocab.items() if {*token} <= {*"".join(letters).encode()}]
    compared = 0
    for ids, data in data_of.items():
        if len(data.decode("utf-8", "ignore")) > length - 4:
            continue
        mask = canonical.allowed_next(ids)
        for token_id in tokens:
            longer = data + model.vocab[token_id]
            if len(longer.decode("utf-8", "ignore")) > length - 2:
                continue
            compared += 1
            expected = (*ids, token_id) in viable
            if mask[token_id] != expected:  # texts with other characters may decide
                assert mask[token_id], (ids, token_id)
                assert is_viable(tokenizer, [*ids, token_id], longer, MORE), (ids, token_id)
    assert compared > 20


@scaled
def test_stable_neighbors_are_those_that_the_merges_leave():
    for seed in range(by_profile(quick=15, thorough=100)):
        with case(seed):
            letters = Random(seed).choice(["a", "ab", "abc", "ab "])
            check_stable_neighbors(model_of(None, letters, seed, merges=14 if len(letters) > 1 else 5), letters)


@scaled
def test_stable_neighbors_of_merges_in_any_order():
    late = 0
    for seed in range(by_profile(quick=25, thorough=300)):
        with case(seed):
            random = Random(seed)
            letters = random.choice(["a", "ab", "abc", "ab "])
            model = model_of(None, letters, seed, merges=14 if len(letters) > 1 else 5)
            merges = [*model.merges]
            for _ in range(random.choice([1, 3, 20])):
                at = random.randrange(len(merges))
                merges.insert(random.randrange(len(merges)), merges.pop(at))
            tokens = {*model.vocab.values()}
            ways = [(a, b) for a in sorted(tokens) for b in sorted(tokens) if a + b in tokens and (a, b) not in merges]
            for way in random.sample(ways, k=min(len(ways), random.randrange(4))):
                merges.insert(random.randrange(len(merges)), way)
            late += check_stable_neighbors(BPEModel(model.vocab, merges, pattern=None), letters)
    assert late > 20


def check_stable_neighbors(model, letters):
    """Return how many merges come before those that make their parts."""
    canonical, encoder = bare_tokenizer(model).canonical_ids(), Encoder(model)
    lone = {token_id for token_id, token in model.vocab.items() if encoder.encode_word(token) == [token_id]}
    tokens = [token_id for token_id, token in model.vocab.items() if {*token} <= {*letters.encode()}]
    masks = {first: canonical.allowed_next(first) for first in [(), *((token_id,) for token_id in tokens)]}
    assert {token_id for token_id in tokens if masks[()][token_id]} == lone.intersection(tokens)
    for first, second in itertools.product(tokens, repeat=2):
        pair = [first, second]
        is_stable = encoder.encode_word(model.vocab[first] + model.vocab[second]) == pair
        assert masks[(first,)][second] == is_stable, pair
    ranks = {first + second: rank for rank, (first, second) in reversed([*enumerate(model.merges)])}
    return sum(max(map(ranks.get, pair, (0, 0))) > rank for rank, pair in enumerate(model.merges))


def test_tokens_that_spell_an_added_token_are_not_allowed():
    model = model_of("gpt2", ["<", "x", ">", " "], 1)
    tokenizer = bare_tokenizer(model, [AddedToken("<x>", special=True, normalized=False)])
    canonical, viable = tokenizer.canonical_ids(), beginnings_of(tokenizer, ["<", "x", ">", " "], 7)
    tokens = {**model.vocab, 1000: b"<x>"}
    for ids in viable:
        data = b"".join(map(tokens.__getitem__, ids))
        if len(data) > 4:
            continue
        mask = canonical.allowed_next(ids)
        for token_id, token in tokens.items():
            if {*token} <= {*b"<x> "} and len(data + token) <= 6:
                assert bool(mask[token_id]) == ((*ids, token_id) in viable), (ids, token_id)


REFUSED = {
    "pattern": (BPEModel(BYTES, [], pattern=r"\w+|\s"), ()),
    "NFKC.*expected 'NFC' or none": (BPEModel(BYTES, [], normalizer="NFKC"), ()),
    "is found in normalized text, where it changes or joins": (
        BPEModel(BYTES, [], normalizer="NFC"),
        (AddedToken("\u0301x", normalized=True),),
    ),
    "ignore_merges makes tokens that its merges do not make, of whole texts": (
        BPEModel({**BYTES, 256: b"ab"}, [], pattern=None, ignore_merges=True),
        (),
    ),
    "white space": (BPEModel(BYTES, []), (AddedToken("<x>", special=True, normalized=False, lstrip=True),)),
}


def test_what_is_not_known_is_refused_by_name():
    for reason in REFUSED:
        with case(reason), pytest.raises(ValueError, match=reason):
            bare_tokenizer(*REFUSED[reason]).canonical_ids().allowed_next([])
