"""Summary of a tokenizer file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any

from hf_bpe._utils.visible import with_noun
from hf_bpe.encoding._merge_trees import unreachable
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._format import Format
from hf_bpe.formats._segments import special_tokens_of_merges
from hf_bpe.pretokenizers._native_splitting import splits_natively
from hf_bpe.pretokenizers._pattern import Pattern
from hf_bpe.pretokenizers._stages import Split

SAME, SAME_IN_TEXT, OTHER_IDS = "same", "same in text, other special tokens added", "other"
"""How the ids of AutoTokenizer compare with those of `tokenizer.json`."""

_SHOWN = 8
_MAX_WIDTH = 60  # characters of a value
_WIDTH = 16


@dataclass(frozen=True)
class AutoTokenizerChoice:
    """The result of AutoTokenizer for a folder."""

    loads: str | None  # the class; None if it fails
    error: str | None
    files: list[str]  # of the vocabulary that this class reads
    tokenizer_class: str | None  # the class that tokenizer_config.json names, or config.json
    model_type: str | None  # of config.json
    is_overruled: bool  # transformers ignores `tokenizer_class` for this type of model, as known to be wrong
    has_code: bool  # the folder names code of its own (`auto_map`), which is not run here
    # How they compare with those of tokenizer.json; None if there is no tokenizer or no such file that `tokenizers`
    # reads, or if its normalizer could take all memory.
    ids: str | None = None
    mismatch: str | None = None  # the first text with other ids

    def rows(self) -> dict[str, str]:
        """Return the rows of a table for people."""
        why = [f"tokenizer_class {self.tokenizer_class}"] if self.tokenizer_class else []
        why += [f"model_type {self.model_type}"] if self.model_type else []
        why += ["which overrules tokenizer_class"] if self.is_overruled else []
        why += ["code of the folder not run"] if self.has_code else []
        loads = f"{self.loads} from {', '.join(self.files) or 'no file of a vocabulary'}"
        rows = {
            "AutoTokenizer": (loads if self.loads else f"fails: {self.error}") + f" ({', '.join(why) or 'no class'})"
        }
        if self.ids is not None:
            shown = {SAME: "those of tokenizer.json", SAME_IN_TEXT: "those of tokenizer.json, but other special tokens"}
            mismatch = "" if self.mismatch is None else ": " + self.mismatch.replace("\n", ";")
            rows["its ids"] = shown.get(self.ids, "not those of tokenizer.json") + mismatch
        return rows


@dataclass(frozen=True)
class Inspection:
    """The summary of a tokenizer; it prints as a table, with long lists shortened.

    Attributes:
        format: the name of the format.
        tokens: number of tokens, with those added later, as `len` of the tokenizer.
        ids: the lowest and the highest id.
        bytes: number of tokens of one byte.
        merges: number of merges.
        pattern: name, expression, JSON of a chain, or "none"; None if the file does not store it.
        splits_natively: whether the native core splits text by this pattern; None if it is not known.
        normalizer: the normalizer in canonical form, "NFC" or JSON, or None.
        ignore_merges: whether whole pre-tokens that are tokens are not merged.
        drop_missing_bytes: whether bytes without a token are dropped.
        missing_bytes: the bytes without a token.
        special_tokens: content → id.
        added_tokens: content → id of tokens that are not in the model.
        given_by_text: content → id of special tokens that ordinary text gives, too, even with `split_special_tokens`.
        template: the special tokens that are added to sequences, or None.
        settings: other arguments for BPETokenizer.
        gaps: unused ids below the highest.
        unreachable: id → visible form of a token that no merges make.
        longest: id → visible form of the longest token.
        fingerprint: the fingerprint of the model; None if the pattern is unknown.
        signature: the signature of the model; None if the pattern is unknown.
        contradictions: what other files of the folder say differently.
        auto_tokenizer: what AutoTokenizer loads from the folder; None for a file.
    """

    format: str
    tokens: int
    ids: tuple[int, int]
    bytes: int
    merges: int
    pattern: str | None
    splits_natively: bool | None
    normalizer: str | None
    ignore_merges: bool
    drop_missing_bytes: bool
    missing_bytes: list[int]
    special_tokens: dict[str, int]
    added_tokens: dict[str, int]
    given_by_text: dict[str, int]
    template: str | None
    settings: dict[str, Any]
    gaps: list[int]
    unreachable: dict[int, str]
    longest: dict[int, str]
    fingerprint: str | None
    signature: str | None
    contradictions: list[str] = field(default_factory=list)
    auto_tokenizer: AutoTokenizerChoice | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the complete summary as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        missing = _some([f"{start:02x}" for start in self.missing_bytes])
        dropped = "dropped" if self.drop_missing_bytes else "refused unless there is an unk_token"
        rows = {
            "format": self.format,
            "tokens": f"{self.tokens}: {self.bytes} bytes, {with_noun(len(self.special_tokens), 'special token')}"
            + (f", {len(self.added_tokens):,} added later" if self.added_tokens else ""),
            "ids": f"{self.ids[0]} to {self.ids[1]}",
            "merges": str(self.merges),
            "pattern": _shown(self.pattern) if self.pattern else "not in the file",
            "splits": {None: "needs the pattern", True: "natively", False: "in Python"}[self.splits_natively],
            "normalizer": self.normalizer or "none",
            "ignore_merges": "yes" if self.ignore_merges else "no",
            **({"missing bytes": f"{missing}, {dropped}"} if self.missing_bytes else {}),
            "special": _named(self.special_tokens),
            "added later": _named(self.added_tokens),
            **({"given by text": f"{_named(self.given_by_text)}; use encode_segments"} if self.given_by_text else {}),
            "template": self.template or "none",
            "settings": _some([f"{name}={_short(value)}" for name, value in self.settings.items()]),
            "gaps": _some(_ranges(self.gaps), len(self.gaps)),
            "unreachable": _some([f"{token_id} {token}" for token_id, token in self.unreachable.items()]),
            "longest": _some([f"{token_id} {token}" for token_id, token in self.longest.items()]),
            "fingerprint": self.fingerprint or "needs the pattern",
            "signature": self.signature or "needs the pattern",
        }
        if self.auto_tokenizer is not None:
            rows |= self.auto_tokenizer.rows()
            rows["contradictions"] = _some(self.contradictions, separator="; ")
        return as_table(rows)


@dataclass(frozen=True)
class Refusal:
    """A folder that hf_bpe refuses, and what AutoTokenizer loads from it; see `Inspection`."""

    refused: str  # the reason
    contradictions: list[str]
    auto_tokenizer: AutoTokenizerChoice

    def as_json(self) -> dict[str, Any]:
        """Return the complete summary as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        rows = {"refused": " ".join(self.refused.split()), **self.auto_tokenizer.rows()}
        return as_table({**rows, "contradictions": _some(self.contradictions, separator="; ")})


