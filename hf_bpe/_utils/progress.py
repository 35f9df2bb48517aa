"""Progress of long operations: a bar for people, events for programs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from tqdm import tqdm

Stage = Literal["counting", "merging"]


@dataclass(frozen=True)
class Event:
    """A progress report.

    Args:
        stage: "counting", measured in stored bytes of the sources, or "merging", measured in merges.
        done: bytes or merges so far.
        total: the number of bytes or merges in all; None if unknown.
        seconds: since the stage began.
        merge: the last merge learned; None while counting.
        count: how often the pair of that merge occurred.
    """

    stage: Stage
    done: int
    total: int | None
    seconds: float
    merge: tuple[bytes, bytes] | None = None
    count: int | None = None


Listener = Callable[[Event], object]


class Progress:
    """Show a stage as a bar with its rate and remaining time, and notify a listener.

    Args:
        stage: the name of the stage.
        total: the amount of work, None if unknown.
        done: the amount of work already done.
        show: whether to show a bar on standard error.
        listener: called with each event; its exceptions propagate.
    """

    def __init__(
        self, stage: Stage, total: int | None, *, done: int = 0, show: bool = False, listener: Listener | None = None
    ) -> None:
        self.total, self.done = total, done
        self._stage, self._listener = stage, listener
        self._began = time.monotonic()
        unit = "B" if stage == "counting" else "merge"
        self._bar: tqdm[Any] = tqdm(
            total=total, initial=done, desc=stage.capitalize(), unit=unit, unit_scale=unit == "B", disable=not show
        )

    def show(self, done: int, merge: tuple[bytes, bytes] | None = None, count: int | None = None) -> None:
        """Report the amount of work done in all."""
        if merge is not None and not self._bar.disable:
            self._bar.set_postfix_str(f"{b''.join(merge).decode(errors='replace')!r} × {count}", refresh=False)
        self._bar.update(done - self.done)
        self.done = done
        if self._listener is not None:
            seconds = time.monotonic() - self._began
            self._listener(Event(self._stage, done, self.total, seconds, merge, count))

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()
