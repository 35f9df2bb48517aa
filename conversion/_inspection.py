"""What a tokenizer file is, in a few lines."""

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
    """What is found; printed it is a table, some of the longer lists cut off.

    Attributes:
        format: the name of the format.
        tokens: number of tokens, those added later not counted.
        ids: the lowest and the highest id.
        bytes: number of tokens of one byte.
        merges: number of merges.
        pattern: name, expression or "none"; None where the file does not say it.
        normalizer: "NFC" or None.
        ignore_merges: whether words that are tokens are not merged.
        drop_missing_bytes: whether bytes that have no token are left out.
        special_tokens: content → id.
        added_tokens: content → id of tokens that are not of the model.
        settings: what else BPETokenizer would be made with.
        holes: ids below the highest that no token has.
        unreachable: id → token that no merges make, as it is printed.
        longest: id → the longest token, as it is printed.
        fingerprint: of the model; None where the pattern is not known.
        signature: of the model; likewise.
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
        """Return all of it, whole, as what JSON can hold."""
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
            "fingerprint": self.fingerprint or "takes the pattern",
            "signature": self.signature or "takes the pattern",
        }
        return "\n".join(f"{name:<14}{value}" for name, value in rows.items())


def inspect(definition: Definition, format: Format, *, knows_pattern: bool = True) -> Inspection:
    """Look at what was read of a file.

    Args:
        definition: what was read.
        format: the format of the file.
        knows_pattern: whether the pattern is known; if not that of the definition means nothing.
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
    """Return the first of some parts, and how many there are in all."""
    count = len(parts) if count is None else count
    if not parts:
        return "none"
    shown = ", ".join(parts[:_SHOWN]) + (", …" if len(parts) > _SHOWN else "")
    return f"{count}: {shown}"
