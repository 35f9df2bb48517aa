"""The native core gives what the reference gives, whatever the threads, chunks and instructions."""

import collections
import itertools
import random
import re
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe import Source, count, reference
from hf_bpe.counting._runs import RunOfCounts, read_valid_words, read_words
from hf_bpe.pretokenizers import NAMES
from hf_bpe.reference._options import LearningOptions
from support.engines import use_engine
from support.oracles.learning import learn_merges
from support.processes import PATIENCE
from support.profiles import by_profile, scaled
from support.strategies import any_bytes, corpora, initial_merges, long_bytes, words

pytestmark = pytest.mark.usefixtures("native")

BUILT_IN = [*NAMES, None]


def words_of(counter):
    """Return what was counted, in order, and empty the counter."""
    return [*read_valid_words(counter.drain().read)]


def split_natively(native, data, pattern):
    """Split in every way there is, and insist that they agree."""
    first, *others = [native.pre_tokenize(data, pattern, simd=simd) for simd in native.simd_names()]
    assert all(other == first for other in others)
    return first


@pytest.mark.parametrize("pattern", BUILT_IN)
@settings(max_examples=by_profile(quick=30, thorough=150))
@given(data=any_bytes | long_bytes)
def test_splits_are_those_of_the_reference(native, pattern, data):
    assert split_natively(native, data, pattern) == reference.pre_tokenize(data, pattern)


@scaled
@pytest.mark.parametrize("pattern", NAMES)
def test_short_texts_at_any_position_are_split_as_by_reference(native, pattern):
    short = list(itertools.product("aA1!/' s\n\t\u3000\u0301é", repeat=by_profile(quick=3, thorough=4)))
    short += itertools.product("a1! \n\x01\u4f60\u3400\u3007\u2e80\U00016ff0\u304b\u30fb\u3099\u3040", repeat=3)
    rng = random.Random(pattern)
    rng.shuffle(short)
    texts = ["".join(text) for text in short]
    data = "".join(text + rng.choice(["", "word ", " other words\n", "  x(y) "]) for text in texts).encode()
    assert split_natively(native, data, pattern) == reference.pre_tokenize(data, pattern)
    for text in texts[: by_profile(quick=500, thorough=2000)]:
        assert split_natively(native, text.encode(), pattern) == reference.pre_tokenize(text.encode(), pattern)


@pytest.mark.parametrize("pattern", NAMES)
def test_invalid_bytes_are_split_as_the_reference_does(native, pattern):
    rng = random.Random(pattern)
    leads = [bytes([lead, *rng.choices(range(256), k=size)]) for lead in range(0x80, 0x100) for size in range(4)]
    leads += [
        bytes(data) for data in itertools.product([0xC3, 0xE0, 0xED, 0xF0, 0xF4, 0x80, 0x9F, 0xA0, 0xBF], repeat=4)
    ]
    rng.shuffle(leads)
    data = b"".join(lead + rng.choice([b"", b"a", b" ", b"low lower ", b"\n"]) for lead in leads)
    assert split_natively(native, data, pattern) == reference.pre_tokenize(data, pattern)
    for lead in leads[:1000]:
        assert split_natively(native, lead, pattern) == reference.pre_tokenize(lead, pattern)


SPECIALS = [b"<x>", b"<x>y", b"x>y", b" low", b"\n", "你<".encode(), b"aa"]


@settings(max_examples=by_profile(quick=80, thorough=200))
@given(
    st.lists(
        any_bytes | long_bytes | st.lists(st.sampled_from([*SPECIALS, b"<", b"x", b" "])).map(b"".join), max_size=4
    ),
    st.sampled_from(BUILT_IN),
    st.permutations(SPECIALS),
    st.integers(0, len(SPECIALS)),
    st.integers(1, 3),
    st.integers(1, 200),
    st.data(),
)
def test_counts_are_those_of_the_reference(native, texts, pattern, specials, kept, threads, chunk_bytes, data):
    specials = specials[:kept]
    expected = collections.Counter()
    finder = b"|".join(map(re.escape, sorted(specials, key=len, reverse=True)))
    for text in texts:
        documents = re.split(finder, text) if specials else [text]
        expected += reference.count_pre_tokens(documents, pattern)
    simd = data.draw(st.sampled_from(native.simd_names()))
    counter = native.Counter(pattern, specials, threads=threads, chunk_bytes=chunk_bytes, simd=simd)
    half = len(texts) // 2
    for part in (texts[:half], texts[half:]):
        assert counter.add(part, check_utf8=False, progress=None) == (None, None)
    assert words_of(counter) == sorted(expected.items())
    assert words_of(counter) == []


