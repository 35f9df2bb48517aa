"""Normalization of text before it is split, as `tokenizers` does it, with the original places of what comes out.

The normalizers of `tokenizers` do the work, because they are exact by definition; text that they would not change does
not get there. They normalize by Unicode 9.0, Python by a newer version. Normalization of assigned characters is stable,
so text that is normalized for Python is normalized for `tokenizers`.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import regex

from hf_bpe._utils.arguments import short_repr
from hf_bpe._utils.cached_property import cached_property
from hf_bpe._utils.panics import panics_as_errors
from hf_bpe.normalizers._growth import check_growth_of_text, total_growth
from hf_bpe.normalizers._names import Part, parts_of_normalizer

Numbers = npt.NDArray[np.int64]
Alignment = tuple[bytes, Numbers, Numbers]
"""Normalized text, and the begin and end of the original bytes of each of its bytes."""

_Aligned = tuple[bytes, Sequence[int], Sequence[int]]

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
_FORMS = ("NFC", "NFD", "NFKC", "NFKD")
# They normalize a segment, a character with the marks that join it, in the same way wherever it stands.
_LOCAL = (*_FORMS, "Lowercase", "StripAccents")

_NO_SURROGATES = re.compile("[^\ud800-\udfff]+")
_STRETCH = re.compile("[^\ud800-\udfff]+|[\ud800-\udfff]+")
_MAX_KNOWN, _LONGEST_KNOWN = 1 << 14, 8
# Characters that may compose or reorder with preceding ones: marks, vowels and finals of Korean syllables. Nothing
# composes across two segments.
_JOINED = r"\p{M}\u1161-\u1175\u11a8-\u11c2"
# Characters that become such ones by compatibility, and two that `tokenizers` takes for marks. So what any of `_LOCAL`
# makes of another character begins with another character.
_JOINED_LATER = (
    r"\u0e33\u0eb3\u1cf2\u1cf3\u3133\u3135\u3136\u313a-\u313f\u314f-\u3163\uff9e\uff9f\uffa3\uffa5\uffa6\uffaa-\uffaf"
    r"\uffc2-\uffc7\uffca-\uffcf\uffd2-\uffd7\uffda-\uffdc"
)


def to_nfc(text: str) -> str:
    r"""Normalize text to NFC as `tokenizers` does, which is by Unicode 9.0; surrogates stay unchanged.

    >>> to_nfc("e\u0301") == "\xe9"
    True
    """
    return get_normalizer("NFC").apply(text)


@lru_cache(maxsize=64)
def get_normalizer(name: str) -> Normalizer:
    """Return what applies a canonical normalizer."""
    return Normalizer(name)


class Normalizer:
    r"""A canonical normalizer, applied to text.

    Text may have surrogates, which stay as they are; the text between two of them is normalized by itself.

    Attributes:
        is_local: whether a segment of text is normalized in the same way wherever it stands.
        is_nfc: whether it is NFC and nothing else.

    >>> get_normalizer('{"type":"Lowercase"}').apply("LOW \udcff")
    'low \udcff'
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._parts = parts_of_normalizer(name)
        kinds = [part["type"] for part in self._parts]
        # Characters that become a space, each of which is a segment.
        self._replaced = [part["pattern"]["String"] for part in self._parts if _makes_space(part)]
        self.is_local = len(self._replaced) + sum(kind in _LOCAL for kind in kinds) == len(kinds)
        self.is_nfc = kinds == ["NFC"]
        self._only_replaces = len(self._replaced) == len(kinds)
        self._forms: list[Form] = [kind for kind in kinds if kind in _FORMS]
        self._is_forms = len(self._forms) == len(kinds) > 0
        self._lowers = "Lowercase" in kinds
        self._has_expression = any("Regex" in part.get("pattern", ()) for part in self._parts)
        joined = f"[{_JOINED}]" if name == "NFC" else f"[{_JOINED}{_JOINED_LATER}]"
        self._joined = regex.compile(joined)
        self._segment = regex.compile(rf"(?s:.){joined}*+")
        self._part = regex.compile(rf"(?:[\x00-\x7f](?!{joined}))++|(?s:.){joined}*+")
        self._growth = total_growth(self._parts)
        self._known: dict[str, _Aligned] = {}  # the alignments of segments that were needed

    def apply(self, text: str) -> str:
        """Return the normalized text.

        Raises:
            ValueError: `tokenizers` has no defined result, or the text could become longer than 1 GiB.
        """
        if self.is_local and text.isascii():
            return text.lower() if self._lowers else text
        if self._is_forms:
            return self._apply_in_pieces(text, "\n ")
        if self._only_replaces:
            for char in self._replaced:
                text = text.replace(char, " ")
            return text
        return _NO_SURROGATES.sub(lambda match: self._apply(match[0]), text)

    def _apply_in_pieces(self, text: str, separators: str) -> str:
        """Normalize to `_forms` only the lines, and the words of these, that are not normalized yet.

        Each piece begins with the separator before it, with which a segment begins.
        """
        if not separators:
            return _NO_SURROGATES.sub(lambda match: self._apply(match[0]), text)
        separator, finer = separators[0], separators[1:]
        pieces = text.split(separator)
        for number, is_done in enumerate(are_normalized([*pieces], self._forms)):
            if not is_done:
                before = separator if number > 0 else ""
                pieces[number] = self._apply_in_pieces(before + pieces[number], finer)[len(before) :]
        return separator.join(pieces)

    def is_unchanged(self, text: str) -> bool:
        """Say whether text certainly stays as it is, as a whole and cut at any place."""
        if text.isascii():
            return self.is_local and not (self._lowers and text != text.lower())
        if self._replaced and (not self.is_local or any(char in text for char in self._replaced)):
            return False
        if self._only_replaces:
            return True
        # A line that has to be normalized to know takes ten times as long.
        is_forms = len(self._forms) + len(self._replaced) == len(self._parts)
        return is_forms and all(are_normalized(text.split("\n"), self._forms))

    def align(self, text: str) -> Alignment:
        """Return normalized text with the places it comes from, as `tokenizers` gives them.

        A character that is made of several has the place of the first.

        Raises:
            ValueError: see `apply`.
        """
        parts = self._part.findall(text) if self.is_local else _STRETCH.findall(text)
        return _joined((part, self._align_part(part)) for part in parts)

    def align_segments(self, text: str) -> Alignment:
        """Return text that is normalized segment by segment, with its places.

        Unchanged text maps to itself, changed text to its whole segment. Only for what `is_local`.
        """
        data, begins, ends = bytearray(), [], []
        at = 0
        for match in self._segment.finditer(text):
            old, new = utf8(match[0]), utf8(self.apply(match[0]))
            end = at + len(old)
            begins += [*range(at, end)] if old == new else [at] * len(new)
            ends += [*range(at + 1, end + 1)] if old == new else [end] * len(new)
            data += new
            at = end
        return bytes(data), np.array(begins, np.int64), np.array(ends, np.int64)

    def last_segment(self, text: str, limit: int) -> int:
        """Return the beginning of the last segment that begins at `limit` or before, 0 if there is none."""
        at = max(limit, 0)
        while at > 0 and self._joined.match(text, at):
            at -= 1
        return at

    def begins_segment(self, char: str) -> bool:
        """Say whether a segment begins with a character wherever it stands."""
        return self._joined.match(char) is None

    @cached_property
    def _normalizer(self) -> Any:
        from tokenizers import normalizers  # takes time to import, and most text does not need it

        made = [*map(_made, self._parts)]
        return made[0] if len(made) == 1 else normalizers.Sequence(made)

    def _apply(self, text: str) -> str:
        check_growth_of_text(self._growth, text)
        with panics_as_errors():
            if not self._has_expression:
                return str(self._normalizer.normalize_str(text))
            from tokenizers import NormalizedString

            string = NormalizedString(text)
            self._normalizer.normalize(string)
            new = str(string.normalized)
            first = string.slice((0, 1))
            if new and not (first and first.original):
                raise ValueError(
                    f"normalizer {short_repr(self._name)}: an expression of Replace matches nothing at the beginning "
                    f"of the text {short_repr(text)}, for which tokenizers has no defined result; expected one that "
                    "matches some text"
                )
            return new

    def _align_part(self, part: str) -> _Aligned:
        """Align a part that is normalized by itself: a segment, segments of ASCII, or all between surrogates."""
        if part.isascii() and self.is_local:
            return _unmoved(self.apply(part))
        known = self._known.get(part)
        if known is None:
            stretches = _STRETCH.findall(part)
            if len(stretches) > 1:  # a segment may end with surrogates
                data, begins, ends = _joined((stretch, self._align_part(stretch)) for stretch in stretches)
                known = data, begins.tolist(), ends.tolist()
            else:
                known = self._align(part) if _NO_SURROGATES.match(part) else _unmoved(part)
            if len(self._known) < _MAX_KNOWN and len(part) <= _LONGEST_KNOWN:
                self._known[part] = known
        return known

    def _align(self, text: str) -> _Aligned:
        from tokenizers import PreTokenizedString, Regex, pre_tokenizers

        self._apply(text)  # raises an error for what has no defined result
        with panics_as_errors():
            string = PreTokenizedString(text)
            string.normalize(self._normalizer.normalize)
            pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated").pre_tokenize(string)
            splits = cast("list[tuple[str, tuple[int, int], Any]]", string.get_splits("original", "byte"))
        data, begins, ends = bytearray(), [], []
        for char, (begin, end), _ in splits:
            new = char.encode()
            data += new
            begins += [begin] * len(new)
            ends += [end] * len(new)
        return bytes(data), begins, ends


