"""Learning merges from counts, with a memory check, a checkpoint log and progress."""

from __future__ import annotations

import hashlib
import itertools
import logging
import os
from collections.abc import Sequence
from typing import Any, TypedDict

from hf_bpe._native_core import native_core, require_core
from hf_bpe._utils.memory import available_bytes, format_bytes, resident_bytes
from hf_bpe._utils.processes import usable_cores
from hf_bpe._utils.progress import Listener, Progress
from hf_bpe._utils.visible import counted
from hf_bpe.core._model import Merge
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.pretokenizers._pattern import Pattern
from hf_bpe.reference._options import LearningOptions
from hf_bpe.reference._training_alphabet import TrainingAlphabet
from hf_bpe.training._checkpoint import MergeLog
from hf_bpe.training._dispatch import learn_merges, training_bytes

logger = logging.getLogger(__name__)


class BarOptions(TypedDict):
    """Settings of the progress bar, as keywords of `Progress`."""

    show: bool
    listener: Listener | None


class Learning:
    """A resumable training on counts; a context manager.

    Args:
        words: the counts to learn from.
        options: how pairs are chosen, for the unscaled counts.
        initial: merges with lower ranks than the learned ones.
        max_memory: limit for the memory of this process, in bytes.
        work_dir: a folder for the checkpoint log, from which training resumes.
        parts: the pattern by which the initial merges were learned.
        alphabet: the characters to learn from; None for bytes.
        num_workers: threads that apply the initial merges and index pairs, None for one per core.
        shown: how progress is shown.
        fewer: advice on how to train on less text, None for that on pruning the counts.

    Raises:
        ValueError: the folder belongs to another training.
        BlockingIOError: another process uses the folder.
    """

    def __init__(
        self,
        words: WordCounts,
        options: LearningOptions,
        initial: Sequence[Merge],
        *,
        max_memory: int | None,
        work_dir: str | os.PathLike[str] | None,
        parts: Pattern,
        alphabet: TrainingAlphabet | None,
        num_workers: int | None,
        shown: BarOptions,
        fewer: str | None = None,
    ) -> None:
        self._words, self._initial, self._shown, self._fewer = words, initial, shown, fewer
        self._native: dict[str, Any] = {
            "parts": parts,
            "threads": num_workers or usable_cores(),
            "alphabet": alphabet,
        }
        self._max_memory, self._options = max_memory, options
        self.merges: list[Merge] = []
        self._log: MergeLog | None = None
        if work_dir is not None:
            digest = hashlib.sha256(repr([*initial]).encode()).hexdigest()
            settings = {"counts": words.fingerprint, **options.to_json(), "initial": digest}
            if alphabet is not None:
                settings["alphabet"] = alphabet.digest
            self._log = MergeLog(work_dir, settings, initial, None if alphabet is None else alphabet.characters)
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
        known = len(self.merges)
        if known:
            logger.info("learned before: %s", counted(known, "merge"))
        with Progress("merging", number, done=known, **self._shown) as progress:

            def note(merges: list[Merge], count: int) -> None:
                if not merges:
                    return
                if self._log is not None:
                    self._log.add(merges)
                progress.show(progress.done + len(merges), merges[-1], count)

            is_heard = self._log is not None or self._shown["show"] or self._shown["listener"] is not None
            try:
                self.merges += learn_merges(
                    self._words,
                    self._options,
                    max_merges=number - known,
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
        if native_core() is None:
            if self._max_memory is not None:
                require_core("limits of memory")
            return
        first = [*self._initial, *self.merges]
        needed = training_bytes(self._words, len(self._initial) + number, first, **self._native)
        there = available_bytes() if self._max_memory is None else self._max_memory - resident_bytes()
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