@given(
    st.lists(st.sampled_from([b"low ", b"<x>", b"y", b" 12", b"\n", "é".encode()]), max_size=60).map(b"".join),
    st.sampled_from(BUILT_IN),
    st.integers(1, 70),
    st.integers(1, 30),
    st.integers(0, 100_000),
    st.integers(1, 9),
)
def test_parts_of_a_text_sum_up_in_any_memory_with_any_weight(native, text, pattern, step, chunk_bytes, memory, weight):
    expected = collections.Counter()
    for document in re.split(b"<x>y|<x>", text):
        for word, number in reference.count_pre_tokens([document], pattern).items():
            expected[word] += weight * number
    counter = native.Counter(pattern, [b"<x>", b"<x>y"], threads=2, chunk_bytes=chunk_bytes, memory=memory)
    runs = []
    for start in range(0, len(text), step):
        chunk = 0
        while chunk is not None:
            chunk, _ = counter.add(
                [text],
                weight=weight,
                first_chunk=chunk,
                start=start,
                stop=start + step,
                check_utf8=False,
                progress=None,
            )
            runs.append(counter.drain().read(1 << 40))
    merged = native.RunMerger(runs, [1] * len(runs)).read(1 << 40)
    assert dict(read_words(merged)) == expected


@given(st.lists(any_bytes, max_size=5), st.integers(1, 3), st.integers(1, 40))
def test_the_first_byte_that_is_not_utf8_is_found(native, texts, threads, chunk_bytes):
    expected = None
    for index, text in enumerate(texts):
        try:
            text.decode()
        except UnicodeDecodeError as error:
            expected = (index, error.start)
            break
    counter = native.Counter("gpt2", [], threads=threads, chunk_bytes=chunk_bytes)
    _, invalid = counter.add(texts, check_utf8=True, progress=None)
    assert invalid == expected


@given(st.lists(any_bytes, max_size=4), st.sampled_from(BUILT_IN), st.integers(1, 3))
def test_counts_of_the_reference_are_the_same(texts, pattern, weight):
    options = {"pattern": pattern, "special_tokens": ["a ", " a"]}
    expected = count(Source(texts, weight=weight), **options)
    with use_engine("reference"):
        found = count(Source(texts, weight=weight), **options)
        assert [*found.items()] == sorted(found.items())
    assert found == expected


def test_many_words_of_every_length_are_counted(native):
    rng = random.Random(0)
    text = [rng.randbytes(rng.choice([1, 2, 7, 8, 9, 14, 15, 16, 17, 31, 32, 33, 100])) for _ in range(30_000)]
    counter = native.Counter(None, [], threads=1)
    for part in (text, text[::2]):
        assert counter.add(part, weight=3, check_utf8=False, progress=None) == (None, None)
    assert words_of(counter) == sorted(collections.Counter(text * 3 + text[::2] * 3).items())


def test_counts_past_64_bits_are_an_overflow_error(native):
    counter = native.Counter(None, [], threads=1)
    counter.add(["x"], weight=2**63, check_utf8=False, progress=None)
    with pytest.raises(OverflowError):
        counter.add(["x"], weight=2**63, check_utf8=False, progress=None)
    with pytest.raises(OverflowError, match="hold 2\\*\\*64 pairs of bytes or more"):
        learn_merges({b"low": 2**64 - 1}, max_merges=1)


@pytest.mark.parametrize("min_frequency", [2**64 - 2, 2**64 - 1, 2**64, 2**100])
def test_highest_frequencies_are_distinguished(min_frequency):
    counts = {b"ab": 2**64 - 1}
    expected = reference.learn_merges(counts, max_merges=2, min_frequency=min_frequency)
    assert len(expected) == (min_frequency < 2**64)
    assert learn_merges(counts, max_merges=2, min_frequency=min_frequency) == expected


def learn_natively(native, counts, *, max_merges, initial=(), progress=None, parts="gpt2", threads=1, **options):
    more = {name: options.pop(name) for name in ("span", "min_slots") if name in options}
    run = RunOfCounts(counts).read(1 << 40)
    return native.learn_merges(
        lambda: run,
        LearningOptions(**options),
        initial=[*initial],
        max_merges=max_merges,
        progress=progress,
        parts=parts,
        threads=threads,
        **more,
    )


# Counts up to 2**55, which doubles do not tell from their neighbors.
large_corpora = st.dictionaries(
    words(max_size=40), st.integers(1, 5) | st.integers(1, 3000) | st.integers(2**54, 2**55), min_size=1, max_size=30
)


@settings(max_examples=by_profile(quick=150, thorough=300))
@given(
    corpora | large_corpora,
    st.sampled_from([1, 2, 5, 64]),
    st.fixed_dictionaries(
        {
            "max_merges": st.integers(0, 200),
            "tie_break": st.sampled_from(["lexicographic", "huggingface"]),
            "min_frequency": st.integers(0, 6) | st.integers(0, 5000),
            "max_token_bytes": st.none() | st.integers(1, 9),
            "length_penalty": st.sampled_from([0.0, 0.0, 0.1, 0.5, 1.0, 3.0, 1e9]),
            "initial": st.just([]) | initial_merges(),
            "max_words": st.none() | st.integers(1, 4),
            "colon_space": st.booleans(),
        }
    ),
    st.sampled_from([None, "gpt2", "o200k", "qwen2"]),
    st.integers(1, 50),
)
def test_merges_are_those_of_the_reference(native, counts, span, options, parts, min_slots):
    learned = learn_natively(native, counts, span=span, parts=parts, threads=2, min_slots=min_slots, **options)
    assert learned == reference.learn_merges(counts, **options)


