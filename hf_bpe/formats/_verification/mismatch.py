"""Verification: do two tokenizers give the same ids, and a written file or folder the ids of the tokenizer in memory?

Saving, conversion and `hf-bpe verify` all use `find_mismatch`, and `find_offset_mismatch` for the places of the ids.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from hf_bpe._utils.input_files import open_stream
from hf_bpe.core._model import BPEModel
from hf_bpe.formats._definition import Definition, with_all_special_tokens
from hf_bpe.formats._format import Format
from hf_bpe.formats._verification.sides import Side, side_of, side_of_file
from hf_bpe.formats._verification.stress_texts import (
    INVALID_BYTES,
    STRESS_TEXTS,
    shrunk,
    stress_texts,
    vocabulary_texts,
)
from hf_bpe.normalizers._backend import panics_as_errors

_PIECE_BYTES = 1 << 14
_PIECES_AT_ONCE = 256


@dataclass(frozen=True)
class Mismatch:
    """A text with different ids.

    Attributes:
        where: the origin of the text.
        text: the shortest differing part that was found.
        added: whether special tokens were added.
        rows: name and result, or error, of each side, as text.
        second: the second text of a pair.
    """

    where: str
    text: str | bytes
    added: bool
    rows: tuple[tuple[str, str], tuple[str, str]]
    second: str | None = None

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


def find_mismatch(
    first: Side,
    second: Side,
    files: Iterable[Path] = (),
    *,
    skip_refused: bool = False,
    max_tokens: int | None = None,
    tried: Counter[str] | None = None,
) -> Mismatch | None:
    """Return the first text for which two sides differ, None if there is none.

    The texts are the tokens of both vocabularies, the stress texts (without and with added special tokens, and in
    pairs), invalid UTF-8, and texts of files; each only where both sides can encode it.

    Args:
        first, second: two tokenizers, or two patterns.
        files: text files of any size; invalid UTF-8 in them is replaced.
        skip_refused: leave out texts that the first side refuses with a ValueError, such as texts with missing bytes.
        max_tokens: how many tokens of each vocabulary to encode, which takes most of the time; None for all.
        tried: gets the number of "texts" and of their "bytes" if all of them agree.

    Raises:
        OSError: a file cannot be read.
    """
    sides = _Sides(first, second, skip_refused)
    pair = [first.definition, second.definition]
    definitions = [each for at, each in enumerate(pair) if each is not None and each not in pair[:at]]
    tokens = dict.fromkeys(text for each in definitions for text in vocabulary_texts(each, max_tokens))
    if None in pair:
        definitions.append(Definition(BPEModel({byte: bytes([byte]) for byte in range(256)}, [])))
    texts = dict.fromkeys(text for each in definitions for text in stress_texts(each))
    stress = [(f"stress text {number}", text) for number, text in enumerate(texts, start=1)]
    of_vocabulary = [("tokens of the vocabulary", text) for text in tokens]
    tried = Counter() if tried is None else tried
    _note(tried, of_vocabulary + stress)
    mismatch = sides.find_in_texts(of_vocabulary, False)
    for added in (False, True) if first.peer.adds and second.peer.adds else (False,):
        mismatch = mismatch or sides.find_in_texts(stress, added)
    mismatch = mismatch or sides.find_in_pairs(stress) or sides.find_in_bytes()
    for file in files if mismatch is None else ():
        pieces = _pieces(file)
        while mismatch is None and (batch := [*islice(pieces, _PIECES_AT_ONCE)]):
            _note(tried, batch)
            mismatch = sides.find_in_texts(batch, False)
    return mismatch


def find_offset_mismatch(first: Side, second: Side) -> Mismatch | None:
    """Return the first stress text of which two sides give other offsets, None if there is none.

    Texts to which they give other ids, or which one refuses, are left out, and all texts if one gives no offsets.
    """
    sides = first, second
    if any(side.peer.offsets is None for side in sides):
        return None
    definition = first.definition or second.definition
    texts = stress_texts(definition) if definition is not None else [*STRESS_TEXTS]
    ids = [_rows(side, texts, False) for side in sides]
    agreed = [text for text, *rows in zip(texts, *ids, strict=True) if rows[0] == rows[1] and _is_encoded(rows[0])]

    def offsets(texts: list[str]) -> list[list[list[tuple[int, int]]]]:
        return [side.peer.offsets(texts) for side in sides if side.peer.offsets is not None]

    def differs(text: str) -> bool:
        is_encoded = all(_is_encoded(_rows(side, [text], False)[0]) for side in sides)
        return is_encoded and operator.ne(*offsets([text]))

    for text, *rows in zip(agreed, *offsets(agreed), strict=True):
        if rows[0] != rows[1]:
            part = shrunk(text, differs)
            shown = [(side.name, str(row)) for side, (row,) in zip(sides, offsets([part]), strict=True)]
            return Mismatch("offsets", part, False, (shown[0], shown[1]))
    return None


def _is_encoded(row: object) -> bool:
    return not isinstance(row, _Failure)


def _note(tried: Counter[str], texts: Sequence[tuple[str, str]]) -> None:
    size = sum(len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")) for _, text in texts)
    tried.update(texts=len(texts), bytes=size)


class _Sides:
    """The results of two sides for texts of each kind, see `find_mismatch`."""

    def __init__(self, first: Side, second: Side, skip_refused: bool) -> None:
        self._sides = first, second
        self._skip_refused = skip_refused

    def find_in_texts(self, texts: list[tuple[str, str]], added: bool) -> Mismatch | None:
        """Return the first mismatch among texts, each with its origin."""
        rows = [_rows(side, [text for _, text in texts], added) for side in self._sides]
        for (where, text), *both in zip(texts, *rows, strict=True):
            if self._differ(*both):
                return self._mismatch(where, text, lambda side, part: _rows(side, [part], added)[0], added)
        return None

    def find_in_pairs(self, texts: list[tuple[str, str]]) -> Mismatch | None:
        """Return the first mismatch among pairs of texts, each text in one, with added special tokens."""
        if not texts or any(side.peer.encode_pair is None for side in self._sides):
            return None
        for (where, text), (_, second) in zip_longest(texts[::2], texts[1::2], fillvalue=texts[0]):

            def encode(side: Side, part: str, second: str = second) -> Any:
                assert side.peer.encode_pair is not None
                return _row(side.peer.encode_pair, part, second)

            if self._differ(*(encode(side, text) for side in self._sides)):
                return replace(self._mismatch(where, text, encode, True), second=second)
        return None

    def find_in_bytes(self) -> Mismatch | None:
        """Return the first mismatch among texts that are not UTF-8."""
        for data in INVALID_BYTES:
            encoders = [side.peer.encode_bytes for side in self._sides]
            rows = [_row(encode, data) for encode in encoders if encode is not None]
            if len(rows) < 2:
                return None
            if self._differ(*rows):
                return Mismatch("invalid bytes", data, False, self._shown(*rows))
        return None

    def _differ(self, row: object, other: object) -> bool:
        if self._skip_refused and isinstance(row, _Failure) and row.is_refusal:
            return False
        return bool(row != other)

    def _mismatch(self, where: str, text: str, encode: Callable[[Side, str], object], added: bool) -> Mismatch:
        part = shrunk(text, lambda part: self._differ(*(encode(side, part) for side in self._sides)))
        return Mismatch(where, part, added, self._shown(*(encode(side, part) for side in self._sides)))

    def _shown(self, *rows: Any) -> tuple[tuple[str, str], tuple[str, str]]:
        first, second = (
            (side.name, str(row) if isinstance(row, _Failure) else side.shown(row))
            for side, row in zip(self._sides, rows, strict=True)
        )
        return first, second


def verify_file(definition: Definition, path: Path, format: Format, files: Sequence[Path] = ()) -> Side:
    """Read a written file back, verify that it gives the ids of its definition, and return the side that it is.

    Args:
        definition, path, format: the expected definition, and the written file with its format.
        files: text files to encode, besides the stress texts.

    Raises:
        OSError: a file cannot be read.
        ValueError: the model, the ids or the offsets differ.
    """
    written = side_of_file(path, format, name="the written file")
    check_side(f"{format.name}, read back,", side_of(definition, "the tokenizer by hf_bpe"), written, files)
    return written


def check_side(
    name: str,
    expected: Side,
    written: Side,
    files: Sequence[Path],
    *,
    max_tokens: int | None = None,
    has_checked_offsets: bool = False,
) -> None:
    """Raise a ValueError if a file or folder, as loaded, has another model, or gives other ids or offsets."""
    if expected.definition is not None and written.definition is not None:
        check_model(name, expected.definition, written.definition.model)
    check_ids(name, expected, written, files, skip_refused=True, max_tokens=max_tokens)
    if not has_checked_offsets:
        check_offsets(name, expected, written)


def check_model(name: str, expected: Definition, got: BPEModel) -> None:
    """Raise a ValueError if a file or folder, as loaded, has another model."""
    model = expected.model
    # Readers of some formats drop missing bytes, where the tokenizer refuses such text.
    if got.drop_missing_bytes:
        model = replace(model, drop_missing_bytes=True)
    if got != model and got != with_all_special_tokens(replace(expected, model=model)).model:
        raise ValueError(f"{name} gives a different model: {model_difference(model, got)}")


def check_ids(name: str, side: Side, written: Side, files: Sequence[Path], **options: Any) -> None:
    if mismatch := find_mismatch(side, written, files, **options):
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
    names = ("special_tokens", "pattern", "ignore_merges", "normalizer", "drop_missing_bytes", "alphabet")
    for name in names:
        if getattr(got, name) != getattr(expected, name):
            return f"{name} is {getattr(got, name)!r:.200}, expected {getattr(expected, name)!r:.200}"
    return f"{len(got.merges)} merges, expected {len(expected.merges)}"


def _rows(side: Side, texts: list[str], added: bool) -> Sequence[Any]:
    """Return the ids of texts, or the error for a refused text."""
    if not texts:
        return []
    rows: Sequence[Any] | _Failure = _row(side.peer.encode, texts, added)
    if not isinstance(rows, _Failure):
        return rows
    return [rows] if len(texts) == 1 else [_rows(side, [text], added)[0] for text in texts]


def _row(encode: Callable[..., Any], *arguments: object) -> Any:
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


def _lines(source: Any) -> Iterator[bytes]:
    size = 0
    while size < _PIECE_BYTES and (line := source.readline(1 << 20)):
        size += len(line)
        yield line
