"""The bytes of text that each token stands for."""

from __future__ import annotations

from hf_bpe.core._characters import BYTE_TOKENS
from hf_bpe.core._model import BPEModel
from hf_bpe.normalizers._names import parts_of_normalizer

SPACE = "▁"
"""The character that stands for a space in models whose alphabet is characters."""

WRITES_SPACE = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
"""The normalizer that writes spaces in this way."""


def writes_spaces(model: BPEModel) -> bool:
    """Return whether a model with characters writes all spaces as `SPACE`, by its normalizer or its pattern."""
    if (metaspace := model.pre_tokenizer.metaspace) is not None:
        return metaspace.replacement == SPACE
    is_written = False
    for part in parts_of_normalizer(model.normalizer):
        made = str(part.get("content", part.get("prepend", "")))
        is_written = part == WRITES_SPACE or (is_written and part["type"] in ("Replace", "Prepend") and " " not in made)
    return is_written


def token_bytes(model: BPEModel) -> dict[int, bytes]:
    """Return id → bytes of the tokens of a model.

    Of a model with characters, `▁` is a space if the model writes spaces so, and a byte token is its byte.

    >>> from hf_bpe.core import BPEModel
    >>> token_bytes(BPEModel({0: b"a", 3: b"aa"}, []))
    {0: b'a', 3: b'aa'}
    """
    if model.characters is None:
        return model.vocab
    space, written = SPACE.encode(), b" " if writes_spaces(model) else SPACE.encode()
    as_byte = BYTE_TOKENS if model.characters.byte_fallback else {}
    return {
        token_id: bytes([as_byte[token]]) if token in as_byte else token.replace(space, written)
        for token_id, token in model.vocab.items()
    }
