"""The stages of pre-tokenizers, with the meanings that the `tokenizers` library gives them, and chains of stages.

A stage cuts a piece of text into smaller ones, and may remove some. Its fields are those of its JSON in a
`tokenizer.json`. It sees each piece of the stage before it as a whole text, so a chain is not one expression with
alternatives: if an earlier stage has cut before a digit, white space before it is at the end of its text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from hf_bpe._utils.cached_property import cached_property

BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")

# What `tokenizers` takes for punctuation: the general category P of Unicode 8, and all of ASCII that is neither letter,
# digit, space nor control. Later versions made these other characters punctuation, and took it from two.
_LATER_PUNCTUATION = (
    r"\u061d\u09fd\u0a76\u0c77\u0c84\u1b4e\u1b4f\u1b7d-\u1b7f\u2e43-\u2e4f\u2e52-\u2e5d\x{10d6e}\x{10ead}"
    r"\x{10f55}-\x{10f59}\x{10f86}-\x{10f89}\x{113d4}\x{113d5}\x{113d7}\x{113d8}\x{1144b}-\x{1144f}\x{1145a}"
    r"\x{1145b}\x{1145d}\x{11660}-\x{1166c}\x{116b9}\x{1183b}\x{11944}-\x{11946}\x{119e2}\x{11a3f}-\x{11a46}"
    r"\x{11a9a}-\x{11a9c}\x{11a9e}-\x{11aa2}\x{11b00}-\x{11b09}\x{11be1}\x{11c41}-\x{11c45}\x{11c70}\x{11c71}"
    r"\x{11ef7}\x{11ef8}\x{11f43}-\x{11f4f}\x{11fff}\x{12ff1}\x{12ff2}\x{16d6d}-\x{16d6f}\x{16e97}-\x{16e9a}"
    r"\x{16fe2}\x{1e5ff}\x{1e95e}\x{1e95f}"
)
_PUNCTUATION = rf"[\p{{P}}!-/:-@\[-`{{-~\u166d\x{{111c9}}&&[^{_LATER_PUNCTUATION}]]"
_WORDS = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d\s]+"


MAX_LENGTH = 10_000
"""Characters of an expression, and of all expressions of a chain together; the longest in use have 1,100."""


def check_length(length: int) -> None:
    """Raise a ValueError if an expression has too many characters."""
    if length > MAX_LENGTH:
        raise ValueError(f"a pattern of {length} characters; expected at most {MAX_LENGTH}")


@dataclass(frozen=True)
class Stage:
    """A stage of a pre-tokenizer; its JSON holds the name of its class as `type`, and its fields."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value, choices = getattr(self, field.name), _CHOICES.get(field.name)
            expected = {"bool": bool, "str": str}[str(field.type)]
            if type(value) is not expected or (choices and value not in choices):
                what = f"one of {', '.join(choices)}" if choices else expected.__name__
                raise ValueError(f"{type(self).__name__}: {field.name}: expected {what}, got {value!r:.80}")

    def to_json(self) -> dict[str, Any]:
        """Return the stage as `tokenizer.json` writes it."""
        return {"type": type(self).__name__, **{field.name: getattr(self, field.name) for field in fields(self)}}

    def as_split(self) -> Split:
        """Return the `Split` that cuts alike; a `ByteLevel` has none, nor has a `Metaspace`."""
        match self:
            case Split():
                return self
            case Digits(individual_digits):
                return Split(r"\p{N}", "Isolated" if individual_digits else "Contiguous")
            case Punctuation(behavior):
                return Split(_PUNCTUATION, behavior)
            case Whitespace():
                return Split(_WORDS, "Removed", invert=True)
            case WhitespaceSplit():
                return Split(r"\s", "Removed")
            case CharDelimiterSplit(delimiter):
                return Split(delimiter, "Removed", is_literal=True)
            case Metaspace():
                raise ValueError("Metaspace is for models whose alphabet is characters; expected a pattern for bytes")
        raise NotImplementedError


