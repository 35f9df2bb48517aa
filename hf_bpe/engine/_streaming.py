"""Texts too long for memory: cut into blocks that give the ids of the whole, and ids written to files as they come.

Where a block may end the encoder says: where neither the pattern nor an added token can join what is left and right.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hf_bpe._utils.arguments import check_sequence
from hf_bpe.core._byte_level import repair_surrogates
from hf_bpe.engine._encoder import Encoder, Ids, Options
from hf_bpe.engine._safe_cuts import cut_into_blocks

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
    for index, piece in enumerate(check_sequence("pieces", pieces, "texts, such as a list or an open file")):
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
    """Writes an array of one dimension to a `.npy` file, part by part; its length need not be known before the end.

    Until it is finished the file is called `.npy.part` and has no header, so nobody takes a part of an array for one.
    """

    def __init__(self, path: Path, dtype: npt.DTypeLike) -> None:
        self.dtype = np.dtype(dtype)
        self.size = 0
        self._path, self._part = path, path.with_name(f"{path.name}.part")
        self._file = self._part.open("wb")
        self._file.write(bytes(len(self._header())))

    def append(self, array: npt.NDArray[np.generic]) -> None:
        """Write more numbers, converted to the type of the file."""
        self._file.write(np.ascontiguousarray(array, self.dtype).data)
        self.size += len(array)

    def __enter__(self) -> NpyWriter:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        with self._file:
            if error is None:
                self._file.seek(0)
                self._file.write(self._header())
        if error is None:
            self._part.replace(self._path)

    def _header(self) -> bytes:
        # numpy leaves room for a first dimension of any length, so the header of no numbers is as long as the last.
        header = {"descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": False, "shape": (self.size,)}
        buffer = BytesIO()
        np.lib.format.write_array_header_1_0(buffer, header)
        return buffer.getvalue()
