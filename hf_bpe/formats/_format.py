"""Formats: a reader, a writer and the list of features that it carries.

A definition with other features is refused, with the name of the feature and the consequence of dropping it, unless the
feature decides no ids; then there is a warning. Nothing is dropped silently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

from hf_bpe.formats._definition import Definition
from hf_bpe.formats._features import FEATURES, Feature, missing_features, without_missing_features
from hf_bpe.pretokenizers._named_patterns import NAMES
from hf_bpe.pretokenizers._pattern import AnyPattern, Pattern

WrittenFormat = Literal["hf", "text", "gpt2", "gguf", "tokenizer.json", "tiktoken"]
"""The names of `hf_bpe.conversion.FORMATS`."""

ReadFormat = WrittenFormat | Literal["tiktoken-folder", "tekken"]
"""The names of these, and of formats that are only read."""


class PatternNeeded(ValueError):
    """The split pattern is neither in the file nor given."""

    def __init__(self, path: Path, hint: str = "") -> None:
        super().__init__(
            f"{path} does not store the split pattern; give it: {', '.join(NAMES)}, a regular expression, or none{hint}"
        )


class Hints(NamedTuple):
    """Knowledge of a user about a file that the file does not store.

    Attributes:
        pattern: the split pattern; "auto" for that of the file, or the one that its format implies.
        special_tokens: content → id; None for the tokens of the file.
    """

    pattern: AnyPattern = "auto"
    special_tokens: Mapping[str, int] | None = None

    def check(self, pattern: Pattern, special_tokens: Mapping[str, int]) -> None:
        """Raise a ValueError if the user contradicts the file."""
        if self.pattern != "auto" and Pattern.parse(self.pattern) != pattern:
            raise ValueError(f"its pattern is {pattern.canonical or 'none'!r}; leave the argument out")
        if self.special_tokens is not None and dict(self.special_tokens) != dict(special_tokens):
            raise ValueError(f"its special tokens are {dict(special_tokens)}; leave the argument out")


class Peer(NamedTuple):
    """An encoder to compare with: usually another library, with the same files.

    Attributes:
        name: the library, and its version.
        encode: (texts, whether to add special tokens) → ids of each text. Special tokens are found in the texts.
        adds: whether it can add special tokens.
        encode_pair: (text, second text) → ids with added special tokens; None if it cannot.
        encode_bytes: the ids of bytes that need not be UTF-8; None if it takes only str.
        offsets: texts → (begin, end) in characters of each id, without added special tokens; None if it has none.
    """

    name: str
    encode: Callable[[list[str], bool], list[list[int]]]
    adds: bool = False
    encode_pair: Callable[[str, str], list[int]] | None = None
    encode_bytes: Callable[[bytes], list[int]] | None = None
    offsets: Callable[[list[str]], list[list[tuple[int, int]]]] | None = None


@dataclass(frozen=True)
class Format:
    """A file format.

    Args:
        name: the name for users.
        what: a short description.
        is_file: whether it is one file rather than a folder.
        matches: (path, first bytes of a file) → whether the content has this format.
        read: (path, hints) → definition. Raises OSError, and ValueError with the location of an error. Hints that
            contradict what was read are refused by who calls it.
        write: (definition, path) → files at or in that path, which is in a folder of its own. Raises ValueError for
            properties beyond FEATURES that it cannot carry, such as an order of ids. None if the format is only read.
        carries: names of FEATURES that its files carry; "pattern" may be left to `patterns`.
        patterns: the canonical patterns that it can carry, None for any pattern.
        has_chains: whether any pattern includes chains of stages, and not only what is one expression.
        as_expressed: returns a definition with the same ids that files express directly; they are read as that. Raises
            ValueError if there is none.
        sidecar: names of FEATURES that only our reader restores, from a sidecar file.
        peer: (path, definition) → the other library that encodes with the file, or None if it cannot. Raises
            ImportError if that library is not installed.
        suffix: the suffix of file names, by which `write` tells the format; "" for folders.
        last: for a folder, the files that its readers require, in the order in which `staged_folder` moves them into
            place.
    """

    name: str
    what: str
    is_file: bool
    matches: Callable[[Path, bytes], bool]
    read: Callable[[Path, Hints], Definition]
    write: Callable[[Definition, Path], None] | None = None
    carries: frozenset[str] = frozenset()
    patterns: frozenset[str | None] | None = None
    has_chains: bool = True
    as_expressed: Callable[[Definition], Definition] = lambda definition: definition
    sidecar: frozenset[str] = frozenset()
    peer: Callable[[Path, Definition], Peer | None] | None = None
    suffix: str = ""
    last: tuple[str, ...] = ()

    def carries_pattern(self, pattern: Pattern) -> bool:
        """Return whether a file can carry this pattern."""
        if self.patterns is None:
            return "pattern" in self.carries | self.sidecar and (self.has_chains or not pattern.is_chain)
        return pattern.canonical in self.patterns

    def missing(self, definition: Definition) -> dict[str, Feature]:
        """Return the features that a tokenizer has and this format cannot carry."""
        return missing_features(definition, self._carried(definition))

    def _carried(self, definition: Definition) -> frozenset[str]:
        """Return the names of the features that a file or its sidecar carries, with the pattern of a tokenizer."""
        kept = self.carries | self.sidecar
        return kept | {"pattern"} if self.carries_pattern(definition.model.pre_tokenizer) else kept - {"pattern"}

    def reduce(self, definition: Definition, drop: Iterable[str] = ()) -> Definition:
        """Return the part of a tokenizer that can be written.

        Args:
            definition: the tokenizer.
            drop: names of features that may be dropped although ids depend on them.

        Raises:
            ValueError: the format cannot carry a feature that is not in `drop`, or a name in `drop` is unknown.

        Warns:
            UserWarning: a feature that decides no ids is dropped and is not in `drop`.
        """
        drop = {*drop}
        if unknown := sorted(drop - FEATURES.keys()):
            raise ValueError(f"drop: expected some of {', '.join(FEATURES)}, got {unknown[0]!r}")
        definition = self.as_expressed(definition)
        if self.patterns and len(self.patterns) == 1 and "pattern" in drop & self.missing(definition).keys():
            definition = replace(definition, model=replace(definition.model, pattern=next(iter(self.patterns))))
        return without_missing_features(definition, self._carried(definition), self.name, drop)