def as_table(rows: Mapping[str, str]) -> str:
    """Return lines of names and values."""
    return "\n".join(f"{name:<{_WIDTH}}{value}" for name, value in rows.items())


def inspect(definition: Definition, format: Format, *, knows_pattern: bool = True) -> Inspection:
    """Summarize the definition that was read from a file.

    Args:
        definition: the definition.
        format: the format of the file.
        knows_pattern: whether the pattern is known; if not, that of the definition is a placeholder.
    """
    model = definition.model
    later = definition.tokens_added_later
    ids = sorted({*model.vocab, *later}) or [-1]
    longest = max(model.vocab, key=lambda token_id: len(model.vocab[token_id]), default=None)
    return Inspection(
        format=format.name,
        tokens=model.vocab_size + len(later),
        ids=(ids[0], ids[-1]),
        bytes=sum(len(token) == 1 for token in model.vocab.values()),
        merges=len(model.merges),
        pattern=(model.pattern or "none") if knows_pattern else None,
        splits_natively=splits_natively(model.pre_tokenizer) if knows_pattern else None,
        normalizer=model.normalizer,
        ignore_merges=model.ignore_merges,
        drop_missing_bytes=model.drop_missing_bytes,
        missing_bytes=sorted({*range(256)} - {token[0] for token in model.vocab.values() if len(token) == 1}),
        special_tokens=model.special_ids(),
        added_tokens={token.content: token_id for token_id, token in later.items()},
        given_by_text={definition.added_tokens[i].content: i for i in sorted(special_tokens_of_merges(definition))},
        template=None if definition.template is None else str(definition.template),
        settings={name: value for name, value in definition.json_settings.items() if name != "template"},
        gaps=sorted({*range(ids[-1])} - model.vocab.keys() - definition.added_tokens.keys()) if ids[-1] < 2**24 else [],
        unreachable={token_id: repr(model.vocab[token_id]) for token_id in unreachable(model)},
        longest={} if longest is None else {longest: repr(model.vocab[longest])},
        fingerprint=model.fingerprint if knows_pattern else None,
        signature=model.signature if knows_pattern else None,
    )


def _shown(canonical: str) -> str:
    """Return a name or an expression as it is, and a chain as its stages in a row."""
    pattern = Pattern(canonical)
    if not pattern.is_chain or pattern.name is not None:
        return canonical
    stages = pattern.chain.stages
    return " → ".join(
        f"Split {_short(stage.expression)}" if isinstance(stage, Split) else repr(stage) for stage in stages
    )


def _short(value: object) -> str:
    """Return the repr of a value, shortened before its last quote or bracket."""
    shown = repr(value)
    return shown if len(shown) <= _MAX_WIDTH else f"{shown[: _MAX_WIDTH - 2]}…{shown[-1]}"


def _named(tokens: Mapping[str, int]) -> str:
    """Return the first few tokens with their ids, and the number of all."""
    return _some([f"{content!r} {token_id}" for content, token_id in tokens.items()])


def _ranges(numbers: Sequence[int]) -> list[str]:
    """Return consecutive numbers as ranges."""
    ranges = []
    for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in group]
        ranges.append(str(members[0]) if len(members) == 1 else f"{members[0]} to {members[-1]}")
    return ranges


def _some(parts: Sequence[str], count: int | None = None, separator: str = ", ") -> str:
    """Return the first few parts, and the number of all parts."""
    count = len(parts) if count is None else count
    if not parts:
        return "none"
    shown = separator.join(parts[:_SHOWN]) + (f"{separator}…" if len(parts) > _SHOWN else "")
    return f"{count}: {shown}"
