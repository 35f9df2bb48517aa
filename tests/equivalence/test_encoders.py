"""The encoders give what the reference and the splitter of added tokens give, however the work is distributed."""

import dataclasses
import os
import pickle
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken

from hf_bpe import BPEModel
from hf_bpe.encoding._encoder import AddedTokenTuple, Options, as_tuples
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.encoding._native_paths import encode_batch, text_encoder
from hf_bpe.encoding._sessions.streams import encode_blocks
from hf_bpe.formats import Pipeline
from hf_bpe.reference import Encoder
from support.cases import case
from support.engines import native_encoder, reference_encoder
from support.processes import PATIENCE
from support.profiles import by_profile, scaled, thorough
from support.project import ROOT
from support.strategies import (
    BYTES,
    CHAINS,
    SPACING_CHAINS,
    added_tokens,
    any_bytes,
    any_texts,
    hostile_models,
    long_bytes,
    mergeable,
    models,
    of_tokens,
    runs_of_letters,
)

UNKNOWN = 5000
options = st.builds(Options, st.booleans(), st.booleans(), st.just(UNKNOWN), dropout=st.none())


@st.composite
def encoders(draw, native, tokens=()):
    """Draw the native encoder of a random model with any instructions and chunks, and the Python one."""
    model = draw(models())
    pattern = draw(st.sampled_from([model.pattern, model.pattern, *CHAINS, *SPACING_CHAINS]))
    model = dataclasses.replace(model, pattern=pattern, drop_missing_bytes=draw(st.booleans()))
    how = {"simd": draw(st.sampled_from(native.simd_names())), "chunk_bytes": draw(st.integers(1, 60))}
    return native_encoder(model, tokens, **how), reference_encoder(model, tokens)


def texts_with(tokens):
    """Draw texts, str and bytes, in which added tokens are frequent."""
    contents = [token.content for token in tokens] or ["a"]
    pieces = st.sampled_from([*contents, *contents, "a", "b", "ab", " ", "  ", "\n", "\u3000", "é", "_", "1", "\ud83d"])
    joined = st.lists(pieces, max_size=12).map("".join)
    return st.one_of(
        joined,
        joined.map(lambda text: text.encode("utf-8", "surrogatepass")),
        any_texts,
        any_bytes,
        long_bytes,
        mergeable,
    )


@settings(max_examples=by_profile(quick=50, thorough=200))
@given(st.data(), added_tokens(), options)
def test_native_ids_are_those_of_the_reference(native, data, tokens, options):
    fast, slow = data.draw(encoders(native, tokens))
    texts = data.draw(st.lists(texts_with(tokens) | of_tokens(fast.model), max_size=5))
    expected = encode_batch(slow, texts, options, 1)
    assert [fast.encode(text, options) for text in texts] == expected
    threads = data.draw(st.integers(1, 3))
    assert fast.encode_batch(texts, options, threads) == expected
    assert fast.count_tokens(texts, options, threads) == [*map(len, expected)]
    for array, other in zip(
        fast.encode_to_numpy(texts, options, threads), slow.encode_to_numpy(texts, options, threads), strict=True
    ):
        np.testing.assert_array_equal(array, other)
        assert array.dtype == other.dtype
    for array, other in zip(
        fast.encode_with_offsets(texts, options), slow.encode_with_offsets(texts, options), strict=True
    ):
        np.testing.assert_array_equal(array, other)
        assert array.dtype == other.dtype


@given(st.data(), added_tokens(), options, st.lists(st.integers(0, 255), max_size=2), st.lists(st.just(9), max_size=1))
def test_text_encoder_puts_the_ids_of_encode_into_the_template(native, data, tokens, options, before, after):
    fast, slow = data.draw(encoders(native, tokens))
    usual, as_text = (options._replace(split_special_tokens=flag) for flag in (False, True))
    doubled, doubled_slowly = [], []
    encode = fast.text_encoder(usual, as_text, (before, after), lambda: doubled.append(text))
    encode_slowly = text_encoder(slow, usual, as_text, (tuple(before), after), lambda: doubled_slowly.append(text))
    texts = data.draw(st.lists(texts_with(tokens) | of_tokens(fast.model), max_size=5))
    starts = []
    for text in [*texts, "", "".join(map(chr, before)), "ab " * 1500]:
        for splits in (False, True):
            ids = slow.encode(text, as_text if splits else usual)
            assert encode(text, splits, False) == encode_slowly(text, splits, False) == ids
            assert encode(text, splits, 1) == encode_slowly(text, splits, 1) == [*before, *ids, *after]
            starts += [text] if before and ids[:1] == before[:1] else []
    assert doubled == doubled_slowly == starts


