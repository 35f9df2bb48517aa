"""The doors to training: `train_bpe`, small and plain, and `train`, which returns a whole BPEModel."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypedDict, get_args

from tqdm import tqdm

from hf_bpe.byte_level import from_printable
from hf_bpe.corpus import TextSource
from hf_bpe.counts import count
from hf_bpe.engine import learn_merges
from hf_bpe.model import BPEModel, check_special_tokens
from hf_bpe.patterns import canonical_pattern

if TYPE_CHECKING:
    from typing_extensions import Unpack

TieBreak = Literal["lexicographic", "huggingface"]
InitialAlphabet = Literal["bytes", "observed"]


class TrainingOptions(TypedDict, total=False):
    """The keyword options of every training door; `train` explains them."""

    num_merges: int | None
    pattern: str | None
    tie_break: TieBreak
    min_frequency: int
    max_token_bytes: int | None
    length_penalty: float
    initial_alphabet: InitialAlphabet
    num_workers: int | None
    show_progress: bool


def train_bpe(
    input: TextSource,
    vocab_size: int | None = None,
    special_tokens: Sequence[str] = (),
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
    model = train(input, vocab_size, special_tokens, **options)
    return model.vocab, model.merges


def train(
    input: TextSource,
    vocab_size: int | None = None,
    special_tokens: Sequence[str] = (),
    *,
    num_merges: int | None = None,
    pattern: str | None = "gpt2",
    tie_break: TieBreak = "lexicographic",
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
    length_penalty: float = 0.0,
    initial_alphabet: InitialAlphabet = "bytes",
    num_workers: int | None = None,
    show_progress: bool = False,
) -> BPEModel:
    """Train a byte-level BPE model. The result depends on the text and the options only, never on `num_workers`.

    Args:
        input: a path or several paths of UTF-8 text, or an iterable of texts (str, bytes, or lists of str). A str is
            a path; strings in a list are paths if every one names an existing file, texts if none does.
        vocab_size: number of tokens in all: bytes, special tokens and merges.
        special_tokens: tokens that are never split and never learned; text is split at them, the longest first.
        num_merges: number of merges to learn, instead of `vocab_size`.
        pattern: how text is cut into pre-tokens: a name of `hf_bpe.patterns.PATTERNS`, a regular expression of the
            `regex` package, or None to merge across whole documents.
        tie_break: among pairs of equal count take the greatest, compared as (bytes, bytes): "lexicographic"; or the
            one that `tokenizers.trainers.BpeTrainer` takes, so that its merges result: "huggingface".
        min_frequency: pairs that occur less often are not merged.
        max_token_bytes: longest token a merge may make, in bytes.
        length_penalty: λ of the score count − λ·(bytes of both parts) by which pairs are ordered; 0 for the count.
        initial_alphabet: "bytes" for all 256, or "observed" for only those that occur, in the order of the bytes.
        num_workers: threads to count in, or processes for a pattern of your own; None for one a core (see
            `counts.count`).
        show_progress: show progress on standard error.

    Raises:
        TypeError, ValueError: a wrong argument, or a file that is not UTF-8; the message says which.
        OSError: a file that cannot be read.

    Warns:
        UserWarning: the text has fewer merges than were asked for; the model has as many tokens as there are.

    >>> train(["low lower lowest"], vocab_size=258)
    BPEModel(vocab_size=258, merges=2, special_tokens=[], pattern='gpt2', fingerprint='4065a1dbec78')
    """
    specials = check_special_tokens(special_tokens)
    _refuse_printable_twins(specials)
    pattern = canonical_pattern(pattern)
    _check_choice("tie_break", tie_break, get_args(TieBreak))
    _check_choice("initial_alphabet", initial_alphabet, get_args(InitialAlphabet))
    _check_number("min_frequency", min_frequency, 0)
    if max_token_bytes is not None:
        _check_number("max_token_bytes", max_token_bytes, 1)
    if not isinstance(length_penalty, (int, float)) or not 0 <= length_penalty < float("inf"):
        raise ValueError(f"length_penalty: expected a number from 0 on, got {length_penalty!r}")
    wanted = num_merges or 0
    if (vocab_size is None) == (num_merges is None):
        raise ValueError(f"give either vocab_size or num_merges, got vocab_size={vocab_size}, num_merges={num_merges}")
    if vocab_size is None:
        _check_number("num_merges", num_merges, 0)
    else:
        _check_number("vocab_size", vocab_size, 1)
        if initial_alphabet == "bytes":
            _check_room(vocab_size, 256, len(specials))

    counts = count(
        input, pattern=pattern, special_tokens=specials, num_workers=num_workers, show_progress=show_progress
    )
    alphabet = range(256) if initial_alphabet == "bytes" else sorted(set().union(*counts))
    if vocab_size is not None:
        _check_room(vocab_size, len(alphabet), len(specials))
        wanted = vocab_size - len(alphabet) - len(specials)
    with tqdm(total=wanted, desc="Merging", unit="merge", disable=not show_progress) as bar:
        merges = learn_merges(
            counts,
            max_merges=wanted,
            tie_break=tie_break,
            min_frequency=min_frequency,
            max_token_bytes=max_token_bytes,
            length_penalty=float(length_penalty),
            progress=(lambda merges, _: bar.update(len(merges))) if show_progress else None,
        )
    if len(merges) < wanted:
        warnings.warn(
            f"the text gives {len(merges)} of the {wanted} merges asked for: no pair is left to merge; "
            "train on more text, or change min_frequency or max_token_bytes",
            stacklevel=2,
        )
    tokens = [*(bytes([byte]) for byte in alphabet), *(special.encode() for special in specials)]
    tokens += [first + second for first, second in merges]
    return BPEModel(dict(enumerate(tokens)), merges, tuple(specials), pattern)


def _refuse_printable_twins(specials: Sequence[str]) -> None:
    """Refuse before training, not after, what a learned token could clash with in `vocab.json`."""
    for special in specials:
        twin = from_printable(special)
        if twin is not None and twin != special.encode():
            raise ValueError(
                f"special token {special!r} is how vocab.json writes the token {twin!r}, which training could learn; "
                "choose another"
            )


def _check_room(vocab_size: int, alphabet: int, specials: int) -> None:
    if vocab_size < alphabet + specials:
        raise ValueError(
            f"vocab_size {vocab_size} is too small: {alphabet} bytes and {specials} special tokens need at least "
            f"{alphabet + specials}"
        )


def _check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(map(repr, choices))}, got {value!r}")


def _check_number(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name}: expected an int, got {value!r}")
    if value < least:
        raise ValueError(f"{name}: expected at least {least}, got {value}")
