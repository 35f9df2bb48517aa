"""Dispatch to the native core, or to `reference` where it is not built.

All other packages import the algorithms from here. Documents and pre-tokens are passed as bytes, counts as a mapping of
pre-token to int, merges as a list of pairs of bytes, texts as str or bytes, and ids as lists of int or arrays (see
`Encoder`). Both engines give the same results.

The environment variable `HF_BPE_ENGINE` selects `native` or `reference`; if it is not set, the native core is used
where it is built.
"""

from __future__ import annotations

import functools
import importlib
import os
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from hf_bpe.core import _parity, reference
from hf_bpe.core._byte_level import from_printable
from hf_bpe.core._parity import ParityMerges, ParityOptions
from hf_bpe.core.reference import count_pre_tokens
from hf_bpe.engine import _runs as runs
from hf_bpe.engine import _safe_cuts as cuts
from hf_bpe.engine._native_patterns import NotNativeError, native_pattern

if TYPE_CHECKING:
    from hf_bpe._native import Counter
    from hf_bpe.core._model import BPEModel
    from hf_bpe.engine._encoder import AddedTokenTuple, Encoder

__all__ = [
    "count_pre_tokens",
    "find_last_cut",
    "from_printable_all",
    "learn_merges",
    "learn_parity_merges",
    "make_encoder",
    "merge_runs",
    "native_core",
    "native_counter",
    "printable_vocab",
    "read_merges",
    "read_model",
    "read_vocab",
    "read_words",
    "splits_natively",
    "training_bytes",
]

# Ids and ranks up to which the native encoder packs a merge into 64 bits.
_NATIVE_IDS = 2**21 - 2**10
_WORDS_AT_ONCE = 4096


@functools.cache
def native_core() -> ModuleType | None:
    """Return the native core, or None to use the Python engine; warn once if the native core is missing.

    Raises:
        ImportError: the native core is requested but not built.
        ValueError: HF_BPE_ENGINE is not the name of an engine.
    """
    choice = os.environ.get("HF_BPE_ENGINE", "")
    if choice not in ("", "native", "reference"):
        raise ValueError(f"HF_BPE_ENGINE: expected native or reference, got {choice!r}")
    if choice == "reference":
        return None
    try:
        return importlib.import_module("hf_bpe._native")
    except ImportError as error:
        if choice == "native":
            raise ImportError("HF_BPE_ENGINE is native, but the native core of hf_bpe is not built") from error
        warnings.warn(
            f"the native core of hf_bpe is not built ({error}). The Python engine gives the same results, many times "
            "slower. Reinstall hf_bpe with a C++20 compiler, or set HF_BPE_ENGINE=reference to silence this warning",
            RuntimeWarning,
            stacklevel=3,
        )
        return None


# The encoders without added tokens that are in use, by the model's `id`, which is taken as long as they hold the model.
_encoders: weakref.WeakValueDictionary[tuple[int, bool], Encoder] = weakref.WeakValueDictionary()


def make_encoder(model: BPEModel, added_tokens: tuple[AddedTokenTuple, ...] = ()) -> Encoder:
    """Return the encoder of a model with some added tokens, which shares the tables of one that is in use."""
    key = id(model), native_core() is None
    base = _encoders.get(key)
    if base is None:
        base = _encoders[key] = _make_encoder(model)
    return base.with_added_tokens(added_tokens) if added_tokens else base


def share_encoder(encoder: Encoder, model: BPEModel) -> Encoder:
    """Return the encoder of a model that gives the ids of another one for every text, whose `make_encoder` is given."""
    native = native_core()
    if native is None or not isinstance(encoder, native.Encoder):
        return make_encoder(model)
    shared: Encoder = encoder.with_model(model)
    _encoders[id(model), False] = shared
    return shared


def _make_encoder(model: BPEModel) -> Encoder:
    if model.normalizer is None:
        return _make_encoder_of_raw_text(model)
    from hf_bpe.engine._normalizing_encoder import NormalizingEncoder

    return NormalizingEncoder(_make_encoder_of_raw_text(model), make_encoder, ())


