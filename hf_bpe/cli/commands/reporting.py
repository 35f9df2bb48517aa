"""The commands `report` and `compare`: how well tokenizers fit texts, as a table, JSON, or a page with charts."""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hf_bpe import counting
from hf_bpe.cli.messages import say, show_result
from hf_bpe.cli.options import EXAMPLE, Json, argument, option
from hf_bpe.cli.outputs import Force, check_file
from hf_bpe.cli.program import LOOK, command
from hf_bpe.cli.sources import SOURCE_HELP, RunArguments, named_sources, reads_text, refuse_source_options
from hf_bpe.cli.tokenizers import FOLDER_HELP, RankPattern, load, load_several, tokenizer_name

if TYPE_CHECKING:
    from hf_bpe.analysis import Comparison, Report

_GROUP_HELP = "A text source with a group name; a NAME may be given several times. Repeat the option for more."
_COUNTS_HELP = "A counts file with the tokenizer's pattern, instead of text. Repeat the option for more."
_REFERENCE_HELP = "The text that parities are relative to."
_TREE_HELP = "Show the merges of this token, given as text or as in vocab.json. Repeat the option for more."
_HTML_HELP = "Write a page with the table and charts to this file."
_REPORT_EXAMPLE = (
    "hf-bpe report my-tokenizer english.txt code/ --html report.html\n"
    "  hf-bpe report my-tokenizer --group en=flores/eng.txt --group fi=flores/fin.txt"
)
_COMPARE_EXAMPLE = (
    "hf-bpe compare my-tokenizer cl100k_base.tiktoken --on english.txt --on code/\n"
    "  hf-bpe compare small large --group en='en/*.txt' --group fi='fi/*.txt' --html sizes.html"
)

_Groups = Annotated[list[str] | None, option(_GROUP_HELP, "--group", metavar="NAME=SOURCE")]
_Counts = Annotated[list[Path] | None, option(_COUNTS_HELP, metavar="FILE")]
_Reference = Annotated[str | None, option(_REFERENCE_HELP, metavar="NAME", show_default="the first")]
_Html = Annotated[Path | None, option(_HTML_HELP, "--html", metavar="FILE")]


@command(group=LOOK, epilog=EXAMPLE + _REPORT_EXAMPLE)
@reads_text(counts=False)
def report(
    *,
    context: typer.Context,
    folder: Annotated[str, argument("FOLDER", FOLDER_HELP)],
    sources: Annotated[list[str] | None, argument("SOURCE", SOURCE_HELP, show_default=False)] = None,
    group: _Groups = None,
    counts: _Counts = None,
    reference: _Reference = None,
    tree: Annotated[list[str] | None, option(_TREE_HELP, metavar="TOKEN")] = None,
    as_json: Json = False,
    html: _Html = None,
    pattern: RankPattern = "auto",
    force: Force = False,
    run_arguments: RunArguments,
) -> None:
    """Measure how well a tokenizer fits texts.

    The report has compression, fertility and parity by text, script and vocabulary size. Two to forty files are one
    group each. docs/how-to/see-and-measure.md explains the figures.
    """
    from hf_bpe.analysis import report as report_on

    check_file(html, force)
    tokenizer = load(folder, pattern)
    with _texts(context, sources or [], group or [], counts or [], "SOURCE") as texts:
        results = report_on(
            tokenizer,
            texts,
            name=tokenizer_name(folder),
            reference=reference,
            trees_of=tree or (),
            **run_arguments,
        )
    _show(results, as_json, html)


@command(group=LOOK, epilog=EXAMPLE + _COMPARE_EXAMPLE)
@reads_text(counts=False)
def compare(
    *,
    context: typer.Context,
    folders: Annotated[list[str], argument("FOLDER", f"Two or more. {FOLDER_HELP}")],
    on: Annotated[list[str] | None, option(SOURCE_HELP, metavar="SOURCE")] = None,
    group: _Groups = None,
    counts: _Counts = None,
    reference: _Reference = None,
    as_json: Json = False,
    html: _Html = None,
    pattern: RankPattern = "auto",
    force: Force = False,
    run_arguments: RunArguments,
) -> None:
    """Compare how well tokenizers fit the same texts.

    The tokens that only one of them has are listed.
    """
    from hf_bpe.analysis import compare as compared

    check_file(html, force)
    tokenizers = load_several(folders, pattern)
    with _texts(context, on or [], group or [], counts or [], "--on SOURCE") as texts:
        results = compared(tokenizers, texts, reference=reference, **run_arguments)
    _show(results, as_json, html)


@contextlib.contextmanager
def _texts(
    context: typer.Context, sources: Sequence[str], groups: Sequence[str], counts: Sequence[Path], asked: str
) -> Iterator[Any]:
    """Yield the texts that a command line names, with group names if there are any."""
    if not sources and not groups and not counts:
        raise typer.BadParameter(f"expected text: {asked}, --group or --counts", param_hint=f"'{asked.split()[0]}'")
    if not sources and not groups:
        refuse_source_options(context)
    named = [name.partition("=") for name in groups]
    for (name, equals, source), value in zip(named, groups, strict=True):
        if not name or not equals or not source:
            raise typer.BadParameter(f"expected NAME=SOURCE, got {value!r}", param_hint="'--group'")
    with named_sources(context, [*sources, *(source for _, _, source in named)]) as resolved:
        if not named and not counts:
            yield resolved
            return
        texts: dict[str, Any] = {}
        for name, text in zip([*sources, *(name for name, _, _ in named)], resolved, strict=True):
            texts.setdefault(name, []).append(text)
        for path in counts:
            if path.name in texts:
                raise typer.BadParameter(f"{path.name!r} is already the name of another text", param_hint="'--counts'")
            texts[path.name] = counting.WordCounts.load(path)
        yield texts


def _show(results: Report | Comparison, as_json: bool, html: Path | None) -> None:
    if html is not None:
        results.to_html(html, command=shlex.join(["hf-bpe", *sys.argv[1:]]))
        say(f"saved in {html}")
    if as_json:
        show_result(json.dumps(results.as_json(), indent=2))
    elif html is None and sys.stdout.isatty():
        from rich.console import Console

        Console().print(results)
    elif html is None:
        sys.stdout.buffer.write(f"{results}\n".encode())
        sys.stdout.buffer.flush()
