"""Models whose alphabet is characters: their encoder in the native core, and the step before it.

The core reads `▁` as a space, so text without `▁`, which is nearly all, is encoded as it is, though the model writes
its spaces as `▁`. Only text with a `▁` is normalized, to spaces.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from hf_bpe.core._arrays import find_tokens
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._encoder import AddedTokenTuple, Encoder
from hf_bpe.encoding._preparation import Preparation, tells_starts
from hf_bpe.encoding._prepared_encoder import PreparedEncoder
from hf_bpe.encoding._token_bytes import writes_spaces
from hf_bpe.normalizers._normalizer import Normalizer
from hf_bpe.normalizers._steps import PREPENDS_SPACE, READS_SPACE, SPACE, WRITES_SPACE, Step

_NO_BYTE = 2**32 - 1  # for the core: the byte has no token, because its character has one
_NEVER, _UNLESS_SPACE, _ALWAYS, _FIRST = range(4)  # PrefixSpace of the core
_SCHEMES = {"never": _NEVER, "always": _UNLESS_SPACE, "first": _FIRST}


def prepare_characters(model: BPEModel, added_tokens: tuple[AddedTokenTuple, ...]) -> Preparation:
    """Return the step before encoding by the core."""
    check_character_tokens(model, added_tokens)
    steps, has_spaces = model.normalization.steps, writes_spaces(model)
    kept, prepends = _without_spaces(steps) if has_spaces else (steps, False)
    # The core does not put a space before text, but its normalizer does, if tokens are searched in the result, or if
    # Metaspace puts one there, too, by its own rule.
    is_alone = model.pre_tokenizer.metaspace is None
    by_step = prepends and (not is_alone or any(token.normalized for token in added_tokens))
    made = [*kept, *([{**PREPENDS_SPACE, "prepend": " "}] if by_step else []), *([READS_SPACE] if has_spaces else [])]
    return Preparation(
        Normalizer.of(made),
        added_tokens,
        searches_raw_text=WRITES_SPACE not in steps and not kept and not prepends,
        reads_spaces=has_spaces,
        prepends=by_step,
        replaces_prefix=by_step and is_alone,
        tells_starts=tells_starts(model),
    )


def reads_spaces_natively(model: BPEModel) -> bool:
    """Return whether a model with characters leaves spaces as they are, or writes them as `SPACE`, which is a token."""
    if writes_spaces(model):
        return bool(find_tokens(model.token_arrays, [SPACE.encode()]))
    return model.pre_tokenizer.metaspace is None


def make_character_encoder(
    native: ModuleType,
    model: BPEModel,
    rebuild: Callable[[BPEModel, tuple[AddedTokenTuple, ...]], Encoder],
    **instructions: Any,
) -> Encoder:
    """Return the encoder of a model with characters; for `model` and `rebuild` see `PreparedEncoder`.

    The instructions are `simd` and `chunk_bytes` of the core's encoder, on which no result depends.
    """
    alphabet, metaspace = model.alphabet, model.pre_tokenizer.metaspace
    has_spaces = writes_spaces(model)
    splits = metaspace is not None and metaspace.split
    ids = find_tokens(model.token_arrays, alphabet.stand_ins)
    prefix = _SCHEMES[metaspace.prepend_scheme] if metaspace is not None else _NEVER
    if metaspace is None and has_spaces and _without_spaces(model.normalization.steps)[1]:
        prefix = _ALWAYS
    unk_token = None if alphabet.byte_fallback else alphabet.unk_token
    core = native.Encoder.of_characters(
        model,
        rebuild,
        model.token_arrays,
        model.merge_ids,
        array("I", (ids.get(token, _NO_BYTE) for token in alphabet.byte_tokens)).tobytes(),
        SPACE if has_spaces else "",
        prefix=prefix,
        splits=splits,
        unknown_id=None if unk_token is None else ids[unk_token.encode()],
        fuses_unknown=unk_token is not None and alphabet.fuse_unk,
        keeps_spaces=has_spaces and WRITES_SPACE in model.normalization.steps,
        **instructions,
    )
    return PreparedEncoder(core, rebuild, prepare_characters)


def _without_spaces(steps: Sequence[Step]) -> tuple[Sequence[Step], bool]:
    """Return steps without the last ones that only write spaces, and whether one puts a space before text."""
    kept, prepends = [*steps], 0
    while kept and kept[-1] in (WRITES_SPACE, PREPENDS_SPACE) and prepends + (kept[-1] == PREPENDS_SPACE) < 2:
        prepends += kept.pop() == PREPENDS_SPACE
    return kept, prepends == 1


def check_character_tokens(model: BPEModel, added_tokens: tuple[AddedTokenTuple, ...]) -> None:
    """Raise a ValueError if a model with characters cannot have an added token."""
    steps = model.normalization.steps
    kept, prepends = _without_spaces(steps)
    if not writes_spaces(model) or WRITES_SPACE in steps or not (kept or prepends):
        return
    for token in added_tokens:
        if token.normalized and (prepends or " " in token.content or SPACE in token.content):
            raise ValueError(
                f"added token {token.content!r:.80} is searched in normalized text, in which spaces and {SPACE!r} "
                "differ until Metaspace writes them alike; expected normalized=False"
            )
