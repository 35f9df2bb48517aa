"""Files of datatrove, which nanotron reads: ids, the ends of documents, and a short text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hf_bpe.token_files._formats.writer import TokenWriter, close_all
from hf_bpe.token_files._loss_masks import split_mask
from hf_bpe.token_files._packing import Chunk

_NAME = "Unknown Tokenizer"  # what datatrove writes for a tokenizer without a name


class DatatroveFiles(TokenWriter):
    """The output of datatrove's `TokenizedFile` with an index, final metadata, and a mask if there is a path for it."""

    def __init__(self, paths: Sequence[Path], dtype: npt.DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._size = 0
        self._metadata = paths[2]
        self._ids = paths[0].open("wb")
        self._index = paths[1].open("wb")
        self._mask = paths[3].open("wb") if len(paths) > 3 else None

    def append(self, chunk: Chunk) -> None:
        """Append rows; see `TokenWriter`."""
        ids, ends, _ = chunk
        if self._mask is not None:
            ids, mask = split_mask(ids)
            self._mask.write(mask.data)
        self._index.write((ends + self._size).astype("<u8").data)
        self._ids.write(np.ascontiguousarray(ids, self._dtype).data)
        self._size += len(ids)

    def finish(self) -> Mapping[str, Any]:
        """Write the metadata."""
        self.close()
        size = self._dtype.itemsize
        # Its readers take the number after the last "|" for the size of an id.
        lines = [f"{_NAME}|{size}|{size}", str(self._size), in_words(self._size)]
        self._metadata.write_text("\n".join(lines), encoding="utf-8", newline="\n")
        return {}

    def close(self) -> None:
        """Close all files."""
        close_all(*(file.close for file in (self._ids, self._index, self._mask) if file is not None))


def in_words(tokens: int) -> str:
    """Return a number of tokens with three digits and a metric prefix, as `humanize.metric` does.

    >>> in_words(0), in_words(999), in_words(1234), in_words(12_345_678)
    ('0.00 T', '999 T', '1.23 kT', '12.3 MT')
    """
    mantissa, exponent = f"{tokens:.2e}".split("e")
    digits, (thousands, place) = mantissa.replace(".", ""), divmod(int(exponent), 3)
    number = ".".join(filter(None, (digits[: place + 1], digits[place + 1 :])))
    return f"{number} {('', 'k', 'M', 'G', 'T', 'P')[thousands]}T"
