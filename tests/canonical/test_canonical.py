"""Canonical ids: repairs against encoding, healing against all continuations."""

import itertools
import pickle
import re
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken

from hf_bpe import BPEModel, BPETokenizer
from support import strategies
from support.cases import case
from support.models.small_tokenizers import bare_tokenizer
from support.profiles import by_profile, scaled
from support.strategies import BYTES

MERGES = [
    ("l", "o"),
    ("lo", "w"),
    (" ", "l"),
    (" l", "o"),
    ("e", "r"),
    ("\n", "\n"),
    ("1", "2"),
    (" ", " "),
    ("<", "|"),
]


def tokenizer_of(pattern="gpt2", normalizer=None, tokens=()):
    merges = [(a.encode(), b.encode()) for a, b in MERGES]
    vocab = {**BYTES, **{256 + i: a + b for i, (a, b) in enumerate(merges)}}
    return bare_tokenizer(BPEModel(vocab, merges, pattern=pattern, normalizer=normalizer), tokens)


TOKENS = [
    AddedToken("<|x|>", special=True),
    AddedToken("we", lstrip=True),
    AddedToken("ow", rstrip=True),
    AddedToken("r1", single_word=True),
]
tokenizers = st.builds(
    tokenizer_of, strategies.patterns, st.sampled_from([None, "NFC"]), st.lists(st.sampled_from(TOKENS), unique_by=str)
)
LETTERS = "low er\n12<|x>\xe9"
some_ids = st.lists(st.sampled_from([*LETTERS.encode(), *range(256, 265), 1000]), max_size=14)


def is_canonical(tokenizer, ids):
    data = tokenizer.decode_bytes(ids)
    try:
        return tokenizer.encode(data.decode(), add_special_tokens=False) == ids
    except UnicodeDecodeError:
        return False


@given(tokenizers, some_ids)
@settings(max_examples=by_profile(quick=150, thorough=450))
def test_checks_and_repairs_are_those_of_encoding(tokenizer, ids):
    ids = [token_id for token_id in ids if token_id < 1000 or token_id in tokenizer.added_tokens_decoder]
    canonical = tokenizer.canonical_ids()
    expected = is_canonical(tokenizer, ids)
    first = canonical.first_noncanonical(ids)
    repaired = canonical.recanonicalize(ids)
    assert canonical.is_canonical(ids) == expected == (first is None)
    assert repaired == tokenizer.encode_bytes(tokenizer.decode_bytes(ids))
    if first is not None:
        assert ids[:first] == repaired[:first]
    longest = max(size for size in range(len(ids) + 1) if is_canonical(tokenizer, ids[:size]))
    assert canonical.canonical_prefix(ids) == ids[:longest]


@scaled
@pytest.mark.parametrize("pattern", ["gpt2", "o200k", "deepseek-v3", None])
def test_longest_canonical_prefix_of_text_without_spaces(pattern):
    for seed in range(by_profile(quick=3, thorough=60)):
        with case(seed):
            check_longest_canonical_prefix(pattern, Random(seed))


