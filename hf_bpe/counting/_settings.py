"""The text that counts were made of: the settings by which it was split, and the amount of each source."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hf_bpe._utils.arguments import check_int, check_str
from hf_bpe.core._special_tokens import check_special_tokens
from hf_bpe.counting._sources import exact_weight
from hf_bpe.pretokenizers._pattern import UNICODE_VERSION, AnyPattern, Pattern


@dataclass(frozen=True)
class CountSettings:
    """The settings that decide the words; only counts with equal settings can be merged."""

    pattern: Pattern
    special_tokens: tuple[str, ...]
    unicode: str = UNICODE_VERSION

    @classmethod
    def checked(cls, pattern: AnyPattern, special_tokens: Iterable[str]) -> CountSettings:
        """Return validated settings; raise TypeError or ValueError like `train`."""
        return cls(Pattern.parse(pattern), tuple(check_special_tokens(special_tokens)))

    def check_same(self, other: CountSettings) -> None:
        """Raise a ValueError that names a difference. The order of special tokens does not matter."""
        mine, its = self.identity(), other.identity()
        for name in mine:
            if mine[name] != its[name]:
                raise ValueError(
                    f"counts with different settings: {name} {mine[name]!r:.240} and {its[name]!r:.240}; "
                    "count again with the same settings to merge them"
                )

    def identity(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return {
            "pattern": self.pattern.canonical,
            "special_tokens": sorted(self.special_tokens),
            "unicode": self.unicode,
        }


@dataclass(frozen=True)
class Counted:
    """The amount that was counted from one source."""

    name: str
    weight: str = "1"
    files: int = 0
    bytes: int = 0

    def checked(self) -> Counted:
        """Return the value if its fields are valid, for values read from files."""
        check_str("name", self.name)
        exact_weight(check_str("weight", self.weight))
        check_int("files", self.files, 0)
        check_int("bytes", self.bytes, 0)
        return self
