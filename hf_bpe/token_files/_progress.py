"""Progress of encoding in several processes: bytes read and tokens made, with rate and time left."""

from __future__ import annotations

import mmap
import threading
from typing import TYPE_CHECKING

import numpy as np
from tqdm import tqdm

from hf_bpe._utils.progress import make_bar

if TYPE_CHECKING:
    from typing_extensions import Self

_SECONDS = 0.5


class EncodingProgress:
    """Counters that processes share, for each unit of work, and the bar that shows their sums."""

    def __init__(self, units: int, total: int | None, done: int, show: bool) -> None:
        memory = mmap.mmap(-1, 16 * max(units, 1))
        self._counters = np.frombuffer(memory, np.int64).reshape(-1, 2)
        self._done = done
        self._bar = make_bar(total=total, initial=done, desc="Encoding", unit="B", unit_scale=True, disable=not show)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._refresh, daemon=True) if show else None

    def report(self, unit: int, read: int, ids: int) -> None:
        """Add bytes and ids of a unit."""
        self._counters[unit] += (read, ids)

    def _refresh(self) -> None:
        while not self._is_over.wait(_SECONDS):
            self._show()

    def _show(self) -> None:
        read, ids = self._counters.sum(axis=0).tolist()
        self._bar.set_postfix_str(f"{tqdm.format_sizeof(ids)} tokens", refresh=False)
        self._bar.update(self._done + read - self._bar.n)

    def __enter__(self) -> Self:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        if self._thread is not None:
            self._thread.join()
            self._show()
        self._bar.close()
