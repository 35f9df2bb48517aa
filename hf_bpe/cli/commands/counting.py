"""The commands `count` and `merge-counts`: the step before training, which many machines can share."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hf_bpe import counting
from hf_bpe._utils.paths import output_url
from hf_bpe._utils.visible import with_noun
from hf_bpe.cli.messages import report_done, say
from hf_bpe.cli.options import EXAMPLE, SPLIT, Json, argument, option
from hf_bpe.cli.outputs import Force, check_file, is_resumed
from hf_bpe.cli.program import TRAIN, command
from hf_bpe.cli.sources import (
    SOURCE_HELP,
    WEIGHT_HELP,
    RunArguments,
    check_weights,
    named_sources,
    parse_share,
    reads_text,
)

if TYPE_CHECKING:
    from hf_bpe.counting import WordCounts

_SPECIAL_HELP = "Split text at this token, so that nothing is learned across it. Repeat the option for more."
_SHARD_HELP = (
    "Count part I of N, with I from 0 to N-1: every Nth shard of the sources (files, and ranges of large files), "
    "for N jobs on the same files. merge-counts merges the results."
)
_MIN_HELP = "Drop pre-tokens that occur less often than N: training takes less memory, but merges of rare pairs change."
_COUNT_EXAMPLE = (
    "hf-bpe count book.txt --top 20\n"
    "  hf-bpe count wikipedia/ 'books/*.jsonl.gz' -o all.counts --special-token '<|endoftext|>'\n"
    "  hf-bpe count wikipedia/ -o parts/7.counts --shard 7/100 --work-dir work/7"
)
_MERGE_EXAMPLE = (
    "hf-bpe merge-counts parts/*.counts -o all.counts\n"
    "  hf-bpe merge-counts en.counts fi.counts -o mixed.counts --weight 0.2 --weight 3"
)
_OUTPUT_HELP = "The counts file to write."
_Output = Annotated[Path, option(_OUTPUT_HELP, "--output", "-o", metavar="FILE")]
_OptionalOutput = Annotated[
    Path | None, option(f"{_OUTPUT_HELP} It may be left out with --top or --json.", "--output", "-o", metavar="FILE")
]
_MinCount = Annotated[int, option(_MIN_HELP, metavar="N", min=1)]
_Top = Annotated[int, option("Print the N commonest pre-tokens with their counts.", metavar="N", min=0)]


@command(group=TRAIN, epilog=EXAMPLE + _COUNT_EXAMPLE, loads_tokenizer=False)
@reads_text()
def count(
    *,
    context: typer.Context,
    sources: Annotated[list[str], argument("SOURCE", SOURCE_HELP)],
    output: _OptionalOutput = None,
    special_token: Annotated[list[str] | None, option(_SPECIAL_HELP, metavar="TEXT")] = None,
    pattern: Annotated[str, option(f"How text is split. {SPLIT}", metavar="PATTERN")] = "gpt2",
    shard: Annotated[str, option(_SHARD_HELP, metavar="I/N")] = "0/1",
    min_count: _MinCount = 1,
    top: _Top = 0,
    force: Force = False,
    as_json: Json = False,
    run_arguments: RunArguments,
) -> None:
    """Count the pre-tokens of text, for train.

    The counts file says how often each pre-token occurs. This is the only step that reads the text. merge-counts merges
    counts of parts, of other machines or of other days; in any order, the result equals that of counting everything at
    once.
    """
    from hf_bpe.counting._checkpoint import LOG

    if output is None and not top and not as_json:
        raise typer.BadParameter(
            "give -o FILE to save the counts, or --top N to print the commonest", param_hint="'--output'"
        )
    index, number = parse_share(shard)
    check_file(output, force or is_resumed(run_arguments.get("work_dir"), LOG), urls=True)
    with named_sources(context, sources) as text:
        shards = counting.plan(text)
        share = shards[index::number]
        if shard != "0/1":
            say(f"part {shard} has {len(share):,} of {with_noun(len(shards), 'shard')}")
        counts = counting.count(share, pattern=pattern, special_tokens=special_token or [], **run_arguments)
    _save(counts, output, min_count, top, as_json)


@command(group=TRAIN, epilog=EXAMPLE + _MERGE_EXAMPLE, loads_tokenizer=False)
def merge_counts(
    files: Annotated[list[str], argument("FILE", "Counts files with the same pattern and special tokens.")],
    output: _Output,
    weight: Annotated[list[str] | None, option(WEIGHT_HELP.format("file"), metavar="X", show_default="1 each")] = None,
    min_count: _MinCount = 1,
    top: _Top = 0,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Merge counts files into one, with optional weights.

    No text is read again.
    """
    from hf_bpe.counting._word_counts import FAN_IN

    check_file(output, force, urls=True)
    weights = check_weights(weight, len(files))
    merged: WordCounts | None = None
    for start in range(0, len(files), FAN_IN):  # there may be more files than a process may open
        counts = [*_load(files[start : start + FAN_IN], merged)]
        factors: list[object] = [*weights[start : start + FAN_IN]]
        if merged is not None:
            counts, factors = [merged, *counts], [1, *factors]
        merged = counts[0].merge(*counts[1:], weights=factors)
    assert merged is not None
    _save(merged, output, min_count, top, as_json)


def _load(files: Sequence[str], first: WordCounts | None) -> Iterator[WordCounts]:
    """Yield the counts of files, which must have the settings of the first."""
    for file in files:
        counts = counting.WordCounts.load(file)
        first = first or counts
        try:
            first.settings.check_same(counts.settings)
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None
        yield counts


def _save(counts: WordCounts, output: Path | None, min_count: int, top: int, as_json: bool) -> None:
    if min_count > 1:
        whole, counts = counts, counts.prune(min_count)
        say(f"dropped {len(whole) - len(counts):,} of {with_noun(len(whole), 'distinct pre-token')}")
    if output is not None:
        counts.save(output)
    for word, number in () if as_json else counts.top(top):
        exact, fraction = divmod(number, counts.scale)
        line = f"{f'{number / counts.scale:.3f}' if fraction else exact}\t{word.decode(errors='backslashreplace')!r}\n"
        sys.stdout.buffer.write(line.encode())
    sys.stdout.buffer.flush()
    total = counts.total / counts.scale
    message = f"{with_noun(len(counts), 'distinct pre-token')}, {total:,.{0 if total.is_integer() else 3}f} in all"
    if output is not None:
        message += f", saved in {output_url(output) or output}"
    commonest = [
        {"pre_token": word.decode(errors="backslashreplace"), "count": number / counts.scale}
        for word, number in counts.top(top)
    ]
    file = None if output is None else output_url(output) or str(output)
    values = {"file": file, "distinct": len(counts), "total": total, "top": commonest}
    fingerprint = counts.fingerprint
    report_done(f"{message}; fingerprint {fingerprint[:12]}", {**values, "fingerprint": fingerprint}, as_json)
