"""Reports of how well tokenizers fit texts: `report` and `compare`, and what they return."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hf_bpe._native_core import require_core
from hf_bpe._utils.arguments import check_sequence, checked, optional
from hf_bpe._utils.files import write_atomically
from hf_bpe._utils.paths import check_output
from hf_bpe._utils.processes import default_threads
from hf_bpe.analysis._merge_tree import merge_tree
from hf_bpe.analysis._report.contents import contents
from hf_bpe.analysis._report.figures import Figures, compression_curves, whole, why_no_curve, with_parity
from hf_bpe.analysis._report.measuring import (
    BYTES,
    LATIN,
    SCRIPTS,
    TOKENS,
    UNNAMED,
    Measure,
    Texts,
    Totals,
    count_group,
    group_texts,
    measure,
    sizes_of_files,
)
from hf_bpe.analysis._report.page import fragment, page
from hf_bpe.analysis._report.results import ComparisonValues, ReportValues, Results
from hf_bpe.analysis._report.tables import AsRich, as_text
from hf_bpe.analysis._tokenizers import AnyTokenizer, as_pipeline
from hf_bpe.core._model import BPEModel
from hf_bpe.core._provenance import short_digest
from hf_bpe.counting._count import CountingKeywords

if TYPE_CHECKING:
    from rich.console import RenderableType


class _Rendered:
    """The renderings of results, the same for a report and a comparison."""

    @property
    def _results(self) -> Results:
        assert isinstance(self, Results)
        return self

    def to_html(self, path: str | os.PathLike[str] | None = None, *, command: str = "") -> str:
        """Return a self-contained HTML page with charts.

        Args:
            path: a file to write the page to, atomically.
            command: the command that made the results, to show at the end of the page.

        Raises:
            ValueError: the path is a URL.
            OSError: the file cannot be written.
        """
        path, html = optional(check_output)("path", path), page(self._results, command)
        if path is not None:
            write_atomically(Path(path), html)
        return html

    def _repr_html_(self) -> str:
        return fragment(self._results)

    def __rich__(self) -> RenderableType:
        return AsRich(contents(self._results))

    def __str__(self) -> str:
        return as_text(contents(self._results))


@dataclass(frozen=True, eq=False, repr=False)
class Report(_Rendered, ReportValues):
    __doc__ = ReportValues.__doc__

    def __repr__(self) -> str:
        compression = self.total.bytes_per_token
        shown = "None" if compression is None else f"{compression:.3f}"
        return f"Report(name={self.name!r}, tokens={self.total.tokens}, bytes_per_token={shown})"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(_Rendered, ComparisonValues):
    __doc__ = ComparisonValues.__doc__

    def __repr__(self) -> str:
        return f"Comparison({', '.join(map(repr, self.reports))})"


def report(
    tokenizer: AnyTokenizer,
    texts: Texts | Mapping[str, Texts],
    *,
    name: str | None = None,
    reference: str | None = None,
    trees_of: Iterable[int | str | bytes] = (),
    num_workers: int | None = None,
    max_memory: int | str | None = None,
    show_progress: bool = False,
) -> Report:
    """Report how well a tokenizer fits texts.

    Text is split at the special tokens, which count neither as text nor as tokens. If the tokenizer normalizes text,
    all figures are of normalized text. Additions such as a prefix space or `bos_token` are left out.

    Args:
        tokenizer: as in `hf_bpe.analysis.show`.
        texts: any input of `hf_bpe.train`: paths, globs, directories, URLs, `Source` objects, an iterable of texts, or
            `WordCounts` with the pattern of the tokenizer. A mapping gives a name to each group of texts; up to forty
            files are one group each by default.
        name: the name of the tokenizer; None for the name of its folder.
        reference: the group that parities are relative to, None for the first. Parity is the number of tokens per
            character divided by that of the reference: above 1, the group takes more. Among scripts the reference is
            Latin, or the commonest if there is no Latin.
        trees_of: tokens whose merge trees to show, in any form that `hf_bpe.analysis.merge_tree` takes.
        num_workers, max_memory, show_progress: as in `hf_bpe.count`.

    Raises:
        OSError, TypeError, ValueError: a text cannot be read.
        ValueError: the counts have another pattern, the reference is not a group, or a token does not exist.

    >>> from hf_bpe import train
    >>> model = train(["low low lower lowest"], vocab_size=259)
    >>> found = report(model, {"trained on": ["low low lower lowest"], "other": ["new newest"]})
    >>> found
    Report(name='model', tokens=19, bytes_per_token=1.579)
    >>> [(group.name, group.tokens_per_word, round(group.parity, 2)) for group in found.groups]
    [('trained on', 2.25, 1.0), ('other', 5.0, 2.22)]
    >>> found.compression_curve.tokens_at(256)
    30.0
    """
    trees = tuple(merge_tree(tokenizer, token) for token in trees_of)
    options = CountingKeywords(num_workers=num_workers, max_memory=max_memory, show_progress=show_progress)
    require_core("reports")
    name = _name(tokenizer) if name is None else name
    [result] = _reports([(name, tokenizer)], texts, reference, options)
    return replace(result, trees=trees)


def _check_tokenizers(name: str, value: object) -> object:
    expected = "a list of tokenizers, as in compare([a, b], texts), or a dict that gives them names"
    return value if isinstance(value, Mapping) else check_sequence(name, value, expected)


@checked(tokenizers=_check_tokenizers)
def compare(
    tokenizers: Sequence[AnyTokenizer] | Mapping[str, AnyTokenizer],
    texts: Texts | Mapping[str, Texts],
    *,
    reference: str | None = None,
    num_workers: int | None = None,
    max_memory: int | str | None = None,
    show_progress: bool = False,
) -> Comparison:
    """Compare how well two or more tokenizers fit the same texts.

    Text is split at the special tokens of all tokenizers, so that all encode the same bytes. Texts are read once for
    each pattern.

    Args:
        tokenizers: two or more; a mapping gives them names.
        texts, reference, num_workers, max_memory, show_progress: as in `report`.

    Raises:
        ValueError: there are fewer than two tokenizers, or texts can be read only once but the tokenizers have several
            patterns.
        OSError, TypeError, ValueError: see `report`.

    >>> from hf_bpe import train
    >>> text = ["low low lower lowest"]
    >>> small, large = train(text, vocab_size=[257, 259])
    >>> found = compare({"small": small, "large": large}, text)
    >>> [(report.name, report.total.tokens) for report in found.reports]
    [('small', 16), ('large', 9)]
    """
    if isinstance(tokenizers, Mapping):
        named = [(str(name), each) for name, each in tokenizers.items()]
    else:
        named = [*zip(_unique_names(map(_name, tokenizers)), tokenizers, strict=True)]
    if len(named) < 2:
        raise ValueError(f"tokenizers: expected two or more to compare, got {len(named)}")
    options = CountingKeywords(num_workers=num_workers, max_memory=max_memory, show_progress=show_progress)
    require_core("reports")
    return Comparison(tuple(_reports(named, texts, reference, options)))


def _name(tokenizer: AnyTokenizer) -> str:
    path = Path(getattr(tokenizer, "name_or_path", ""))
    return path.name or ("model" if isinstance(tokenizer, BPEModel) else "tokenizer")


def _reports(
    tokenizers: Sequence[tuple[str, AnyTokenizer]],
    texts: Texts | Mapping[str, Texts],
    reference: str | None,
    options: CountingKeywords,
) -> list[Report]:
    pipelines = [as_pipeline(tokenizer) for _, tokenizer in tokenizers]
    added = (token for pipeline in pipelines for token in pipeline.added_tokens.values())
    specials = [*dict.fromkeys(each.content for each in added if each.special and len(each.content.encode()) > 1)]
    groups = group_texts(texts)
    if reference is not None and reference not in groups:
        raise ValueError(f"reference: expected one of {', '.join(map(repr, groups))}, got {reference!r}")
    measures = [Measure(each, groups, options.get("num_workers") or default_threads()) for each in pipelines]
    cuts = [*dict.fromkeys(each.cut for each in measures)]
    for name, group in groups.items():
        for cut, counts in zip(cuts, count_group(name, group, cuts, specials, options), strict=True):
            measure(name, counts, [each for each in measures if each.cut == cut])
    first = next(iter(groups)) if reference is None else reference
    files = sizes_of_files(groups.values())
    return [
        replace(_make_report(measured, first), name=name, files=files)
        for (name, _), measured in zip(tokenizers, measures, strict=True)
    ]


def _make_report(measured: Measure, reference: str) -> Report:
    """Return a report without a name and the files."""
    model = measured.pipeline.model
    has_words = model.pattern is not None
    sums, usage = zip(*measured.totals.values(), strict=True)
    total = Totals(np.sum(sums, axis=0), np.sum(usage, axis=0))
    groups = [Figures.of(group, totals.sums.sum(axis=0), has_words) for group, totals in measured.totals.items()]
    # Ordered by bytes, so that the order does not depend on the tokenizer; unnamed scripts are last.
    used = [number for number in range(len(SCRIPTS)) if total.sums[number, TOKENS] > 0]
    last = {number: place for place, number in enumerate(map(SCRIPTS.index, UNNAMED), start=1)}
    used.sort(key=lambda number: (last.get(number, 0), -total.sums[number, BYTES], number))
    scripts = [Figures.of(SCRIPTS[number], total.sums[number], has_words) for number in used]
    reference_script = SCRIPTS[LATIN if LATIN in used or not used else used[0]]
    curves = compression_curves(
        model, ((each.usage, each.sums[:, BYTES].sum()) for each in (total, *measured.totals.values()))
    )
    return Report(
        name="",
        model=model,
        size=len({*model.vocab, *measured.pipeline.added_tokens}),
        total=Figures.of("all", np.sum(total.sums, axis=0), has_words),
        groups=with_parity(groups, reference),
        scripts=with_parity(scripts, reference_script),
        reference=(reference, reference_script),
        usage=total.usage[:-1],
        unknown=whole(total.usage[-1]),
        compression_curve=curves[0] if curves else None,
        compression_curves=dict(zip(measured.totals, curves[1:], strict=False)),
        why_no_compression_curve=why_no_curve(model),
        date=datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        files={},
        text_digest=short_digest(" ".join(measured.fingerprints).encode()),
    )


def _unique_names(names: Iterable[str]) -> list[str]:
    """Return names, with a number appended to each name that occurs several times."""
    names = [*names]
    return [
        f"{name} {names[: place + 1].count(name)}" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]
