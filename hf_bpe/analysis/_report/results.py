"""The results of reports and comparisons as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hf_bpe._utils.cached_property import cached_property
from hf_bpe._utils.visible import plain
from hf_bpe.analysis._report.figures import CompressionCurve, Figures, histogram, whole
from hf_bpe.analysis._report.measuring import UNNAMED, Sums
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._merge_trees import unreachable

if TYPE_CHECKING:
    from hf_bpe.analysis._merge_tree import MergeTree

_LISTED = 12
_MAX_SCRIPTS = 12
_NAMED = 4  # tokenizers in a title


@dataclass(frozen=True)
class Token:
    """A token in a list.

    Attributes:
        id: the id.
        text: its visible form, as in `hf_bpe.analysis.show`: a space as `·`, bytes of partial characters as `<e4>`.
        bytes: number of bytes.
        count: number of occurrences.
    """

    id: int
    text: str
    bytes: int
    count: float


@dataclass(frozen=True, eq=False, repr=False)
class ReportValues:
    """The figures of a tokenizer for texts.

    Attributes:
        name: the name of the tokenizer.
        model: the model of the tokenizer.
        size: number of tokens, with those that were added to the model's.
        total: the figures of all texts.
        groups: the figures of each group of texts.
        scripts: the figures of pre-tokens by the script of their first letter, the commonest first.
        reference: the references of the parities, for groups and for scripts.
        usage: how often each token occurs, in the order of the ids.
        unknown: number of bytes without a token; each counts as a token.
        compression_curve: compression by vocabulary size; None if `why_no_compression_curve` gives a reason.
        compression_curves: compression curve of each group.
        date: the day of the measurement, in ISO form.
        files: the sizes of the files that were read, by their names.
        text_digest: a digest of the text as the tokenizer splits it: equal digests mean equal text.
        trees: the requested merge trees.
    """

    name: str
    model: BPEModel
    size: int
    total: Figures
    groups: tuple[Figures, ...]
    scripts: tuple[Figures, ...]
    reference: tuple[str, str]
    usage: Sums
    unknown: float
    compression_curve: CompressionCurve | None
    compression_curves: Mapping[str, CompressionCurve]
    why_no_compression_curve: str
    date: str
    files: Mapping[str, int]
    text_digest: str
    trees: tuple[MergeTree, ...] = ()

    @property
    def reports(self) -> tuple[ReportValues, ...]:
        """This report, as a comparison has several."""
        return (self,)

    @property
    def title(self) -> str:
        """The title of the report."""
        return f"Tokenizer report: {self.name}"

    @property
    def citation(self) -> str:
        """The main figures with the signature of the model and a digest of the text, in one line for a paper."""
        total = self.total
        ratios = {"bytes per token": total.bytes_per_token, "tokens per word": total.tokens_per_word}
        figures = ", ".join(f"{value:.3f} {name}" for name, value in ratios.items() if value is not None)
        return f"{self.name}: {figures} [{self.model.signature}|text={self.text_digest}]"

    @cached_property
    def unreachable(self) -> tuple[Token, ...]:
        """The tokens that never occur, except as whole pre-tokens if the model has `ignore_merges`."""
        return tuple(self.token(token_id) for token_id in unreachable(self.model))

    @cached_property
    def never_used(self) -> tuple[Token, ...]:
        """The tokens that do not occur, without special tokens, in the order of the ids."""
        return tuple(self.token(token_id) for token_id in self._ordinary if self._counts[token_id] == 0)

    @cached_property
    def most_used(self) -> tuple[Token, ...]:
        """The tokens that occur most often, the commonest first."""
        return tuple(map(self.token, sorted(self._ordinary, key=self._by_use)[:_LISTED]))

    @cached_property
    def longest(self) -> tuple[Token, ...]:
        """The longest tokens in bytes, the longest first."""
        longest = sorted(self._ordinary, key=lambda token_id: (-len(self.model.vocab[token_id]), token_id))
        return tuple(map(self.token, longest[:_LISTED]))

    @cached_property
    def lengths_in_vocabulary(self) -> dict[int, float]:
        """Length in bytes → number of tokens of this length, without special tokens."""
        lengths = [len(self.model.vocab[token_id]) for token_id in self._ordinary]
        return histogram(lengths, np.ones(len(lengths)))

    @cached_property
    def lengths_in_text(self) -> dict[int, float]:
        """Length in bytes → number of occurrences of tokens of this length."""
        return histogram(map(len, self.model.vocab.values()), self.usage)

    def token(self, token_id: int) -> Token:
        """Return a token of the model."""
        token = self.model.vocab[token_id]
        return Token(token_id, plain(token), len(token), whole(self._counts[token_id]))

    def as_json(self) -> dict[str, Any]:
        """Return all results as JSON values; long lists of tokens as ids, lengths as a list from 1 byte on."""
        return {
            "name": self.name,
            "vocab_size": self.size,
            "pattern": self.model.pattern,
            "signature": self.model.signature,
            "fingerprint": self.model.fingerprint,
            "text_digest": self.text_digest,
            "citation": self.citation,
            "total": self.total.as_json(),
            "groups": [figures.as_json() for figures in self.groups],
            "scripts": [figures.as_json() for figures in self.scripts],
            "reference": {"groups": self.reference[0], "scripts": self.reference[1]},
            "unknown_bytes": self.unknown,
            "by_vocab_size": [
                {"vocab_size": size, "tokens": whole(self.compression_curve.tokens_at(size))}
                for size in self.compression_curve.sizes()
            ]
            if self.compression_curve
            else None,
            "why_no_compression_curve": self.why_no_compression_curve or None,
            "lengths_in_vocabulary": [*self.lengths_in_vocabulary.values()],
            "lengths_in_text": [*self.lengths_in_text.values()],
            "most_used": [vars(token) for token in self.most_used],
            "longest": [vars(token) for token in self.longest],
            "never_used": [token.id for token in self.never_used],
            "unreachable": [token.id for token in self.unreachable],
            "trees": [*map(str, self.trees)],
        }

    @cached_property
    def _ordinary(self) -> list[int]:
        special = {*self.model.special_ids().values()}
        return [token_id for token_id in self.model.vocab if token_id not in special]

    @cached_property
    def _counts(self) -> dict[int, float]:
        return dict(zip(self.model.vocab, self.usage.tolist(), strict=True))

    def _by_use(self, token_id: int) -> tuple[float, int]:
        return -self._counts[token_id], token_id


@dataclass(frozen=True)
class OnlyIn:
    """The tokens that only one of several tokenizers has.

    Attributes:
        name: the name of the tokenizer.
        tokens: number of these tokens, without special tokens.
        share: their share of all tokens of the texts.
        most_used: the commonest of these tokens.
    """

    name: str
    tokens: int
    share: float | None
    most_used: tuple[Token, ...]


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonValues:
    """The figures of several tokenizers for the same texts.

    Attributes:
        reports: the report of each tokenizer, in the given order; their names differ.
    """

    reports: tuple[ReportValues, ...]
    trees: tuple[MergeTree, ...] = field(default=(), init=False)

    @property
    def title(self) -> str:
        """The title of the comparison, with the names of the tokenizers if they are few."""
        names = f"{', '.join(self.names[:-1])} and {self.names[-1]}"
        return f"Tokenizer comparison: {names if len(self.names) <= _NAMED else f'{len(self.names)} tokenizers'}"

    @property
    def names(self) -> list[str]:
        """The names of the tokenizers."""
        return [report.name for report in self.reports]

    @cached_property
    def only_in(self) -> tuple[OnlyIn, ...]:
        """The tokens, compared by their bytes, that only one tokenizer has, for each tokenizer."""
        ordinary = [{report.model.vocab[i] for i in report._ordinary} for report in self.reports]
        entries = []
        for number, report in enumerate(self.reports):
            other_tokens = set().union(*ordinary[:number], *ordinary[number + 1 :])
            alone = [i for i in report._ordinary if report.model.vocab[i] not in other_tokens]
            used = sum(map(report._counts.__getitem__, alone))
            maximum = sorted(alone, key=report._by_use)[:_LISTED]
            share = used / report.total.tokens if report.total.tokens else None
            entries.append(OnlyIn(report.name, len(alone), share, tuple(map(report.token, maximum))))
        return tuple(entries)

    def as_json(self) -> dict[str, Any]:
        """Return all results as JSON values."""
        return {
            "reports": [report.as_json() for report in self.reports],
            "only_in": [
                {**vars(only), "most_used": [vars(token) for token in only.most_used]} for only in self.only_in
            ],
        }


Results = ReportValues | ComparisonValues


def shown_scripts(reports: Sequence[ReportValues]) -> list[list[Figures]]:
    """Return the scripts to show for each report: the commonest of the first report, then the unnamed ones."""
    named = [figures.name for figures in reports[0].scripts if figures.name not in UNNAMED]
    names = [*named[:_MAX_SCRIPTS], *UNNAMED]
    by_name = [{figures.name: figures for figures in report.scripts} for report in reports]
    return [[of[name] for name in names if name in of] for of in by_name]
