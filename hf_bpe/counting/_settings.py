"""The text that counts were made of: the settings by which it was split, and the amount of each source."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hf_bpe.core._checks import check_special_tokens
from hf_bpe.encoding._cuts.safe import SafeCuts, safe_cuts
from hf_bpe.pretokenizers._pattern import UNICODE_VERSION, AnyPattern, Pattern


@dataclass(frozen=True)
class CountSettings:
    """The settings that decide the words; only counts with equal settings can be merged."""

    pattern: Pattern
    special_tokens: tuple[str, ...] = ()
    unicode: str = UNICODE_VERSION

    @classmethod
    def checked(cls, pattern: AnyPattern, special_tokens: Iterable[str]) -> CountSettings:
        """Return validated settings; raise TypeError or ValueError like `train`."""
        return cls(Pattern.parse(pattern), tuple(check_special_tokens(special_tokens)))

    @property
    def cuts(self) -> SafeCuts:
        """The places where text can be cut without changing a word."""
        return safe_cuts(self.pattern, self.special_tokens)

    def check_same(self, other: CountSettings) -> None:
        """Raise a ValueError that names a difference. The order of special tokens does not matter."""
        mine, its = self.identity(), other.identity()
        for name in mine:
            if mine[name] != its[name]:
                raise ValueError(
                    f"counts with different settings: {name} {mine[name]!r:.240} and {its[name]!r:.240}; "
                    "count again with the same settings to merge them"
                )

    def identity(self) -> dict[str, object]:
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
