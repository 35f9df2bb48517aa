"""Verification: do two tokenizers give the same ids, and a written file or folder those of the tokenizer in memory?"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import BinaryIO, TypeVar

from hf_bpe._utils.input_files import open_stream
from hf_bpe.core._model import BPEModel
from hf_bpe.formats._definition import Definition, with_all_special_tokens
from hf_bpe.formats._format import Format
from hf_bpe.formats._verification.sides import Side, side_of, side_of_file
from hf_bpe.formats._verification.stress_texts import (
    INVALID_BYTES,
    MAX_AROUND,
    STRESS_TEXTS,
    shrunk,
    stress_texts,
    vocabulary_texts,
)
from hf_bpe.normalizers._backend import panics_as_errors

Result = TypeVar("Result")

_PIECE_BYTES = 1 << 14
_PIECES_AT_ONCE = 256


@dataclass(frozen=True)
class Mismatch:
    """A text with different ids."""

    where: str  # the origin of the text
    text: str | bytes  # the shortest differing part that was found
    added: bool  # special tokens were added
    rows: tuple[tuple[str, str], tuple[str, str]]  # name and result, or error, of each side
    second: str | None = None  # the second text of a pair

    def __str__(self) -> str:
        how = ", with added special tokens" if self.added else ""
        how += "" if self.second is None else f", with the second text {self.second[:40]!r}"
        data = self.text if isinstance(self.text, bytes) else self.text.encode("utf-8", "surrogatepass")
        lines = [f"{self.where}: {self.text!r}{how}", f"  bytes: {data.hex(' ')}"]
        return "\n".join([*lines, *(f"  {name}: {row}" for name, row in self.rows)])


@dataclass(frozen=True)
class _Failure:
    """The error of a side for a text; equal to the same error of another side."""

    message: str
    is_refusal: bool = field(compare=False)

    def __str__(self) -> str:
        return f"fails: {self.message}"


_Row = Sequence[int] | _Failure


def find_offset_mismatch(first: Side, second: Side) -> Mismatch | None:
    """Return the first stress text for which two sides give different offsets, None if there is none.

    Texts to which they give other ids, or which one refuses, are left out, and all texts if one gives no offsets.
    """
    sides = first, second
    if any(side.peer.offsets is None for side in sides):
        return None
    definition = first.definition or second.definition
    texts = stress_texts(definition) if definition is not None else [*STRESS_TEXTS]
    ids = zip(texts, *(_rows(side, texts, False) for side in sides), strict=True)
    agreed = [text for text, row, other in ids if row == other and not isinstance(row, _Failure)]

    def offsets(texts: list[str]) -> list[list[list[tuple[int, int]]]]:
        return [side.peer.offsets(texts) for side in sides if side.peer.offsets is not None]

    def differs(text: str) -> bool:
        is_refused = any(isinstance(_rows(side, [text], False)[0], _Failure) for side in sides)
        return not is_refused and operator.ne(*offsets([text]))

    for text, *rows in zip(agreed, *offsets(agreed), strict=True):
        if rows[0] != rows[1]:
            part = shrunk(text, differs)
            shown = [(side.name, str(row)) for side, (row,) in zip(sides, offsets([part]), strict=True)]
            return Mismatch("offsets", part, False, (shown[0], shown[1]))
    return None


@dataclass
class MismatchSearch:
    """The search for a text for which two sides differ.

    The texts are the tokens of both vocabularies, the stress texts (without and with added special tokens, and in
    pairs), invalid UTF-8, and texts of files; each only where both sides can encode it.

    Args:
        first, second: two tokenizers, or two patterns.
        skip_refused: leave out texts that the first side refuses with a ValueError, such as texts with missing bytes.
        max_tokens: how many tokens of each vocabulary to encode, which takes most of the time; None for all.

    Attributes:
        tried: the number of "texts" and of their "bytes", if all of them agree.
    """

    first: Side
    second: Side
    skip_refused: bool = False
    max_tokens: int | None = None
    tried: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._sides = self.first, self.second

    def find(self, files: Iterable[Path] = ()) -> Mismatch | None:
        """Return the first mismatch, None if there is none; invalid UTF-8 in text files, of any size, is replaced."""
        pair = [side.definition for side in self._sides]
        definitions = [each for at, each in enumerate(pair) if each is not None and each not in pair[:at]]
        tokens = dict.fromkeys(text for each in definitions for text in vocabulary_texts(each, self.max_tokens))
        if None in pair:
            definitions.append(Definition(BPEModel({byte: bytes([byte]) for byte in range(256)}, [])))
        texts = dict.fromkeys(text for each in definitions for text in stress_texts(each))
        stress = [(f"stress text {number}", text) for number, text in enumerate(texts, start=1)]
        mismatch = self._find_in_texts([("tokens of the vocabulary", text) for text in tokens])
        mismatch = mismatch or self._find_in_texts(stress)
        few = stress[:MAX_AROUND]
        if all(side.peer.adds for side in self._sides):
            mismatch = mismatch or self._find_in_texts(few, added=True)
        mismatch = mismatch or self._find_in_pairs(few) or self._find_in_bytes()
        for file in files if mismatch is None else ():
            pieces = _pieces(file)
            while mismatch is None and (batch := [*islice(pieces, _PIECES_AT_ONCE)]):
                mismatch = self._find_in_texts(batch)
        return mismatch

    def _find_in_texts(self, texts: list[tuple[str, str]], *, added: bool = False) -> Mismatch | None:
        """Return the first mismatch among texts, each with its origin."""
        if not added:
            sizes = (len(text if text.isascii() else text.encode("utf-8", "surrogatepass")) for _, text in texts)
            self.tried.update(texts=len(texts), bytes=sum(sizes))
        rows = [_rows(side, [text for _, text in texts], added) for side in self._sides]
        for (where, text), *both in zip(texts, *rows, strict=True):
            if self._differ(*both):
                return self._mismatch(where, text, lambda side, part: _rows(side, [part], added)[0], added)
        return None

    def _find_in_pairs(self, texts: list[tuple[str, str]]) -> Mismatch | None:
        """Return the first mismatch among pairs of texts, each text in one, with added special tokens."""
        if not texts or any(side.peer.encode_pair is None for side in self._sides):
            return None
        for (where, text), (_, second) in zip_longest(texts[::2], texts[1::2], fillvalue=texts[0]):

            def encode(side: Side, part: str, second: str = second) -> _Row:
                assert side.peer.encode_pair is not None
                return _attempt(side.peer.encode_pair, part, second)

            if self._differ(*(encode(side, text) for side in self._sides)):
                return replace(self._mismatch(where, text, encode, True), second=second)
        return None

    def _find_in_bytes(self) -> Mismatch | None:
        """Return the first mismatch among texts that are not UTF-8."""
        for data in INVALID_BYTES:
            encoders = [side.peer.encode_bytes for side in self._sides]
            rows = [_attempt(encode, data) for encode in encoders if encode is not None]
            if len(rows) < 2:
                return None
            if self._differ(*rows):
                return Mismatch("invalid bytes", data, False, self._shown(*rows))
        return None

    def _differ(self, row: _Row, other: _Row) -> bool:
        if self.skip_refused and isinstance(row, _Failure) and row.is_refusal:
            return False
        return bool(row != other)

    def _mismatch(self, where: str, text: str, encode: Callable[[Side, str], _Row], added: bool) -> Mismatch:
        part = shrunk(text, lambda part: self._differ(*(encode(side, part) for side in self._sides)))
        return Mismatch(where, part, added, self._shown(*(encode(side, part) for side in self._sides)))

    def _shown(self, *rows: _Row) -> tuple[tuple[str, str], tuple[str, str]]:
        first, second = (
            (side.name, str(row) if isinstance(row, _Failure) else side.shown(row))
            for side, row in zip(self._sides, rows, strict=True)
        )
        return first, second


def verify_file(definition: Definition, path: Path, format: Format, files: Sequence[Path] = ()) -> Side:
    """Read a written file back, verify that it gives the ids of its definition, and return the side that it is."""
    written = side_of_file(path, format, name="the written file")
    check_side(f"{format.name}, read back,", side_of(definition, "the tokenizer by hf_bpe"), written, files)
    return written


def check_side(
    name: str, expected: Side, written: Side, files: Sequence[Path] = (), *, max_tokens: int | None = None
) -> None:
    """Raise a ValueError if a file or folder, as loaded, has another model, or gives other ids or offsets."""
    if expected.definition is not None and written.definition is not None:
        check_model(name, expected.definition, written.definition.model)
    check_ids(name, MismatchSearch(expected, written, skip_refused=True, max_tokens=max_tokens), files)
    check_offsets(name, expected, written)


def check_model(name: str, expected: Definition, got: BPEModel) -> None:
    """Raise a ValueError if a file or folder, as loaded, has another model."""
    model = expected.model
    # Readers of some formats drop missing bytes, where the tokenizer refuses such text.
    if got.drop_missing_bytes:
        model = replace(model, drop_missing_bytes=True)
    if got != model and got != with_all_special_tokens(replace(expected, model=model)).model:
        raise ValueError(f"{name} gives a different model: {model_difference(model, got)}")


def check_ids(name: str, search: MismatchSearch, files: Sequence[Path]) -> None:
    if mismatch := search.find(files):
        raise ValueError(f"{name} gives different ids. {mismatch}")


def check_offsets(name: str, side: Side, written: Side) -> None:
    if mismatch := find_offset_mismatch(side, written):
        raise ValueError(f"{name} gives different offsets. {mismatch}")


def model_difference(expected: BPEModel, got: BPEModel) -> str:
    """Describe the first difference between two models."""
    for token_id in {**expected.vocab, **got.vocab}:
        tokens = got.vocab.get(token_id), expected.vocab.get(token_id)
        if tokens[0] != tokens[1]:
            return f"token {token_id} is {tokens[0]!r}, expected {tokens[1]!r}"
    for rank, (merge, other) in enumerate(zip(got.merges, expected.merges, strict=False)):
        if merge != other:
            return f"merge {rank} is {merge!r}, expected {other!r}"
    for name in ("special_tokens", "pattern", "ignore_merges", "normalizer", "drop_missing_bytes", "alphabet"):
        if getattr(got, name) != getattr(expected, name):
            return f"{name} is {getattr(got, name)!r:.200}, expected {getattr(expected, name)!r:.200}"
    return f"{len(got.merges)} merges, expected {len(expected.merges)}"


def _rows(side: Side, texts: list[str], added: bool) -> Sequence[_Row]:
    """Return the ids of texts, or the error for a refused text."""
    if not texts:
        return []
    rows = _attempt(side.peer.encode, texts, added)
    if not isinstance(rows, _Failure):
        return rows
    return [rows] if len(texts) == 1 else [_rows(side, [text], added)[0] for text in texts]


def _attempt(encode: Callable[..., Result], *arguments: object) -> Result | _Failure:
    try:
        with panics_as_errors():
            return encode(*arguments)
    except MemoryError:
        raise
    except Exception as error:  # other libraries raise any kind of error
        return _Failure(str(error), isinstance(error, ValueError))


def _pieces(file: Path) -> Iterator[tuple[str, str]]:
    """Yield a file in pieces of whole lines, unless lines are very long, each with its position."""
    start = 0
    with open_stream(file) as source:
        while piece := b"".join(_lines(source)):
            yield f"{file} from byte {start}", piece.decode("utf-8", "replace")
            start += len(piece)


def _lines(source: BinaryIO) -> Iterator[bytes]:
    size = 0
    while size < _PIECE_BYTES and (line := source.readline(1 << 20)):
        size += len(line)
        yield line
