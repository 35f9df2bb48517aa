"""Superwords of whole pre-tokens: training by the literal definition, resumed, and from merged counts."""

import json
import warnings
from collections import Counter
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import oracle
from support.commands import run
from support.strategies import superword_limits, training_options

from hf_bpe import BPETokenizer, count, train
from hf_bpe.core import _supermerge_learning, reference
from hf_bpe.core._phrases import is_mergeable
from hf_bpe.core._superwords import is_allowed
from hf_bpe.core.reference import numbered_tokens, pre_tokenize
from hf_bpe.engine._supermerge_training import learn_supermerges
from hf_bpe.training import Superwords

pytestmark = pytest.mark.usefixtures("engine")

TEXTS = [
    "by the way, one of the best and one of the rest; by the way, one of the others\n" * 3,
    "One of 99 of the best",
]
BOUNDLESS = {"kind": "boundless", "max_words": None, "colon_space": True}

texts = st.lists(
    st.sampled_from(["of", " of", " the", " a", "é", " 12", ":", ", ", "'s", " ", "\n", "of the", "<x>"]), max_size=40
).map("".join)
patterns = st.sampled_from(["gpt2", "o200k", r"\p{L}|[^\p{L}]+"])


@pytest.fixture(autouse=True)
def _no_warning_of_small_texts():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the text gives .* requested merges", UserWarning)
        yield


def by_definition(
    documents, pattern, merges, number, tie_break, min_frequency, max_token_bytes, length_penalty, **limits
):
    """Learn supermerges literally: encode all text with all merges so far, count all pairs, take the best; repeat."""
    supermerges, tokens = [], numbered_tokens(merges)
    while len(supermerges) < number:
        pairs = Counter()
        for document in documents:
            run = []
            for word in [*pre_tokenize(document.encode(), pattern), None]:
                if word is not None and oracle.encode_word(word, merges) == [word] and is_mergeable(word):
                    run.append(word)
                    continue
                encoded = oracle.apply_merges(run, supermerges)
                pairs.update(pairwise(encoded))
                run = []

        ties = {
            pair: pair if tie_break == "lexicographic" else tuple(-tokens.index(each) for each in pair)
            for pair in pairs
        }
        allowed = [
            pair
            for pair in pairs
            if pairs[pair] >= min_frequency
            and (max_token_bytes is None or len(b"".join(pair)) <= max_token_bytes)
            and is_allowed(b"".join(pair), **limits)
        ]
        if not allowed:
            break
        scores = {pair: (pairs[pair] - length_penalty * len(b"".join(pair)), ties[pair]) for pair in allowed}
        supermerges.append(max(allowed, key=scores.__getitem__))
        made = b"".join(supermerges[-1])
        tokens += [] if made in tokens else [made]
    return supermerges


@given(
    st.lists(texts, min_size=1, max_size=3),
    patterns,
    st.integers(0, 8),
    st.integers(0, 12),
    superword_limits,
    training_options,
)
def test_merges_are_those_of_the_definition(documents, pattern, after, number, limits, options):
    superwords = Superwords(after=after, kind="boundless", **limits)
    model = train(documents, num_merges=after + number, pattern=pattern, superwords=superwords, **options)
    counts = reference.count_pre_tokens([document.encode() for document in documents], pattern)
    merges = oracle.learn_merges(counts, max_merges=after, **options)
    assert model.merges == merges
    assert model.pattern == pattern
    assert model.supermerges == by_definition(
        documents, pattern, merges, after + number - len(merges), **options, **limits
    )


runs = st.lists(st.sampled_from([b"a", b"b", b"ab", b"ba", b"aba"]), min_size=2, max_size=12).map(b"\xff".join)


@given(
    st.dictionaries(runs, st.integers(1, 2**40), max_size=8),
    st.integers(0, 20),
    training_options,
    superword_limits,
    st.data(),
)
def test_both_engines_agree_where_supermerges_make_existing_tokens(phrases, number, options, limits, data):
    how = {"merges": [(b"a", b"b"), (b"b", b"a"), (b"ab", b"a")], **options, **limits}
    expected = _supermerge_learning.learn_supermerges(phrases, max_merges=number, **how)
    assert learn_supermerges(phrases, max_merges=number, **how) == expected
    known = data.draw(st.integers(0, len(expected)))
    rest = learn_supermerges(phrases, max_merges=number - known, initial=expected[:known], **how)
    assert expected[:known] + rest == expected