def _make_encoder_of_raw_text(model: BPEModel) -> Encoder:
    """Return an encoder that ignores the model's normalizer.

    A pattern by which the native core cannot split is split in Python, but the core still merges the pre-tokens.
    """
    from hf_bpe.engine._encoder import (  # imports numpy, which training does not need
        PythonEncoder,
        WordsMergedInPython,
        WordsMergedNatively,
    )

    native = native_core()
    if native is None or max(model.vocab, default=0) >= _NATIVE_IDS or len(model.merges) >= _NATIVE_IDS:
        return PythonEncoder(WordsMergedInPython(model), make_encoder)
    try:
        pattern, is_native = native_pattern(native, model.pattern), True
    except NotNativeError:
        pattern, is_native = None, False
    encoder: Encoder = native.Encoder(
        model,
        make_encoder,
        model.vocab,
        model.merges,
        pattern,
        no_words=[special.encode() for special in model.special_tokens] if model.ignore_merges else None,
        drop_missing_bytes=model.drop_missing_bytes,
        merge_ids=model._merge_ids,
    )
    return encoder if is_native else PythonEncoder(WordsMergedNatively(model, encoder), make_encoder)


def splits_natively(pattern: str | None) -> bool:
    """Return whether the native core cuts text by a canonical pattern, and not Python."""
    native = native_core()
    if native is None:
        return False
    try:
        native_pattern(native, pattern)
    except NotNativeError:
        return False
    return True


def from_printable_all(texts: list[str]) -> list[bytes | None]:
    """Return `from_printable` of each text."""
    native = native_core()
    return [*map(from_printable, texts)] if native is None else native.from_printable(texts)


def printable_vocab(model: BPEModel) -> dict[str, int]:
    """Return `BPEModel.printable_vocab` of a model."""
    native = native_core()
    if native is None or model._printable_vocab is not None:
        return model.printable_vocab()
    specials = {special.encode(): special for special in model.special_tokens}
    return dict(zip(native.to_printable([*model.vocab.values()], specials), model.vocab, strict=True))


def join_merges(model: BPEModel, firsts: Sequence[str], seconds: Sequence[str]) -> str:
    """Return the merges of a model as text: for each the text of its first part, then that of its second.

    Args:
        model: the model.
        firsts, seconds: the texts of the tokens of its vocabulary, in that order, as a first and as a second part.
    """
    native = native_core()
    if native is not None and model._merge_ids is not None:  # many merges in Python are as many waits for memory
        text: str | None = native.join_merges(model._merge_ids, [*model.vocab], [*firsts], [*seconds])
        if text is not None:
            return text
    first_of, second_of = (dict(zip(model.vocab.values(), texts, strict=True)) for texts in (firsts, seconds))
    return "".join(first_of[first] + second_of[second] for first, second in model.merges)


# Files are read natively if they are regular: without native core or for any other file, these return None, and the
# caller, which reads all files, reports what is wrong.


class MergesOfFile(NamedTuple):
    """Distinct merges of a file.

    Attributes:
        merges: pairs of the given tokens.
        is_used: a byte for each token, 1 if a merge has or makes it.
        ids: see `CheckedMerges.ids`.
    """

    merges: list[tuple[bytes, bytes]]
    is_used: bytes
    ids: bytes


class ModelOfFile(NamedTuple):
    """Vocabulary and merges of a `tokenizer.json`.

    Attributes:
        rest: the content without these, to be parsed.
        ids: printable token → id; ids are distinct.
        tokens: the bytes of each token, None if a character stands for no byte.
        merges: the merges.
    """

    rest: bytes
    ids: dict[str, int]
    tokens: list[bytes | None]
    merges: MergesOfFile


def read_vocab(content: bytes) -> tuple[dict[str, int], list[bytes | None]] | None:
    """Read a `vocab.json`: return printable token → id, and the tokens as in `ModelOfFile`."""
    native = native_core()
    return None if native is None else native.read_vocab(content)


def read_merges(content: bytes, tokens: list[bytes | None], ids: list[int]) -> MergesOfFile | None:
    """Read a `merges.txt` of tokens with ids; those that are None are in no merge."""
    native = native_core()
    merges = None if native is None else native.read_merges(content, tokens, ids)
    return None if merges is None else MergesOfFile(*merges)