@scaled
def test_merges_after_others_do_not_depend_on_threads_and_parts(native):
    rng = random.Random(0)
    letters = ["a", "b", "ab", "ba", " a", " b", " ab", "\n", ", ", "!", "1", "é"]
    words = ["".join(rng.choices(letters, k=rng.randint(1, 300))) for _ in range(by_profile(quick=800, thorough=2500))]
    counts = {word.encode(): rng.randint(1, 3) for word in words}
    initial = reference.learn_merges(reference.count_pre_tokens([b" ".join(counts)][:1], "gpt2"), max_merges=60)
    learned = [
        learn_natively(native, counts, initial=initial, max_merges=60, parts=parts, threads=threads)
        for parts in (None, "gpt2", "o200k")
        for threads in (1, 3)
    ]
    assert learned == [reference.learn_merges(counts, initial=initial, max_merges=60)] * 6


@scaled
@pytest.mark.parametrize("tie_break", ["lexicographic", "huggingface"])
@pytest.mark.parametrize("span", [1, 7, 64])
def test_merges_of_many_random_words_are_those_of_the_reference(native, tie_break, span):
    rng = random.Random(span)
    letters = bytes(range(0xE0, 0xFF)) + b"etaoin "
    counts = {bytes(rng.choices(letters, k=rng.randint(1, 30))): int(rng.paretovariate(0.7)) for _ in range(5000)}
    number = by_profile(quick=400, thorough=3000)
    expected = reference.learn_merges(counts, max_merges=number, tie_break=tie_break)
    assert len(expected) == number
    for threads in (1, 3):
        options = {"span": span, "threads": threads, "min_slots": 1000}
        assert learn_natively(native, counts, tie_break=tie_break, max_merges=number, **options) == expected


@scaled
@pytest.mark.parametrize("name", ["english", "code", "multilingual", "docs", "nonlatin"])
def test_merges_of_real_text_are_those_of_the_reference(native, test_data, name):
    with (test_data / "text" / f"{name}.txt").open("rb") as file:
        text = file.read(by_profile(quick=100_000, thorough=2_000_000)).decode("utf-8", "ignore")
    counter = native.Counter("gpt2", [b"<|endoftext|>"], threads=2)
    counter.add([text], check_utf8=False, progress=None)
    counts = dict(words_of(counter))
    expected = reference.count_pre_tokens([part.encode() for part in text.split("<|endoftext|>")], "gpt2")
    assert counts == expected
    for tie_break in ("lexicographic", "huggingface"):
        options = {"max_merges": by_profile(quick=400, thorough=3000), "tie_break": tie_break}
        assert learn_merges(counts, **options) == reference.learn_merges(expected, **options)


class Stop(Exception):
    pass


def test_exceptions_of_progress_propagate_and_its_numbers_grow(native):
    text = "".join(random.Random(0).choices("etaoin shrdlu", k=200_000)) * 100
    calls = []

    def stop(done):
        calls.append(done)
        if len(calls) == 3:
            raise Stop

    for threads in (1, 2):
        calls.clear()
        counter = native.Counter("gpt2", [], threads=threads, simd="scalar")
        with pytest.raises(Stop):  # noqa: PT012
            while len(calls) < 3:  # the core calls now and then, by the clock
                counter.add([text] * 10, check_utf8=False, progress=stop)
        calls.clear()
        assert counter.add([text], check_utf8=False, progress=calls.append) == (None, None)
        assert calls == sorted(calls)
        counter.drain()  # whatever was counted before the exception
        counter.add([b"low lower low"], check_utf8=False, progress=None)
        assert words_of(counter) == [(b" low", 1), (b" lower", 1), (b"low", 1)]


def test_a_second_thread_is_refused(native):
    counter = native.Counter("gpt2", [], threads=1)
    refused = []

    def use_meanwhile(done):
        with pytest.raises(RuntimeError, match="another thread is using this object"):
            counter.drain()
        refused.append(done)

    while not refused:  # the core calls now and then, by the clock
        counter.add(["low lower lowest " * 1_000_000] * 20, check_utf8=False, progress=use_meanwhile)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are listed in /proc")
def test_threads_end_with_their_call(native):
    threads = Path("/proc/self/task")
    before = len(list(threads.iterdir()))
    counter = native.Counter("gpt2", [], threads=4, chunk_bytes=1000)
    counter.add(["low lower lowest " * 100_000], check_utf8=False, progress=None)
    end = time.monotonic() + PATIENCE
    while len(list(threads.iterdir())) > before:  # the system lists a thread for a moment after it was joined
        assert time.monotonic() < end
