"""Superwords: two stages of training, by definition, on both engines, and the tokenizer that they give."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe import Source, count, reference, train
from hf_bpe.training import Parity, Superwords
from support.cases import check_refusals
from support.oracles import oracle
from support.profiles import by_profile
from support.strategies import superword_limits, training_options

PATTERN = Superwords(after=1).pattern
TEXT = "By the way: one of the best, one of the rest, and all of the others; 12345 of them!! By the way:  yes.\n\n"
TEXTS = [TEXT * 3, "One of the rest, by the way, is one of the best: of the 99 others.\n" * 2]

# Words that repeat, so that pairs of words are frequent; spaces, punctuation and digits in every order between them.
texts = st.lists(
    st.sampled_from(["of", "the", "of the", "a", "é", "12", "3456", ":", ", ", "!!", " ", " ", "  ", "\n"]), max_size=60
).map("".join)


pytestmark = pytest.mark.filterwarnings("ignore:the text gives:UserWarning")  # most texts here are small


def by_definition(documents, after, number, first, second, limits, options):
    """Train literally: split, count all pairs before each merge, split again, apply the merges, and so on."""

    def counted(pattern):
        return reference.count_pre_tokens([document.encode() for document in documents], pattern)

    merges = oracle.learn_merges(counted(first), max_merges=after, **options)
    options = {**options, **limits, "initial": merges}
    return merges + oracle.learn_merges(counted(second), max_merges=number - len(merges), **options)


@settings(max_examples=by_profile(quick=25, thorough=150), deadline=None)
@given(
    st.lists(texts, min_size=1, max_size=3),
    st.integers(0, 12),
    st.integers(0, 12),
    st.sampled_from(["gpt2", "o200k", r"\w+", None]),
    st.sampled_from([PATTERN, PATTERN, r"\n", None]),
    superword_limits,
    training_options,
    st.sampled_from([1, 2, 5]),
)
def test_training_is_that_of_the_definition(documents, after, more, first, second, limits, options, num_workers):
    superwords = Superwords(after, pattern=second, **limits)
    model = train(
        documents, num_merges=after + more, pattern=first, superwords=superwords, num_workers=num_workers, **options
    )
    least = {**options, "min_frequency": max(options["min_frequency"], 1)}
    assert model.merges == by_definition(documents, after, after + more, first, second, limits, least)
    assert model.pattern == second


def test_several_sizes_give_what_single_trainings_give():
    models = train(TEXTS, num_merges=50, superwords=Superwords(after=[20, 40, 0, 50]))
    assert models == [train(TEXTS, num_merges=50, superwords=Superwords(after=n)) for n in (20, 40, 0, 50)]
    models = train(TEXTS, [300, 280], superwords=Superwords(after=20))
    assert models == [train(TEXTS, size, superwords=Superwords(after=20)) for size in (300, 280)]
    assert train(TEXTS, [300], superwords=Superwords(after=20)) == models[:1]


def test_files_counts_and_merged_counts_give_the_same_model(tmp_path):
    expected = train(TEXTS, 300, superwords=Superwords(after=20))
    for number, text in enumerate(TEXTS):
        (tmp_path / f"{number}.txt").write_text(text, encoding="utf-8")
    files = str(tmp_path / "*.txt")
    pieces = [count([text], pattern=PATTERN) for text in TEXTS]
    words = [count([text]) for text in TEXTS]
    assert train(files, 300, superwords=Superwords(after=20)) == expected
    merged = Superwords(after=20, text=pieces[1].merge(pieces[0]))
    model = train(words[0].merge(words[1]), 300, superwords=merged)
    assert model == expected
    assert model.signature == expected.signature


def test_stage_two_continues_from_an_initial_model():
    initial = train(TEXTS, num_merges=20)
    on_top = train(TEXTS, num_merges=30, initial=initial, superwords=Superwords(after=0))
    assert on_top.merges == train(TEXTS, num_merges=50, superwords=Superwords(after=20)).merges
    later = train(TEXTS, num_merges=30, initial=initial, superwords=Superwords(after=10))
    assert later.merges == train(TEXTS, num_merges=50, superwords=Superwords(after=30)).merges


def test_other_text_for_stage_two_and_special_tokens():
    others = ["<|x|>of the best of the best<|x|>"] * 9
    model = train(TEXTS, num_merges=40, special_tokens=["<|x|>"], superwords=Superwords(after=20, text=others))
    assert b"of the best" in model.vocab.values()
    assert not any(b"|" in second for _, second in model.merges)
    observed = train(
        ["low"], num_merges=2, initial_alphabet="observed", superwords=Superwords(after=1, text=["abab"] * 3)
    )
    assert sorted(observed.vocab.values())[:5] == [b"a", b"ab", b"b", b"l", b"o"]


def test_weights_are_exact():
    sources = [Source([TEXTS[0]], weight="1/3"), Source([TEXTS[1]], weight="0.5")]
    whole = [Source([TEXTS[0]], weight=2), Source([TEXTS[1]], weight=3)]
    models = [train(each, 300, superwords=Superwords(after=20)) for each in (sources, whole)]
    assert models[0].merges == models[1].merges


@pytest.mark.parametrize("stop_at", ["counting", "merging"])
def test_interrupted_training_resumes_with_the_same_result(tmp_path, stop_at):
    options = {"num_merges": 200, "superwords": Superwords(after=[20, 150])}
    file = tmp_path / "text.txt"
    file.write_text("".join(TEXTS) + " ".join(f"w{n % 37} x{n % 11}" for n in range(3000)), encoding="utf-8")
    expected = train(file, **options)

    for number in range(6):
        events = iter(range(number))

        def stop(event, events=events):
            if event.stage == stop_at and next(events, None) is None:
                raise InterruptedError

        with contextlib.suppress(InterruptedError):
            assert train(file, work_dir=tmp_path / "work", callback=stop, **options) == expected
    assert train(file, work_dir=tmp_path / "work", **options) == expected
    assert train(file, work_dir=tmp_path / "work", **options) == expected


def test_too_little_memory_for_stage_two_is_refused_early(monkeypatch):
    from hf_bpe.training import _learning as learning

    monkeypatch.setattr(learning, "training_bytes", lambda words, *_, **__: 2**60 if words.pattern == PATTERN else 0)
    with pytest.raises(MemoryError, match=r"takes up to 11529.*give less text as superwords\.text"):
        train(TEXTS, 300, superwords=Superwords(after=20))


WRONG_INPUT = [
    ({"superwords": 20}, TypeError, "superwords: expected a hf_bpe.training.Superwords, got 20"),
    ({"superwords": Superwords(after=60)}, ValueError, "60 merges are too many for stage 1: the size leaves room"),
    ({"superwords": Superwords(after=1), "input": count(TEXTS)}, ValueError, "give superwords.text, the same text"),
    (
        {"superwords": Superwords(after=1, text=count(TEXTS))},
        ValueError,
        "superwords.text: expected counts by the pattern",
    ),
    ({"superwords": Superwords(after=1), "input": iter(TEXTS)}, ValueError, "iterable 0 can be read only once"),
    (
        {"superwords": Superwords(after=[1, 2]), "vocab_size": [280, 300]},
        ValueError,
        "expected one number of merges, because there are several sizes",
    ),
    (
        {"superwords": Superwords(after=1), "input": {"en": TEXTS}, "parity": Parity()},
        ValueError,
        "superwords: not supported with parity",
    ),
]

WRONG_OPTIONS = [
    ({"after": -1}, ValueError, "superwords.after: expected at least 0"),
    ({"after": []}, ValueError, "superwords.after: expected at least one number of merges"),
    ({"after": [3, "4"]}, TypeError, "superwords.after: expected an int"),
    ({"after": 3, "max_words": 0}, ValueError, "superwords.max_words: expected at least 1"),
    ({"after": 3, "colon_space": 2}, TypeError, "superwords.colon_space: expected"),
    ({"after": 3, "pattern": "("}, ValueError, "pattern"),
]


def test_wrong_input_and_options_are_refused():
    check_refusals(WRONG_INPUT, lambda arguments: train(**{"input": TEXTS, "vocab_size": 300, **arguments}))
    check_refusals(WRONG_OPTIONS, lambda options: Superwords(**options))
