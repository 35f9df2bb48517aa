"""`allowed_special` and `disallowed_special` of tiktoken: which special tokens may occur in a text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from hf_bpe._utils.arguments import check_strs, short_repr
from hf_bpe.encoding._added_tokens.finder import TokenFinder
from hf_bpe.encoding._encoder import AnyText, Encoder, Options, as_str
from hf_bpe.formats._pipeline import Pipeline

NAMES = ("allowed_special", "disallowed_special")


def encoder_for(pipeline: Pipeline, texts: Sequence[AnyText], kwargs: dict[str, Any]) -> tuple[Encoder, bool | None]:
    """Return the encoder for a call, and whether it splits special tokens.

    The arguments of tiktoken are removed from `kwargs`.

    Raises:
        TypeError, ValueError: an argument is invalid, or a text holds a special token that is not allowed.
    """
    allowed_special, disallowed_special = (kwargs.pop(name, None) for name in NAMES)
    if kwargs.get("split_special_tokens"):
        raise ValueError("split_special_tokens: expected False with allowed_special or disallowed_special, got True")
    specials = {token.content for token in pipeline.added_tokens.values() if token.special}
    allowed = _tokens("allowed_special", () if allowed_special is None else allowed_special, specials)
    if unknown := allowed - specials:
        raise ValueError(f"allowed_special: {min(unknown)!r} is not a special token of this tokenizer")
    disallowed = _tokens(
        "disallowed_special", "all" if disallowed_special is None else disallowed_special, specials - allowed
    )
    _check_texts(pipeline, texts, disallowed)
    if allowed == specials:
        return pipeline.encoder, False
    if not allowed:
        return pipeline.encoder, True
    return pipeline.encoder_without(lambda token: token.special and token.content not in allowed), False


def _tokens(name: str, value: Any, all_tokens: Collection[str]) -> set[str]:
    if isinstance(value, str):
        if value == "all":
            return {*all_tokens}
        raise ValueError(f"{name}: expected 'all' or a set of special tokens, got {short_repr(value)}")
    return {*check_strs(name, [*value] if isinstance(value, (set, frozenset)) else value)}


def _check_texts(pipeline: Pipeline, texts: Sequence[AnyText], disallowed: set[str]) -> None:
    finder = TokenFinder(disallowed)
    for text in texts if disallowed else ():
        for at, token in finder.find_all(as_str(text)):
            raise _error(token, at)
    if pipeline.model.normalizer is None:
        return
    # Normalization may make a token of other characters, as Lowercase does of <|X|>.
    ids = {i for i, token in pipeline.added_tokens.items() if token.content in disallowed and token.special}
    for text in texts if ids else ():
        if made := ids.intersection(pipeline.encoder.encode(text, Options())):
            raise _error(pipeline.added_tokens[min(made)].content, None)


def _error(token: str, at: int | None) -> ValueError:
    where = "after normalization" if at is None else f"at character {at}"
    return ValueError(
        f"the text holds the special token {token!r} {where}, which disallowed_special forbids; to encode it as that "
        f"token give allowed_special={{{token!r}}}, to encode it as ordinary text disallowed_special=()"
    )
