"""The canonical form of a pattern: one string for all spellings that are known to cut alike."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from hf_bpe.pretokenizers._chains import PreTokenizer
from hf_bpe.pretokenizers._named_patterns import CHAINS, NAMES, PATTERNS, SPELLINGS, name_meant
from hf_bpe.pretokenizers._stages import MAX_LENGTH, ByteLevel, Metaspace, Split, Stage

Spelling = str | PreTokenizer | Metaspace | Sequence[Stage] | Mapping[str, Any]
"""What says how text is cut: see `hf_bpe.pretokenizers.Pattern.parse`."""


def canonical_form(pattern: Spelling) -> str | None:
    """Return the canonical form of a pattern, whose expressions are read as in a `tokenizer.json`.

    Raises:
        TypeError, ValueError: as `hf_bpe.pretokenizers.Pattern.read`.
    """
    if isinstance(pattern, str) and not _LIKE_JSON.match(pattern):
        return None if pattern == "none" else _canonical_expression(pattern)
    try:
        return _canonical_chain(_parse_chain(pattern))
    except (TypeError, ValueError) as error:
        raise type(error)(f"pattern: {str(error).removeprefix('pattern: ')}") from None


def _parse_chain(pattern: Spelling) -> PreTokenizer:
    if isinstance(pattern, str):
        return parse_json(pattern)
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
    if (name := _NAME_OF.get(pattern)) is not None:
        return name
    try:
        tree = _tree(pattern)
    except ValueError as error:
        raise ValueError(f"pattern {pattern[:80]!r} cannot be used: {error}") from None
    return _names_of_trees().get(tree) or pattern


def _canonical_chain(chain: PreTokenizer) -> str | None:
    for stage in chain.stages:
        if isinstance(stage, Split) and not stage.is_literal and stage.expression not in _NAME_OF:
            try:
                _tree(stage.expression)
            except ValueError as error:
                raise ValueError(f"Split: {stage.expression[:80]!r} cannot be used: {error}") from None
    if chain in _NAMES_OF_CHAINS:
        return _NAMES_OF_CHAINS[chain]
    *earlier, last = chain.stages
    if isinstance(last, Metaspace):
        return chain.canonical
    if not earlier and last in _BUILT_IN:
        return _BUILT_IN[last]
    only = earlier[0] if len(earlier) == 1 and last == ByteLevel() else None
    if isinstance(only, Split) and not only.is_literal:
        name = _NAME_OF.get(only.expression) or _names_of_trees().get(_tree(only.expression))
        # A named pattern matches all text, so keeping only the matches leaves nothing out.
        if name is not None and (only.behavior, only.invert) in (("Isolated", False), ("Removed", True)):
            # Files of cl100k and of Llama 3, which cut identically, have one expression and differ in this only.
            return "cl100k" if (name, only.invert) == ("llama3", True) else name
        if only == Split(only.expression) and not _LIKE_A_NAME.fullmatch(only.expression):
            return only.expression
        return chain.canonical
    return _names_of_chains().get(_with_trees(chain), chain.canonical)


_NAME_OF = {**SPELLINGS, **{expression: name for name, expression in PATTERNS.items()}}
_NAMES_OF_CHAINS = {chain: name for name, chain in CHAINS.items()}
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
def _names_of_trees() -> dict[object, str]:
    return {_tree(expression): name for expression, name in _NAME_OF.items()}


@lru_cache(maxsize=1)
def _names_of_chains() -> dict[tuple[object, ...], str]:
    return {_with_trees(chain): name for name, chain in CHAINS.items()}


def parse_json(text: str) -> PreTokenizer:
    """Return the chain in JSON.

    Raises:
        ValueError: it is malformed, or not a chain of stages that BPE needs.
    """
    try:
        return PreTokenizer.from_json(json.loads(text))
    except json.JSONDecodeError as error:
        raise ValueError(f"pattern {text[:80]!r}: expected the JSON of a pre-tokenizer: {error}") from None
