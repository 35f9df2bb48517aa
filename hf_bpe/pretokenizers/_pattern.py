r"""Split patterns, which cut text into pre-tokens before any merge.

A pattern is given as a name (`NAMES`), a regular expression, a chain of stages (`PreTokenizer`), or None for no
pre-tokenization, and parsed once, on the way in. Text between two matches of an expression is a pre-token of its own,
so no text is lost; an empty match is a cut.

Expressions mean what they mean in `tokenizer.json`, which Oniguruma reads: `^` and `$` are the ends of lines, classes
nest, `a{2,3}+` is not possessive. They are compiled for the native core, and translated for the `regex` package, which
runs them in the reference; a construct that cannot be translated exactly (back-references, recursion, `\K`, …) is
refused.

Character classes are those of Unicode 16.0, whichever `regex` is installed, because a tokenizer must not change when a
library is upgraded. Code points that a newer `regex` knows and Unicode 16.0 does not are replaced by stand-ins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hf_bpe._utils.cached_property import cached_property
from hf_bpe.pretokenizers._named_patterns import (
    CHAINS,
    HUB_SPELLINGS,
    NAMES,
    PATTERNS,
    SPELLINGS,
    WITH_SCANNER,
    name_meant,
)
from hf_bpe.pretokenizers._regex.dialects import check_is_clear
from hf_bpe.pretokenizers._stages import MAX_LENGTH, ByteLevel, Metaspace, PreTokenizer, Split, Stage

UNICODE_VERSION = "16.0"

# The 25 characters of the Unicode property White_Space, which `\s` means here (Python's str.isspace has four more).
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"

# Where text may be cut without changing its pre-tokens, for a pattern that has a scanner. None of these looks back, and
# none has a pre-token with a non-white-space character followed by a space, or a letter or number followed by any white
# space. Nor has a chain, or its text between matches, because white space is always matched. This finds such places
# where ASCII is before the cut, or a space after it.
_SAFE_CUT_IN_BYTES = re.compile(
    rb"[\t-\r ](?:(?<=[0-9A-Za-z][\t-\r ])|(?<=[^\t-\r ] )"
    # The other characters of WHITE_SPACE: none of their bytes is part of a longer character.
    rb"(?<!\xc2[\x85\xa0] )(?<!\xe1\x9a\x80 )(?<!\xe2\x80[\x80-\x8a\xa8\xa9\xaf] )(?<!\xe2\x81\x9f )(?<!\xe3\x80\x80 ))"
)

Spelling = str | PreTokenizer | Metaspace | Sequence[Stage] | Mapping[str, Any]
"""What says how text is cut: see `Pattern.parse`."""


@dataclass(frozen=True)
class Pattern:
    r"""How text is cut into pre-tokens. `parse` and `read` make it.

    Attributes:
        canonical: the canonical form, which names, fingerprints and files have: a name, None for no pre-tokenization,
            an expression, or the JSON of a chain. Other spellings of a named pattern that are known to cut identically
            have its name.

    >>> Pattern.parse(r"\p{L}+").canonical, Pattern.parse([Split(PATTERNS["gpt2"])])
    ('\\p{L}+', Pattern(canonical='gpt2'))
    >>> Pattern.parse("gpt2").chain
    PreTokenizer(stages=(ByteLevel(add_prefix_space=False, use_regex=True),))
    """

    canonical: str | None

    @classmethod
    def parse(cls, pattern: AnyPattern) -> Pattern:
        r"""Return the pattern that a user gives.

        An expression is read as in a `tokenizer.json`. One that tiktoken reads differently is refused, because it may
        have been copied from there; in a `Split`, and as a `Pattern`, it is clear.

        Args:
            pattern: a name, a regular expression, a `PreTokenizer` or a list of its stages, their JSON as in
                `tokenizer.json` (parsed or not), a `Pattern`, or None. Where a list has no `ByteLevel`, one that does
                not split is added.

        Raises:
            TypeError: the pattern is of another type.
            ValueError: the name is unknown, the expression is invalid, has a construct that is not supported or one
                that tiktoken reads differently, a stage is invalid, or the pattern is too long: over 10,000 characters
                of expressions, or 64 stages.

        >>> from hf_bpe.pretokenizers import Digits
        >>> Pattern.parse([Digits(), Split(r"\p{L}+")]).canonical  # doctest: +ELLIPSIS
        '{"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":false},{"type":"Split",...
        """
        parsed = cls.read(pattern)
        if isinstance(pattern, str) and pattern == parsed.canonical and not (parsed.name or parsed.is_chain):
            try:
                check_is_clear(pattern)
            except ValueError as error:
                raise ValueError(
                    f"pattern {pattern[:80]!r}: {error}, or Pattern.read of it if it is from a tokenizer.json"
                ) from None
        return parsed

    @classmethod
    def read(cls, pattern: AnyPattern) -> Pattern:
        """Return the pattern that a file stores, where all expressions are read as in `tokenizer.json`.

        Raises:
            TypeError, ValueError: as `parse`, but for what tiktoken reads differently.
        """
        if isinstance(pattern, Pattern):
            return pattern
        # Not a subclass of str, which others would get.
        return _read_text(str(pattern)) if isinstance(pattern, str) else _read(pattern)

    @property
    def name(self) -> str | None:
        """The name; None if it has none."""
        return self.canonical if self.canonical in NAMES else None

    @property
    def is_chain(self) -> bool:
        """Whether it is a chain of stages, which no expression can express."""
        return self.canonical is not None and (self.canonical in CHAINS or self.canonical.startswith('{"type"'))

    @property
    def has_scanner(self) -> bool:
        """Whether the native core has a scanner of its own for it."""
        return self.canonical in WITH_SCANNER

    @cached_property
    def chain(self) -> PreTokenizer:
        """The stages that cut alike."""
        if self.canonical is None or self.canonical == "gpt2":
            return PreTokenizer((ByteLevel(use_regex=self.canonical is not None),))
        if self.is_chain:
            return CHAINS.get(self.canonical) or _parse_json(self.canonical)
        return PreTokenizer((Split(PATTERNS.get(self.canonical, self.canonical)), ByteLevel()))

    @property
    def hub_chain(self) -> PreTokenizer:
        """The stages in the spelling of the Hub's files.

        >>> Pattern.parse("kimi-k2").hub_chain == Pattern.parse("kimi-k2").chain
        False
        """
        return HUB_SPELLINGS.get(self.canonical) or self.chain

    @cached_property
    def metaspace(self) -> Metaspace | None:
        """The `Metaspace` that it is; None if it is another pattern."""
        if self.canonical is None or '"Metaspace"' not in self.canonical or not self.is_chain:
            return None
        first = self.chain.stages[0]
        return first if isinstance(first, Metaspace) else None

    @property
    def expression(self) -> str | None:
        """The regular expression, None for no pre-tokenization.

        Raises:
            ValueError: it is a chain, which no expression is equivalent to.
        """
        if self.is_chain:
            raise ValueError(
                f"the pre-tokenizer {self.canonical:.200} is a chain of stages, which no regular expression can express"
            )
        return None if self.canonical is None else PATTERNS.get(self.canonical, self.canonical)

    @cached_property
    def safe_cut(self) -> re.Pattern[bytes]:
        """The expression of the places where UTF-8, or any bytes, can certainly be cut without changing pre-tokens.

        The native core cuts at exactly these places, so either engine may read any part of a file.
        """
        if self.has_scanner:
            return _SAFE_CUT_IN_BYTES
        return re.compile((_NO_CUT if self.canonical is None else _safe_cut(self.chain)).encode())

    def __getstate__(self) -> dict[str, object]:
        return {"canonical": self.canonical}  # equal patterns have equal pickles


AnyPattern = Spelling | Pattern | None
"""A pattern: see `Pattern.parse`."""

GPT2 = Pattern("gpt2")

_NO_CUT = "(?!)"


def _read(pattern: Spelling | None) -> Pattern:
    try:
        return Pattern(None if pattern is None else _canonical_form(pattern))
    except RecursionError:  # the calling code may have left little room
        raise ValueError("pattern: nested too deeply for the rest of the stack; expected fewer levels") from None


_read_text = lru_cache(maxsize=64)(_read)


def _safe_cut(chain: PreTokenizer) -> str:
    """Return the expression of the places at which a chain without scanner allows cuts: between ASCII characters."""
    from hf_bpe.pretokenizers._chain_programs import compile_chain  # which named patterns do not need
    from hf_bpe.pretokenizers._regex.program import TooComplexError

    try:
        cuts = compile_chain(chain).cuts
    except TooComplexError:
        return _NO_CUT
    before: dict[str, str] = {}
    for left, right in cuts.items():
        before[right] = before.get(right, "") + left
    return "|".join(f"(?<=[{re.escape(left)}])(?=[{re.escape(right)}])" for right, left in before.items()) or _NO_CUT


def _canonical_form(pattern: Spelling) -> str | None:
    """Return the canonical form of a pattern, whose expressions are read as in a `tokenizer.json`."""
    if isinstance(pattern, str) and not _LIKE_JSON.match(pattern):
        return None if pattern == "none" else _canonical_expression(pattern)
    try:
        return _canonical_chain(_parse_chain(pattern))
    except (TypeError, ValueError) as error:
        raise type(error)(f"pattern: {str(error).removeprefix('pattern: ')}") from None


def _parse_chain(pattern: Spelling) -> PreTokenizer:
    if isinstance(pattern, str):
        return _parse_json(pattern)
    if isinstance(pattern, PreTokenizer):
        return pattern
    if isinstance(pattern, Mapping):
        return PreTokenizer.from_json(pattern)
    if isinstance(pattern, (list, tuple)):
        stages = tuple(pattern)
        is_complete = any(isinstance(stage, (ByteLevel, Metaspace)) for stage in stages)
        return PreTokenizer(stages if is_complete else (*stages, ByteLevel()))
    if isinstance(pattern, Metaspace):
        return PreTokenizer((pattern,))
    raise TypeError(
        "expected a name, a regular expression, a PreTokenizer, a list of stages, their JSON, or None; got "
        f"{type(pattern).__name__}"
    )


def _canonical_expression(pattern: str) -> str:
    if pattern in NAMES:
        return pattern
    if _LIKE_A_NAME.fullmatch(pattern) and len(pattern) <= MAX_LENGTH:
        names, meant = ", ".join([*NAMES, "none"]), name_meant(pattern)
        advice = "" if meant is None else f"did you mean {meant!r}? "
        raise ValueError(
            f"pattern {pattern!r:.80} is not known: {advice}{'Expected' if advice else 'expected'} one of {names}, or "
            "a regular expression"
        )
    if (name := _NAMES_BY_EXPRESSION.get(pattern)) is not None:
        return name
    try:
        tree = _tree(pattern)
    except ValueError as error:
        raise ValueError(f"pattern {pattern[:80]!r} cannot be used: {error}") from None
    return _names_by_tree().get(tree) or pattern


def _canonical_chain(chain: PreTokenizer) -> str | None:
    for stage in chain.stages:
        if isinstance(stage, Split) and not stage.is_literal and stage.expression not in _NAMES_BY_EXPRESSION:
            try:
                _tree(stage.expression)
            except ValueError as error:
                raise ValueError(f"Split: {stage.expression[:80]!r} cannot be used: {error}") from None
    if chain in _NAMES_BY_CHAIN:
        return _NAMES_BY_CHAIN[chain]
    *earlier, last = chain.stages
    if isinstance(last, Metaspace):
        return chain.canonical
    if not earlier and last in _BUILT_IN:
        return _BUILT_IN[last]
    only = earlier[0] if len(earlier) == 1 and last == ByteLevel() else None
    if isinstance(only, Split) and not only.is_literal:
        name = _NAMES_BY_EXPRESSION.get(only.expression) or _names_by_tree().get(_tree(only.expression))
        # A named pattern matches all text, so keeping only the matches leaves nothing out.
        if name is not None and (only.behavior, only.invert) in (("Isolated", False), ("Removed", True)):
            # Files of cl100k and of Llama 3, which cut identically, have one expression and differ in this only.
            return "cl100k" if (name, only.invert) == ("llama3", True) else name
        if only == Split(only.expression) and not _LIKE_A_NAME.fullmatch(only.expression):
            return only.expression
        return chain.canonical
    return _names_by_chain_of_trees().get(_with_trees(chain), chain.canonical)


_NAMES_BY_EXPRESSION = {**SPELLINGS, **{expression: name for name, expression in PATTERNS.items()}}
_NAMES_BY_CHAIN = {chain: name for name, chain in CHAINS.items()}
_LIKE_JSON = re.compile(r'\s*\{\s*"type"')
_LIKE_A_NAME = re.compile(r"[\w.-]*")
_BUILT_IN: dict[Stage, str | None] = {ByteLevel(use_regex=True): "gpt2", ByteLevel(): None}


def _tree(expression: str) -> object:
    r"""Return what is equal for expressions that differ only in notation, such as `\n` and a newline."""
    from hf_bpe.pretokenizers._regex.parser import parse  # takes time to import, and named patterns do not need it

    return parse(expression)


def _with_trees(chain: PreTokenizer) -> tuple[object, ...]:
    return tuple(
        (_tree(stage.expression), stage.behavior, stage.invert)
        if isinstance(stage, Split) and not stage.is_literal
        else stage
        for stage in chain.stages
    )


@lru_cache(maxsize=1)
def _names_by_tree() -> dict[object, str]:
    return {_tree(expression): name for expression, name in _NAMES_BY_EXPRESSION.items()}


@lru_cache(maxsize=1)
def _names_by_chain_of_trees() -> dict[tuple[object, ...], str]:
    return {_with_trees(chain): name for name, chain in CHAINS.items()}


def _parse_json(text: str) -> PreTokenizer:
    """Return the chain in JSON; a ValueError if it is malformed, or not a chain of stages that BPE needs."""
    try:
        return PreTokenizer.from_json(json.loads(text))
    except json.JSONDecodeError as error:
        raise ValueError(f"pattern {text[:80]!r}: expected the JSON of a pre-tokenizer: {error}") from None
