"""Learning merges from counts, with a memory check, a checkpoint log and progress."""

from __future__ import annotations

import hashlib
import itertools
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hf_bpe._native_core import native_core, require_core
from hf_bpe._utils.memory import available_bytes, format_bytes, resident_bytes
from hf_bpe._utils.processes import usable_cores
from hf_bpe._utils.progress import Listener, Progress
from hf_bpe._utils.visible import counted
from hf_bpe._utils.work_log import subfolder
from hf_bpe.core._model import Merge
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.pretokenizers._pattern import Pattern
from hf_bpe.reference._options import LearningOptions
from hf_bpe.reference._training_alphabet import TrainingAlphabet
from hf_bpe.training._checkpoint import MergeLog
from hf_bpe.training._dispatch import learn_merges, training_bytes

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LearningSettings:
    """What the stages of a training have in common.

    Attributes:
        options: how pairs are chosen, for unscaled counts.
        initial: merges with lower ranks than the learned ones.
        parts: the pattern by which the initial merges were learned.
        alphabet: the characters to learn from; None for bytes.
        max_memory: limit for the memory of this process, in bytes.
        work_dir: a folder for the checkpoint log, from which training resumes.
        num_workers: threads that apply the initial merges and index pairs, None for one per core.
        show, listener: how progress is shown, see `Progress`.
    """

    options: LearningOptions
    initial: Sequence[Merge]
    parts: Pattern
    alphabet: TrainingAlphabet | None
    max_memory: int | None
    work_dir: Path | None
    num_workers: int | None
    show: bool
    listener: Listener | None


class Learning:
    """A resumable training on counts; a context manager.

    Args:
        settings: what all stages have in common.
        words: the counts to learn from.
        first: the merges of the stage before.
        name: the name of the stage's work folder in that of the training.
        fewer: advice on how to train on less text, None for that on pruning the counts.
        limits: options of this stage.

    Raises:
        ValueError: the folder belongs to another training.
        BlockingIOError: another process uses the folder.
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
        self._initial = [*settings.initial, *first]
        self._options = replace(settings.options, **limits).scaled(words.scale)
        alphabet, threads = settings.alphabet, settings.num_workers or usable_cores()
        self._native: dict[str, Any] = {"parts": settings.parts, "threads": threads, "alphabet": alphabet}
        self.merges: list[Merge] = []
        self._log: MergeLog | None = None
        if settings.work_dir is not None:
            digest = hashlib.sha256(repr(self._initial).encode()).hexdigest()
            header = {"counts": words.fingerprint, **self._options.to_json(), "initial": digest}
            if alphabet is not None:
                header["alphabet"] = alphabet.digest
            folder = subfolder(settings.work_dir, name)
            self._log = MergeLog(folder, header, self._initial, None if alphabet is None else alphabet.characters)
            self.merges = [*self._log.merges]

    def __enter__(self) -> Learning:
        return self

    def __exit__(self, *_: object) -> None:
        if self._log is not None:
            self._log.close()

    def learn(self, number: int) -> list[Merge]:
        """Return the first `number` merges, or fewer if there are no more.

        Raises:
            MemoryError: there is too little memory; the message says how much is needed.
            OverflowError, ValueError: the counts or words are too large to learn from.
        """
        if number > len(self.merges):
            self._check_memory(number)
            self._resume(number)
        return self.merges[:number]

    def _resume(self, number: int) -> None:
        learned, show, listener = len(self.merges), self._settings.show, self._settings.listener
        if learned:
            logger.info("learned before: %s", counted(learned, "merge"))
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
                    max_merges=number - learned,
                    initial=[*self._initial, *self.merges],
                    progress=note if is_heard else None,
                    **self._native,
                )
            finally:
                if self._log is not None:
                    self._log.write()

    def _check_memory(self, number: int) -> None:
        """Log how much memory training takes, and raise a MemoryError if there is less.

        Without the native core this is not known, so nothing is said and a limit is refused.
        """
        max_memory = self._settings.max_memory
        if native_core() is None:
            if max_memory is not None:
                require_core("limits of memory")
            return
        first = [*self._initial, *self.merges]
        needed = training_bytes(self._words, len(self._initial) + number, first, **self._native)
        there = available_bytes() if max_memory is None else max_memory - resident_bytes()
        words = counted(len(self._words), "distinct pre-token")
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
