"""The doors to training: `train_bpe`, small and plain, and `train`, which returns a whole BPEModel."""

from __future__ import annotations

import logging
import os
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypedDict, get_args, overload

from hf_bpe._utils.arguments import MOST, check_int, check_real, checked, one_of, optional, short_repr
from hf_bpe._utils.memory import parse_bytes
from hf_bpe._utils.progress import Listener
from hf_bpe.core._byte_level import from_printable
from hf_bpe.core._model import BPEModel, check_model, check_special_tokens
from hf_bpe.core._provenance import shortened
from hf_bpe.core.pretokenizers import canonical_pattern
from hf_bpe.counting._count import COUNTING_CHECKS, count
from hf_bpe.counting._sources import TextSource
from hf_bpe.counting._word_counts import Settings, WordCounts
from hf_bpe.training._learning import Learning
from hf_bpe.training._target_sizes import Goal, base_model

if TYPE_CHECKING:
    from typing_extensions import Unpack

logger = logging.getLogger(__name__)

TieBreak = Literal["lexicographic", "huggingface"]
InitialAlphabet = Literal["bytes", "observed"]


class _Shown(TypedDict):
    show_progress: bool
    callback: Listener | None


class ContinuingOptions(TypedDict, total=False):
    """The keyword options of whatever goes on from a model; `train` explains them."""

    pattern: str | None
    tie_break: TieBreak
    min_frequency: int
    max_token_bytes: int | None
    length_penalty: float
    initial_alphabet: InitialAlphabet
    num_workers: int | None
    max_memory: int | str | None
    work_dir: str | os.PathLike[str] | None
    show_progress: bool
    callback: Listener | None


class _OtherOptions(ContinuingOptions, total=False):
    initial: BPEModel | None


class TrainingOptions(_OtherOptions, total=False):
    """The keyword options of every training door; `train` explains them."""

    num_merges: int | None


def train_bpe(
    input: TextSource | WordCounts,
    vocab_size: int | None = None,
    special_tokens: Sequence[str] | None = None,
    **options: Unpack[TrainingOptions],
) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    """Train byte-level BPE and return the vocabulary and the merges.

    Takes, raises and warns what `train` does.

    Returns:
        id → bytes of every token (0 to 255 the bytes, then the special tokens, then a token a merge), and the merges
        in the order learned.

    >>> text = "low low low low low lower lower widest widest widest newest newest newest newest newest newest"
    >>> vocab, merges = train_bpe([text], vocab_size=260, special_tokens=["<|endoftext|>"])
    >>> merges
    [(b's', b't'), (b'e', b'st'), (b'o', b'w')]
    >>> vocab[256], vocab[259]
    (b'<|endoftext|>', b'ow')
    """
    if isinstance(vocab_size, (list, tuple, range)):
        raise TypeError(f"vocab_size: expected one size, got {short_repr(vocab_size)}; `train` gives several models")
    model = train(input, vocab_size, special_tokens, **options)
    return model.vocab, model.merges


