"""The normalizers of `tokenizers`, with the original places of what comes out."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from hf_bpe._utils.arguments import short_repr
from hf_bpe._utils.cached_property import cached_property
from hf_bpe.normalizers._steps import FIELDS, Step, check_growth_of_text, total_growth
from hf_bpe.pretokenizers._pattern import WHITE_SPACE

if TYPE_CHECKING:
    from tokenizers.normalizers import Normalizer

ByteAlignment = tuple[bytes, Sequence[int], Sequence[int]]
"""Normalized text, and the begin and end of the original bytes of each of its bytes."""

_NO_SURROGATES = re.compile("[^\ud800-\udfff]+")
_STRETCH = re.compile("[^\ud800-\udfff]+|[\ud800-\udfff]+")
_MAX_KNOWN, _LONGEST_KNOWN = 1 << 14, 8


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise a ValueError if `tokenizers` panics.

    Some input makes its Rust code panic. In Python that is a PanicException, which is not an Exception, so it would end
    a program that handles errors.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__module__ != "pyo3_runtime":  # PanicException cannot be imported from there
            raise
        raise ValueError(f"tokenizers panics: {error}") from error


class Backend:
    """What `tokenizers` makes of text: the text between two surrogates is normalized by itself."""

    def __init__(self, canonical: str | None, steps: Sequence[Step]) -> None:
        self._canonical, self._steps = canonical, steps
        self._growth = total_growth(steps)
        self._has_expression = any("Regex" in step.get("pattern", ()) for step in steps)
        self._known: dict[str, ByteAlignment] = {}  # of short texts

    @cached_property
    def _normalizers(self) -> list[Normalizer]:
        """The normalizers of `tokenizers` that apply all steps, all but the first, and so on."""
        from tokenizers import normalizers  # takes time to import, and most text does not need it

        steps = [*map(_make_normalizer, self._steps)]
        return [normalizers.Sequence(steps[first:]) for first in range(max(1, len(steps)))]

    def apply(self, text: str) -> str:
        """Return the normalized text; a ValueError if there is no defined result, or it could be longer than 1 GiB."""
        return _NO_SURROGATES.sub(lambda match: self._apply(match[0]), text)

    def _apply(self, text: str) -> str:
        check_growth_of_text(self._growth, text)
        if not self._has_expression:
            return self._apply_steps(text)
        with panics_as_errors():
            from tokenizers import NormalizedString

            string = NormalizedString(text)
            self._normalizers[0].normalize(string)
            new = str(string.normalized)
            first = string.slice((0, 1))
            if new and not (first and first.original):
                raise ValueError(
                    f"normalizer {short_repr(self._canonical)}: an expression of Replace matches nothing at the "
                    f"beginning of the text {short_repr(text)}, for which tokenizers has no defined result; expected "
                    "one that matches some text"
                )
            return new

    def _apply_steps(self, text: str) -> str:
        # A call of `tokenizers` takes as long as Python takes for a line of text.
        for number, step in enumerate(self._steps):
            new = _apply_step(step, text)
            if new is None:
                with panics_as_errors():
                    return str(self._normalizers[number].normalize_str(text))
            text = new
        return text

    def align(self, text: str) -> ByteAlignment:
        """Return the normalized text with its places; see `apply`."""
        aligned = self._known.get(text)
        if aligned is None:
            stretches = _STRETCH.findall(text)
            aligned = joined((stretch, self._align(stretch)) for stretch in stretches)
            if len(self._known) < _MAX_KNOWN and len(text) <= _LONGEST_KNOWN:
                self._known[text] = aligned
        return aligned

    def _align(self, text: str) -> ByteAlignment:
        if not _NO_SURROGATES.match(text):
            return unmoved(text)
        from tokenizers import PreTokenizedString, Regex, pre_tokenizers

        self._apply(text)  # raises an error for what has no defined result
        with panics_as_errors():
            string = PreTokenizedString(text)
            string.normalize(self._normalizers[0].normalize)
            pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated").pre_tokenize(string)
            splits = cast("list[tuple[str, tuple[int, int], Any]]", string.get_splits("original", "byte"))
        data, begins, ends = bytearray(), [], []
        for char, (begin, end), _ in splits:
            new = char.encode()
            data += new
            begins += [begin] * len(new)
            ends += [end] * len(new)
        return bytes(data), begins, ends


def utf8(text: str) -> bytes:
    """Return text as UTF-8, and surrogates as the bytes for which they stand."""
    return text.encode("utf-8", "surrogateescape")


def joined(parts: Iterable[tuple[str, ByteAlignment]]) -> ByteAlignment:
    """Return the alignment of a text from its parts and their alignments."""
    data, begins, ends = bytearray(), array("q"), array("q")
    at = 0
    for part, (new, first, last) in parts:
        data += new
        begins.extend([at + begin for begin in first])
        ends.extend([at + end for end in last])
        at += len(utf8(part))
    return bytes(data), begins, ends


def unmoved(text: str) -> ByteAlignment:
    """Return the alignment of text whose bytes keep their places."""
    data = utf8(text)
    return data, range(len(data)), range(1, len(data) + 1)


def _apply_step(step: Step, text: str) -> str | None:
    """Return what a step without an expression makes of text; None if only `tokenizers` knows."""
    kind = step["type"]
    if kind == "Replace":
        return text.replace(step["pattern"]["String"], step["content"])
    if kind == "Prepend":
        return text and step["prepend"] + text
    if kind == "Strip":
        text = text.lstrip(WHITE_SPACE) if step["strip_left"] else text
        return text.rstrip(WHITE_SPACE) if step["strip_right"] else text
    if not text.isascii():
        return None
    return text.lower() if kind == "Lowercase" else text


def _make_normalizer(step: Step) -> Normalizer:
    """Return the normalizer of `tokenizers` for a step."""
    from tokenizers import Regex, normalizers

    arguments = [step[field] for field in FIELDS[step["type"]]]
    if step["type"] == "Replace":
        [(syntax, text)] = step["pattern"].items()
        arguments[0] = Regex(text) if syntax == "Regex" else text
    normalizer: Normalizer = getattr(normalizers, step["type"])(*arguments)
    return normalizer
