"""The commands `count` and `merge-counts`: the step before training, which many machines can share."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from hf_bpe.cli.shared import EXAMPLE, SPLIT, app, argument, option, say
from hf_bpe.cli.sources import (
    SOURCE_HELP,
    WEIGHT_HELP,
    reads_text,
    sources_of,
    weights_of,
)
from hf_bpe.counting._count import count as count_shards
from hf_bpe.counting._sources import plan
from hf_bpe.counting._word_counts import FAN_IN, WordCounts

_SPECIAL_HELP = "Split text at this token, so that nothing is learned across it. Repeat the option for more."
_SHARD_HELP = (
    "Count part I of N, with I from 0 to N-1: every Nth shard of the sources (files, and ranges of large files), "
    "for N jobs on the same files. merge-counts merges the results."
)
_LEAST_HELP = (
    "Drop pre-tokens that occur less often than N: training takes less memory, but merges of rare pairs change."
)
_COUNT_EXAMPLE = (
    "hf-bpe count wikipedia/ 'books/*.jsonl.gz' -o all.counts --special-token '<|endoftext|>'\n"
    "  hf-bpe count wikipedia/ -o parts/7.counts --shard 7/100 --work-dir work/7"
)
_MERGE_EXAMPLE = (
    "hf-bpe merge-counts parts/*.counts -o all.counts\n"
    "  hf-bpe merge-counts en.counts fi.counts -o mixed.counts --weight 0.2 --weight 3"
)
_Output = Annotated[Path, option("The counts file to write.", "--output", "-o", metavar="FILE")]
_Least = Annotated[int, option(_LEAST_HELP, metavar="N", min=1)]
_Top = Annotated[int, option("Print the N commonest pre-tokens with their counts.", metavar="N", min=0)]


@app.command(epilog=EXAMPLE + _COUNT_EXAMPLE)
@reads_text()
def count(
    context: typer.Context,
    sources: Annotated[list[str], argument("SOURCE", SOURCE_HELP)],
    output: _Output,
    special_token: Annotated[list[str] | None, option(_SPECIAL_HELP, metavar="TEXT", show_default="none")] = None,
    pattern: Annotated[str, option(f"How text is split: {SPLIT}", metavar="PATTERN")] = "gpt2",
    shard: Annotated[str, option(_SHARD_HELP, metavar="I/N")] = "0/1",
    min_count: _Least = 1,
    top: _Top = 0,
    **running: Any,
) -> None:
    """Count how often each pre-token occurs in text, and write a counts file for train.

    This is the only step that reads the text. merge-counts merges counts of parts, of other machines or of other days;
    in any order, the result equals that of counting everything at once.
    """
    share = _share(shard)
    _check_file(output)
    with sources_of(context, sources) as text:
        shards = plan(text)
        if shard != "0/1":
            say(f"part {shard} has {len(shards[share])} of {len(shards)} shards")
        counts = count_shards(
            shards[share],
            pattern=pattern,
            special_tokens=special_token or [],
            **running,
        )
    _save(counts, output, min_count, top)


@app.command(epilog=EXAMPLE + _MERGE_EXAMPLE)
def merge_counts(
    files: Annotated[list[str], argument("FILE", "Counts files with the same pattern and special tokens.")],
    output: _Output,
    weight: Annotated[list[str] | None, option(WEIGHT_HELP.format("file"), metavar="X", show_default="1 each")] = None,
    min_count: _Least = 1,
    top: _Top = 0,
) -> None:
    """Merge counts files into one, each with an optional weight, without reading text again."""
    _check_file(output)
    weights = weights_of(weight, len(files))
    merged: WordCounts | None = None
    for start in range(0, len(files), FAN_IN):  # there may be more files than a process may open
        counts = [*_load(files[start : start + FAN_IN], merged)]
        factors: list[object] = [*weights[start : start + FAN_IN]]
        if merged is not None:
            counts, factors = [merged, *counts], [1, *factors]
        merged = counts[0].merge(*counts[1:], weights=factors)
    assert merged is not None
    _save(merged, output, min_count, top)


def _load(files: Sequence[str], first: WordCounts | None) -> Iterator[WordCounts]:
    """Yield the counts of files, which must have the settings of the first."""
    for file in files:
        counts = WordCounts.load(file)
        first = first or counts
        try:
            first.settings.check_same(counts.settings)
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None
        yield counts


def _save(counts: WordCounts, output: Path, min_count: int, top: int) -> None:
    if min_count > 1:
        whole, counts = counts, counts.prune(min_count)
        say(f"dropped {len(whole) - len(counts)} of {len(whole)} distinct pre-tokens")
    counts.save(output)
    for word, number in counts.top(top):
        line = f"{_number(number, counts.scale)}\t{word.decode(errors='backslashreplace')!r}\n"
        sys.stdout.buffer.write(line.encode())
    sys.stdout.buffer.flush()
    total = _number(counts.total, counts.scale)
    say(f"{len(counts)} distinct pre-tokens, {total} in all, saved in {output}; fingerprint {counts.fingerprint[:12]}")


def _number(count: int, scale: int) -> str:
    return str(count // scale) if count % scale == 0 else f"{count / scale:.3f}"


def _share(text: str) -> slice:
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    if match is None or int(match[1]) >= int(match[2]):
        raise typer.BadParameter(f"expected I/N, from 0/N to N-1/N, got {text!r}", param_hint="'--shard'")
    return slice(int(match[1]), None, int(match[2]))


def _check_file(output: Path) -> None:
    if output.is_dir():  # fail now rather than after hours
        raise IsADirectoryError(f"{output} is a folder; expected the name of a file to write")
