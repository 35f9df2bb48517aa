"""Streaming encoding of texts too long for memory, in blocks that give the ids of the whole, and files of ids.

The encoder decides where a block may end: where neither the pattern nor an added token can span the cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hf_bpe._utils.arguments import check_sequence
from hf_bpe._utils.tables import elements, refuse_tables
from hf_bpe.encoding._encoder import Encoder, Ids, Options
from hf_bpe.encoding._safe_cuts import cut_into_blocks
from hf_bpe.pretokenizers._byte_level import repair_surrogates

BLOCK_BYTES = 1 << 24


def encode_blocks(
    encoder: Encoder, pieces: Iterable[str | bytes], options: Options, threads: int, block_bytes: int = BLOCK_BYTES
) -> Iterator[Ids]:
    """Yield the ids of the concatenation of pieces, one array for about every `block_bytes` bytes.

    Memory holds one block, or the text up to the next safe cut if that is longer.

    Raises:
        TypeError: a piece is neither str nor bytes.
        ValueError: a byte has no token.
    """
    blocks = cut_into_blocks(_as_bytes(pieces), lambda data: encoder.find_last_cut(data, options), block_bytes)
    for block in blocks:
        yield encoder.encode_to_numpy([block], options, threads)[0]
        options = options._replace(continued=True)


def _as_bytes(pieces: Iterable[str | bytes]) -> Iterator[bytes]:
    """Yield pieces as UTF-8. A surrogate at the end of a piece may form a pair with the beginning of the next piece."""
    surrogate = ""
    refuse_tables("pieces", pieces)
    pieces = check_sequence("pieces", pieces, "texts, such as a list or an open file")
    for index, piece in enumerate(elements("pieces", pieces)):
        if isinstance(piece, str):
            text = surrogate + piece
            surrogate = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
            yield repair_surrogates(text[: len(text) - len(surrogate)]).encode()
        elif isinstance(piece, bytes):
            yield repair_surrogates(surrogate).encode() + piece
            surrogate = ""
        else:
            raise TypeError(f"pieces: piece {index} is {type(piece).__name__}, expected str or bytes")
    yield repair_surrogates(surrogate).encode()


class NpyWriter:
    """Write a one-dimensional array of unknown length to a `.npy` file, part by part.

    Until it is complete the file is named `.npy.part` and has no header, so it cannot be mistaken for a whole array.
    """

    def __init__(self, path: Path, dtype: npt.DTypeLike) -> None:
        self.dtype = np.dtype(dtype)
        self.size = 0
        self._path, self._part = path, path.with_name(f"{path.name}.part")
        self._file = self._part.open("wb")
        self._file.write(bytes(len(self._header())))

    def append(self, array: npt.NDArray[np.generic]) -> None:
        """Append numbers, converted to the type of the file."""
        self._file.write(np.ascontiguousarray(array, self.dtype).data)
        self.size += len(array)

    def __enter__(self) -> NpyWriter:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        try:
            if error is None:
                self._file.seek(0)
                self._file.write(self._header())
        finally:
            self._file.close()  # may be the second time, after a full disk at the first
        if error is None:
            self._part.replace(self._path)

    def _header(self) -> bytes:
        # numpy leaves room for a first dimension of any length, so the header of an empty array has the final length.
        header = {"descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": False, "shape": (self.size,)}
        buffer = BytesIO()
        np.lib.format.write_array_header_1_0(buffer, header)
        return buffer.getvalue()
