"""Outputs of peers for the same text are compared before any time is worth a look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.job import Job


class Disagreement(Exception):
    """Results differ that have to be equal; the message says where."""


def check_agreement(results: Mapping[Job, tuple[str | None, Any]]) -> list[str]:
    """Check that results agree, and say in sentences what was found.

    Args:
        results: for each job its way with ties (None where there is no such thing) and what came out: a list of merges,
            or name of a text → digest of what came of it. Results on the same subject have to be equal where
            the ties are the same; where they are not, as long.

    Raises:
        Disagreement: they are not.
    """
    subjects: dict[str, dict[Job, tuple[str | None, Any]]] = {}
    for job, result in results.items():
        subjects.setdefault(job.subject, {})[job] = result
    return [sentence for same in subjects.values() for sentence in _check(same)]


def is_part(outcome: Any, whole: Any) -> bool:
    """Return whether a timed run, which may have a part of the texts, gave the same as the run that was compared."""
    if isinstance(outcome, dict):
        return outcome.items() <= whole.items()
    return bool(outcome == whole)


def _check(results: Mapping[Job, tuple[str | None, Any]]) -> list[str]:
    groups: dict[str | None, list[Job]] = {}
    for job, (ties, _) in results.items():
        groups.setdefault(ties, []).append(job)
    outcomes = {job: outcome for job, (_, outcome) in results.items()}
    sentences = []
    for ties, (first, *others) in groups.items():
        for other in others:
            if outcomes[other] != outcomes[first]:
                what = _difference(outcomes[first], outcomes[other])
                both = f"{_name(first)} and {_name(other)}"
                raise Disagreement(f"{_prefix(first, ties)}{both} differ, and must not: {what}")
        peers = list(dict.fromkeys(job.peer for job in groups[ties]))
        found = "give the same" if len(peers) > 1 else "has no peer to compare with, and gives"
        sentences.append(f"{_prefix(first, ties)}{', '.join(peers)} {found} {_size(outcomes[first])}.")

    reference, *rest = (group[0] for group in groups.values())
    for other in rest:
        one, two = outcomes[reference], outcomes[other]
        if len(one) != len(two):
            raise Disagreement(f"{_name(reference)} gives {_size(one)}, {_name(other)} {_size(two)}")
        ties = f"{results[other][0]} ties differ by nature from {results[reference][0]} ties"
        sentences.append(f"{ties}: the first {_common(one, two)} merges are equal.")
    return sentences


def _name(job: Job) -> str:
    return f"{job.contender} ({job.threads} thread{'s' if job.threads > 1 else ''})"


def _prefix(job: Job, ties: str | None) -> str:
    return "".join(f"{part}: " for part in (job.subject, ties and f"{ties} ties") if part)


def _size(outcome: Any) -> str:
    if isinstance(outcome, dict):
        return f"for {len(outcome):,} text{'s' if len(outcome) != 1 else ''}"
    return f"{len(outcome):,} merges"


def _common(one: list[Any], two: list[Any]) -> int:
    """Return how many elements are equal before the first that is not."""
    return next((index for index, (left, right) in enumerate(zip(one, two, strict=False)) if left != right), len(one))


def _difference(one: Any, two: Any) -> str:
    if isinstance(one, dict) and isinstance(two, dict) and one.keys() == two.keys():
        different = [name for name in one if one[name] != two[name]]
        return f"{different[0]} and {len(different) - 1:,} more of {len(one):,}"
    if not isinstance(one, list) or not isinstance(two, list) or len(one) != len(two):
        return f"{_size(one)} and {_size(two)}"
    index = _common(one, two)
    left, right = ([bytes.fromhex(part) for part in merges[index]] for merges in (one, two))
    return f"merge {index + 1} of {len(one):,} is {left} and {right}"
