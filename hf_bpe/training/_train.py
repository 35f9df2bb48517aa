"""The training API: `train_bpe`, a minimal function, and `train`, which returns a BPEModel."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from hf_bpe._utils.arguments import checked, checks_of, chosen_options, optional, short_repr, with_options
from hf_bpe._utils.work_log import subfolder
from hf_bpe.core._model import BPEModel, check_model
from hf_bpe.core._provenance import shortened
from hf_bpe.counting._count import CountingKeywords, CountingOptions, count
from hf_bpe.counting._normalized_texts import normalized_input
from hf_bpe.counting._sources import TextSource
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.normalizers._normalizer import AnyNormalizer, Normalizer
from hf_bpe.pretokenizers._pattern import AnyPattern
from hf_bpe.reference._options import InitialAlphabet, LearningKeywords, LearningOptions
from hf_bpe.training._checkpoint import check_logs
from hf_bpe.training._engine import LearningStart
from hf_bpe.training._initial_alphabet import AlphabetOptions, initial_alphabet_for
from hf_bpe.training._learning import LearningSettings
from hf_bpe.training._parity import Parity, ParityPlan
from hf_bpe.training._plan import NamedText, Plan, product
from hf_bpe.training._superwords import SuperwordPlan, Superwords
from hf_bpe.training._target_sizes import Goal

if TYPE_CHECKING:
    from typing_extensions import Unpack

logger = logging.getLogger(__name__)

Input: TypeAlias = "TextSource | WordCounts | Mapping[str, TextSource | WordCounts]"


class ContinuingOptions(LearningKeywords, CountingKeywords, total=False):
    """The keyword options of functions that continue from a model; see `train`."""

    pattern: AnyPattern
    initial_alphabet: InitialAlphabet
    character_coverage: float | None
    limit_alphabet: int | None


class _OtherOptions(ContinuingOptions, total=False):
    normalizer: AnyNormalizer
    byte_fallback: bool | None
    unk_token: str | None
    fuse_unk: bool
    initial: BPEModel | None
    parity: Parity | None
    superwords: Superwords | None


class TrainingOptions(_OtherOptions, total=False):
    """The keyword options of all training functions; see `train`."""

    num_merges: int | None


def train_bpe(
    input: Input,
    vocab_size: int | None = None,
    special_tokens: Sequence[str] | None = None,
    **options: Unpack[TrainingOptions],
) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    """Train byte-level BPE and return the vocabulary and the merges.

    The arguments, errors and warnings are those of `train`.

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
        raise TypeError(f"vocab_size: expected one size, got {short_repr(vocab_size)}; use `train` for several models")
    model = train(input, vocab_size, special_tokens, **options)
    return model.vocab, model.merges