def _makes_space(part: Part) -> bool:
    """Return whether a normalizer writes a space for one character, which is not ASCII."""
    text = part.get("pattern", {}).get("String", "")
    return part["type"] == "Replace" and len(text) == 1 and not text.isascii() and part["content"] == " "


def are_normalized(texts: Iterable[str], forms: Sequence[Form]) -> Iterable[bool]:
    """Say of each text whether it is in all of the normalization forms."""
    if len(forms) == 1:
        return map(unicodedata.is_normalized, repeat(forms[0]), texts)
    return (all(unicodedata.is_normalized(form, text) for form in forms) for text in texts)


def utf8(text: str) -> bytes:
    """Return text as UTF-8, and surrogates as the bytes for which they stand."""
    return text.encode("utf-8", "surrogateescape")


def _joined(parts: Iterable[tuple[str, _Aligned]]) -> Alignment:
    """Return the alignment of a text from its parts and their alignments."""
    data, begins, ends = bytearray(), array("q"), array("q")
    at = 0
    for part, (new, first, last) in parts:
        data += new
        begins.extend([at + begin for begin in first])
        ends.extend([at + end for end in last])
        at += len(utf8(part))
    return bytes(data), np.array(begins, np.int64), np.array(ends, np.int64)


def _unmoved(text: str) -> _Aligned:
    data = utf8(text)
    return data, range(len(data)), range(1, len(data) + 1)


def _made(part: Part) -> Any:
    """Return the normalizer of `tokenizers`."""
    from tokenizers import Regex, normalizers

    makers: dict[str, Callable[[], Any]] = {
        "Strip": lambda: normalizers.Strip(part["strip_left"], part["strip_right"]),
        "Prepend": lambda: normalizers.Prepend(part["prepend"]),
        "Replace": lambda: normalizers.Replace(
            part["pattern"].get("String") or Regex(part["pattern"]["Regex"]), part["content"]
        ),
    }
    return makers[part["type"]]() if part["type"] in makers else getattr(normalizers, part["type"])()
