"""Remap: the mapping of ids by an edit of a vocabulary, composed, saved, and applied to arrays and tokenizers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hf_bpe._utils.arguments import check_path
from hf_bpe._utils.files import write_atomically
from hf_bpe._utils.input_files import read_json
from hf_bpe._utils.paths import check_output
from hf_bpe.core._model import BPEModel
from hf_bpe.formats._definition import Definition

_SHOWN = 20  # ids that a repr lists; there may be a million


@dataclass(frozen=True, repr=False)
class Remap:
    """A mapping from the ids of a tokenizer to the ids of its edited version.

    Args:
        new_ids: old id → new id of every kept token.
        added: new id → old ids, for tokens that the old tokenizer does not have. The old ids are its encoding of the
            new token's bytes, so the mean of their embeddings can initialize the new embedding; there are none for
            special tokens and padding.
        removed: the old ids of removed tokens.

    Raises:
        TypeError, ValueError: an id is invalid or in the wrong field.

    >>> remap = Remap({0: 0, 1: 1, 3: 2}, {3: (0, 1)}, [2])
    >>> remap.sources
    {0: (0,), 1: (1,), 2: (3,), 3: (0, 1)}
    >>> remap.ids([3, 0, 3])
    array([2, 0, 2])
    """

    new_ids: Mapping[int, int]
    added: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    removed: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for token_id in chain(self.new_ids, self.new_ids.values(), self.added, *self.added.values(), self.removed):
            if not isinstance(token_id, int) or isinstance(token_id, bool):
                raise TypeError(f"remap: id {token_id!r} is {type(token_id).__name__}, expected int")
        set_field = object.__setattr__  # the only way to set a field of a frozen dataclass
        set_field(self, "new_ids", dict(sorted(self.new_ids.items())))
        set_field(self, "added", {new: tuple(old) for new, old in sorted(self.added.items())})
        set_field(self, "removed", tuple(sorted(self.removed)))
        new = [*self.new_ids.values(), *self.added]
        if len({*new}) < len(new):
            raise ValueError("remap: two tokens have the same new id")
        if not self.new_ids.keys().isdisjoint(self.removed):
            raise ValueError("remap: a token is both kept and removed")
        if unknown := {*chain(*self.added.values())} - self.old_ids:
            raise ValueError(f"remap: id {min(unknown)} is a source of a new token, but not an old id")

    def __repr__(self) -> str:
        if len(self.new_ids) + len(self.added) + len(self.removed) <= _SHOWN:
            return f"Remap(new_ids={self.new_ids}, added={self.added}, removed={self.removed})"
        moved = sum(old != new for old, new in self.new_ids.items())
        return (
            f"<Remap of {len(self.new_ids) + len(self.removed)} ids: {len(self.new_ids)} kept ({moved} moved), "
            f"{len(self.added)} added, {len(self.removed)} removed>"
        )

    @property
    def old_ids(self) -> frozenset[int]:
        """All ids of the old tokenizer."""
        return frozenset([*self.new_ids, *self.removed])

    @property
    def sources(self) -> dict[int, tuple[int, ...]]:
        """New id → the old ids that it comes from; one old id if the token was kept."""
        return dict(sorted([*((new, (old,)) for old, new in self.new_ids.items()), *self.added.items()]))

    @property
    def moves(self) -> bool:
        """True if a kept token has a different id."""
        return any(old != new for old, new in self.new_ids.items())

    def then(self, other: Remap) -> Remap:
        """Return the remap of this edit followed by another.

        Raises:
            ValueError: the other remap does not start with the ids that this one ends with.

        >>> Remap({0: 0, 1: 1}, {2: (0, 1)}).then(Remap({0: 0, 2: 1}, {}, [1]))
        Remap(new_ids={0: 0}, added={1: (0, 1)}, removed=(1,))
        """
        sources = self.sources
        if differing := other.old_ids ^ sources.keys():
            raise ValueError(
                f"then: between the two edits only one remap has the id {min(differing)}; expected "
                "the remap of an edit of the result of this one"
            )
        added = {
            new: tuple(old for middle in middles for old in sources[middle]) for new, middles in other.added.items()
        }
        added |= {other.new_ids[middle]: old for middle, old in self.added.items() if middle in other.new_ids}
        kept = {old: other.new_ids[middle] for old, middle in self.new_ids.items() if middle in other.new_ids}
        return Remap(kept, added, tuple(self.old_ids - kept.keys()))

    def ids(self, ids: npt.ArrayLike) -> npt.NDArray[Any]:
        """Convert old ids to new ids, in an array of the same shape, and of the same type if they fit.

        Args:
            ids: an array or lists of ids, such as a tokenized corpus.

        Raises:
            TypeError: the values are not integers.
            ValueError: the token of an id was removed, or the old tokenizer has no such id.
        """
        array = np.asarray(ids)
        if array.size and array.dtype.kind not in "iu":
            raise TypeError(f"ids: expected integers, got an array of {array.dtype}")
        olds, news = (np.array([*part], dtype=np.int64) for part in (self.new_ids, self.new_ids.values()))
        flat = array.ravel()
        places = np.minimum(np.searchsorted(olds, flat), max(len(olds) - 1, 0))
        wrong = olds[places] != flat if len(olds) else np.ones(len(flat), dtype=bool)
        if wrong.any():
            first = int(flat[wrong.argmax()])
            reason = "its token was removed" if first in self.removed else "the old tokenizer has no such token"
            raise ValueError(f"ids: {first} has no new id: {reason}; encode the text again")
        mapped = news[places] if len(olds) else news
        fits = array.dtype.kind in "iu" and (not len(news) or news.max() <= np.iinfo(array.dtype).max)
        return mapped.reshape(array.shape).astype(array.dtype if fits else np.int64, copy=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the remap to a JSON file atomically.

        Raises:
            ValueError: the path is a URL.
            OSError: the file cannot be written.
        """
        path = Path(check_output("path", path))
        content = {
            "new_ids": [*map(list, self.new_ids.items())],
            "added": [[new, [*old]] for new, old in self.added.items()],
            "removed": [*self.removed],
        }
        write_atomically(path, json.dumps(content))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Remap:
        """Read a file that `save` wrote.

        Raises:
            OSError: the file cannot be read.
            ValueError: the file is not a remap.

        >>> Remap({0: 1}).save("remap.json")
        >>> Remap.load("remap.json")
        Remap(new_ids={0: 1}, added={}, removed=())
        """
        check_path("path", path)
        try:
            content = read_json(path)
            added = {new: tuple(old) for new, old in content["added"]}
            remap = cls(dict(content["new_ids"]), added, tuple(content["removed"]))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}: expected a file written by Remap.save or --remap: {error!r}") from None
        if [len(remap.new_ids), len(remap.added)] != [len(content["new_ids"]), len(content["added"])]:
            raise ValueError(f"{path}: an id occurs twice; write the file again")
        return remap