def test_errors_of_what_a_text_encoder_calls_are_raised():
    encoder = make_encoder(BPEModel(BYTES, []))

    def fail():
        raise LookupError("twice")

    class Undecided:
        def __bool__(self):
            raise LookupError("undecided")

    encode = encoder.text_encoder(Options(), Options(True), ([97], ()), fail)
    assert encode("ba", False, True) == [97, 98, 97]
    for message, arguments in {"twice": ("ab", False, True), "undecided": ("b", False, Undecided())}.items():
        with case(message), pytest.raises(LookupError, match=message):
            encode(*arguments)
    with pytest.raises(TypeError, match="expected str or bytes, got NoneType"):
        encode(None, False, False)
    for wrong in ((1, 2), ([], [], []), ([97], [-1])):
        with case(wrong), pytest.raises((TypeError, ValueError), match="template_ids"):
            encoder.text_encoder(Options(), Options(), wrong, None)


def test_places_of_characters_and_parts():
    model = BPEModel({**BYTES, 256: b" a", 257: "é".encode()}, [(b" ", b"a"), (b"\xc3", b"\xa9")])
    token = AddedTokenTuple("<x>", 300, True, False, True, False, False)
    encoder = make_encoder(model, (token,))

    def places(text, **options):
        return [*map(tuple, encoder.encode_with_offsets([text], Options(**options))[2].tolist())]

    assert places("é a <x>") == [(0, 1, 0), (1, 3, 1), (3, 7, 2)]
    assert places("你") == [(0, 1, 0)] * 3
    assert places("\ud83d\ude00a") == [(0, 2, 0)] * 4 + [(2, 3, 1)]
    assert places("a1", add_prefix_space=True) == [(0, 1, 0), (1, 2, 1)]
    assert places("1", add_prefix_space=True) == [(0, 1, 0), (0, 1, 0)]
    assert places("é a".encode()) == [(0, 2, 0), (2, 4, 1)]


@given(hostile_models(), st.lists(runs_of_letters, min_size=1, max_size=4))
def test_native_ids_of_hostile_models_are_those_of_the_reference(native, model, words):
    fast, slow = make_encoder(model), reference_encoder(model)
    fast.encode(b"c" * 100_000, Options())  # after which it has prepared for long words
    assert fast.encode_batch(words, Options(), 1) == encode_batch(slow, words, Options(), 1)


def test_neighbors_of_dropped_bytes_merge_within_a_pre_token():
    vocab = {0: b"a", 1: b"b", 2: b"ab", 3: b" ", 4: b"a\x00b"}
    model = BPEModel(vocab, [(b"a", b"b")], drop_missing_bytes=True)
    encoder = make_encoder(model)
    assert encoder.encode("a\x00b", Options()) == [0, 1]  # three pre-tokens
    whole = dataclasses.replace(model, pattern=None)
    assert make_encoder(whole).encode("\x00a\x00\x01b\x00 c", Options()) == [2, 3]
    assert make_encoder(dataclasses.replace(whole, ignore_merges=True)).encode("a\x00b", Options()) == [4]
    ids, offsets, places = make_encoder(whole).encode_with_offsets(["xa", "cab "], Options(unknown_id=9))
    assert (ids.tolist(), offsets.tolist(), len(places)) == ([0, 2, 3], [0, 1, 3], 3)
    long = "a" * 300 + "\x00" + "b" * 300
    assert make_encoder(whole).encode(long, Options()) == [0] * 299 + [2] + [1] * 299