def read_model(content: bytes) -> ModelOfFile | None:
    """Read vocabulary and merges of a `tokenizer.json`."""
    native = native_core()
    model = None if native is None else native.read_model(content)
    if model is None:
        return None
    rest, ids, tokens, merges = model
    return ModelOfFile(rest, ids, tokens, MergesOfFile(*merges))


def merge_runs(all_runs: Sequence[runs.Run], multipliers: Sequence[int], least: int = 1) -> runs.RunMerger:
    """Return a merger of sorted runs, see `runs.RunMerger`."""
    native = native_core()
    if native is None:
        return runs.RunMerger(all_runs, multipliers, least)
    # With a multiplier or limit of more than 64 bits, counts overflow 64 bits or are below the limit.
    merger: runs.RunMerger = native.RunMerger(all_runs, multipliers, min(least, 2**64 - 1))
    return merger


def read_words(run: runs.Run) -> Iterator[tuple[bytes, int]]:
    """Yield the words of a sorted run and their counts, see `runs.read_words`."""
    native = native_core()
    if native is None:
        yield from runs.read_words(run)
        return
    reader = native.RunReader(run)
    while words := reader.next(_WORDS_AT_ONCE):
        yield from words


def native_counter(pattern: str | None, special_tokens: Sequence[str], threads: int, memory: int = 0) -> Counter | None:
    """Return a native counter of pre-tokens that runs in threads; None if there is none for this pattern.

    `memory` is the limit for its counts in bytes, 0 for no limit.
    """
    native = native_core()
    if native is None:
        return None
    try:
        splits = native_pattern(native, pattern)
    except NotNativeError:
        return None
    specials = [special.encode() for special in special_tokens]
    # A number beyond the core's 32 bits is more threads than it would start.
    counter: Counter = native.Counter(splits, specials, threads=min(threads, 2**31), memory=memory)
    return counter


@runtime_checkable
class HasRun(Protocol):
    """Counts that can be read as a sorted run."""

    def run(self) -> runs.Run:
        """Return a reader of the run from its beginning."""

    def items(self) -> Iterable[tuple[bytes, int]]:
        """Return the words and their counts."""


def learn_merges(
    counts: Mapping[bytes, int] | HasRun,
    *,
    max_merges: int,
    tie_break: str = "lexicographic",
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
    length_penalty: float = 0.0,
    max_words: int | None = None,
    colon_space: bool = True,
    initial: Sequence[tuple[bytes, bytes]] = (),
    parts: str | None = "gpt2",
    threads: int = 1,
    progress: Callable[[list[tuple[bytes, bytes]], int], object] | None = None,
) -> list[tuple[bytes, bytes]]:
    """Learn merges; the results equal those of `reference.learn_merges`.

    Args:
        counts: pre-token → number of occurrences.
        max_merges, tie_break, min_frequency, max_token_bytes, length_penalty, max_words, colon_space, initial: see
            `reference.learn_merges`.
        parts: native: the pattern by which the initial merges were learned, which helps to apply them to long words.
        threads: native: threads that apply the initial merges and index pairs; the result does not depend on them.
        progress: called with the merges learned since its last call, possibly none, and the count of the last merge (0
            before the first); the native core calls it about twenty times a second, and once at the end. The
            concatenation of all these lists is the result. Its exceptions propagate.

    Raises:
        OverflowError: native: the counts make 2**64 pairs or more.
        ValueError: an initial merge is given twice; native: the distinct pre-tokens have more than 2**32 bytes, or
            there are more than 2**21 initial tokens.
    """
    native = native_core()
    if native is None:
        return reference.learn_merges(
            dict(counts.items()),
            max_merges=max_merges,
            tie_break=tie_break,
            min_frequency=min_frequency,
            max_token_bytes=max_token_bytes,
            length_penalty=length_penalty,
            max_words=max_words,
            colon_space=colon_space,
            initial=initial,
            progress=progress,
        )
    merges: list[tuple[bytes, bytes]] = native.learn_merges(
        run_of(counts),
        initial=[*initial],
        parts=_native_or_gpt2(native, parts),
        length_penalty=length_penalty,
        colon_space=colon_space,
        progress=progress,
        **native_limits(max_merges, tie_break, min_frequency, max_token_bytes, max_words, threads),
    )
    return merges


