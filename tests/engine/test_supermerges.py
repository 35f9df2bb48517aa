"""Supermerges in encoding: both engines give what the literal definition gives, however text is cut and shared out."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import oracle
from tokenizers import AddedToken

from hf_bpe import BPEModel
from hf_bpe.core._phrases import is_mergeable, phrases_pattern, runs_of_mergeable
from hf_bpe.core.pretokenizers import NAMES, Whitespace, canonical_pattern, check_has_phrases
from hf_bpe.core.reference import count_pre_tokens, pre_tokenize
from hf_bpe.engine import native_core
from hf_bpe.engine._dispatch import find_last_cut, make_encoder
from hf_bpe.engine._encoder import AddedTokenTuple, Options
from hf_bpe.engine._native_patterns import NotNativeError, native_pattern
from hf_bpe.engine._runs import gather, read_words, reader_of
from hf_bpe.engine._safe_cuts import safe_cuts

MERGES = [
    (b"o", b"f"),
    (b" ", b"of"),
    (b" ", b"a"),
    (b"\xc3", b"\xa9"),
    (b" ", b"\xc3\xa9"),
    (b"1", b"2"),
    (b"'", b"s"),
]
PARTS = [b"of", b" of", b" a", b"a", b"\xc3\xa9", b" \xc3\xa9", b"12", b"'s", b" of of", b"a a", b" of a", b"a'", b"x"]
EXPRESSION = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+|a\nb"

words = [
    "of",
    " of",
    " a",
    "a",
    "é",
    " é",
    "12",
    " 12",
    "'s",
    ", ",
    ".",
    "\n",
    "x\n",
    "\t",
    "ab\ncd",
    "<s>",
    "5 ",
    "5\t",
    "of of",
]
texts = st.lists(st.sampled_from(words) | st.text(max_size=3), max_size=40).map("".join)
patterns = st.sampled_from(["gpt2", "o200k", "cl100k", "deepseek-v3", canonical_pattern(EXPRESSION), r"\S+|\s+"])


@st.composite
def models(draw, patterns=patterns):
    merges = draw(st.lists(st.sampled_from(MERGES), unique=True))
    merges = [merge for merge in MERGES if merge in merges]
    pairs = [
        *{
            b"".join(pair): pair for pair in draw(st.lists(st.tuples(*[st.sampled_from(PARTS)] * 2), max_size=12))
        }.values()
    ]
    tokens = [bytes([byte]) for byte in range(256)]
    for first, second in [*merges, *pairs]:
        tokens += [first, second, first + second]
    vocab = dict(enumerate(dict.fromkeys([*tokens, b"<s>"])))
    model = BPEModel(vocab, merges, ("<s>",), draw(patterns), supermerges=pairs)
    return replace(model, ignore_merges=draw(st.booleans()))


def by_definition(model, text):
    """Encode bytes without special tokens literally, as tokens."""
    whole = model.whole_words()
    encoded, run = [], []
    for word in [*pre_tokenize(text, model.pattern), None]:
        tokens = [] if word is None else [word] if word in whole else oracle.encode_word(word, model.merges)
        if tokens == [word] and is_mergeable(word):
            run += tokens
            continue
        encoded += oracle.apply_merges(run, model.supermerges) + tokens
        run = []
    return encoded


def split_at(special, text):
    pieces = text.split(special)
    return [each for piece in pieces for each in (piece, special)][:-1]


@pytest.mark.usefixtures("engine")
@given(models(), st.lists(texts, min_size=1, max_size=4), st.data())
def test_ids_are_those_of_the_definition_in_all_entry_points(model, given_texts, data):
    ids = {token: token_id for token_id, token in model.vocab.items()}
    special = AddedTokenTuple.of(ids[b"<s>"], AddedToken("<s>", special=True, normalized=False))
    encoder = make_encoder(model, (special,))
    options = Options()
    expected = []
    for text in given_texts:
        row = []
        for piece in split_at("<s>", text):
            tokens = [b"<s>"] if piece == "<s>" else by_definition(model, piece.encode())
            row += [ids[token] for token in tokens]
        expected.append(row)
    assert [encoder.encode(text, options) for text in given_texts] == expected
    assert encoder.encode_batch(given_texts, options, 2) == expected
    assert encoder.count_tokens(given_texts, options, 2) == [*map(len, expected)]
    flat, offsets, places = encoder.encode_with_offsets(given_texts, options)
    assert [flat[a:b].tolist() for a, b in pairwise(offsets)] == expected
    for text, begin, end in zip(given_texts, offsets, offsets[1:], strict=False):
        for token_id, (first, last, _) in zip(flat[begin:end].tolist(), places[begin:end].tolist(), strict=True):
            if model.vocab[token_id] in PARTS or b" of" in model.vocab[token_id]:
                assert text[first:last].encode() == model.vocab[token_id]
    text = data.draw(st.sampled_from(given_texts)).encode()
    cut = encoder.find_last_cut(text, options)
    for rest in (text[cut:], text[cut:] + b" of", text[cut:] + b"a of", text[cut:] + b"\n"):
        assert encoder.encode(text[:cut], options) + encoder.encode(rest, options) == encoder.encode(
            text[:cut] + rest, options
        )


@given(models(), texts, st.integers(1, 40), st.integers(1, 3))
def test_parts_of_a_long_text_give_the_ids_of_the_whole(model, text, chunk_bytes, threads):
    if (native := native_core()) is None:
        pytest.skip("the native core is not built")
    if model.pattern not in NAMES:
        model = replace(model, pattern="cl100k")
    arguments = (model, make_encoder, model.vocab, model.merges, model.pattern)
    no_words = [b"<s>"] if model.ignore_merges else None
    encoder = native.Encoder(*arguments, no_words=no_words, supermerges=model.supermerges, chunk_bytes=chunk_bytes)
    [ids] = encoder.encode_batch([(text * 3).encode()], Options(), threads)
    assert [model.vocab[token_id] for token_id in ids] == by_definition(model, (text * 3).encode())


@given(models(), st.integers(30, 300), st.randoms())
def test_long_runs_are_those_of_the_definition(model, length, random):
    text = "".join(random.choice(["of", " of", " a", " é"]) for _ in range(length))
    ids = make_encoder(model).encode(text, Options())
    assert [model.vocab[token_id] for token_id in ids] == by_definition(model, text.encode())


@given(patterns, st.lists(texts | st.binary(max_size=20), max_size=4), st.integers(1, 60))
def test_phrases_are_counted_alike_in_threads_and_chunks(pattern, documents, chunk_bytes):
    documents = [each.encode() if isinstance(each, str) else each for each in documents]
    of_phrases = canonical_pattern(phrases_pattern(pattern))
    expected = count_pre_tokens(documents, of_phrases)
    assert sum(expected.values()) == sum(len([*runs_of_mergeable(pre_tokenize(each, pattern))]) for each in documents)
    in_parts = []
    for document in documents:
        cuts = [0, *safe_cuts(of_phrases, ()).find_all(document, 1, len(document)), len(document)]
        in_parts += [document[a:b] for a, b in pairwise(cuts)]
        last = find_last_cut(document, of_phrases, [])
        assert count_pre_tokens([document[:last], document[last:]], of_phrases) == count_pre_tokens(
            [document], of_phrases
        )
    assert count_pre_tokens(in_parts, of_phrases) == expected
    if (native := native_core()) is not None:
        try:
            known = native_pattern(native, of_phrases)
        except NotNativeError:
            return
        counter = native.Counter(known, [], threads=2, chunk_bytes=chunk_bytes)
        counter.add(documents, check_utf8=False, progress=None)
        assert dict(read_words(reader_of(gather(counter.drain())))) == expected


@given(st.sampled_from(NAMES), st.text(st.sampled_from("aB é1.'-_\t\n\u0301中カ!"), max_size=12))
def test_no_named_pattern_has_a_letter_before_other_ascii_at_the_end(pattern, text):
    for word in pre_tokenize(text.encode(), pattern):
        if word[-1:].isascii() and not word[-1:].isalpha() and not word[-1:].isspace():
            assert not is_mergeable(word)


@pytest.mark.parametrize("pattern", [None, [Whitespace()]])
def test_pattern_without_phrases_is_refused(pattern):
    vocab = {0: b"a", 1: b"aa"}
    with pytest.raises(ValueError, match="expected a named pattern or an expression"):
        BPEModel(vocab, [], (), canonical_pattern(pattern), supermerges=[(b"a", b"a")])
    with pytest.raises(ValueError, match="expected a named pattern or an expression"):
        check_has_phrases(canonical_pattern(pattern))


def test_pattern_of_phrases_is_no_pattern_of_a_model():
    with pytest.raises(ValueError, match="only counted"):
        BPEModel({0: b"a"}, [], (), phrases_pattern("gpt2"))


@pytest.mark.parametrize("pair", [(b"a", b"x"), (b"x", b"a")])
def test_supermerge_of_unknown_tokens_is_refused(pair):
    with pytest.raises(ValueError, match="not a token of the vocabulary"):
        BPEModel({0: b"a", 1: b"aa"}, [], supermerges=[pair])
