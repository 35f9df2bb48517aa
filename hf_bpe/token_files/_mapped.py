"""Advice to the system about the parts that are read of files mapped into memory."""

from __future__ import annotations

import mmap

import numpy as np
import numpy.typing as npt

from hf_bpe.encoding._encoder import Ids, Numbers


def advise_stretches(ids: Ids, starts: Numbers, lengths: Numbers) -> None:
    """Say that of a mapped file only some stretches are read, so that the system reads these ahead, and nothing else.

    Otherwise it reads the neighborhood of each page. Nothing happens for other arrays, or without such a system call.

    Args:
        ids: an array.
        starts, lengths: the stretches that will be read of it.
    """
    mapped = _mapped(ids)
    if mapped is None or not hasattr(mapped, "madvise") or not hasattr(mmap, "MADV_RANDOM"):
        return
    mapped.madvise(mmap.MADV_RANDOM)
    offset = ids.ctypes.data - np.frombuffer(mapped, np.uint8).ctypes.data
    begins = (offset + starts * ids.itemsize) // mmap.PAGESIZE * mmap.PAGESIZE
    ends = offset + (starts + lengths) * ids.itemsize
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        if end > begin:
            mapped.madvise(mmap.MADV_WILLNEED, begin, end - begin)


def _mapped(ids: npt.NDArray[np.generic]) -> mmap.mmap | None:
    """Return the mapped file of an array; None if it is in memory."""
    base: object = ids
    while isinstance(base, np.ndarray):
        base = base.base
    base = base.obj if isinstance(base, memoryview) else base
    return base if isinstance(base, mmap.mmap) else None