@overload
def train(
    input: TextSource | WordCounts,
    vocab_size: int | None = None,
    special_tokens: Sequence[str] | None = None,
    *,
    num_merges: int | None = None,
    **options: Unpack[_OtherOptions],
) -> BPEModel: ...
@overload
def train(
    input: TextSource | WordCounts,
    vocab_size: Sequence[int],
    special_tokens: Sequence[str] | None = None,
    **options: Unpack[_OtherOptions],
) -> list[BPEModel]: ...
@overload
def train(
    input: TextSource | WordCounts,
    vocab_size: None = None,
    special_tokens: Sequence[str] | None = None,
    *,
    num_merges: Sequence[int],
    **options: Unpack[_OtherOptions],
) -> list[BPEModel]: ...
@checked(
    tie_break=one_of(*get_args(TieBreak)),
    initial_alphabet=one_of(*get_args(InitialAlphabet)),
    min_frequency=lambda name, value: check_int(name, value, 0, MOST),
    max_token_bytes=optional(lambda name, value: check_int(name, value, 1, MOST)),
    length_penalty=lambda name, value: check_real(name, value, 0),
    initial=optional(check_model),
    **COUNTING_CHECKS,
)
def train(
    input: TextSource | WordCounts,
    vocab_size: int | Sequence[int] | None = None,
    special_tokens: Sequence[str] | None = None,
    *,
    num_merges: int | Sequence[int] | None = None,
    pattern: str | None = "auto",
    tie_break: TieBreak = "lexicographic",
    min_frequency: int = 0,
    max_token_bytes: int | None = None,
    length_penalty: float = 0.0,
    initial_alphabet: InitialAlphabet = "bytes",
    initial: BPEModel | None = None,
    num_workers: int | None = None,
    max_memory: int | str | None = None,
    work_dir: str | os.PathLike[str] | None = None,
    show_progress: bool = False,
    callback: Listener | None = None,
) -> BPEModel | list[BPEModel]:
    """Train a byte-level BPE model. The result depends on the text and the options only, never on how it is counted.

    Args:
        input: what to learn from: a path, glob, directory or URL, several of them, `Source` objects, an iterable of
            texts (str, bytes, or lists of str), or `WordCounts`. A str is a path; strings in a list are paths if every
            one names an existing file, texts if none does.
        vocab_size: number of tokens in all: bytes, special tokens and merges. Of several sizes each gives a model, by
            one training: the smaller are beginnings of the larger.
        special_tokens: tokens that are never split and never learned; text is split at them, the longest first. None
            for those of the counts and the initial model.
        num_merges: number of merges to learn, or several, instead of `vocab_size`.
        pattern: how text is cut into pre-tokens: a name of `hf_bpe.core.pretokenizers.PATTERNS`, a regular
            expression of the `regex` package, or None to merge across whole documents. "auto" is that of
            the counts or the initial model, or else "gpt2".
        tie_break: among pairs of equal count take the greatest, compared as (bytes, bytes): "lexicographic"; or the
            one that `tokenizers.trainers.BpeTrainer` takes, so that its merges result: "huggingface".
        min_frequency: pairs that occur less often, by the weights of the text, are not merged.
        max_token_bytes: longest token a merge may make, in bytes.
        length_penalty: λ of the score count − λ·(bytes of both parts) by which pairs are ordered; 0 for the count.
        initial_alphabet: "bytes" for all 256, or "observed" for only those that occur, in the order of the bytes.
        initial: a model to go on from: its tokens keep their ids and its merges go first; missing bytes, special
            tokens and merges that are new follow behind the highest id. A merge that makes a token it has already takes
            no new one. If it ignores merges for whole words, so do the models that come of it, but what there is to
            merge is counted as if it did not. It must have no normalizer, for text is counted as it is.
        num_workers: threads to count in, or processes for a pattern of your own; None for one a core (see `count`).
        max_memory: bound of the memory of this process, in bytes or as "2GB" (see `count`).
        work_dir: a folder from which the same training goes on after whatever has ended it: it has what was counted and
            the merges that were learned, every ten seconds. Delete it once you have the result.
        show_progress: show bars on standard error, with rate, time left, and the merge just made.
        callback: called with a `progress.Event` now and then; what it raises ends the training.

    Raises:
        TypeError, ValueError: a wrong argument, or a file that is not as it should be; the message says which.
        OSError: a file that cannot be read; BlockingIOError: another process is at work in `work_dir`.
        MemoryError: learning would take more memory than there is; the message says how much, and what to do.
        OverflowError: counts and weights by which pairs could be counted past 64 bits.

    Warns:
        UserWarning: the text has fewer merges than were asked for; the model has as many tokens as there are.

    >>> train(["low lower lowest"], vocab_size=258)
    BPEModel(vocab_size=258, merges=2, special_tokens=[], pattern='gpt2', fingerprint='4065a1dbec78')
    >>> [model.vocab_size for model in train(["low lower lowest"], vocab_size=[257, 258])]
    [257, 258]
    """
    settings = _settings(input, special_tokens, pattern, initial)
    _refuse_printable_twins(settings.special_tokens)
    goal = Goal(vocab_size, num_merges)
    if initial_alphabet == "bytes":
        goal.check_room(base_model(range(256), settings.special_tokens, settings.pattern, initial))
    memory = None if max_memory is None else parse_bytes(max_memory, "max_memory")

    shown: _Shown = {"show_progress": show_progress, "callback": callback}
    if isinstance(input, WordCounts):
        words = input
        _check_not_inside(set(settings.special_tokens).difference(words.special_tokens), words)
    else:
        words = count(
            input,
            pattern=settings.pattern,
            special_tokens=settings.special_tokens,
            num_workers=num_workers,
            max_memory=memory,
            work_dir=work_dir,
            **shown,
        )
    alphabet = range(256) if initial_alphabet == "bytes" else set().union(*words)
    base = base_model(alphabet, settings.special_tokens, settings.pattern, initial)
    goal.check_room(base)
    told = {
        "ties": tie_break,
        "min_frequency": min_frequency or None,
        "max_token_bytes": max_token_bytes,
        "length_penalty": length_penalty or None,
        "alphabet": None if initial_alphabet == "bytes" else initial_alphabet,
        "initial": initial and shortened(initial.fingerprint),
        "counts": shortened(words.fingerprint),
    }
    origin = tuple((name, str(value)) for name, value in told.items() if value is not None)

    with Learning(
        words,
        [] if initial is None else initial.merges,
        max_memory=memory,
        work_dir=work_dir,
        tie_break=tie_break,
        min_frequency=min_frequency * words.scale,
        max_token_bytes=max_token_bytes,
        length_penalty=float(length_penalty) * words.scale,
    ) as learning:
        models = goal.reach(replace(base, origin=origin), lambda number: learning.learn(number, **shown))
    if len(learning.merges) < learning.wanted:
        warnings.warn(
            f"the text gives {len(learning.merges)} of the {learning.wanted} merges asked for: no pair is left to "
            "merge; train on more text, or change min_frequency or max_token_bytes",
            stacklevel=2,
        )
    return models if goal.is_sequence else models[0]