def test_counts_of_parts_give_the_model_of_the_whole(tmp_path):
    superwords = Superwords(after=20, **BOUNDLESS)
    expected = train(TEXTS, num_merges=40, superwords=superwords)
    by = superwords.pattern_after("gpt2")
    words, phrases = (count(TEXTS[:1], pattern=each).merge(count(TEXTS[1:], pattern=each)) for each in ("gpt2", by))
    phrases.save(tmp_path / "phrases.counts")
    loaded = type(phrases).load(tmp_path / "phrases.counts")
    model = train(words, num_merges=40, superwords=Superwords(after=20, text=loaded, **BOUNDLESS))
    assert model == expected
    assert model.signature == expected.signature
    assert "superwords=after=20 kind=boundless" in model.signature


def test_several_sizes_and_numbers_are_trained_at_once():
    models = train(TEXTS, num_merges=40, superwords=Superwords(after=[10, 20], **BOUNDLESS))
    assert models == [train(TEXTS, num_merges=40, superwords=Superwords(after=n, **BOUNDLESS)) for n in (10, 20)]
    of_sizes = train(TEXTS, vocab_size=[279, 281], superwords=Superwords(after=20, **BOUNDLESS))
    assert [model.vocab_size for model in of_sizes] == [279, 281]
    assert of_sizes[0] == of_sizes[1].truncate(279)


def test_training_resumes_from_its_checkpoints(tmp_path):
    superwords = Superwords(after=20, **BOUNDLESS)
    (tmp_path / "a.txt").write_text("".join(TEXTS))
    expected = train(tmp_path / "a.txt", num_merges=40, superwords=superwords)

    class Stop(Exception):
        pass

    def stop(event):
        if event.stage == "merging" and event.done > 25:
            raise Stop

    with suppress(Stop):
        train(tmp_path / "a.txt", num_merges=40, superwords=superwords, work_dir=tmp_path / "work", callback=stop)
    assert train(tmp_path / "a.txt", num_merges=40, superwords=superwords, work_dir=tmp_path / "work") == expected


def test_too_little_memory_is_refused_with_advice(monkeypatch):
    superwords = Superwords(after=20, **BOUNDLESS)
    phrases = count(TEXTS, pattern=superwords.pattern_after("gpt2"))
    words = count(TEXTS)
    monkeypatch.setattr("hf_bpe.training._learning.available_bytes", lambda: 0)
    with pytest.raises(MemoryError, match="takes up to"):
        train(words, num_merges=40, superwords=Superwords(after=20, text=phrases, **BOUNDLESS))


def test_supertokens_are_used_and_shorten_text():
    plain = BPETokenizer.train(TEXTS, vocab_size=290)
    tokenizer = BPETokenizer.train(TEXTS, vocab_size=290, superwords=Superwords(after=20, kind="boundless"))
    assert "ĠofĠthe" in tokenizer.tokenize("one, of the") or "oneĠofĠthe" in tokenizer.tokenize("one of the")
    assert len(tokenizer.encode(TEXTS[0])) < len(plain.encode(TEXTS[0]))
    assert max(token.count(b" ") for token in tokenizer.model.vocab.values()) > 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pattern": r"\S+"}, "expected none for kind 'boundless'"),
        ({"kind": "other"}, "kind"),
    ],
)
def test_wrong_options_are_refused(change, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Superwords(after=1, **{"kind": "boundless", **change})


def test_counts_of_other_pieces_are_refused():
    with pytest.raises(ValueError, match="expected counts by the pattern"):
        train(count(TEXTS), num_merges=9, superwords=Superwords(after=1, kind="boundless", text=count(TEXTS)))
    with pytest.raises(ValueError, match="named pattern or an expression"):
        train(TEXTS, num_merges=9, pattern=None, superwords=Superwords(after=1, kind="boundless"))


def test_command_trains_and_loads_boundless_tokenizers(tmp_path):
    text, folder = tmp_path / "a.txt", tmp_path / "made"
    text.write_text("".join(TEXTS))
    how = ["--vocab-size", "280", "--superwords-after", "20", "--superword-kind", "boundless", "--json"]
    run("train", text, "-o", folder, *how)
    expected = train(text, 280, superwords=Superwords(after=20, kind="boundless"))
    assert BPETokenizer.from_pretrained(folder).model == expected
    assert json.loads(run("inspect", folder, "--json").stdout)["format"] == "hf"