def native_limits(
    max_merges: int,
    tie_break: str,
    min_frequency: int,
    max_token_bytes: int | None,
    max_words: int | None,
    threads: int,
) -> dict[str, Any]:
    """Return options of `learn_merges` as the native core takes them: in its types, with the same result."""
    return {
        # There are never that many merges, and no pair has such a count.
        "max_merges": min(max_merges, 2**32) if min_frequency < 2**64 else 0,
        "lexicographic": tie_break == "lexicographic",
        "min_frequency": min(min_frequency, 2**64 - 1),
        "max_token_bytes": None if max_token_bytes is None else min(max_token_bytes, 2**32),
        "max_words": None if max_words is None else min(max_words, 2**32),
        "threads": min(threads, 2**31),
    }


def _native_or_gpt2(native: ModuleType, pattern: str | None) -> Any:
    try:
        return native_pattern(native, pattern)
    except NotNativeError:
        return "gpt2"


def learn_parity_merges(
    languages: Sequence[Mapping[bytes, int] | HasRun],
    dev: Sequence[Mapping[bytes, int] | HasRun],
    options: ParityOptions,
    progress: Callable[[int], object] | None = None,
) -> ParityMerges:
    """Learn merges for several languages; arguments and results are those of `core._parity.learn_parity_merges`.

    Raises:
        OverflowError, ValueError: see `learn_merges`.
    """
    native = native_core()
    if native is None:
        words, dev_words = ([dict(counts.items()) for counts in each] for each in (languages, dev))
        return _parity.learn_parity_merges(words, dev_words, options, progress)
    most_bytes = options.max_token_bytes
    merges, chosen = native.learn_parity_merges(
        [*map(run_of, languages)],
        [*map(run_of, dev)],
        max_merges=min(options.max_merges, 2**32),  # there are never that many
        global_merges=min(options.global_merges, 2**32),
        window=min(options.window, 2**32),
        alpha=options.alpha,
        ratios=[*options.ratios],
        lexicographic=options.tie_break == "lexicographic",
        min_frequency=min(options.min_frequency, 2**64 - 1),
        max_token_bytes=None if most_bytes is None else min(most_bytes, 2**32),
        progress=progress,
    )
    return ParityMerges(merges, chosen)


def training_bytes(
    counts: Mapping[bytes, int] | HasRun,
    max_merges: int,
    initial: Sequence[tuple[bytes, bytes]] = (),
    *,
    parts: str | None = "gpt2",
    threads: int = 1,
) -> int:
    """Return the peak memory in bytes of `learn_merges`, without the memory of the counts.

    The estimate is conservative: on real text up to half as much again as needed.

    Args:
        counts, initial, parts, threads: see `learn_merges`.
        max_merges: number of merges to learn plus the number of initial merges.

    Raises:
        OverflowError, ValueError: see `learn_merges`.
    """
    native = native_core()
    if native is None:
        return reference.training_bytes(word for word, _ in counts.items())
    needed: int = native.training_bytes(
        run_of(counts),
        [*initial],
        max_merges=min(max_merges, 2**32),
        parts=_native_or_gpt2(native, parts),
        threads=min(threads, 2**31),
    )
    return needed


def run_of(counts: Mapping[bytes, int] | HasRun) -> Callable[[], runs.Run]:
    """Return a function that returns the run for the native core to learn from."""
    if isinstance(counts, HasRun):
        return counts.run
    merger = runs.RunMerger.of(counts)
    run = b"".join(iter(lambda: merger.read(runs.PIECE), b""))
    return lambda: run


def find_last_cut(data: bytes, pattern: str | None, special_tokens: Sequence[str]) -> int:
    """Return the last position at which text can be cut without changing a count, whatever follows; 0 if none."""
    native = native_core()
    if native is None:
        return cuts.safe_cuts(pattern, tuple(special_tokens)).find_last(data)
    try:
        known = native_pattern(native, pattern)
    except NotNativeError:  # then text can be cut at special tokens only
        known = None
    last: int = native.find_last_cut(data, known, [token.encode() for token in special_tokens])
    return last
