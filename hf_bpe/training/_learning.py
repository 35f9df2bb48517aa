"""Learning merges from counts, with a memory check, a checkpoint log and progress."""

from __future__ import annotations

import hashlib
import itertools
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from hf_bpe._native_core import native_core, require_core
from hf_bpe._utils.memory import available_bytes, format_bytes, resident_bytes
from hf_bpe._utils.processes import usable_cores
from hf_bpe._utils.progress import Progress
from hf_bpe._utils.visible import with_noun
from hf_bpe._utils.work_log import subfolder
from hf_bpe.core._model import Merge
from hf_bpe.counting._count import CountingOptions
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.reference._options import LearningOptions
from hf_bpe.training._checkpoint import MergeLog
from hf_bpe.training._engine import LearningStart, learn_merges, training_bytes

logger = logging.getLogger(__name__)


class LearningSettings(NamedTuple):
    """Settings that all stages of a training share."""

    options: LearningOptions  # for unscaled counts
    start: LearningStart
    running: CountingOptions


class Learning:
    """A resumable training on counts after the merges of the stage before; a context manager.

    `name` is that of the stage's work folder in the training's, `fewer` advice on how to train on less text, None for
    that on pruning the counts, and `limits` are options of this stage.
    """

    def __init__(
        self,
        settings: LearningSettings,
        words: WordCounts,
        first: Sequence[Merge] = (),
        name: str = "",
        fewer: str | None = None,
        **limits: Any,
    ) -> None:
        self._settings, self._words, self._fewer = settings, words, fewer
        self._initial = [*settings.start.merges, *first]
        self._options = replace(settings.options, **limits).scaled(words.scale)
        self.merges: list[Merge] = []
        self._log: MergeLog | None = None
        if settings.running.work_dir is not None:
            alphabet = settings.start.alphabet
            digest = hashlib.sha256(repr(self._initial).encode()).hexdigest()
            header = {"counts": words.fingerprint, **self._options.to_json(), "initial": digest}
            if alphabet is not None:
                header["alphabet"] = alphabet.digest
            folder = subfolder(Path(settings.running.work_dir), name)
            self._log = MergeLog(folder, header, self._initial, None if alphabet is None else alphabet.characters)
            self.merges = [*self._log.merges]

    def __enter__(self) -> Learning:
        return self

    def __exit__(self, *_: object) -> None:
        if self._log is not None:
            self._log.close()

    def learn(self, number: int) -> list[Merge]:
        """Return the first `number` merges, or fewer if there are no more."""
        if number > len(self.merges):
            self._check_memory(number)
            self._resume(number)
        return self.merges[:number]

    def _resume(self, number: int) -> None:
        running, learned = self._settings.running, len(self.merges)
        show, listener = running.show_progress, running.callback
        if learned:
            logger.info("learned before: %s", with_noun(learned, "merge"))
        with Progress("merging", number, done=learned, show=show, listener=listener) as progress:

            def note(merges: list[Merge], count: int) -> None:
                if not merges:
                    return
                if self._log is not None:
                    self._log.add(merges)
                progress.show(progress.done + len(merges), merges[-1], count)

            is_heard = self._log is not None or show or listener is not None
            try:
                self.merges += learn_merges(
                    self._words,
                    self._options,
                    number - learned,
                    self._start(),
                    note if is_heard else None,
                )
            finally:
                if self._log is not None:
                    self._log.write()

    def _start(self) -> LearningStart:
        threads = self._settings.running.num_workers or usable_cores()
        return replace(self._settings.start, merges=[*self._initial, *self.merges], threads=threads)

    def _check_memory(self, number: int) -> None:
        """Log how much memory training takes, and raise a MemoryError if there is less.

        Without the native core this is not known, so nothing is said and a limit is refused.
        """
        max_memory = self._settings.running.max_bytes
        if native_core() is None:
            if max_memory is not None:
                require_core("limits of memory")
            return
        needed = training_bytes(self._words, len(self._initial) + number, self._start())
        there = available_bytes() if max_memory is None else max_memory - resident_bytes()
        words = with_noun(len(self._words), "distinct pre-token")
        logger.info("learning from %s (up to %s of memory)", words, format_bytes(needed))
        if there is not None and needed > there:
            raise MemoryError(
                f"learning from {words} takes up to {format_bytes(needed)} of memory, there is "
                f"{format_bytes(max(there, 0))}; {self._fewer or self._advice(needed, there)}"
            )

    def _advice(self, needed: int, there: int) -> str:
        """Return advice: the `min_count` with which the words would fit in memory."""
        limits = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
        sizes = dict.fromkeys(limits, 0)
        numbers = dict.fromkeys(limits, 0)
        total = 0
        for word, count in self._words.items():
            total += len(word) + 1
            for limit in itertools.takewhile((count // self._words.scale).__ge__, limits):
                sizes[limit] += len(word) + 1
                numbers[limit] += 1
        for limit, size in sizes.items():
            if size > 0 and size / total * needed <= there:
                return (
                    f"counts.prune({limit}) would leave {numbers[limit]:,} of them, which takes about "
                    f"{format_bytes(int(size / total * needed))}; or train on less text"
                )
        return "train on less text, or on a machine with more memory"
