"""The editing API: models with fewer or more tokens, and the remap of their ids.

Each function takes a `BPEModel` and returns a new one with a `Remap` from the old ids to the new ids.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count as count_from
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, cast

from hf_bpe._native_core import require_core
from hf_bpe._utils.arguments import check_ids, check_int, checked, refuse_unknown
from hf_bpe.core._arrays import MergeIds
from hf_bpe.core._checks import check_gaps, check_special_tokens, unused_name
from hf_bpe.core._model import BPEModel, Merge, check_model
from hf_bpe.counting._count import CountingKeywords, count
from hf_bpe.counting._normalized_texts import normalized_input
from hf_bpe.counting._sources import TextSource
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.editing._pruning import Pruning, count_tokens
from hf_bpe.editing._remap import Remap
from hf_bpe.encoding._merge_trees import first_tokens, merged, parts_of_tokens, unreachable
from hf_bpe.training._train import ContinuingOptions, train

if TYPE_CHECKING:
    from typing_extensions import Unpack

_GREATEST_MULTIPLE = 1 << 24


class Edited(NamedTuple):
    """The result of an edit.

    Attributes:
        model: the new model.
        remap: from the ids of the old model to the ids of the new one.
    """

    model: BPEModel
    remap: Remap


@checked(model=check_model)
def truncate(model: BPEModel, vocab_size: int, *, reserved: Collection[int] = ()) -> Edited:
    """Remove the last merges, as `BPEModel.truncate` does: a trained model becomes the model of a smaller training.

    The remaining tokens keep their ids; `renumber` closes the gaps if special tokens come after the merges.

    Args:
        model: the model.
        vocab_size: the number of tokens to keep.
        reserved: ids that are in use outside the model, such as ids of added tokens; `vocab_size` counts them.

    Raises:
        ValueError: `vocab_size` is larger than the vocabulary, or smaller than the number of tokens that no merge
            makes.

    >>> model = BPEModel({0: b"a", 1: b"b", 2: b"ab", 3: b"abb", 4: b"<|x|>"}, [(b"a", b"b"), (b"ab", b"b")], ["<|x|>"])
    >>> smaller, remap = truncate(model, 4)
    >>> smaller.vocab, remap.removed
    ({0: b'a', 1: b'b', 2: b'ab', 4: b'<|x|>'}, (3,))
    """
    return _with_same_ids(model, model.truncate(vocab_size, reserved=reserved))


@checked(model=check_model)
def renumber(model: BPEModel) -> Edited:
    """Close the gaps in the ids: they become 0, 1, 2, … in the old order.

    >>> renumber(BPEModel({3: b"a", 7: b"b"}, [])).remap
    Remap(new_ids={3: 0, 7: 1}, added={}, removed=())
    """
    return _renumbered(model, model.vocab)


@checked(model=check_model)
def extend(
    model: BPEModel,
    input: TextSource | WordCounts,
    number: int,
    special_tokens: Sequence[str] | None = None,
    *,
    reserved: Collection[int] = (),
    split_at: Collection[str] = (),
    **options: Unpack[ContinuingOptions],
) -> Edited:
    """Learn more tokens from text, with ids after the old ones: the continued training of Purason et al., 2025.

    Old merges apply first, so text is encoded as before, and then new merges join neighboring tokens. Old ids stay,
    and text to which no new merge applies keeps its ids.

    Args:
        model: the model to continue from. If it has a normalizer, text is normalized first, except for special tokens.
        input: text or counts, as for `hf_bpe.train`; counts only if the model has no normalizer.
        number: number of tokens to add, including missing bytes and special tokens, which come first.
        special_tokens: as for `hf_bpe.train`.
        reserved: ids that are in use outside the model, such as ids of added tokens
            (`tokenizer.added_tokens_decoder`). New ids are higher than all of these.
        split_at: tokens that are found in text before the model sees it, such as added tokens, so that no token is
            learned from their characters. Counts are taken as they are.
        options: options of `hf_bpe.train`, such as `tie_break`, `max_token_bytes` and `num_workers`.

    Raises, warns:
        See `hf_bpe.train`.

    >>> model = BPEModel({byte: bytes([byte]) for byte in range(256)}, [])
    >>> longer, remap = extend(model, ["low lower lowest"], 2)
    >>> longer.merges, remap.added
    ([(b'o', b'w'), (b'l', b'ow')], {256: (111, 119), 257: (108, 111, 119)})
    """
    require_core("extended vocabularies")
    number = check_int("number", number, 0)
    refuse_unknown("extend", options, ContinuingOptions.__annotations__)
    specials = [*model.special_tokens, *check_special_tokens(special_tokens or ())]
    found_first = tokens_to_split_at([*specials, *split_at])
    input = normalized_input(input, found_first, model.normalization, model.pre_tokenizer)
    is_nothing = isinstance(input, (list, tuple)) and not input
    if {*found_first}.difference(specials) and not isinstance(input, WordCounts) and not is_nothing:
        chosen = {name: value for name, value in options.items() if name in CountingKeywords.__annotations__}
        counting = cast("CountingKeywords", chosen)
        counted = count(input, pattern=model.pre_tokenizer, special_tokens=found_first, **counting)
        input = counted.with_special_tokens([*dict.fromkeys(specials)])
    initial = model if model.normalizer is None else model.with_checked(normalizer=None)
    longer = train(input, model.vocab_size + number, special_tokens, **options, initial=initial)
    new = [token_id for token_id in longer.vocab if token_id not in model.vocab]
    following = count_from(max([-1, *model.vocab, *reserved]) + 1)
    ids = dict(zip(new, following, strict=False))
    vocab = {ids.get(token_id, token_id): token for token_id, token in longer.vocab.items()}
    return _with_same_ids(model, replace(longer, vocab=vocab, normalizer=model.normalizer))


def tokens_to_split_at(tokens: Iterable[str]) -> list[str]:
    """Return the distinct tokens at which counting can split, in their order: no token of a single byte.

    >>> tokens_to_split_at(["<x>", " ", "<x>"])
    ['<x>']
    """
    splittable = []
    for token in dict.fromkeys(tokens):
        with suppress(ValueError):
            splittable += check_special_tokens([token])
    return splittable


@checked(model=check_model)
def prune(
    model: BPEModel,
    *,
    keep: Iterable[int] | None = None,
    counts: WordCounts | None = None,
    vocab_size: int | None = None,
    min_count: int | None = None,
    reserved: Collection[int] = (),
) -> Edited:
    """Remove tokens: all but some, or the least used ones.

    Bytes, or characters and what stands for others, and special tokens always stay, and so do all parts of a token
    that stays. Unreachable tokens are always
    removed first; a model with `ignore_merges` has none. The ids become 0, 1, 2, … in the old order.

    Every remaining token can still occur, and text whose old tokens all remain has the same tokens. Proof: let all
    tokens of a pre-token remain. The applied merges are in the trees of these tokens (`parts_of_tokens`). Their
    parts and results remain, hence the merges themselves, in the same order. At each step the old model took the first
    applicable merge; it still exists, and the new model, which has no other merges, takes it, too. And a token that can
    occur is the encoding of its own bytes.

    With counts, the least used token that is not part of another is removed repeatedly; its uses are then counted for
    its two parts, which is nearly but not always how the text is encoded afterwards. Of equally used tokens the one
    with the highest id is removed first.

    Args:
        model: the model.
        keep: ids of tokens to keep. Without counts all other tokens that need not stay are removed.
        counts: counts of text, with the pattern of the model.
        vocab_size: with counts, the number of tokens to reach.
        min_count: with counts, remove tokens until none is used less often than this; instead of `vocab_size`.
        reserved: ids that are in use outside the model, such as ids of added tokens; `vocab_size` counts them.

    Raises:
        TypeError: the combination of arguments is invalid.
        ValueError: `keep` has an id of no token, or of an unreachable token; the vocabulary
            size is impossible; the counts have another pattern.
        OverflowError: a count exceeds 63 bits.

    >>> model = BPEModel({0: b"a", 1: b"b", 2: b"ab", 3: b"ba", 4: b"abb"}, [(b"a", b"b"), (b"b", b"a"), (b"ab", b"b")])
    >>> prune(model, keep=[4]).model.merges
    [(b'a', b'b'), (b'ab', b'b')]
    >>> smaller, remap = prune(model, counts=WordCounts({"ab": 5, "ba": 1, "abb": 2}), vocab_size=3)
    >>> smaller.vocab, remap.removed
    ({0: b'a', 1: b'b', 2: b'ab'}, (3, 4))
    """
    if [vocab_size, min_count].count(None) != (2 if counts is None else 1) or (keep is None and counts is None):
        raise TypeError(
            "prune: expected ids to keep, or counts with either vocab_size or min_count; "
            f"got {keep=}, {counts=}, {vocab_size=}, {min_count=}"
        )
    kept = [] if keep is None else check_ids("keep", keep)
    lost = {*unreachable(model)}
    words = lost if model.ignore_merges else set()
    lost = lost - words
    for token_id in kept:
        if token_id not in model.vocab:
            raise ValueError(f"keep: the model has no token {token_id}")
        if token_id in lost:
            raise ValueError(
                f"keep: token {token_id}, {model.vocab[token_id]!r}, is unreachable: merges do not make it from "
                "its bytes; leave it out"
            )
    parts = parts_of_tokens(model)
    specials = {*model.special_ids().values()}
    stays = _closed([*kept, *specials, *first_tokens(model)], parts)
    if counts is None:
        return _renumbered(model, stays)
    replacements = dict(zip(words, _merged_ids(model, map(model.vocab.__getitem__, words)), strict=True))
    pruning = Pruning(parts, model.vocab.keys() - lost, stays, count_tokens(model, counts), replacements)
    if min_count is not None:
        min_count = check_int("min_count", min_count, 0)
        while pruning.remove_least_used(below=min_count * counts.scale):
            pass
        return _renumbered(model, pruning.kept)
    outside = len({*reserved} - model.vocab.keys())
    smallest, largest = outside + len(stays), outside + len(pruning.kept)
    if not isinstance(vocab_size, int) or not smallest <= vocab_size <= largest:
        raise ValueError(
            f"vocab_size: expected {smallest} to {largest}, the number of tokens that must stay and the number that "
            f"can, got {vocab_size!r}"
        )
    for _ in range(largest - vocab_size):
        pruning.remove_least_used()
    return _renumbered(model, pruning.kept)


@checked(model=check_model)
def add_special_tokens(
    model: BPEModel, tokens: Iterable[str] | Mapping[str, int], *, reserved: Collection[int] = ()
) -> Edited:
    """Add special tokens with unused ids.

    Args:
        model: the model.
        tokens: the tokens to add, which get the lowest unused ids, first in gaps, then after the highest; or a mapping
            of token to id.
        reserved: ids that are in use outside the model, such as ids of added tokens.

    Raises:
        TypeError: a token is not a str.
        ValueError: the model has or cannot have a token, or an id is in use or invalid.

    >>> model = BPEModel({0: b"a", 2: b"b"}, [])
    >>> add_special_tokens(model, ["<|x|>", "<|y|>"]).model.vocab
    {0: b'a', 1: b'<|x|>', 2: b'b', 3: b'<|y|>'}
    """
    added = check_special_tokens(tokens, are_bytes=model.alphabet.is_bytes)
    vocab = {token: token_id for token_id, token in model.vocab.items()}
    taken = {**dict.fromkeys(reserved, "a token outside the model"), **{i: repr(t) for i, t in model.vocab.items()}}
    for token in added:
        if token.encode() in vocab:
            raise ValueError(f"special token {token!r}: the model has this token, with the id {vocab[token.encode()]}")
    if isinstance(tokens, Mapping):
        ids = [check_int(f"id of {token!r}", tokens[token], 0) for token in added]
        for token, token_id in zip(added, ids, strict=True):
            if token_id in taken:
                raise ValueError(f"special token {token!r}: its id {token_id} is taken by {taken[token_id]}")
    else:
        ids = [*islice((token_id for token_id in count_from() if token_id not in taken), len(added))]
    new = dict(zip(ids, map(str.encode, added), strict=True))
    if len(new) < len(added):
        raise ValueError(f"special tokens: two of {added} have the same id")
    specials = (*model.special_tokens, *added)
    return _with_same_ids(model, replace(model, vocab={**model.vocab, **new}, special_tokens=specials))


@checked(model=check_model)
def pad_to_multiple_of(model: BPEModel, multiple: int, *, reserved: Collection[int] = ()) -> Edited:
    """Add placeholder tokens until the number of ids is a multiple of `multiple`, for fast matrix products.

    Placeholders are special tokens, named `<|unused_300|>` after their ids, in gaps of the ids and after the highest.

    Args:
        model: the model.
        multiple: the highest id plus one becomes a multiple of this number.
        reserved: ids that are in use outside the model, such as ids of added tokens.

    Raises:
        TypeError, ValueError: the number is less than 1, or there are far more gaps than tokens.

    >>> pad_to_multiple_of(BPEModel({0: b"a", 2: b"b"}, []), 4).model.special_tokens
    ('<|unused_1|>', '<|unused_3|>')
    """
    multiple = check_int("multiple", multiple, 1, _GREATEST_MULTIPLE)
    taken = {*model.vocab, *reserved}
    size = max(taken, default=-1) + 1
    check_gaps(size, len(taken))
    vocab = model.printable_vocab()
    free = (token_id for token_id in range(size + -size % multiple) if token_id not in taken)
    names = {unused_name(vocab, f"<|unused_{token_id}|>"): token_id for token_id in free}
    return add_special_tokens(model, names)


def _with_same_ids(old: BPEModel, new: BPEModel) -> Edited:
    """Return an edit in which every token keeps its id or is removed."""
    kept = {token_id: token_id for token_id in old.vocab if token_id in new.vocab}
    added = [token_id for token_id in new.vocab if token_id not in kept]
    specials = {*new.special_ids().values()}
    sources = dict(zip(added, _merged_ids(old, [new.vocab[token_id] for token_id in added]), strict=True))
    sources = {token_id: () if token_id in specials else old_ids for token_id, old_ids in sources.items()}
    return Edited(new, Remap(kept, sources, tuple(old.vocab.keys() - kept.keys())))


def _renumbered(model: BPEModel, ids: Collection[int]) -> Edited:
    """Return the model of a set of tokens that is closed under parts, numbered from 0 in the old order."""
    new_ids = {old: new for new, old in enumerate(sorted(ids))}
    vocab = {new: model.vocab[old] for old, new in new_ids.items()}
    old_ids = iter(memoryview(model.merge_ids).cast("I"))
    merges = (merge for merge in zip(old_ids, old_ids, old_ids, strict=True) if new_ids.keys() >= {*merge})
    merge_ids = MergeIds(array("I", (new_ids[token_id] for merge in merges for token_id in merge)))
    removed = tuple(model.vocab.keys() - new_ids.keys())
    return Edited(replace(model, vocab=vocab, merges=cast("list[Merge]", merge_ids)), Remap(new_ids, {}, removed))


def _merged_ids(model: BPEModel, tokens: Iterable[bytes]) -> list[tuple[int, ...]]:
    """Return the ids that the merges make from each token's bytes, without missing bytes."""
    free = next(token_id for token_id in count_from() if token_id not in model.vocab)
    return [tuple(token_id for token_id in ids if token_id != free) for ids in merged(model, tokens, free)]


def _closed(ids: Iterable[int], parts: Mapping[int, tuple[int, int]]) -> set[int]:
    """Return tokens together with all their parts."""
    closed: set[int] = set()
    left = [*ids]
    while left:
        token_id = left.pop()
        if token_id not in closed:
            closed.add(token_id)
            left += parts.get(token_id, ())
    return closed
