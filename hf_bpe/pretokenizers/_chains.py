"""Chains: pre-tokenizers of several stages, each of which cuts the pieces of the one before it.

A stage sees each piece as a whole text, so a chain is not one expression with alternatives: if an earlier stage has cut
before a digit, white space before it is at the end of its text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from hf_bpe._utils.cached_property import cached_property
from hf_bpe.pretokenizers._byte_level import from_printable, to_printable
from hf_bpe.pretokenizers._named_patterns import PATTERNS
from hf_bpe.pretokenizers._regex.parser import check_length
from hf_bpe.pretokenizers._stages import ByteLevel, FindMatches, Metaspace, Split, Stage, stage_of_json

MAX_STAGES = 64
"""The longest chain in use has 5. The native core splits recursively, and has one bit for each."""


class PreToken(NamedTuple):
    """A pre-token and its place.

    Attributes:
        data: its bytes, in which a `Metaspace` has written spaces as another character.
        start: the position in the text of its first byte; one less if that is a space that a stage put before it.
        lowest: the position of the first byte that is not such a space.
    """

    data: bytes
    start: int
    lowest: int


class _Piece(NamedTuple):
    text: str
    start: int
    lowest: int


@dataclass(frozen=True)
class PreTokenizer:
    """A chain of stages.

    Args:
        stages: the stages in their order, of which one is a `ByteLevel`; or a `Metaspace` alone, for models whose
            alphabet is characters.

    Raises:
        ValueError: there is neither exactly one `ByteLevel` nor only a `Metaspace`, or the chain is too long.

    >>> from hf_bpe.pretokenizers import ByteLevel, Digits, canonical_pattern, split
    >>> chain = PreTokenizer((Digits(individual_digits=True), ByteLevel(use_regex=True)))
    >>> split("a  12", canonical_pattern(chain))
    ['a', '  ', '1', '2']
    """

    stages: tuple[Stage, ...]

    def __post_init__(self) -> None:
        stages = tuple(self.stages)
        if wrong := [stage for stage in stages if not isinstance(stage, Stage)]:
            raise TypeError(f"stages: expected stages such as Split or ByteLevel, got {wrong[0]!r:.80}")
        if any(isinstance(stage, Metaspace) for stage in stages):
            if len(stages) > 1:
                raise ValueError(f"stages: expected a Metaspace alone, got {len(stages)} stages")
        elif (number := sum(isinstance(stage, ByteLevel) for stage in stages)) != 1:
            raise ValueError(f"stages: expected one ByteLevel, got {number}; without it, tokens are not made of bytes")
        if len(stages) > MAX_STAGES:
            raise ValueError(f"stages: expected at most {MAX_STAGES}, got {len(stages)}")
        check_length(sum(len(stage.expression) for stage in stages if isinstance(stage, Split)))
        object.__setattr__(self, "stages", stages)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> PreTokenizer:
        """Return the pre-tokenizer in a `tokenizer.json`.

        Raises:
            ValueError: it is malformed, or not a chain of stages that byte-level BPE needs.
        """
        try:
            return cls(tuple(_stages_of_json(content)))
        except (LookupError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"expected a pre-tokenizer, got {error!r}") from None

    def to_json(self) -> dict[str, Any]:
        """Return the chain as `tokenizer.json` writes it."""
        parts = [stage.to_json() for stage in self.stages]
        return parts[0] if len(parts) == 1 else {"type": "Sequence", "pretokenizers": parts}

    @cached_property
    def canonical(self) -> str:
        """The JSON of the chain in one line, which is its canonical pattern."""
        return json.dumps(self.to_json(), ensure_ascii=False, separators=(",", ":"))

    def split(self, text: str, find: FindMatches) -> list[str]:
        """Cut any text into pieces; U+DC80 to U+DCFF are the bytes of a character that is cut."""
        pieces, is_mapped = self._pieces(text, find)
        if is_mapped:
            return [(from_printable(piece.text) or b"").decode("utf-8", "surrogateescape") for piece in pieces]
        return [piece.text for piece in pieces]

    def pre_tokens(self, text: str, find: FindMatches) -> list[PreToken]:
        """Cut a text, in which U+DC80 to U+DCFF stand for invalid bytes."""
        pieces, is_mapped = self._pieces(text, find)
        if is_mapped:
            return [PreToken(from_printable(text) or b"", start, lowest) for text, start, lowest in pieces]
        return [PreToken(_bytes(text), start, lowest) for text, start, lowest in pieces]

    def _pieces(self, text: str, find: FindMatches) -> tuple[list[_Piece], bool]:
        """Return the pieces of a text, and whether they are in printable characters."""
        if isinstance(self.stages[0], Metaspace):
            return _with_metaspace(text, self.stages[0]), False
        pieces, is_mapped = [_Piece(text, 0, 0)] if text else [], False
        for stage in self.stages:
            if not isinstance(stage, ByteLevel):
                pieces = [part for piece in pieces for part in _cut(piece, stage, find, is_mapped)]
                continue
            if stage.add_prefix_space:
                pieces = [_with_space(piece) for piece in pieces]
            if stage.use_regex:
                pieces = [part for piece in pieces for part in _cut(piece, _GPT2, find, False)]
            if stage is self.stages[-1]:  # no stage sees the printable characters
                break
            pieces = [_Piece(to_printable(_bytes(text)), start, lowest) for text, start, lowest in pieces]
            is_mapped = True
        return pieces, is_mapped


_GPT2 = Split(PATTERNS["gpt2"])


def _stages_of_json(content: Mapping[str, Any]) -> list[Stage]:
    if content["type"] == "Sequence":
        return [stage for part in content["pretokenizers"] for stage in _stages_of_json(part)]
    return [stage_of_json(content)]


def _cut(piece: _Piece, stage: Stage, find: FindMatches, is_mapped: bool) -> Iterator[_Piece]:
    text, start, lowest = piece
    is_mapped = is_mapped or text.isascii()
    at = 0  # the index whose byte is at `start`
    for begin, end in stage.cut(text, find):
        start += begin - at if is_mapped else len(_bytes(text[at:begin]))
        at = begin
        yield _Piece(text[begin:end], start, max(start, lowest))


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # other lone surrogates, which encoders have replaced
        return text.encode("utf-8", "surrogatepass")


def _with_metaspace(text: str, stage: Metaspace) -> list[_Piece]:
    puts, texts = stage.apply(text, is_first=True) if text else (False, [])
    starts = [*([-1] if puts else []), *accumulate((len(_bytes(char)) for char in text), initial=0)]
    ends = accumulate(map(len, texts))
    return [
        _Piece(each, starts[end - len(each)], max(starts[end - len(each)], 0))
        for each, end in zip(texts, ends, strict=True)
    ]


def _with_space(piece: _Piece) -> _Piece:
    return piece if piece.text.startswith(" ") else _Piece(" " + piece.text, piece.start - 1, piece.lowest)