def edited(definition: Definition, model: BPEModel, remap: Remap) -> tuple[Definition, Remap]:
    """Return a definition with a new model, and the remap of all its ids, given the remap of the model's ids.

    Added tokens stay, whether the model has them or not: at their ids, or, if tokens of the model were removed or
    moved, directly after the new model. An added token that is a special token of the new model has its id there.
    `unused_tokens` are dropped. A remap of another model is a ValueError, as is a new token with the id or the content
    of an added token.

    >>> from hf_bpe.editing import prune
    >>> from tokenizers import AddedToken
    >>> tokenizer = Definition(BPEModel({3: b"a", 4: b"b", 5: b"aa"}, [(b"a", b"a")]), {9: AddedToken("<x>")})
    >>> definition, remap = edited(tokenizer, *prune(tokenizer.model, keep=[]))
    >>> definition.added_tokens
    {2: AddedToken("<x>", rstrip=False, lstrip=False, single_word=False, normalized=True, special=False)}
    >>> remap
    Remap(new_ids={3: 0, 4: 1, 9: 2}, added={}, removed=(5,))
    """
    old = definition.model
    if remap.old_ids != old.vocab.keys() or remap.sources.keys() != model.vocab.keys():
        raise ValueError(
            "the remap is not one from the model of this tokenizer to the new model; edit tokenizer.model, and give "
            "what that returns"
        )
    specials, vocab, before = model.special_ids(), model.printable_vocab(), old.printable_vocab()
    is_moved, following = remap.moves or remap.removed, count(max(model.vocab, default=-1) + 1)
    outside: dict[int, int] = {}  # ids of added tokens that the new model does not take from the old one
    for token_id, token in definition.added_tokens.items():
        if token_id in remap.new_ids:
            continue
        content = token.content
        new_id = specials[content] if content in specials else next(following) if is_moved else token_id
        outside[token_id] = new_id
        if content not in specials and new_id in model.vocab:
            raise ValueError(
                f"token {token_id}, {content!r}, was added to the tokenizer, but a new token of the model has its id; "
                "edit the model with reserved=tokenizer.added_tokens_decoder"
            )
        if vocab.get(content, new_id) != new_id and content not in before:
            raise ValueError(
                f"token {token_id}, {content!r}, was added to the tokenizer, but a new token of the model, "
                f"{vocab[content]}, is the same; first make it a special token of the model, by "
                f"hf_bpe.editing.add_special_tokens(model, {{{content!r}: {token_id}}})"
            )
    new_ids = {**remap.new_ids, **outside}
    added = {new: sources for new, sources in remap.added.items() if new not in outside.values()}
    removed = tuple(token_id for token_id in remap.removed if token_id not in outside)
    tokens = {new_ids[token_id]: token for token_id, token in definition.added_tokens.items()}
    # Entries that no text is encoded to are not worth a place in the new vocabulary.
    settings = {name: value for name, value in definition.settings.items() if name != "unused_tokens"}
    return replace(definition, model=model, added_tokens=tokens, settings=settings), Remap(new_ids, added, removed)
