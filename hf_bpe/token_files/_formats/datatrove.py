"""Files of datatrove, which nanotron reads: ids, the ends of documents, and a short text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from hf_bpe.token_files._loss_masks import split_mask
from hf_bpe.token_files._packing import Chunk, Details, Dtype

_NAME = "Unknown Tokenizer"  # what datatrove writes for a tokenizer without a name


def write_datatrove(paths: Sequence[Path], chunks: Iterable[Chunk], dtype: Dtype) -> Details:
    """Write what datatrove's `TokenizedFile` writes: an index, final metadata, and a mask if there is a path for it."""
    size = 0
    with ExitStack() as stack:
        ids_file, index, *masks = (stack.enter_context(path.open("wb")) for path in (*paths[:2], *paths[3:]))
        for ids, ends, _ in chunks:
            for mask_file in masks:
                ids, mask = split_mask(ids)
                mask_file.write(mask.data)
            index.write((ends + size).astype("<u8").data)
            ids_file.write(np.ascontiguousarray(ids, dtype).data)
            size += len(ids)
    # Its readers take the number after the last "|" for the size of an id.
    lines = [f"{_NAME}|{dtype.itemsize}|{dtype.itemsize}", str(size), in_words(size)]
    paths[2].write_text("\n".join(lines), encoding="utf-8", newline="\n")
    return {}


def in_words(tokens: int) -> str:
    """Return a number of tokens with three digits and a metric prefix, as `humanize.metric` does.

    >>> in_words(0), in_words(999), in_words(1234), in_words(12_345_678)
    ('0.00 T', '999 T', '1.23 kT', '12.3 MT')
    """
    mantissa, exponent = f"{tokens:.2e}".split("e")
    digits, (thousands, place) = mantissa.replace(".", ""), divmod(int(exponent), 3)
    number = ".".join(filter(None, (digits[: place + 1], digits[place + 1 :])))
    return f"{number} {('', 'k', 'M', 'G', 'T', 'P')[thousands]}T"
