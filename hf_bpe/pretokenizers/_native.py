"""Patterns in the form that the native core takes."""

from __future__ import annotations

from array import array
from functools import lru_cache
from typing import TYPE_CHECKING

from hf_bpe._utils.arguments import short_repr
from hf_bpe.pretokenizers._chain_programs import ChainProgram, StageProgram, compile_chain
from hf_bpe.pretokenizers._patterns import NAMES, pre_tokenizer
from hf_bpe.pretokenizers._stages import BEHAVIORS

if TYPE_CHECKING:
    from types import ModuleType

    from hf_bpe._native import Chain, NativePattern

__all__ = ["compile_natively", "native_pattern"]


def native_pattern(native: ModuleType, pattern: str | None) -> NativePattern:
    """Return what the native core takes for a canonical pattern.

    Raises:
        ValueError: the core cannot split by it.
    """
    if pattern is None or pattern in NAMES:
        return pattern
    chain = compile_natively(native, pattern)
    if isinstance(chain, str):
        raise ValueError(f"pattern: expected one that the native core can split by, got {short_repr(pattern)}: {chain}")
    return chain


@lru_cache(maxsize=64)
def compile_natively(native: ModuleType, pattern: str) -> Chain | str:
    """Return the compiled chain of a canonical pattern, or the reason why there is none: both take long to find."""
    try:
        program = compile_chain(pre_tokenizer(pattern))
        chain: Chain = native.Chain([_fields_of(stage) for stage in program.stages], _table_of(program))
    except ValueError as error:  # a TooComplexError, or the core's: too many classes of characters
        return str(error)
    return chain


def _fields_of(stage: StageProgram) -> tuple[bytes, int, list[bytes], bytes, int, int, int, int]:
    program = stage.program
    return (
        array("I", [number for instruction in program.instructions for number in instruction]).tobytes(),
        program.start,
        [array("I", [code for pair in test.characters.ranges for code in pair]).tobytes() for test in program.tests],
        bytes(test.has_edge for test in program.tests),
        BEHAVIORS.index(stage.behavior),
        int(stage.invert),
        int(stage.is_mapped),
        int(stage.adds_space),
    )


def _table_of(program: ChainProgram) -> bytes:
    table = bytearray(128 * 128)
    for left, members in program.cuts.items():
        for right in members:
            table[128 * ord(left) + ord(right)] = 1
    return bytes(table)