@settings(max_examples=by_profile(quick=50, thorough=120))
@given(st.data(), added_tokens(), options)
def test_blocks_of_any_size_give_the_ids_of_the_whole(native, data, tokens, options):
    fast, slow = data.draw(encoders(native, tokens))
    texts = data.draw(st.lists(texts_with(tokens) | of_tokens(fast.model), min_size=1, max_size=4))
    whole = b"".join(text.encode("utf-8", "ignore") if isinstance(text, str) else text for text in texts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    pieces = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    blocks = [*encode_blocks(fast, pieces, options, 2, data.draw(st.integers(1, 40)))]
    assert [int(token_id) for ids in blocks for token_id in ids] == slow.encode(whole, options)


@pytest.mark.parametrize(
    ("normalized", "raw", "text", "following"),
    [
        ("op", {"content": "p"}, "xopyyyyyyyy", ""),  # is not found: the other is a part of it
        ("o ", {"content": "<t>", "lstrip": True}, "xo" + " " * 20, "<t>"),  # is not found: its space is eaten
        (" o", {"content": "p", "rstrip": True}, "p  oyyyyyyyy", ""),
    ],
)
def test_text_is_not_cut_before_tokens_that_others_overlap(normalized, raw, text, following):
    tokens = [AddedToken(normalized, normalized=True), AddedToken(**raw, normalized=False)]
    model = BPEModel({**BYTES, 256: b"xo"}, [(b"x", b"o")])
    encoder = make_encoder(model, as_tuples(enumerate(tokens, 300)))
    cut = encoder.find_last_cut(text.encode(), Options())
    ids = encoder.encode(text[:cut], Options()) + encoder.encode(text[cut:] + following, Options())
    assert ids == encoder.encode(text + following, Options())


@given(any_texts, st.lists(st.integers(0, 40), max_size=6), st.integers(1, 30))
def test_pieces_of_str_may_end_between_surrogates(text, cuts, block_bytes):
    encoder = make_encoder(BPEModel(BYTES, []))
    cuts = sorted(min(cut, len(text)) for cut in cuts)
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    blocks = [*encode_blocks(encoder, pieces, Options(), 1, block_bytes)]
    assert [int(token_id) for ids in blocks for token_id in ids] == encoder.encode(text, Options())


def test_blocks_are_bounded_where_text_can_be_cut():
    encoder = make_encoder(BPEModel(BYTES, []))
    sizes = [len(ids) for ids in encode_blocks(encoder, ["low lower " * 10] * 100, Options(), 1, 1000)]
    assert sum(sizes) == 10_000
    assert max(sizes) < 1200


def random_model(rng, merges=300, alphabet=b"abc", consistent=True):
    """Make a model of merges of what was merged before, or, if they are not to be consistent, in any order."""
    tokens = [bytes([byte]) for byte in alphabet]
    pairs = {}
    for _ in range(20 * merges):
        pair = rng.choice(tokens), rng.choice(tokens)
        if len(pairs) < merges and len(pair[0] + pair[1]) <= 24 and pair not in pairs:
            pairs[pair] = None
            tokens.append(pair[0] + pair[1])
    pairs = [*pairs]
    if not consistent:
        rng.shuffle(pairs)
    vocab = {*tokens, *(bytes([byte]) for byte in range(256))}
    return BPEModel(dict(enumerate(sorted(vocab))), pairs, pattern=None)


@pytest.mark.parametrize("consistent", [True, False])
def test_long_words_are_merged_as_the_reference_does(native, consistent):
    for seed in range(12):
        with case(seed):
            check_long_words(consistent, random.Random(seed))


def check_long_words(consistent, rng):
    model = random_model(rng, rng.choice([20, 100, 300]), rng.choice([b"a", b"ab", b"abc"]), consistent)
    encoder, slow = make_encoder(model), Encoder(model)
    letters = [token[0] for token in model.vocab.values() if token in (b"a", b"b", b"c")]
    for size in [*range(1, 70), 100, 1000, 20_000, 20_001, 63, 64, 65, 500, 3000]:
        word = bytes(rng.choices(letters, k=size))
        if rng.random() < 0.3:
            word = word[: 1 + size // 50] * 50
        assert encoder.encode(word, Options()) == slow.encode(word)


@given(models(), any_bytes | mergeable, st.lists(st.integers(0, 9), max_size=4))
def test_decoding_gives_the_bytes_back(native, model, data, skipped):
    encoder, reference = make_encoder(model), reference_encoder(model)
    fast, slow = Pipeline(encoder).decoder, Pipeline(reference).decoder
    ids = [token_id for token_id in reference.encode(data, Options(unknown_id=UNKNOWN)) if token_id != UNKNOWN]
    left_out = {ids[place] for place in skipped if place < len(ids)}
    skipped = bytes(token_id in left_out for token_id in range(max(left_out, default=-1) + 1))
    assert fast.row_bytes(ids, b"") == b"".join(model.vocab[token_id] for token_id in ids)
    kept = [token_id for token_id in ids if token_id not in left_out]
    assert fast.row_bytes(ids, skipped) == slow.row_bytes(ids, skipped) == fast.row_bytes(kept, b"")
    assert fast.texts([ids, tuple(ids), []], skipped, "replace") == slow.texts([ids, ids, []], skipped, "replace")


@given(st.data(), added_tokens())
def test_pickles_encode_alike_and_hold_the_definition_only(native, data, tokens):
    for encoder in data.draw(encoders(native, tokens)):
        before = pickle.dumps(encoder)
        ids = encoder.encode("ab abab <|x|> a", Options(unknown_id=UNKNOWN))
        assert pickle.dumps(encoder) == before
        twin = pickle.loads(before)
        assert twin.model == encoder.model
        assert twin.encode("ab abab <|x|> a", Options(unknown_id=UNKNOWN)) == ids


def gpt2_like():
    rng = random.Random(1)
    return random_model(rng, 2000, b"abcdefgh "), rng


def test_threads_that_call_at_once_get_what_they_would_alone(native):
    model, rng = gpt2_like()
    encoder = make_encoder(model)
    texts = ["".join(rng.choices("abcdefgh ", k=rng.randint(1, 400))) for _ in range(300)]
    expected = make_encoder(model).encode_batch(texts, Options(), 1)

    def call(number):
        for _ in range(5):
            part = slice(number * 10, None)
            assert encoder.encode_batch(texts[part], Options(), 2) == expected[part]
            assert [encoder.encode(text, Options()) for text in texts[part]] == expected[part]

    with ThreadPoolExecutor(8) as threads:
        [*threads.map(call, range(8))]


def test_more_threads_than_idle_workers_may_encode_at_once(native):
    encoder = make_encoder(BPEModel(BYTES, [], pattern="gpt2"))
    texts = [f"{'a' * number} {number}" for number in range(150)]
    all_there = threading.Barrier(len(texts))

    def encode(text):
        all_there.wait(PATIENCE)
        return [encoder.encode(text * times, Options()) for times in (1, 2000, 1)]

    with ThreadPoolExecutor(len(texts)) as threads:
        assert [*threads.map(encode, texts)] == [[[*text.encode()] * n for n in (1, 2000, 1)] for text in texts]


@scaled
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_encodes_while_threads_of_its_parent_do(native):
    model, rng = gpt2_like()
    encoder = make_encoder(model)
    text = "".join(rng.choices("abcdefgh ", k=100_000))
    expected = encoder.encode(text, Options())
    stop = threading.Event()

    def keep_encoding():
        while not stop.is_set():
            encoder.encode_batch([text] * 4, Options(), 2)

    with ThreadPoolExecutor(2) as threads:
        running = [threads.submit(keep_encoding) for _ in range(2)]
        try:
            for _ in range(by_profile(quick=4, thorough=20)):
                child = os.fork()
                if child == 0:
                    os._exit(encoder.encode_batch([text, text], Options(), 2) != [expected, expected])
                assert os.waitpid(child, 0)[1] == 0
        finally:
            stop.set()
        assert not any(each.exception() for each in running)


def test_first_byte_without_a_token_is_named_by_any_threads(native):
    model = BPEModel({1: b"a", 2: b" "}, [], pattern="gpt2")
    encoder = native_encoder(model, chunk_bytes=10)
    text = "aa a " * 50 + "ax " + "aa a " * 50 + "ay "
    for threads in (1, 2, 3):
        with pytest.raises(ValueError, match="no token for the byte 0x78 of the text; set unk_token"):
            encoder.encode_batch(["aa", text], Options(), threads)
    assert encoder.encode("axa", Options(unknown_id=7)) == [1, 7, 1]


SOAK = """
import random, sys
from benchmarks.measure import peak_bytes
from hf_bpe import BPETokenizer
tokenizer = BPETokenizer.train(["low lower lowest"], num_merges=5)
rng = random.Random(0)
def encode(megabytes):
    for _ in range(megabytes):
        words = (rng.randbytes(rng.choice([3, 8, 40])).hex() for _ in range(30_000))  # which never come again
        tokenizer.count_tokens([" ".join(words)] , num_workers=2)
encode(40)
before = peak_bytes()
encode(80)
print(peak_bytes() - before)
"""


@thorough
def test_memory_stays_bounded_on_text_that_never_repeats(native):
    grown = subprocess.run([sys.executable, "-c", SOAK], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert int(grown) < 100_000_000
