"""Megatron-LM's indexed datasets: a file of ids, and an index with a row for each document."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from hf_bpe.token_files._packing import Chunk, Details, Dtype, read_numbers

_MAGIC, _VERSION = b"MMIDIDX\x00\x00", 1
_CODES = {np.dtype("<u2"): 8, np.dtype("<i4"): 4}
_FEWEST_FOR_32_BITS = 65_500  # ids; Megatron's own limit
_MAX_LENGTH = 2**31 - 1
_COUNTED = 1 << 20


def megatron_dtype(highest_id: int) -> Dtype:
    """Return the type that Megatron chooses for a vocabulary with this highest id."""
    return np.dtype("<u2" if highest_id + 1 < _FEWEST_FOR_32_BITS else "<i4")


def write_megatron(paths: Sequence[Path], chunks: Iterable[Chunk], dtype: Dtype) -> Details:
    """Write each row as a document of one sequence, as Megatron's `preprocess_data.py` does."""
    number = begun = 0
    with tempfile.TemporaryFile(dir=paths[0].parent) as spool:  # lengths of rows, which follow their number
        with paths[0].open("wb") as file:
            for ids, ends, _ in chunks:
                lengths = np.diff(ends, prepend=-begun)
                begun = len(ids) - int(ends[-1]) if len(ends) else begun + len(ids)
                if len(lengths) and lengths.max() > _MAX_LENGTH:
                    raise ValueError(
                        f"got a document of {lengths.max()} ids, expected at most {_MAX_LENGTH} in a file for "
                        "Megatron; give the separator at which documents of text end"
                    )
                file.write(np.ascontiguousarray(ids, dtype).data)
                spool.write(np.ascontiguousarray(lengths, "<i4").data)
                number += len(lengths)
        with paths[1].open("wb") as file:
            file.write(_MAGIC)
            file.write(struct.pack("<QBQQ", _VERSION, _CODES[dtype], number, number + 1))
            for lengths in read_numbers(spool, "<i4"):
                file.write(lengths.data)
            begin = 0
            for lengths in read_numbers(spool, "<i4"):
                ends = begin + np.cumsum(lengths, dtype="<i8")
                file.write(((ends - lengths) * dtype.itemsize).data)
                begin = int(ends[-1])
            for first in range(0, number + 1, _COUNTED):
                file.write(np.arange(first, min(first + _COUNTED, number + 1), dtype="<i8").data)
    return {}