@dataclass(frozen=True)
class Split(Stage):
    """Cut at the matches of an expression, or of a string if `is_literal`."""

    expression: str
    behavior: str = "Isolated"
    invert: bool = False
    is_literal: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the stage as `tokenizer.json` writes it."""
        pattern = {"String" if self.is_literal else "Regex": self.expression}
        return {"type": "Split", "pattern": pattern, "behavior": self.behavior, "invert": self.invert}


@dataclass(frozen=True)
class Digits(Stage):
    """Cut numbers (category N) from other text; each digit apart if `individual_digits`."""

    individual_digits: bool = False


@dataclass(frozen=True)
class Punctuation(Stage):
    """Cut at punctuation characters, those of ASCII and of category P in Unicode 8."""

    behavior: str = "Isolated"


@dataclass(frozen=True)
class Whitespace(Stage):
    r"""Keep runs of word characters and runs of others (`\w+|[^\w\s]+`), and remove white space."""


@dataclass(frozen=True)
class WhitespaceSplit(Stage):
    """Cut at white space, and remove it."""


@dataclass(frozen=True)
class CharDelimiterSplit(Stage):
    """Cut at a character, and remove it."""

    delimiter: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.delimiter) != 1:
            raise ValueError(f"CharDelimiterSplit: delimiter: expected one character, got {self.delimiter!r:.80}")


@dataclass(frozen=True)
class ByteLevel(Stage):
    """Write each byte as a printable character; later stages see these characters.

    Attributes:
        add_prefix_space: put a space before each piece that does not begin with one.
        use_regex: cut by the expression of GPT-2 first.
    """

    add_prefix_space: bool = False
    use_regex: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the stage as `tokenizer.json` writes it; `trim_offsets` matters in post-processors only."""
        return {
            "type": "ByteLevel",
            "add_prefix_space": self.add_prefix_space,
            "trim_offsets": True,
            "use_regex": self.use_regex,
        }


@dataclass(frozen=True)
class Metaspace(Stage):
    """Write each space as a character of its own, and cut before it; for models whose alphabet is characters.

    Attributes:
        replacement: the character.
        prepend_scheme: "always" to put one before each piece that does not begin with it, "first" to do so only at the
            beginning of a text, "never".
        split: cut before each of these characters.
    """

    replacement: str = "▁"
    prepend_scheme: str = "always"
    split: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.replacement) != 1:
            raise ValueError(f"Metaspace: replacement: expected one character, got {self.replacement!r:.80}")


_CHOICES = {"behavior": BEHAVIORS, "prepend_scheme": ("always", "first", "never")}

STAGES: dict[str, type[Stage]] = {
    stage.__name__: stage
    for stage in (Split, Digits, Punctuation, Whitespace, WhitespaceSplit, CharDelimiterSplit, ByteLevel, Metaspace)
}
_OPTIONAL: dict[str, Any] = {
    "Punctuation": {"behavior": "Isolated"},
    "ByteLevel": {"use_regex": True},
    "Metaspace": {"prepend_scheme": "always", "split": True},
}


def stage_of_json(content: Mapping[str, object]) -> Stage:
    """Return the stage in a part of a `tokenizer.json`, or raise a ValueError; what `tokenizers` ignores is ignored."""
    kind = content.get("type")
    if kind not in STAGES:
        raise ValueError(f"pre-tokenizer {kind!r:.80}: expected one of {', '.join(STAGES)}, or a Sequence of them")
    entries = {**_OPTIONAL.get(kind, {}), **content}
    if kind == "Split":
        pattern = content.get("pattern")
        if not isinstance(pattern, Mapping) or [*pattern] not in (["Regex"], ["String"]):
            raise ValueError(f'Split: pattern: expected {{"Regex": …}} or {{"String": …}}, got {pattern!r:.80}')
        [(form, expression)] = pattern.items()
        entries |= {"expression": expression, "is_literal": form == "String"}
    if kind == "Metaspace" and content.get("add_prefix_space") is False and entries["prepend_scheme"] != "never":
        raise ValueError(f"Metaspace: add_prefix_space is false, and prepend_scheme is {entries['prepend_scheme']!r}")
    names = [field.name for field in fields(STAGES[kind])]
    if missing := [name for name in names if name not in entries]:
        raise ValueError(f"{kind}: expected {missing[0]}, got {json.dumps(content, ensure_ascii=False):.200}")
    return STAGES[kind](**{name: entries[name] for name in names})


MAX_STAGES = 64
"""The longest chain in use has 5. The native core splits recursively, and has one bit for each. Normalizers, too."""


@dataclass(frozen=True)
class PreTokenizer:
    """A chain of stages.

    Args:
        stages: the stages in their order, of which one is a `ByteLevel`; or a `Metaspace` alone, for models whose
            alphabet is characters.

    Raises:
        ValueError: there is neither exactly one `ByteLevel` nor only a `Metaspace`, or the chain is too long.

    >>> from hf_bpe.pretokenizers import ByteLevel, Digits, split
    >>> chain = PreTokenizer((Digits(individual_digits=True), ByteLevel(use_regex=True)))
    >>> split("a  12", chain)
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
    def from_json(cls, content: Mapping[str, object]) -> PreTokenizer:
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


def _stages_of_json(content: Mapping[str, Any]) -> list[Stage]:
    if content["type"] == "Sequence":
        return [stage for part in content["pretokenizers"] for stage in _stages_of_json(part)]
    return [stage_of_json(content)]