@overload
def train(
    input: Input,
    vocab_size: int | None = None,
    special_tokens: Sequence[str] | None = None,
    *,
    num_merges: int | None = None,
    **options: Unpack[_OtherOptions],
) -> BPEModel: ...
@overload
def train(
    input: Input,
    vocab_size: Sequence[int],
    special_tokens: Sequence[str] | None = None,
    **options: Unpack[_OtherOptions],
) -> list[BPEModel]: ...
@overload
def train(
    input: Input,
    vocab_size: None = None,
    special_tokens: Sequence[str] | None = None,
    *,
    num_merges: Sequence[int],
    **options: Unpack[_OtherOptions],
) -> list[BPEModel]: ...
@checked(
    initial=optional(check_model),
    parity=optional(product(Parity, "several languages")),
    superwords=optional(product(Superwords, "superwords")),
    **checks_of(AlphabetOptions),
    **checks_of(CountingOptions),
    **checks_of(LearningOptions),
)
@with_options(AlphabetOptions, CountingOptions, LearningOptions)
def train(
    input: Input,
    vocab_size: int | Sequence[int] | None = None,
    special_tokens: Sequence[str] | None = None,
    *,
    num_merges: int | Sequence[int] | None = None,
    pattern: AnyPattern = "auto",
    normalizer: AnyNormalizer = None,
    initial: BPEModel | None = None,
    parity: Parity | None = None,
    superwords: Superwords | None = None,
    **options: Any,
) -> BPEModel | list[BPEModel]:
    """Train a BPE model, of bytes or of characters.

    The result depends on the text and the options only, never on how it is counted.

    Args:
        input: a path, glob, directory or URL, several of them, `Source` objects, an iterable of texts (str, bytes, or
            lists of str), or `WordCounts`. A str is a path; strings in a list are paths if all of them exist or are
            URLs, and texts if none does or is. With `parity`, such an input or counts for each language, by its name.
        vocab_size: total number of tokens: bytes, special tokens and merges. A list of sizes gives a list of models
            from one training; each smaller model is the beginning of the larger ones.
        special_tokens: tokens that are never split and never learned; text is split at them, the longest first. None
            for the special tokens of the counts and the initial model.
        num_merges: number of merges to learn, or a list of numbers, instead of `vocab_size`.
        pattern: how text is cut into pre-tokens: a name of `hf_bpe.pretokenizers.NAMES`, a regular
            expression as in `tokenizer.json`, a list of stages of `hf_bpe.pretokenizers` (or their JSON as in
            `tokenizer.json`), or None to merge across whole documents. "auto" is the pattern of the counts or the
            initial model, or else "gpt2". A `hf_bpe.pretokenizers.Metaspace` makes a model in the manner of
            SentencePiece, whose alphabet is characters; see `byte_fallback`.
        normalizer: what is done to text, except for special tokens, before it is split, as
            `hf_bpe.normalizers.Normalizer.parse` takes it; the models have it. Not for counts;
            `hf_bpe.counting.NormalizedTexts` of the same normalizer are taken as they are.
        tie_break: the choice among pairs of equal count: "lexicographic" takes the greatest, compared as (bytes,
            bytes); "huggingface" gives merges identical to those of `tokenizers.trainers.BpeTrainer`. With characters
            it also leaves out characters without a token as that does, instead of merging nothing across them.
        min_frequency: do not merge pairs that occur less often (weights included).
        max_token_bytes: longest token a merge may make, in bytes.
        length_penalty: λ in the score count − λ·(bytes of both parts) that orders the pairs; 0 to order by count.
        initial: a model to continue from: its tokens keep their ids and its merges keep their ranks; missing bytes, new
            special tokens and new merges get ids after its highest id. A merge that makes an existing token gets no new
            id. If the model has `ignore_merges`, so do the resulting models, but training ignores it. If it has a
            normalizer, `normalizer` must be the same.
        parity: train for several languages, each merge for the one that is worst off (`hf_bpe.training.Parity`). Not
            together with `initial`, `length_penalty` or `work_dir`. With `tie_break="huggingface"` the merges are those
            of `tokenizers.trainers.ParityBpeTrainer`.
        superwords: learn tokens of several words in a second stage (`hf_bpe.training.Superwords`). Several numbers of
            merges of the first stage give a list of models. Not together with `parity`.
        options: those of `AlphabetOptions` and `CountingOptions`, each by its name.

    Raises:
        TypeError, ValueError: an argument is invalid, or a file is malformed; the message names it.
        OSError: a file cannot be read; BlockingIOError: another process uses `work_dir`.
        MemoryError: training would need more memory than there is; the message says how much, and what to do.
        OverflowError: counts of pairs could exceed 64 bits.

    Warns:
        UserWarning: the text gives fewer merges than requested, so the model is smaller.

    >>> train(["low lower lowest"], vocab_size=258)
    BPEModel(vocab_size=258, merges=2, special_tokens=[], pattern='gpt2', fingerprint='4065a1dbec78')
    >>> [model.vocab_size for model in train(["low lower lowest"], vocab_size=[257, 258])]
    [257, 258]
    """
    learning_options, running = chosen_options(LearningOptions, options), chosen_options(CountingOptions, options)
    alphabet_options = chosen_options(AlphabetOptions, options)
    normalizer = Normalizer.parse(normalizer)
    if parity is not None:
        unsupported = {"initial": initial, "work_dir": running.work_dir, "superwords": superwords}
        plan: Plan = ParityPlan(parity, input, **unsupported, length_penalty=learning_options.length_penalty)
    else:
        plan = Plan(input) if superwords is None else SuperwordPlan(superwords, input)
    settings = plan.settings(special_tokens, pattern, initial, alphabet_options.byte_fallback)
    if initial is not None and initial.normalizer not in (None, normalizer.canonical):
        raise ValueError(
            f"initial: its normalizer is {initial.normalizer!r:.80}, and the normalizer of this training is "
            f"{normalizer.canonical!r:.80}; give the same, or normalize the text first, and continue from "
            "dataclasses.replace(initial, normalizer=None)"
        )
    alphabet = initial_alphabet_for(settings.pattern, initial, alphabet_options, parity=parity, superwords=superwords)
    settings = alphabet.checked(settings)
    plan.texts = [
        text._replace(
            source=normalized_input(text.source, settings.special_tokens, normalizer, text.pattern or settings.pattern)
        )
        for text in plan.texts
    ]
    goal = Goal(vocab_size, num_merges)

    def make_base_model(texts: Sequence[WordCounts]) -> BPEModel:
        model = alphabet.base(texts, settings).with_checked(normalizer=normalizer.canonical)
        goal.check_room(model)
        plan.check_goal(goal, model)
        return model

    make_base_model([])  # what is too small for any text is said before it is read
    folder = None if running.work_dir is None else Path(running.work_dir)

    def count_or_reuse(text: NamedText) -> WordCounts:
        if isinstance(text.source, WordCounts):
            _check_not_inside(set(settings.special_tokens).difference(text.source.special_tokens), text.source)
            return text.source
        return count(
            text.source,
            pattern=text.pattern or settings.pattern,
            special_tokens=settings.special_tokens,
            **{**vars(running), "work_dir": folder and subfolder(folder, text.name)},
        )

    first_merges = () if initial is None else initial.merges
    if folder is not None:
        check_logs(folder, first_merges, plan.folders, are_bytes=alphabet.are_bytes)
    start = make_base_model(plan.count(count_or_reuse))
    inputs = (text.source for text in plan.texts if text.is_input)
    if goal.num_merges_for(start) > 0 and any(isinstance(each, (list, tuple)) and not each for each in inputs):
        raise ValueError("source: expected text to train on, got an empty list")
    recorded = {
        **learning_options.record(),
        "alphabet": None if alphabet_options.initial_alphabet == "bytes" else alphabet_options.initial_alphabet,
        "initial": initial and shortened(initial.fingerprint),
        **plan.record(),
    }
    origin = tuple((name, str(value)) for name, value in recorded.items() if value is not None)

    learning = LearningSettings(
        learning_options, LearningStart(first_merges, *alphabet.symbols(start, learning_options.tie_break)), running
    )
    models = plan.learn(goal, replace(start, origin=origin), learning)
    return models if goal.is_sequence or plan.is_sequence else models[0]


def _check_not_inside(specials: set[str], words: WordCounts) -> None:
    """Refuse special tokens inside pre-tokens, where the text was not split at them: merges could make them."""
    if not specials:
        return
    logger.warning(
        "these counts were made without the special token%s %s: fine if the text does not contain %s",
        "s" * (len(specials) > 1),
        ", ".join(map(repr, sorted(specials))),
        "them" if len(specials) > 1 else "it",
    )
    finder = re.compile(b"|".join(re.escape(special.encode()) for special in specials))
    for word in words:
        if match := finder.search(word):
            raise ValueError(
                f"special token {match[0].decode()!r}: the text of these counts was not split at it, and the pre-token "
                f"{word[:80]!r} holds it; count again with special_tokens"
            )
