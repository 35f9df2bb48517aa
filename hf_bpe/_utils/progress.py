"""Progress of long operations: a bar for people, events for programs."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from tqdm import tqdm

Phase = Literal["counting", "merging"]


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

    stage: Phase
    done: int
    total: int | None
    seconds: float
    merge: tuple[bytes, bytes] | None = None
    count: int | None = None


# The first merges are of the most frequent pairs and take much longer than the others, so the remaining time is shown
# after a tenth of them, by the rate of the latest ones.
_WITHOUT_TIME_LEFT = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}, {rate_fmt}{postfix}]"
_LATEST = 0.9

Listener = Callable[[Event], object]


def make_bar(**options: Any) -> tqdm[Any]:
    """Return a bar of tqdm: a widget in a notebook that has ipywidgets, else text on standard error."""
    if "ipykernel" in sys.modules and not options.get("disable"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of ipywidgets that are not installed
            from tqdm.auto import tqdm as widget  # which imports asyncio
        return widget(**options)
    from tqdm import tqdm

    return tqdm(**options)


class Progress:
    """Show a stage as a bar on standard error, and tell a listener each event, whose exceptions propagate."""

    def __init__(
        self, stage: Phase, total: int | None, *, done: int = 0, show: bool = False, listener: Listener | None = None
    ) -> None:
        self.total, self.done = total, done
        self._stage, self._listener = stage, listener
        self._began = time.monotonic()
        if stage == "counting":
            shown: dict[str, Any] = {"unit": "B", "unit_scale": True}
        else:
            shown = {"unit": "merge", "smoothing": _LATEST, "bar_format": _WITHOUT_TIME_LEFT}
        self._bar = make_bar(total=total, initial=done, desc=stage.capitalize(), **shown) if show else None

    def show(self, done: int, merge: tuple[bytes, bytes] | None = None, count: int | None = None) -> None:
        """Report the amount of work done in all."""
        if self._bar is not None:
            if merge is not None:
                self._bar.set_postfix_str(f"{b''.join(merge).decode(errors='replace')!r} × {count}", refresh=False)
            if self._stage == "merging" and self.total and done * 10 >= self.total:
                self._bar.bar_format = None
            self._bar.update(done - self.done)
        self.done = done
        if self._listener is not None:
            seconds = time.monotonic() - self._began
            self._listener(Event(self._stage, done, self.total, seconds, merge, count))

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
