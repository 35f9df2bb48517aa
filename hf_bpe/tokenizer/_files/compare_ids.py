"""Compare two tokenizers of any formats: find the first text for which they give different ids.

Texts are encoded by the library of a file's format if it is installed, otherwise by hf_bpe.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from hf_bpe._utils.input_files import open_stream
from hf_bpe.core._model import BPEModel
from hf_bpe.core.pretokenizers import canonical_pattern, split
from hf_bpe.engine._dispatch import make_encoder
from hf_bpe.engine._encoder import Options, tuples_of
from hf_bpe.tokenizer._files.definition import Definition, Format, Hints
from hf_bpe.tokenizer._files.panics import panics_as_errors
from hf_bpe.tokenizer._files.stress_texts import INVALID_BYTES, shrunk, stress_texts, vocabulary_texts

Rows = list[list[Any]]

_PIECE_BYTES = 1 << 14
_PIECES_AT_ONCE = 256
_SHOWN = 12


@dataclass(frozen=True)
class Side:
    """One of two tokenizers or patterns to compare.

    Attributes:
        name: the name of the tokenizer, and of the library that encodes.
        encode: (texts, whether to add special tokens) → ids of each text; pre-tokens for a pattern.
        adds: whether it can add special tokens.
        definition: the definition of the tokenizer; None for a pattern.
        encode_bytes: the same for bytes that need not be UTF-8; None if it takes only str.
    """

    name: str
    encode: Callable[[list[str], bool], Rows]
    adds: bool = False
    definition: Definition | None = None
    encode_bytes: Callable[[bytes], list[Any]] | None = None

    def shown(self, row: Sequence[Hashable]) -> str:
        """Return a printable form of ids with the bytes of each, or of pre-tokens."""
        vocab = {} if self.definition is None else self.definition.model.vocab
        parts = [f"{each} {vocab[each]!r}" if each in vocab else repr(each) for each in row[:_SHOWN]]
        more = "" if len(row) <= _SHOWN else f", … ({len(row)} in all)"
        return f"[{', '.join(parts)}{more}]"


@dataclass(frozen=True)
class Mismatch:
    """A text with different ids.

    Attributes:
        where: the origin of the text.
        text: the shortest differing part that was found.
        added: whether special tokens were added.
        rows: the result or error of each side, as text.
    """

    where: str
    text: str | bytes
    added: bool
    rows: tuple[tuple[str, str], tuple[str, str]]

    def __str__(self) -> str:
        how = ", with added special tokens" if self.added else ""
        data = self.text if isinstance(self.text, bytes) else self.text.encode("utf-8", "surrogatepass")
        lines = [f"{self.where}: {self.text!r}{how}", f"  bytes: {data.hex(' ')}"]
        return "\n".join([*lines, *(f"  {name}: {row}" for name, row in self.rows)])


def side_of(definition: Definition, name: str) -> Side:
    """Return the side that encodes a definition with hf_bpe."""
    encoder = make_encoder(definition.model, tuples_of(definition.added_tokens.items()))
    ids = {token.content: token_id for token_id, token in definition.added_tokens.items()}
    options = Options(
        split_special_tokens=bool(definition.setting("split_special_tokens")),
        add_prefix_space=bool(definition.setting("add_prefix_space")),
        unknown_id=ids.get(definition.setting("unk_token")),
    )
    template = definition.template
    special = [] if template is None else [[ids[token] for token in tokens] for tokens in template.special_tokens(1)]

    def encode(texts: list[str], added: bool) -> Rows:
        rows = encoder.encode_batch([*texts], options, os.cpu_count() or 1)
        return [[*special[0], *row, *special[1]] for row in rows] if added and any(special) else rows

    return Side(name, encode, True, definition, lambda data: encoder.encode(data, options))


def side_of_file(path: Path, format: Format, definition: Definition, name: str | None = None) -> Side:
    """Return the side that encodes with the library of a file's format, or with hf_bpe if it is not installed."""
    name = str(path) if name is None else name
    try:
        with panics_as_errors():
            peer = format.peer(path, definition) if format.peer is not None else None
    except ImportError:
        peer = None
    if peer is None:
        return side_of(definition, f"{name} ({format.name}, by hf_bpe)")
    return Side(f"{name} ({format.name}, by {peer.name})", peer.encode, peer.adds, definition)


def side_of_pattern(pattern: str | None) -> Side:
    """Return the side that splits text by a pattern, with pre-tokens instead of ids."""
    pattern = canonical_pattern(pattern)
    cut: Callable[[str], list[str]] = partial(split, pattern=pattern)
    return Side(f"the pattern {pattern or 'none'!r}", lambda texts, added: [*map(cut, texts)])


