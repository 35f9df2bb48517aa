"""Call the native core with arguments of every kind while threads and signal handlers change them, for some seconds.

    python tools/fuzz_bindings.py [SECONDS] [SEED]

All texts are from a pool whose ids are known, so a wrong id is found as well as a crash. Errors must be those that
Python has for wrong arguments. `tools/check_bindings.sh` runs this under sanitizers.
"""

import array
import contextlib
import gc
import itertools
import math
import pickle
import random
import signal
import sys
import threading
import time
from collections import Counter
from typing import Any

import numpy as np

from hf_bpe import BPEModel
from hf_bpe import _native as native
from hf_bpe.encoding._encoder import AddedTokenTuple, Options
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.reference._dropout import Dropout, dropout_limits
from hf_bpe.reference._options import LearningOptions

# SystemError, for one, is not among them: it is how Python reports that an extension broke its rules.
EXPECTED = (TypeError, ValueError, LookupError, OverflowError, RuntimeError, MemoryError, BufferError, StopIteration)
# Of odd objects that cannot be pickled, or are not options.
EXPECTED += (AttributeError, pickle.PicklingError)
MERGES = [(b"l", b"o"), (b"lo", b"w"), (b" ", b"low"), (b"e", b"r"), (b"\xd0", b"\xb6"), (b"1", b"2")]
VOCAB = {i: bytes([i]) for i in range(256)} | {256 + i: first + second for i, (first, second) in enumerate(MERGES)}
PIECES = ["low", " lower", "12", "é", "жж", "\U0001f44b", "\n", "<x>", "'ll", "\ud800", " ", "0", "abc" * 20]
TOKENS = (AddedTokenTuple("<x>", 300, True, False, False, False, False),)
DROPOUT = Dropout(5, tuple(dropout_limits(0.3)))
PLACE = (7, 0)  # of every text, so that its random ids are the same in any batch
HAS_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()
NUMBERS = [0, 1, -1, 2, 7, 255, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 2**64, 10**30, math.nan, math.inf, True]


class Str(str):
    """A subclass."""

    __slots__ = ()


class Index:
    """An int that changes things when it is read."""

    def __init__(self, world: "World", value: object) -> None:
        self._world, self._value = world, value

    def __index__(self) -> int:
        self._world.change()
        return self._value  # type: ignore[return-value]  # not always an int

    __int__ = __index__


