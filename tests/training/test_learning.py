"""Learning merges, with initial merges and listeners."""

import json
import subprocess
import sys
from collections import ChainMap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe import reference
from hf_bpe.conversion import read_gpt2
from support.oracles.learning import learn_merges, training_bytes
from support.profiles import by_profile, scaled, thorough
from support.project import ROOT
from support.strategies import corpora, initial_merges, superword_limits, training_options

options = st.builds(lambda *parts: dict(ChainMap(*parts)), training_options, superword_limits)


@settings(max_examples=by_profile(quick=40, thorough=120))
@given(corpora, initial_merges(), st.integers(0, 20), st.integers(0, 20), options)
def test_learning_in_two_steps_gives_what_one_gives(counts, initial, n, m, options):
    first = learn_merges(counts, max_merges=n, initial=initial, **options)
    then = learn_merges(counts, max_merges=m, initial=initial + first, **options)
    assert first + then == learn_merges(counts, max_merges=n + m, initial=initial, **options)


def test_initial_merges_apply_to_a_token_that_is_made_again():
    # The first keeps the third from making abc, until the merge that is learned makes it.
    initial = [(b"b", b"c"), (b"a", b"b"), (b"ab", b"c"), (b"abc", b"d"), (b"d", b"abc")]
    counts = {b"abcd": 3, b"dabc": 2, b"dd": 1}
    learned = learn_merges(counts, max_merges=9, initial=initial)
    assert learned == [(b"a", b"bc"), (b"d", b"d")]


def test_an_initial_merge_that_is_given_twice_is_refused():
    with pytest.raises(ValueError, match="merge"):
        learn_merges({b"abc": 1}, max_merges=1, initial=[(b"a", b"b"), (b"b", b"c"), (b"a", b"b")])


@given(corpora, st.integers(0, 40), initial_merges(), options)
def test_listener_receives_all_merges_and_the_last_count(counts, max_merges, initial, options):
    options = {"max_merges": max_merges, "initial": initial, **options}
    calls, reference_counts = [], []
    merges = learn_merges(counts, progress=lambda new, count: calls.append((new, count)), **options)
    assert [merge for new, _ in calls for merge in new] == merges
    reference.learn_merges(counts, progress=lambda new, count: reference_counts.append(count), **options)
    assert [count for new, count in calls if new][-1:] == reference_counts[-1:]


@scaled
@pytest.mark.parametrize(
    "name", ["english", *(pytest.param(name, marks=thorough) for name in ("code", "multilingual"))]
)
def test_merges_after_those_of_gpt2_on_real_text(test_data, name):
    initial = read_gpt2(test_data / "gpt2" / "vocab.json", test_data / "gpt2" / "merges.txt").merges
    with (test_data / "text" / f"{name}.txt").open("rb") as file:
        text = file.read(by_profile(quick=200_000, thorough=1_000_000))
    counts = reference.count_pre_tokens(text.split(b"<|endoftext|>"), "gpt2")
    for tie_break in ("lexicographic", "huggingface"):
        merges = learn_merges(counts, max_merges=200, initial=initial, tie_break=tie_break)
        assert merges == reference.learn_merges(counts, max_merges=200, initial=initial, tie_break=tie_break)
        assert len(merges) == 200
        assert not {first + second for first, second in merges} & {first + second for first, second in initial}
        more = learn_merges(counts, max_merges=50, initial=initial + merges[:150], tie_break=tie_break)
        assert merges == merges[:150] + more


MEASURE = """
import gc, json, pathlib, sys
from hf_bpe import WordCounts
from hf_bpe import reference
from support.oracles.learning import learn_merges, training_bytes

def status(key):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(key)) * 1024

with open(sys.argv[1], "rb") as file:
    words = reference.count_pre_tokens(file.read(int(sys.argv[2])).split(b"<|endoftext|>"), sys.argv[3] or None)
words = WordCounts(words)
needed = training_bytes(words, 8000)
pathlib.Path("/proc/self/clear_refs").write_text("5")  # sets the peak to what there is
before = status("VmRSS")
merges = learn_merges(words, max_merges=8000)
print(json.dumps([needed, status("VmHWM") - before, len(merges)]))
"""


@thorough
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak of memory is read from /proc")
@pytest.mark.parametrize(("name", "size", "pattern"), [("english", 2_000_000, "gpt2"), ("code", 500_000, "")])
def test_training_takes_no_more_memory_than_it_said(test_data, name, size, pattern):
    command = [sys.executable, "-c", MEASURE, str(test_data / "text" / f"{name}.txt"), str(size), pattern]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT / "tests")
    needed, used, merges = json.loads(ran.stdout)
    assert merges == 8000
    assert used <= needed <= 2 * used + 10_000_000  # some of what is used was there before


@given(corpora, st.integers(0, 100))
def test_more_words_and_more_merges_take_more_memory(counts, max_merges):
    needed = training_bytes(counts, max_merges)
    assert needed <= training_bytes(counts, max_merges + 1)
    assert needed < training_bytes({**counts, b"a long word that is not there": 1}, max_merges)
