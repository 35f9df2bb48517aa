"""The bytes of normalized text that each token stands for."""

from __future__ import annotations

from hf_bpe.core._characters import BYTE_TOKENS
from hf_bpe.core._model import BPEModel

SPACE = "▁"
"""The character that stands for a space in models whose alphabet is characters."""


def token_bytes(model: BPEModel) -> dict[int, bytes]:
    """Return id → bytes of the tokens of a model.

    Of a model with characters, `▁` is a space, and a byte token its byte.

    >>> from hf_bpe.core import BPEModel
    >>> token_bytes(BPEModel({0: b"a", 3: b"aa"}, []))
    {0: b'a', 3: b'aa'}
    """
    if model.characters is None:
        return model.vocab
    space, falls_back = SPACE.encode(), model.characters.byte_fallback
    return {
        token_id: bytes([BYTE_TOKENS[token]]) if falls_back and token in BYTE_TOKENS else token.replace(space, b" ")
        for token_id, token in model.vocab.items()
    }
