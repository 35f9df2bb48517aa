"""The bytes of text that each token stands for."""

from __future__ import annotations

from hf_bpe.core._model import BPEModel
from hf_bpe.normalizers._steps import SPACE


def writes_spaces(model: BPEModel) -> bool:
    """Return whether a model with characters writes all spaces as `SPACE`, by its normalizer or its pattern."""
    metaspace = model.pre_tokenizer.metaspace
    return model.normalization.writes_spaces if metaspace is None else metaspace.replacement == SPACE


def token_bytes(model: BPEModel) -> dict[int, bytes]:
    """Return id → bytes of the tokens of a model.

    Of a model with characters, `▁` is a space if the model writes spaces so, and a byte token is its byte.

    >>> from hf_bpe.core import BPEModel
    >>> token_bytes(BPEModel({0: b"a", 3: b"aa"}, []))
    {0: b'a', 3: b'aa'}
    """
    if model.alphabet.is_bytes:
        return model.vocab
    space, written = SPACE.encode(), b" " if writes_spaces(model) else SPACE.encode()
    as_byte = model.alphabet.byte_tokens
    return {
        token_id: bytes([as_byte[token]]) if token in as_byte else token.replace(space, written)
        for token_id, token in model.vocab.items()
    }
