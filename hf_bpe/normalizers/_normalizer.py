r"""Normalizers: what a model does to text before it is split, as in the `normalizer` of a `tokenizer.json`.

A normalizer is given as a name, JSON, or what this stands for, and parsed once, on the way in. The normalizers of
`tokenizers` do the work, because they are exact by definition; text that they would not change does not get there. They
normalize by Unicode 9.0, Python by a newer version. Normalization of assigned characters is stable, so text that is
normalized for Python is normalized for `tokenizers`.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, Literal

from hf_bpe._utils.arguments import wrong_type
from hf_bpe._utils.cached_property import cached_property
from hf_bpe._utils.lazy_exports import compiled
from hf_bpe.normalizers._backend import Backend, ByteAlignment, joined, unmoved, utf8
from hf_bpe.normalizers._steps import FORMS, WRITES_SPACE, Step, check_growth, parse_steps

if TYPE_CHECKING:
    import regex

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
# They normalize a segment, a character with the marks that join it, in the same way wherever it stands.
_LOCAL = (*FORMS, "Lowercase", "StripAccents")

# Characters that may compose or reorder with preceding ones: marks, vowels and finals of Korean syllables. Nothing
# composes across two segments.
_JOINED = r"\p{M}\u1161-\u1175\u11a8-\u11c2"
# Characters that become such ones by compatibility, and two that `tokenizers` takes for marks. So what any of `_LOCAL`
# makes of another character begins with another character.
_JOINED_LATER = (
    r"\u0e33\u0eb3\u1cf2\u1cf3\u3133\u3135\u3136\u313a-\u313f\u314f-\u3163\uff9e\uff9f\uffa3\uffa5\uffa6\uffaa-\uffaf"
    r"\uffc2-\uffc7\uffca-\uffcf\uffd2-\uffd7\uffda-\uffdc"
)
_JOINED_BY = {None: "(?!)", "NFC": f"[{_JOINED}]"}  # none by no normalizer
_JOINED_BY_OTHERS = f"[{_JOINED}{_JOINED_LATER}]"


@dataclass(frozen=True)
class Normalizer:
    r"""What is done to text before it is split. `parse` makes it.

    Text may have surrogates, which stay as they are; the text between two of them is normalized by itself.

    Attributes:
        canonical: the canonical form, which fingerprints and files have: None for no normalizer, "NFC", or the JSON of
            any other in one line.
        is_local: whether a segment of text, a character with the marks that join it, becomes the same wherever it
            stands.

    >>> lowercase = Normalizer.parse("Lowercase")
    >>> lowercase, lowercase.steps
    (Normalizer(canonical='{"type":"Lowercase"}'), ({'type': 'Lowercase'},))
    """

    canonical: str | None
    # Attributes instead of properties: each text that is encoded asks for them.
    is_local: bool = field(init=False, repr=False, compare=False)
    _forms: list[Form] = field(init=False, repr=False, compare=False)
    _replaced: list[str] = field(init=False, repr=False, compare=False)  # not of ASCII, by a space; each is a segment
    _lowers: bool = field(init=False, repr=False, compare=False)
    _length: int = field(init=False, repr=False, compare=False)  # number of steps

    def __post_init__(self) -> None:
        steps = self.steps
        texts = [step["pattern"].get("String", "") for step in steps if step.get("content") == " "]
        replaced = [text for text in texts if len(text) == 1 and not text.isascii()]
        vars(self).update(
            is_local=len(replaced) + sum(step["type"] in _LOCAL for step in steps) == len(steps),
            _forms=[step["type"] for step in steps if step["type"] in FORMS],
            _replaced=replaced,
            _lowers={"type": "Lowercase"} in steps,
            _length=len(steps),
        )

    @classmethod
    def parse(cls, normalizer: AnyNormalizer) -> Normalizer:
        """Return the normalizer that a user gives or a file has.

        Nested sequences become one, and a sequence of one normalizer becomes that normalizer.

        Args:
            normalizer: None for no normalizer, a name ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents"), a
                normalizer as in a `tokenizer.json`: JSON or the mapping it stands for, of these and of Strip, Replace,
                Prepend and Sequence; or a `Normalizer`.

        Raises:
            TypeError: the normalizer is of another type.
            ValueError: there is no such normalizer, it has no defined result in `tokenizers`, or it could make a
                character more than 256 times as long.

        >>> Normalizer.parse({"type": "Sequence", "normalizers": [{"type": "NFC"}]})
        Normalizer(canonical='NFC')
        >>> Normalizer.parse("BertNormalizer")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ValueError: normalizer: expected one of None, 'NFC', ... or the JSON of a normalizer, got 'BertNormalizer'
        """
        if isinstance(normalizer, Normalizer):
            normalizer = normalizer.canonical
        if normalizer is None or isinstance(normalizer, str):
            return _parse_text(normalizer and str(normalizer))  # not a subclass of str, which others would get
        if not isinstance(normalizer, Mapping):
            raise wrong_type("normalizer", "a str, a mapping or None", normalizer)
        return cls.of(parse_steps(normalizer))

    @classmethod
    def of(cls, steps: Sequence[Step]) -> Normalizer:
        """Return the normalizer of valid steps.

        Raises:
            ValueError: there are more than 64, or they could make a character more than 256 times as long.
        """
        steps = [*steps]
        check_growth(steps)
        if not steps or steps == [{"type": "NFC"}]:
            return _value("NFC" if steps else None)
        content = steps[0] if len(steps) == 1 else {"type": "Sequence", "normalizers": steps}
        return _value(json.dumps(content, ensure_ascii=False, separators=(",", ":")))

    @property
    def json(self) -> dict[str, Any] | None:
        """What a `tokenizer.json` has.

        >>> Normalizer.parse("NFC").json
        {'type': 'NFC'}
        """
        content: dict[str, Any] | None = {"type": "NFC"} if self.is_nfc else json.loads(self.canonical or "null")
        return content

    @property
    def steps(self) -> tuple[Step, ...]:
        """The normalizers that are applied one after the other, none of them a Sequence."""
        content = self.json
        return () if content is None else tuple(content.get("normalizers", [content]))

    def __str__(self) -> str:
        return ", ".join(step["type"] for step in self.steps)

    @property
    def is_identity(self) -> bool:
        """Whether it leaves all text as it is."""
        return self.canonical is None

    @property
    def is_nfc(self) -> bool:
        """Whether it is NFC and nothing else."""
        return self.canonical == "NFC"

    @property
    def prepended(self) -> tuple[str, ...]:
        """What it puts before text."""
        return tuple(step["prepend"] for step in self.steps if step["type"] == "Prepend")

    @property
    def leaves_no_space(self) -> bool:
        """Whether text certainly has no space after it: it replaces them, and makes none later."""
        is_left = True
        for step in self.steps:
            made = step.get("content", step.get("prepend", ""))
            if step["type"] == "Replace" and step["pattern"] == {"String": " "}:
                is_left = " " in made
            elif step["type"] not in ("Replace", "Prepend", "Strip") or " " in made:
                is_left = True
        return not is_left

    @property
    def writes_spaces(self) -> bool:
        """Whether it certainly writes all spaces as `▁`."""
        is_written = False
        for step in self.steps:
            is_kept = step["type"] in ("Replace", "Prepend") and " " not in step.get("content", step.get("prepend"))
            is_written = step == WRITES_SPACE or (is_written and is_kept)
        return is_written

    @property
    def keeps_beginning(self) -> bool:
        """Whether something certainly remains of the first character of any text."""
        return all(
            step["type"] not in ("Strip", "StripAccents", "Replace")
            or (step["type"] == "Replace" and "String" in step["pattern"] and step["content"] != "")
            for step in self.steps
        )

    def apply(self, text: str) -> str:
        r"""Return the normalized text.

        Raises:
            ValueError: `tokenizers` has no defined result, or the text could become longer than 1 GiB.

        >>> Normalizer.parse("Lowercase").apply("LOW \udcff")
        'low \udcff'
        """
        if self.is_local and text.isascii():
            return text.lower() if self._lowers else text
        if len(self._forms) == self._length:
            return self._apply_in_pieces(text, "\n ")
        return self._backend.apply(text)

    def _apply_in_pieces(self, text: str, separators: str) -> str:
        """Normalize to `_forms` only the lines, and in lines only the words, that are not normalized yet.

        Each piece begins with the separator before it, with which a segment begins.
        """
        if not separators:
            return self._backend.apply(text)
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
        if self._replaced and any(char in text for char in self._replaced):
            return False
        # A line that has to be normalized to know takes ten times as long.
        is_known_by_forms = len(self._forms) + len(self._replaced) == self._length
        return is_known_by_forms and (not self._forms or all(are_normalized(text.split("\n"), self._forms)))

    def align(self, text: str) -> ByteAlignment:
        """Return normalized text with the places it comes from, as `tokenizers` gives them.

        A character that is made of several has the place of the first.

        Raises:
            ValueError: see `apply`.
        """
        if not self.is_local:
            return self._backend.align(text)
        return joined(
            (part, unmoved(self.apply(part)) if part.isascii() else self._backend.align(part))
            for part in self._part.findall(text)  # segments, and segments of ASCII
        )

    def align_segments(self, text: str) -> ByteAlignment:
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
        return bytes(data), begins, ends

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
    def _joined(self) -> regex.Pattern[str]:
        return compiled(_JOINED_BY.get(self.canonical, _JOINED_BY_OTHERS))

    @cached_property
    def _segment(self) -> regex.Pattern[str]:
        return compiled(rf"(?s:.){self._joined.pattern}*+")

    @cached_property
    def _part(self) -> regex.Pattern[str]:
        joined = self._joined.pattern
        return compiled(rf"(?:[\x00-\x7f](?!{joined}))++|(?s:.){joined}*+")

    @cached_property
    def _backend(self) -> Backend:
        return Backend(self.canonical, self.steps)

    def __reduce__(self) -> tuple[object, ...]:
        return _value, (self.canonical,)  # equal normalizers have equal pickles


AnyNormalizer = str | Mapping[str, Any] | Normalizer | None
"""A normalizer: see `Normalizer.parse`."""


@lru_cache(maxsize=64)
def _value(canonical: str | None) -> Normalizer:
    """Return the normalizer of a canonical form, the same one again, so that it keeps what it has computed."""
    return Normalizer(canonical)


@lru_cache(maxsize=64)
def _parse_text(text: str | None) -> Normalizer:
    return _value(text) if text is None or text == "NFC" else Normalizer.of(parse_steps(text))


def to_nfc(text: str) -> str:
    r"""Normalize text to NFC as `tokenizers` does, which is by Unicode 9.0; surrogates stay unchanged.

    >>> to_nfc("e\u0301") == "\xe9"
    True
    """
    return NFC.apply(text)


NFC = _value("NFC")


def are_normalized(texts: Iterable[str], forms: Sequence[Form]) -> Iterable[bool]:
    """Say of each text whether it is in all of the normalization forms."""
    if len(forms) == 1:
        return map(unicodedata.is_normalized, repeat(forms[0]), texts)
    return (all(unicodedata.is_normalized(form, text) for form in forms) for text in texts)
