"""Summary of a tokenizer file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from hf_bpe.engine._merge_trees import unreachable
from hf_bpe.tokenizer._files.definition import Definition, Format

_SHOWN = 8


@dataclass(frozen=True)
class Inspection:
    """The summary of a tokenizer; it prints as a table, with long lists shortened.

    Attributes:
        format: the name of the format.
        tokens: number of tokens, without added tokens.
        ids: the lowest and the highest id.
        bytes: number of tokens of one byte.
        merges: number of merges.
        pattern: name, expression or "none"; None if the file does not store it.
        normalizer: the normalizer in canonical form, "NFC" or JSON, or None.
        ignore_merges: whether whole pre-tokens that are tokens are not merged.
        drop_missing_bytes: whether bytes without a token are dropped.
        special_tokens: content → id.
        added_tokens: content → id of tokens that are not in the model.
        settings: other arguments for BPETokenizer.
        holes: unused ids below the highest.
        unreachable: id → visible form of a token that no merges make.
        longest: id → visible form of the longest token.
        fingerprint: the fingerprint of the model; None if the pattern is unknown.
        signature: the signature of the model; None if the pattern is unknown.
    """

    format: str
    tokens: int
    ids: tuple[int, int]
    bytes: int
    merges: int
    pattern: str | None
    normalizer: str | None
    ignore_merges: bool
    drop_missing_bytes: bool
    special_tokens: dict[str, int]
    added_tokens: dict[str, int]
    settings: dict[str, Any]
    holes: list[int]
    unreachable: dict[int, str]
    longest: dict[int, str]
    fingerprint: str | None
    signature: str | None

    def as_json(self) -> dict[str, Any]:
        """Return the complete summary as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        rows = {
            "format": self.format,
            "tokens": f"{self.tokens}: {self.bytes} bytes, {len(self.special_tokens)} special ones",
            "ids": f"{self.ids[0]} to {self.ids[1]}",
            "merges": str(self.merges),
            "pattern": self.pattern or "not in the file",
            "normalizer": self.normalizer or "none",
            "ignore_merges": "yes" if self.ignore_merges else "no",
            **({"missing": "dropped"} if self.drop_missing_bytes else {}),
            "special": _some([f"{text!r} {token_id}" for text, token_id in self.special_tokens.items()]),
            "added later": _some([f"{text!r} {token_id}" for text, token_id in self.added_tokens.items()]),
            "settings": _some([f"{name}={value!r:.60}" for name, value in self.settings.items()]),
            "holes": _some(_ranges(self.holes), len(self.holes)),
            "unreachable": _some([f"{token_id} {token}" for token_id, token in self.unreachable.items()]),
            "longest": _some([f"{token_id} {token}" for token_id, token in self.longest.items()]),
            "fingerprint": self.fingerprint or "needs the pattern",
            "signature": self.signature or "needs the pattern",
        }
        return "\n".join(f"{name:<14}{value}" for name, value in rows.items())


def inspect(definition: Definition, format: Format, *, knows_pattern: bool = True) -> Inspection:
    """Summarize the definition that was read from a file.

    Args:
        definition: the definition.
        format: the format of the file.
        knows_pattern: whether the pattern is known; if not, that of the definition is a placeholder.
    """
    model = definition.model
    ids = [*model.vocab] or [-1]
    longest = max(model.vocab, key=lambda token_id: len(model.vocab[token_id]), default=None)
    return Inspection(
        format=format.name,
        tokens=model.vocab_size,
        ids=(ids[0], ids[-1]),
        bytes=sum(len(token) == 1 for token in model.vocab.values()),
        merges=len(model.merges),
        pattern=(model.pattern or "none") if knows_pattern else None,
        normalizer=model.normalizer,
        ignore_merges=model.ignore_merges,
        drop_missing_bytes=model.drop_missing_bytes,
        special_tokens=model.special_ids(),
        added_tokens={token.content: token_id for token_id, token in definition.tokens_added_later.items()},
        settings=definition.json_settings,
        holes=sorted({*range(ids[-1])} - model.vocab.keys() - definition.added_tokens.keys())
        if ids[-1] < 2**24
        else [],
        unreachable={token_id: repr(model.vocab[token_id]) for token_id in unreachable(model)},
        longest={} if longest is None else {longest: repr(model.vocab[longest])},
        fingerprint=model.fingerprint if knows_pattern else None,
        signature=model.signature if knows_pattern else None,
    )


def _ranges(numbers: Sequence[int]) -> list[str]:
    """Return consecutive numbers as ranges."""
    ranges = []
    for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in group]
        ranges.append(str(members[0]) if len(members) == 1 else f"{members[0]} to {members[-1]}")
    return ranges


def _some(parts: Sequence[str], count: int | None = None) -> str:
    """Return the first few parts, and the number of all parts."""
    count = len(parts) if count is None else count
    if not parts:
        return "none"
    shown = ", ".join(parts[:_SHOWN]) + (", …" if len(parts) > _SHOWN else "")
    return f"{count}: {shown}"
