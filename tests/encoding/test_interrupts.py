"""Ctrl-C ends long calls of the native core: what a signal handler raises comes out of them.

`native/tests/test_interrupts.cpp` tests each loop of the core without Python.
"""

import random
import signal

import numpy as np
import pytest

from hf_bpe import BPEModel
from hf_bpe.counting._runs import RunOfCounts
from hf_bpe.encoding._encoder import Options
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.reference._options import LearningOptions
from support.strategies import BYTES

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no timer that sends signals")

# Much less than what each call takes, and enough for it to be interrupted. A call that hears nothing ends all the same.
SIZE = 1 << 23
RUN = "a" * SIZE


class Interrupted(BaseException):
    pass


def assert_is_interrupted(function, *args, **kwargs):
    """Call a native function, and raise in it from a signal handler.

    Python runs handlers between its own instructions. So it runs them twice at one instruction, here the call, only if
    the native function lets them run; whatever time that takes.
    """

    def call():
        function(*args, **kwargs)

    places = set()

    def interrupt(number, frame):
        if frame.f_code is call.__code__:
            if frame.f_lasti in places:
                raise Interrupted
            places.add(frame.f_lasti)

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    try:
        with pytest.raises(Interrupted):
            call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def encoder(native):
    """Return the encoder of a model without a pattern whose merges a run of one letter gives much to do."""
    merges = [(b"a" * 2**level, b"a" * 2**level) for level in range(18)]
    vocab = BYTES | {256 + rank: first + second for rank, (first, second) in enumerate(merges)}
    return make_encoder(BPEModel(vocab, merges, pattern=None))


@pytest.mark.parametrize(
    ("method", "args"),
    [
        ("encode", (RUN, Options())),
        ("encode", (RUN.encode(), Options())),
        ("encode_batch", (["a", RUN], Options(), 1)),
        ("encode_batch", (["a", RUN], Options(), 2)),
        ("encode_to_numpy", ([RUN, "a", RUN], Options(), 2)),
        ("encode_with_offsets", ([RUN], Options())),
        ("encode_with_offsets", ([RUN + "é"], Options())),
        ("count_tokens", ([RUN], Options(), 2)),
        ("decode_batch", ([[97] * 100_000] * 20_000, bytes([1] * 98), "replace")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_encoder_is_interrupted_and_works_as_before(encoder, method, args):
    assert_is_interrupted(getattr(encoder, method), *args)
    assert encoder.encode("aaab", Options()) == [256, 97, 98]
    assert encoder.encode("a" * 5000, Options()) == [267, 264, 263, 262, 258]


def test_writing_rows_is_interrupted(native):
    ids, spans = np.zeros(1 << 20, np.uint32), np.array([[[0, 1 << 20]]] * 100)
    assert_is_interrupted(native.rows_to_lists, ids, spans, [[], []], 0, 0, False)


def test_pre_tokenizing_and_counting_are_interrupted(native):
    assert_is_interrupted(native.pre_tokenize, b"ab " * SIZE, "gpt2")
    for threads in (1, 2):
        counter = native.Counter("gpt2", [], threads=threads)
        assert_is_interrupted(counter.add, ["ab " * SIZE] * 9, check_utf8=True, progress=None)


@pytest.mark.parametrize("initial", [[], [(b"a", b"a")]])
def test_training_on_one_word_is_interrupted(native, initial):
    run = RunOfCounts({random.Random(1).randbytes(SIZE): 1}).read(1 << 40)
    options = {"initial": initial, "max_merges": 1_000_000, "progress": None}
    assert_is_interrupted(native.learn_merges, lambda: run, LearningOptions(), **options)