def compare(first: Side, second: Side, files: Iterable[Path] = ()) -> Mismatch | None:
    """Return the first text for which two sides differ, None if there is none.

    The texts are the stress texts, the tokens of both vocabularies, and those of files.

    Args:
        first, second: two tokenizers, or two patterns.
        files: text files of any size; invalid UTF-8 in them is replaced.

    Raises:
        OSError: a file cannot be read.
    """
    any_text = Definition(BPEModel({byte: bytes([byte]) for byte in range(256)}, []))
    definitions = [side.definition or any_text for side in (first, second)]
    texts = dict.fromkeys(text for each in definitions for text in stress_texts(each))
    stress = [(f"stress text {number}", text) for number, text in enumerate(texts, start=1)]
    vocabularies = [side.definition for side in (first, second) if side.definition is not None]
    tokens = dict.fromkeys(text for each in vocabularies for text in vocabulary_texts(each))
    if mismatch := _first_mismatch(first, second, [("tokens of the vocabulary", text) for text in tokens], False):
        return mismatch
    for added in (False, True) if first.adds and second.adds else (False,):
        if mismatch := _first_mismatch(first, second, stress, added):
            return mismatch
    if first.encode_bytes is not None and second.encode_bytes is not None:
        for data in INVALID_BYTES:
            rows = _row(first.encode_bytes, data), _row(second.encode_bytes, data)
            if rows[0] != rows[1]:
                return Mismatch("invalid bytes", data, False, _shown_rows(first, second, rows))
    for file in files:
        pieces = _pieces(file)
        while batch := [*islice(pieces, _PIECES_AT_ONCE)]:
            if mismatch := _first_mismatch(first, second, batch, False):
                return mismatch
    return None


def check_written(
    definition: Definition, path: Path, format: Format, original: Side | None = None, files: Iterable[Path] = ()
) -> None:
    """Read back a written file and compare it with its definition.

    Args:
        definition: the expected definition.
        path, format: the written file and its format.
        original: another side that must give equal ids.
        files: text files to encode, besides the stress texts.

    Raises:
        OSError: a file cannot be read.
        ValueError: the model or the ids differ.
    """
    again = format.read(path, Hints())
    expected = definition.model
    # Readers of the format drop missing bytes, where the tokenizer refuses such text.
    if again.model.drop_missing_bytes:
        expected = replace(expected, drop_missing_bytes=True)
    if again.model != expected:
        difference = model_difference(expected, again.model)
        raise ValueError(f"{format.name}, read back, gives a different model: {difference}")
    written = side_of_file(path, format, again, "the written file")
    for other in [side_of(definition, "the tokenizer by hf_bpe"), *([] if original is None else [original])]:
        if mismatch := compare(other, written, files):
            raise ValueError(f"the written file gives different ids. {mismatch}")


def model_difference(expected: BPEModel, got: BPEModel) -> str:
    """Describe the first difference between two models."""
    for token_id in {**expected.vocab, **got.vocab}:
        tokens = got.vocab.get(token_id), expected.vocab.get(token_id)
        if tokens[0] != tokens[1]:
            return f"token {token_id} is {tokens[0]!r}, expected {tokens[1]!r}"
    for rank, (merge, other) in enumerate(zip(got.merges, expected.merges, strict=False)):
        if merge != other:
            return f"merge {rank} is {merge!r}, expected {other!r}"
    names = ("special_tokens", "pattern", "ignore_merges", "normalizer", "drop_missing_bytes")
    for name in names:
        if getattr(got, name) != getattr(expected, name):
            return f"{name} is {getattr(got, name)!r:.200}, expected {getattr(expected, name)!r:.200}"
    return f"{len(got.merges)} merges, expected {len(expected.merges)}"


def _first_mismatch(first: Side, second: Side, texts: list[tuple[str, str]], added: bool) -> Mismatch | None:
    rows = [_rows(side, [text for _, text in texts], added) for side in (first, second)]
    different = [text for text, row, other in zip(texts, *rows, strict=True) if row != other]
    if not different:
        return None
    where, text = different[0]

    def encode(side: Side, part: str) -> Any:
        return _rows(side, [part], added)[0]

    def differs(part: str) -> bool:
        return bool(encode(first, part) != encode(second, part))

    part = shrunk(text, differs)
    return Mismatch(where, part, added, _shown_rows(first, second, (encode(first, part), encode(second, part))))


def _rows(side: Side, texts: list[str], added: bool) -> list[Any]:
    """Return the ids of texts, or the error for a refused text."""
    try:
        with panics_as_errors():
            return side.encode(texts, added)
    except Exception as error:  # other libraries raise any kind of error
        if len(texts) == 1:
            return [f"fails: {error}"]
        return [_rows(side, [text], added)[0] for text in texts]


def _row(encode: Callable[[bytes], list[Any]], data: bytes) -> Any:
    try:
        return encode(data)
    except ValueError as error:
        return f"fails: {error}"


def _shown_rows(first: Side, second: Side, rows: tuple[Any, Any]) -> tuple[tuple[str, str], tuple[str, str]]:
    shown = [row if isinstance(row, str) else side.shown(row) for side, row in zip((first, second), rows, strict=True)]
    return (first.name, shown[0]), (second.name, shown[1])


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
