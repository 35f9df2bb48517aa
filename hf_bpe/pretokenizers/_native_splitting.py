"""Splitting by the native core: `split`, and patterns in the form that the core takes."""

from __future__ import annotations

from array import array
from functools import lru_cache
from typing import TYPE_CHECKING

from hf_bpe._native_core import native_core, require_core
from hf_bpe._utils.arguments import short_repr
from hf_bpe.pretokenizers._byte_level import repair_surrogates
from hf_bpe.pretokenizers._pattern import AnyPattern, Pattern
from hf_bpe.pretokenizers._stages import BEHAVIORS, PreTokenizer

if TYPE_CHECKING:
    from types import ModuleType

    from hf_bpe._native import Chain, NativePattern
    from hf_bpe.pretokenizers._chain_programs import ChainProgram, StageProgram


def native_pattern(native: ModuleType, pattern: Pattern) -> NativePattern:
    """Return what the native core takes for a pattern; a ValueError if it cannot split by it."""
    if pattern.canonical is None or pattern.has_scanner:
        return pattern.canonical
    compiled = compile_natively(native, pattern.chain)
    if isinstance(compiled, str):
        raise ValueError(f"the native core cannot split by the pattern {short_repr(pattern.canonical)}: {compiled}")
    return compiled


@lru_cache(maxsize=64)
def compile_natively(native: ModuleType, chain: PreTokenizer) -> Chain | str:
    """Return a chain compiled for the core, or the reason why there is none: both take long to find."""
    from hf_bpe.pretokenizers._chain_programs import compile_chain  # which named patterns do not need

    try:
        program = compile_chain(chain)
        compiled: Chain = native.Chain([*map(_stage_tuple, program.stages)], _pair_table(program))
    except ValueError as error:  # a TooComplexError, or the core's: too many classes of characters
        return str(error)
    return compiled


def splits_natively(pattern: Pattern) -> bool:
    """Return whether the native core cuts text by a pattern: where it is built, it refuses few."""
    native = native_core()
    if native is None or pattern.canonical is None or pattern.has_scanner:
        return native is not None
    return not isinstance(compile_natively(native, pattern.chain), str)


def split(text: str, pattern: AnyPattern) -> list[str]:
    """Cut text into pre-tokens; their concatenation is the text, unless a stage of a chain removes or adds some.

    Args:
        text: any text; U+DC80 to U+DCFF stand for invalid bytes, which belong to no character class. If it has other
            lone surrogates, all are repaired first, as by encoders.
        pattern: as `Pattern.read` takes it.

    Raises:
        ValueError: the core cannot split by the pattern.

    >>> split("Hello, you're  here 42", "gpt2")
    ['Hello', ',', ' you', "'re", ' ', ' here', ' 42']
    """
    native = require_core("pre-tokens")
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = repair_surrogates(text).encode()
    pieces = native.pre_tokenize(data, native_pattern(native, Pattern.read(pattern)))
    return [piece.decode("utf-8", "surrogateescape") for piece in pieces]


def _stage_tuple(stage: StageProgram) -> tuple[object, ...]:
    """Return a stage in the form that the core takes."""
    program = stage.program
    ranges = ([code for pair in test.characters.ranges for code in pair] for test in program.tests)
    return (
        array("I", [number for instruction in program.instructions for number in instruction]).tobytes(),
        program.start,
        [array("I", codes).tobytes() for codes in ranges],
        bytes(test.has_edge for test in program.tests),
        BEHAVIORS.index(stage.behavior),
        int(stage.invert),
        int(stage.is_mapped),
        int(stage.adds_space),
        int(stage.only_first),
        stage.space.encode(),
    )


def _pair_table(program: ChainProgram) -> bytes:
    table = bytearray(128 * 128)
    for left, members in program.cuts.items():
        for right in members:
            table[128 * ord(left) + ord(right)] = 1
    return bytes(table)
