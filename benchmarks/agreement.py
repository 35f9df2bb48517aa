"""What peers made of the same text is compared before any time is worth a look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.job import Job


class Disagreement(Exception):
    """Results differ that have to be equal; the message says where."""


def compare(results: Mapping[Job, tuple[str | None, Any]]) -> list[str]:
    """Compare results and say in sentences what was found.

    Args:
        results: for each job its way with ties (None where there is no such thing) and what came out: a list of merges
            or a number. Results of the same ties have to be equal; of different ties, as long.

    Raises:
        Disagreement: they are not.
    """
    groups: dict[str | None, list[Job]] = {}
    for job, (ties, _) in results.items():
        groups.setdefault(ties, []).append(job)
    outcomes = {job: outcome for job, (_, outcome) in results.items()}
    sentences = []
    for ties, (first, *others) in groups.items():
        for other in others:
            if outcomes[other] != outcomes[first]:
                what = _difference(outcomes[first], outcomes[other])
                raise Disagreement(f"{_name(first)} and {_name(other)} differ, and must not: {what}")
        peers = list(dict.fromkeys(job.peer for job in groups[ties]))
        found = "give the same" if len(peers) > 1 else "has no peer to compare with, and gives"
        sentences.append(f"{_prefix(ties)}{', '.join(peers)} {found} {_size(outcomes[first])}.")

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


def _prefix(ties: str | None) -> str:
    return "" if ties is None else f"{ties} ties: "


def _size(outcome: Any) -> str:
    return f"{len(outcome):,} merges" if isinstance(outcome, list) else f"{outcome:,} pre-tokens"


def _common(one: list[Any], two: list[Any]) -> int:
    """Return how many elements are equal before the first that is not."""
    return next((index for index, (left, right) in enumerate(zip(one, two, strict=False)) if left != right), len(one))


def _difference(one: Any, two: Any) -> str:
    if not isinstance(one, list) or not isinstance(two, list) or len(one) != len(two):
        return f"{_size(one)} and {_size(two)}"
    index = _common(one, two)
    left, right = ([bytes.fromhex(part) for part in merges[index]] for merges in (one, two))
    return f"merge {index + 1} of {len(one):,} is {left} and {right}"