def check_longest_canonical_prefix(pattern, random):
    tokenizer = tokenizer_of(pattern, tokens=TOKENS[: random.randrange(2)])
    text = "".join(random.choices(["low", "er", "\u4f60", "\u3002", "l", "<|x", "|>", "12", "'s"], k=120))
    ids = tokenizer.encode(text)
    for _ in range(random.randrange(1, 4)):  # as sampled: other tokens for the same bytes, other bytes
        at = random.randrange(len(ids) // 2, len(ids))
        ids[at : at + 1] = random.choice([tokenizer.decode_bytes(ids[at : at + 1]), [256], [108, 111], [0xE4], []])
    longest = max(size for size in range(len(ids) + 1) if is_canonical(tokenizer, ids[:size]))
    assert tokenizer.canonical_ids().canonical_prefix(ids) == ids[:longest]


def test_prefix_ends_before_bytes_that_are_no_text():
    canonical = tokenizer_of().canonical_ids()
    assert canonical.canonical_prefix([257, 0xC3, 32, 111, 257, 108]) == [257]


@pytest.mark.parametrize("pattern", ["gpt2", "o200k", None])
def test_healed_prompts_keep_what_all_continuations_share(pattern):
    tokenizer = tokenizer_of(pattern)
    canonical = tokenizer.canonical_ids()
    more = ["".join(chars) for size in range(4) for chars in itertools.product("lower 12\n", repeat=size)]
    for prompt in ("low", "low lo", "lower l", "low ", "er", "", "1", "low 1", "l\n", "low  ", "wer"):
        ids = tokenizer.encode(prompt)
        rows = tokenizer.encode_to_lists([prompt + each for each in more])
        shared = next(n for n in range(len(ids), -1, -1) if all(row[:n] == ids[:n] for row in rows))
        removed, data = canonical.heal(ids)
        assert (len(ids) - removed, data) == (shared, tokenizer.decode_bytes(ids[shared:])), prompt


@given(tokenizers, st.text("low er\n12", max_size=12), st.text("low er\n12", max_size=6))
@settings(max_examples=by_profile(quick=60, thorough=180))
def test_ids_that_healing_keeps_stay_whatever_follows(tokenizer, prompt, more):
    ids, canonical = tokenizer.encode(prompt), tokenizer.canonical_ids()
    try:
        canonical.allowed_next(ids)
    except ValueError as error:
        with pytest.raises(ValueError, match=f"cannot be healed.*{re.escape(str(error))}"):
            canonical.heal(ids)
        return
    removed, data = canonical.heal(ids)
    kept = len(ids) - removed
    assert tokenizer.encode(prompt + more)[:kept] == ids[:kept]
    assert data == tokenizer.decode_bytes(ids[kept:])


REFUSED = {
    "claude": "it has the normalizer .*NFKC.*, expected 'NFC' or none",
    "florence": "the added token '<mask>' strips white space",
}


@pytest.mark.filterwarnings("ignore:padding and truncation are ignored")
@pytest.mark.parametrize("name", REFUSED)
def test_real_models_without_known_masks_refuse_by_name(name, test_data):
    tokenizer = BPETokenizer.from_pretrained(test_data / "tokenizers" / name)
    ids = tokenizer.encode("The quick brown fox jumps over the laz", add_special_tokens=False)
    calls = {
        "heal": lambda canonical: canonical.heal(ids),
        "allowed_next": lambda canonical: canonical.allowed_next(ids),
    }
    for name_of_call, call in calls.items():
        with pytest.raises(ValueError, match=REFUSED[name]) as raised:
            call(tokenizer.canonical_ids())
        assert ("cannot be healed" in str(raised.value)) == (name_of_call == "heal")
    assert tokenizer.canonical_ids().canonical_prefix([*ids, *ids]) == [*ids, *ids]


def test_order_of_merges_is_refused_with_the_first_too_early(monkeypatch):
    monkeypatch.setattr("hf_bpe.canonical._neighbors._MAX_LATE", 0)
    model = BPEModel({**BYTES, 256: b"ab", 257: b"abc"}, [(b"ab", b"c"), (b"a", b"b")])
    with pytest.raises(ValueError, match="merge 0 of the model comes before a merge that makes one of its parts"):
        BPETokenizer(model=model).canonical_ids().heal([97])


def test_sampled_by_mask_ids_are_canonical():
    tokenizer = tokenizer_of("cl100k", tokens=TOKENS[:1])
    canonical, random = tokenizer.canonical_ids(), Random(1)
    ids, likely = [], {*range(256, 264), *b"low er\n12", 1000}
    for _ in range(300):
        ids.append(random.choice([i for i in np.flatnonzero(canonical.allowed_next(ids)).tolist() if i in likely]))
    assert canonical.first_noncanonical(ids) in (None, len(ids) - 1)  # more may have to follow


def test_pickled_and_unknown_ids():
    canonical = pickle.loads(pickle.dumps(tokenizer_of().canonical_ids()))
    assert canonical.recanonicalize([108, 111]) == [256]
    with pytest.raises(ValueError, match="999"):
        canonical.is_canonical([999])


def test_repr_names_the_model_and_the_added_tokens():
    tokenizer = BPETokenizer.train(["low"], vocab_size=258, special_tokens=["<|x|>"])
    assert repr(tokenizer.canonical_ids()) == f"<CanonicalIds of {tokenizer.model} with 1 added token>"
