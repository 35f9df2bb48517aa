"""What is said while something long goes on: a bar for people, events for programs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from tqdm import tqdm

Stage = Literal["counting", "merging"]


@dataclass(frozen=True)
class Event:
    """How far something is.

    Args:
        stage: "counting", of bytes of the sources as they are stored, or "merging", of merges.
        done: bytes or merges so far.
        total: of how many, None if that is not known.
        seconds: since the stage began.
        merge: the last merge learned; None while counting.
        count: how often its pair occurred.
    """

    stage: Stage
    done: int
    total: int | None
    seconds: float
    merge: tuple[bytes, bytes] | None = None
    count: int | None = None


Listener = Callable[[Event], object]


class Progress:
    """Shows a stage in a bar, with its rate and the time that is left, and tells a listener of it.

    Args:
        stage: what goes on.
        total: how much there is to do, None if that is not known.
        done: how much of it is done already.
        show: whether there is a bar, on standard error.
        listener: called with each event; what it raises passes through.
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
        """Say how much is done in all."""
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
