"""Arrays of ids in `.npy` files, as `encode-files` writes them, read in parts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_bpe._utils.input_files import open_regular

if TYPE_CHECKING:
    import numpy.typing as npt

_IDS_AT_ONCE = 1 << 20


def load_array(path: Path) -> npt.NDArray[Any]:
    """Return the ids of a `.npy` file of any size, mapped into memory."""
    import numpy as np

    with open_regular(path):  # because numpy would block on a FIFO
        pass
    try:
        array = np.load(path, mmap_mode="r")  # checks the shape against the size of the file
    except OSError:
        raise
    except Exception as error:  # numpy raises any kind of error for a damaged header
        raise ValueError(f"{path}: not a .npy array: {error}") from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu":
        raise ValueError(f"{path}: expected an array of ids, got {getattr(array, 'dtype', 'several arrays')}")
    return array.reshape(-1)


def distinct_ids(path: Path) -> set[int]:
    """Return the distinct ids of a file."""
    import numpy as np

    return {each for ids, _ in ids_of_array(path, by_document=False) for each in np.unique(ids).tolist()}


def ids_of_array(path: Path, by_document: bool) -> Iterator[tuple[npt.NDArray[Any], bool]]:
    """Yield the ids of a file in parts, and whether a document ends with the part.

    Parts end where documents do, which the file of offsets next to it tells, if `by_document`.
    """
    ids = load_array(path)
    ends = load_array(path.with_suffix(".offsets.npy"))[1:] if by_document else [len(ids)]
    start = 0
    for end in ends:
        if not start <= end <= len(ids):
            raise ValueError(f"{path.with_suffix('.offsets.npy')}: expected offsets up to {len(ids)}, got {end}")
        for begin in range(start, int(end), _IDS_AT_ONCE):
            stop = min(begin + _IDS_AT_ONCE, int(end))
            yield ids[begin:stop], by_document and stop == end
        start = int(end)