def _settings(
    input: TextSource | WordCounts, special_tokens: Sequence[str] | None, pattern: str | None, initial: BPEModel | None
) -> Settings:
    """Return the pattern and special tokens to train with, if counts, initial model and arguments agree on them."""
    if initial is not None and initial.normalizer is not None:
        raise ValueError(
            f"initial: its normalizer is {initial.normalizer!r}, but text is counted as it is; bring the text to that "
            "form yourself, and go on from dataclasses.replace(initial, normalizer=None)"
        )
    first = [] if initial is None else [*initial.special_tokens]
    known = [*input.special_tokens] if isinstance(input, WordCounts) else []
    given = known if special_tokens is None else check_special_tokens(special_tokens)
    if lacking := set(known).difference(given, first):
        raise ValueError(
            f"special_tokens: {sorted(lacking)} are missing, at which the text of these counts was split; "
            "give all, or None for just those"
        )
    patterns = {
        "that of the counts": input.pattern if isinstance(input, WordCounts) else "auto",
        "that of the initial model": "auto" if initial is None else initial.pattern,
        "the argument": pattern if isinstance(pattern, str) and pattern == "auto" else canonical_pattern(pattern),
    }
    chosen = {name: value for name, value in patterns.items() if value != "auto"}
    if len({*chosen.values()}) > 1:
        raise ValueError(
            "pattern: "
            + ", ".join(f"{name} is {value!r}" for name, value in chosen.items())
            + "; they must be the same"
        )
    return Settings(next(iter(chosen.values()), "gpt2"), tuple(dict.fromkeys([*first, *given])))


def _check_not_inside(specials: set[str], words: WordCounts) -> None:
    """Refuse special tokens that the text was not split at and that pre-tokens hold: merges could make them."""
    if not specials:
        return
    logger.warning("these counts were not split at %s: right only where the text has none", sorted(specials))
    finder = re.compile(b"|".join(re.escape(special.encode()) for special in specials))
    for word in words:
        if found := finder.search(word):
            raise ValueError(
                f"special token {found[0].decode()!r}: these counts were not split at it, and the pre-token "
                f"{word[:80]!r} holds it; count again with special_tokens"
            )


def _refuse_printable_twins(specials: Sequence[str]) -> None:
    """Refuse before training, not after, what a learned token could clash with in `vocab.json`."""
    for special in specials:
        twin = from_printable(special)
        if twin is not None and twin != special.encode():
            raise ValueError(
                f"special token {special!r} is how vocab.json writes the token {twin!r}, which training could learn; "
                "choose another"
            )