class World:
    """What is used at the moment, for others to change."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.used: list[object] = []
        self.is_over = False
        self.model = BPEModel(VOCAB, MERGES, pattern="gpt2")
        plain = [Str("".join(self.rng.choices(PIECES, k=self.rng.randrange(40)))) for _ in range(300)]
        data = [text.encode("utf-8", "surrogatepass") for text in plain]
        self.texts = ["", "low", "\ud800", *plain, *map(str, plain), *data]
        self.long = ["".join(self.rng.choices(PIECES, k=60_000)), "low" * 100_000]
        self.encoders = [self.make_encoder(chunk_bytes=size) for size in (1, 50, 1000, 1 << 18)]
        self.ids = {text: self.encoders[0].encode(text, Options()) for text in (*self.texts, *self.long)}
        self.rows = {*map(tuple, self.ids.values())}
        at_random = Options(dropout=DROPOUT.at(PLACE))
        self.random_rows = {tuple(self.encoders[0].encode(text, at_random)) for text in self.ids}

    def make_encoder(self, **options: object) -> native.Encoder:
        """Return an encoder of the model and the tokens."""
        arrays = self.model.token_arrays, self.model.merge_ids
        return native.Encoder(self.model, make_encoder, *arrays, "gpt2", **options).with_added_tokens(TOKENS)

    def change(self, *_: object) -> None:
        """Change something that is used, in this thread or in a signal handler."""
        rng = random.Random(time.perf_counter_ns())
        with contextlib.suppress(IndexError, ValueError, BufferError, TypeError):
            changed = rng.choice(self.used)
            if isinstance(changed, list):
                way = rng.randrange(5)
                if way == 0:
                    changed.clear()
                elif way == 1:
                    del changed[rng.randrange(len(changed)) :]
                elif way == 2:
                    changed.reverse()
                elif way == 3:
                    changed[: len(changed) // 2] = [rng.choice(self.texts) for _ in range(3)]
                else:
                    changed.extend(changed[:3])
            elif isinstance(changed, dict):
                changed.clear()
            elif isinstance(changed, bytearray):
                changed[:] = rng.randbytes(rng.randrange(100))
            elif isinstance(changed, np.ndarray):
                # Without a GIL, NumPy itself does not survive that two threads resize an array.
                if changed.size and (rng.randrange(3) or not HAS_GIL):
                    changed.flat[rng.randrange(changed.size)] = rng.choice([0, 5, 2**31])
                elif HAS_GIL:
                    changed.resize(rng.randrange(9), refcheck=False)
        junk = [text[:1] + text[1:] for text in rng.choices(self.texts, k=20)]
        del junk

    def keep(self, *objects: Any) -> Any:
        """Let others change objects from now on; return the first."""
        self.used.extend(objects)
        return objects[0]

    def odd(self) -> object:
        """Return an argument of a wrong or an unusual kind."""
        data = bytearray(b"low lower")
        numbers = np.arange(9, dtype=np.uint32)
        pick = self.rng.choice
        return pick(
            [
                *(None, object(), "low", b"low", Str("low"), [], (), {}, {1: b"a"}, [[]], [()], range(3), {"a"}),
                *(pick(NUMBERS), Index(self, pick([1, 70, -1, 2**40, "x"])), pick([1.5, 1j, "\ud800"])),
                *(memoryview(data), memoryview(data).toreadonly(), self.keep(data), array.array("b", data)),
                *(numbers, self.keep(numbers), numbers[::2], numbers.astype(np.int64).reshape(1, 1, 9), numbers[:0]),
                *(iter([1, 2]), self.change, lambda *_: b"\0\1a\1", lambda *_: self.rng.randbytes(9), len, type),
            ]
        )


def texts_of(world: World) -> list[object]:
    """Draw a list of texts, which may be long, and may change."""
    rng = world.rng
    texts = rng.choices(world.texts, k=rng.choice([0, 1, 5, 300, 3000]))
    # Objects of their own, so that they are freed when the list lets go of them.
    texts = [text[:1] + text[1:] if type(text) is not Str else Str(text) for text in texts]
    if rng.randrange(8) == 0:
        texts.append(rng.choice(world.long))
    if rng.randrange(10) == 0:
        texts.insert(rng.randrange(len(texts) + 1), world.odd())
    world.keep(texts)
    return texts


def check(expected: set[tuple[int, ...]], rows: list[list[int]]) -> None:
    """Raise an error for rows of ids that no text has."""
    for row in rows:
        if tuple(row) not in expected:
            raise SystemExit(f"wrong ids: {row[:50]}")


def encode(world: World) -> None:
    """Encode texts, in all ways."""
    rng = world.rng
    encoder, texts, threads = rng.choice(world.encoders), texts_of(world), rng.choice([0, 1, 2, 3, 2**32 - 1])
    options = Options() if rng.randrange(9) else world.odd()
    way = rng.randrange(5)
    if way == 0:
        check(world.rows, encoder.encode_batch(texts, options, threads))
    elif way == 1:
        ids, offsets = encoder.encode_to_numpy(texts, options, threads)
        check(world.rows, [row.tolist() for row in np.split(ids, offsets[1:-1])])
    elif way == 2:
        counts = encoder.count_tokens(texts, options, threads)
        if not {*counts} <= {*map(len, world.rows)}:
            raise SystemExit(f"wrong counts: {counts}")
    elif way == 3:
        ids, offsets, places = encoder.encode_with_offsets(texts, options)
        check(world.rows, [row.tolist() for row in np.split(ids, offsets[1:-1])])
        assert places.shape == (len(ids), 3)
    else:
        text = rng.choice([*texts, ""])
        check(world.rows, [encoder.encode(text, options), encoder.encode(b"", Options())])
        encode_one = encoder.text_encoder(options, options, ((97,), [98]), rng.choice([None, world.change]))
        ids = encode_one(text, rng.choice([True, False, None]), True)
        check(world.rows, [ids[1:-1], encode_one(text, False, 0)])


def encode_at_random(world: World) -> None:
    """Encode texts with BPE-dropout."""
    rng = world.rng
    encoder, texts = rng.choice(world.encoders), texts_of(world)
    places = world.keep([PLACE] * len(texts))
    dropout = DROPOUT._replace(places=rng.choice([places, tuple(places), world.odd()]))
    ids, offsets = encoder.encode_to_numpy(texts, Options(dropout=dropout), rng.choice([1, 2, 3]))
    if dropout.places is not None:  # else each text has a number of its own
        check(world.random_rows, [row.tolist() for row in np.split(ids, offsets[1:-1])])


def look_up_tokens(world: World) -> None:
    """Join tokens and find prefixes, with offsets and ids of which some are wrong and some change."""
    rng = world.rng
    data = bytes(rng.choices(b"ab", k=rng.randrange(40)))
    offsets = np.sort(np.array([rng.randrange(len(data) + 1) for _ in range(rng.randrange(1, 20))], np.int64))
    given = rng.choice([offsets, offsets, offsets[::-1], offsets - 1, offsets + 1]).tobytes()
    ids = rng.choice([np.arange(len(offsets) - 1, dtype=np.uint32), world.odd()])
    world.keep(ids)
    assert len(native.longest_prefixes(data, offsets.tobytes(), data, given, ids)) == len(offsets) - 1
    native.join_tokens(data, given, ids)


def decode(world: World) -> None:
    """Decode lists with what is no int among the ids."""
    rng = world.rng
    rows = [[*world.ids[text]] for text in rng.choices(world.texts, k=5)]
    for row in rows:
        if row and rng.randrange(2):
            row[rng.randrange(len(row))] = world.odd()
    world.keep(rows, *rows)
    encoder, skipped = rng.choice(world.encoders), rng.choice([b"", b"\1" * 300, b"\0" * 80 + b"\1"])
    encoder.decode_batch(rows, skipped, rng.choice(["replace", "strict", "ignore", "no such", ""]))
    encoder.decode(rng.choice([rows[0], tuple(rows[0]), iter(rows[0]), world.odd()]), skipped)


def write_rows(world: World) -> None:
    """Make rows of arrays that change."""
    rng = world.rng
    ids = np.arange(1000, dtype=np.uint32)
    spans = np.array(rng.choice([[[[0, 5]]], [[[0, 1000]]] * 50, [[[3, 2]]], [[[-1, 2**40]]], [[[0, 2], [5, 7]]]]))
    template_ids = [[rng.choice([1, 2, Index(world, 3), 2**32])] * 3 for _ in range(spans.shape[1] + 1)]
    world.keep(ids, spans, template_ids, *template_ids)
    given = [ids, spans, template_ids, rng.choice([0, 1003, 2**62]), 0, bool(rng.randrange(2))]
    if rng.randrange(4) == 0:
        given[rng.randrange(6)] = world.odd()
    native.rows_to_arrays(*given)
    native.rows_to_lists(*given[:3], rng.choice([0, 1003]), *given[4:])


def count(world: World) -> None:
    """Count texts, with all the numbers that go with it."""
    rng = world.rng
    pick = rng.choice
    special = world.keep([b"<x>", pick([b"", b"low", "x", b"\xff"])])
    counter = native.Counter(
        pick(["gpt2", None, "o200k", "no"]),
        special,
        threads=pick([0, 1, 2, 2**32 - 1]),
        memory=pick([0, 1, 10**6, 2**64 - 1]),
        chunk_bytes=pick([0, 1, 100, 2**64 - 1]),
    )
    progress = pick([None, world.change, counter.drain, lambda _: 1 // 0])
    for _ in range(3):
        texts = texts_of(world)[:5] if rng.randrange(2) else texts_of(world)
        world.keep(texts)
        numbers = {"weight": pick([0, 1, 3, 2**62]), "first_chunk": pick([0, 0, 0, 1, 10**9, 2**64 - 1])}
        if rng.randrange(3) == 0:
            numbers |= {"start": pick([0, 3, 2**64 - 1]), "stop": pick([None, 0, 7, 2**64 - 1])}
        with contextlib.suppress(ZeroDivisionError, *EXPECTED):
            counter.add(texts, check_utf8=bool(rng.randrange(2)), progress=progress, **numbers)
    merger = counter.drain()
    native.RunReader(lambda size: merger.read(min(size, 20))).next(10**9)


def merge_runs(world: World) -> None:
    """Merge and learn from runs that are none, raise errors or come in other pieces each time."""
    rng = world.rng
    run = b"\0\1a\1\1\1b\5\0\4lowe\x7f"

    def read(size: int) -> object:
        world.change()
        with contextlib.suppress(*EXPECTED):
            made.words if rng.randrange(2) else made.read(5)
        return rng.choice([b"", run[: rng.randrange(len(run))], rng.randbytes(5), b"x" * (size + 1), "x", run, run])

    made = native.RunMerger([], [])
    runs = [rng.choice([run, read, run[:-1], world.odd()]) for _ in range(3)]
    multipliers = [rng.choice([1, 2, Index(world, 3), 2**63]) for _ in runs]
    world.keep(runs, multipliers)
    with contextlib.suppress(*EXPECTED):
        made = native.RunMerger(runs, multipliers, rng.choice([0, 1, 2**64 - 1]))
        made.read(rng.choice([0, 1, 10**9]))
        made.total, made.read(100)
    initial = world.keep([(b"a", b"b"), [b"l", b"o"], rng.choice([(b"lo", b"w"), (b"a",), 5, world.odd()])])
    options = LearningOptions(
        tie_break=rng.choice(["lexicographic", "huggingface", world.odd()]),
        min_frequency=rng.choice([0, 1, 2**64 - 1, 2**65, -1, world.odd()]),
        max_token_bytes=rng.choice([None, 0, 2**64 - 1, world.odd()]),
        length_penalty=rng.choice([0.0, 1.5, -1.0, math.nan, math.inf, -math.inf]),
        max_words=rng.choice([None, 0, 3]),
        colon_space=rng.choice([True, False, world.odd()]),
    )
    native.learn_merges(
        rng.choice([lambda: run, lambda: rng.choice([run, b"\0\4lowe\x7e"]), lambda: read, world.odd()]),
        rng.choice([options, options, world.odd()]),
        initial=rng.choice([[], initial]),
        max_merges=rng.choice([0, 5, 2**64 - 1]),
        progress=rng.choice([None, world.change, lambda *_: 1 // 0]),
        span=rng.choice([0, 1, 64, 2**64 - 1]),
    )


def use_oddly(world: World) -> None:
    """Call any function or method with odd arguments, and objects that are made in odd ways."""
    rng = world.rng
    encoder = rng.choice(world.encoders)
    functions = [
        *(
            native.from_printable,
            native.read_vocab_and_merges,
            native.write_tokens,
            native.find_last_cut,
            native.pre_tokenize,
            native.training_bytes,
            native.join_tokens,
            native.longest_prefixes,
        ),
        *(encoder.find_last_cut, encoder.with_added_tokens, encoder.encode, encoder.decode),
        *(encoder.encode_batch, native.rows_to_lists, encoder.decode_batch, encoder.encode_to_numpy, encoder.__init__),
        *(native.Encoder, native.Counter, native.RunMerger, native.RunReader, pickle.dumps),
        *(encoder.text_encoder, native.TextEncoder.__new__(native.TextEncoder).encode),
        *(native.Encoder.__new__(native.Encoder).encode, native.RunReader.__new__(native.RunReader).next),
    ]
    likely = [b"low low", "gpt2", world.keep(["low", "Ġlow"]), world.keep([b"low", b"l", b"o"]), TOKENS, Options()]
    arguments = [rng.choice([*likely, world.odd()]) for _ in range(rng.randrange(4))]
    rng.choice(functions)(*arguments)
    wrong = {rng.choice([99, 2**31, -1, "x"]): rng.choice([b"c", b"", "c"])}
    arrays = [b"", b"ab", array.array("I", [1, 1]).tobytes(), array.array("I", [97, 98]).tobytes(), "x"]
    vocab = tuple(rng.choice(arrays) for _ in range(3))
    native.change_tokens(world.model.token_arrays, world.keep({Index(world, 97): b"a", 98: b"b", **wrong}))
    merge_ids = rng.choice([b"", b"12345678", bytes(12), [], array.array("I", [97, 98, 99]).tobytes()])
    native.Encoder(world.model, make_encoder, vocab, merge_ids, rng.choice([None, "gpt2", "no"]))


def main(seconds: float, seed: int) -> None:
    """Run random actions until the time is over."""
    world = World(seed)
    actions = [encode, encode, encode_at_random, look_up_tokens, decode, write_rows, count, merge_runs, use_oddly]
    done: Counter[str] = Counter()
    errors: Counter[str] = Counter()

    def keep_changing() -> None:
        while not world.is_over:
            world.change()
            time.sleep(0)

    threads = [threading.Thread(target=keep_changing) for _ in range(2)]
    sys.setswitchinterval(0.0005)
    for thread in threads:
        thread.start()
    signal.signal(signal.SIGALRM, world.change)
    signal.setitimer(signal.ITIMER_REAL, 0.003, 0.003)
    end = time.monotonic() + seconds
    try:
        for number in itertools.count():
            if time.monotonic() > end:
                break
            del world.used[:-50]
            action = world.rng.choice(actions)
            done[action.__name__] += 1
            try:
                action(world)
            except (*EXPECTED, ZeroDivisionError) as error:
                errors[type(error).__name__] += 1
            if number % 100 == 0:
                gc.collect()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        world.is_over = True
        for thread in threads:
            thread.join()
    check(
        world.rows, [world.encoders[0].encode(text, Options()) for text in world.texts]
    )  # what is remembered is right
    print(f"seed {seed}: {dict(done)}; errors, as they should be: {dict(errors)}")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(float(given[0]) if given else 10, int(given[1]) if given[1:] else random.randrange(2**32))
