"""Compare a tokenizer with the `tokenizers` library: ids of most texts, and everything else of some.

Every sixteenth batch of texts, and all strings, are compared in all respects: batches take turns to be encoded without
special tokens, with them, and as pairs, and ids, type ids, offsets and decoded text are compared. Offsets are not
compared where a normalizer changes the text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from tokenizers import Encoding, Tokenizer

from hf_bpe import BPETokenizer
from hf_bpe.normalizers._backend import panics_as_errors

_PIECE = 4096
_BATCH = 250
_FULLY_COMPARED = 16  # one batch of this many is compared in full
_SHOWN = 3
_SURROGATES = re.compile("[\ud800-\udfff]")  # lone ones, which tokenizers refuses and hf_bpe reads as U+FFFD


@dataclass
class Result:
    """What was compared.

    Attributes:
        strings: number of generated strings.
        panics: number of rows of texts at which `tokenizers` panics, so that there is nothing to compare.
        bytes: size of the pieces of files in UTF-8.
        differences: kind of comparison → number of differing texts.
    """

    strings: int = 0
    panics: int = 0
    bytes: int = 0
    differences: dict[str, int] = field(default_factory=dict)

    def check(self, kind: str, texts: Sequence[object], ours: Sequence[object], theirs: Sequence[object]) -> None:
        """Count the rows that differ, and print the first ones."""
        if ours == theirs:
            return
        for text, row, expected in zip(texts, ours, theirs, strict=True):
            if row != expected:
                self.differences[kind] = self.differences.get(kind, 0) + 1
                if sum(self.differences.values()) <= _SHOWN:
                    shown = f"  {kind}: {text!r:.100}\n    ours   {row!r:.200}\n    theirs {expected!r:.200}"
                    print(shown, file=sys.stderr)


def pieces(path: Path) -> Iterator[str]:
    """Yield a file in pieces."""
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        while piece := file.read(_PIECE):
            yield piece


def batches(texts: Iterable[str]) -> Iterator[list[str]]:
    stream = iter(texts)
    while batch := [*islice(stream, _BATCH)]:
        yield batch


def compare(
    ours: BPETokenizer,
    theirs: Tokenizer,
    texts: Iterable[str],
    strings: Iterable[str] = (),
    *,
    everything: bool = False,
) -> Result:
    """Compare two tokenizers: ids alone on most of the texts, everything on the others and on the strings.

    Args:
        ours, theirs: the tokenizers.
        texts, strings: what they encode.
        everything: whether words are compared, too, and offsets where a normalizer changes the text.
    """
    result = Result()
    for number, batch in enumerate(batches(texts)):
        result.bytes += sum(len(text.encode()) for text in batch)
        _compare_ids(result, ours, theirs, batch)
        if number % _FULLY_COMPARED == 0:
            _compare_all(result, ours, theirs, batch, number // _FULLY_COMPARED, everything)
    for number, batch in enumerate(batches(strings)):
        result.strings += len(batch)
        _compare_all(result, ours, theirs, batch, number, everything)
    return result


def _compare_ids(result: Result, ours: BPETokenizer, theirs: Tokenizer, texts: list[str]) -> None:
    expected = [encoding.ids for encoding in theirs.encode_batch_fast(texts, add_special_tokens=False)]
    result.check("ids", texts, ours.encode_to_lists(texts), expected)


def _compare_all(
    result: Result, ours: BPETokenizer, theirs: Tokenizer, texts: list[str], number: int, everything: bool
) -> None:
    """Compare texts, by the number of their batch without special tokens, with them, or as pairs."""
    kind = ("text", "text with special tokens", "pair")[number % 3]
    columns = (texts[::2], [*texts[1::2], texts[-1]]) if kind == "pair" else (texts,)
    rows = [*zip(*columns, strict=False)]
    added = kind != "text"
    read = [tuple(map(_SURROGATES.sub, ["\ufffd"] * len(row), row)) for row in rows]
    try:
        encodings = _encode(theirs, read, added)
    except ValueError:
        accepted = [i for i, row in enumerate(read) if not _panics(theirs, row, added)]
        result.panics += len(rows) - len(accepted)
        rows, read = [rows[i] for i in accepted], [read[i] for i in accepted]
        encodings = _encode(theirs, read, added)
    how = {"return_offsets_mapping": True, "return_token_type_ids": True}
    got = ours(*([row[i] for row in rows] for i in range(len(columns))), add_special_tokens=added, **how)
    result.check(kind, rows, got["input_ids"], [encoding.ids for encoding in encodings])
    if ours.template is not None:  # without a template they are documented to be 0
        result.check("type ids", rows, got["token_type_ids"], [encoding.type_ids for encoding in encodings])
    # Offsets of characters that a normalizer joined are documented to differ.
    normalizer = theirs.normalizer
    is_kept = normalizer is None or everything
    kept = [i for i, row in enumerate(read) if is_kept or all(normalizer.normalize_str(text) == text for text in row)]
    offsets = [encodings[i].offsets for i in kept]
    result.check("offsets", [rows[i] for i in kept], [got["offset_mapping"][i] for i in kept], offsets)
    if everything:
        words = [got.word_ids(i) for i in range(len(rows))]
        result.check("words", rows, words, [encoding.word_ids for encoding in encodings])
    decoded = theirs.decode_batch(got["input_ids"], skip_special_tokens=False)
    result.check("decode", rows, ours.batch_decode(got["input_ids"]), decoded)


def _encode(theirs: Tokenizer, rows: list[tuple[str, ...]], added: bool) -> list[Encoding]:
    with panics_as_errors():
        return theirs.encode_batch([row if len(row) == 2 else row[0] for row in rows], add_special_tokens=added)


def _panics(theirs: Tokenizer, row: tuple[str, ...], added: bool) -> bool:
    try:
        _encode(theirs, [row], added)
    except ValueError:
        return True
    return False
