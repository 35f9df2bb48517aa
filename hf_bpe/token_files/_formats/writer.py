"""The interface of writers of token files, and what several of them need."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hf_bpe.encoding._encoder import Ids, Numbers
from hf_bpe.token_files._packing import Chunk

if TYPE_CHECKING:
    from typing_extensions import Self

_SPOOL_BYTES = 1 << 20


class TokenWriter:
    """Write the files of one shard, in bounded memory; as a context manager, it closes them."""

    def append(self, chunk: Chunk) -> None:
        """Append a part of the stream of rows."""
        raise NotImplementedError

    def finish(self) -> Mapping[str, Any]:
        """Complete the files, and return what the format's index says about them."""
        raise NotImplementedError

    def close(self) -> None:
        """Close all files."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def close_all(*closes: Callable[[], object]) -> None:
    """Call all functions that close something, also where one raises an error, as on a full disk."""
    with ExitStack() as stack:
        for close in reversed(closes):
            stack.callback(close)


class Spool:
    """Numbers in a temporary file without a name, until their place in the final file is known."""

    def __init__(self, folder: Path, dtype: npt.DTypeLike) -> None:
        self.dtype = np.dtype(dtype)
        self.size = 0
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115

    def append(self, numbers: npt.NDArray[Any]) -> None:
        """Append numbers, converted to the type of the spool."""
        self._file.write(np.ascontiguousarray(numbers, self.dtype).data)
        self.size += len(numbers)

    def parts(self) -> Iterator[npt.NDArray[Any]]:
        """Yield all numbers in parts."""
        self._file.seek(0)
        while part := self._file.read(_SPOOL_BYTES):
            yield np.frombuffer(part, self.dtype)
        self._file.seek(0, 2)

    def close(self) -> None:
        """Delete the file."""
        self._file.close()


class RowLengths:
    """The lengths of rows, of which the last may continue in the next part."""

    def __init__(self) -> None:
        self._begun = 0

    def of(self, ids: Ids, ends: Numbers) -> Numbers:
        """Return the lengths of the rows that end in a part."""
        lengths = np.diff(ends, prepend=-self._begun)
        self._begun = len(ids) - int(ends[-1]) if len(ends) else self._begun + len(ids)
        return lengths


class WholeRows:
    """Rows that are held until they are whole."""

    def __init__(self) -> None:
        self._held: list[Ids] = []

    def of(self, ids: Ids, ends: Numbers) -> tuple[Ids, Numbers]:
        """Return the rows that end in a part, as their ids and the positions at which they end."""
        if len(ends) == 0:
            self._held.append(ids)
            return ids[:0], ends
        before = sum(map(len, self._held))
        last = int(ends[-1])
        whole = np.concatenate([*self._held, ids[:last]])
        self._held = [ids[last:]]
        return whole, ends + before
