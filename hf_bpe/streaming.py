"""Texts too long for memory: cut into blocks that give the ids of the whole, and ids written to files as they come.

Where a block may end the encoder says: where neither the pattern nor an added token can join what is left and right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hf_bpe.byte_level import repair_surrogates
from hf_bpe.cuts import cut_into_blocks
from hf_bpe.encoding import Encoder, Ids, Options

BLOCK_BYTES = 1 << 24


def encode_blocks(
    encoder: Encoder, pieces: Iterable[str | bytes], options: Options, threads: int, block_bytes: int = BLOCK_BYTES
) -> Iterator[Ids]:
    """Yield the ids of the concatenation of pieces, an array for about each `block_bytes` bytes.

    Holds a block and no more, or what there is up to the next place where the text may be cut.

    Raises:
        TypeError: a piece that is neither str nor bytes.
        ValueError: a byte that the model has no token for.
    """
    blocks = cut_into_blocks(_as_bytes(pieces), lambda data: encoder.find_last_cut(data, options), block_bytes)
    for block in blocks:
        yield encoder.encode_to_numpy([block], options, threads)[0]


def _as_bytes(pieces: Iterable[str | bytes]) -> Iterator[bytes]:
    """Yield pieces as UTF-8. A lone surrogate at the end of one may form a pair with the beginning of the next."""
    surrogate = ""
    for index, piece in enumerate(pieces):
        if isinstance(piece, str):
            text = surrogate + piece
            surrogate = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
            yield repair_surrogates(text[: len(text) - len(surrogate)]).encode()
        elif isinstance(piece, (bytes, bytearray, memoryview)):
            yield repair_surrogates(surrogate).encode() + piece
            surrogate = ""
        else:
            raise TypeError(f"pieces: piece {index} is {type(piece).__name__}, expected str or bytes")
    yield repair_surrogates(surrogate).encode()


class NpyWriter:
    """Writes an array of one dimension to a `.npy` file, part by part; its length need not be known before the end."""

    def __init__(self, path: Path, dtype: npt.DTypeLike) -> None:
        self.dtype = np.dtype(dtype)
        self.size = 0
        self._file = path.open("wb")
        self._write_header()

    def append(self, array: npt.NDArray[np.generic]) -> None:
        """Write more numbers, converted to the type of the file."""
        self._file.write(np.ascontiguousarray(array, self.dtype).data)
        self.size += len(array)

    def __enter__(self) -> NpyWriter:
        return self

    def __exit__(self, *_: object) -> None:
        with self._file:
            self._file.seek(0)
            self._write_header()

    def _write_header(self) -> None:
        # numpy leaves room for a first dimension of any length, so that a header can be written over.
        header = {"descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": False, "shape": (self.size,)}
        np.lib.format.write_array_header_1_0(self._file, header)
