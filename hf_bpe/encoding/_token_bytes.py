"""The bytes of text that tokens stand for, and what joins them: the core, or a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import Protocol

from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._encoder import AddedTokenTuple, Encoder, is_skipped
from hf_bpe.encoding._native_paths import as_prepared, is_native
from hf_bpe.normalizers._steps import SPACE


def writes_spaces(model: BPEModel) -> bool:
    """Return whether a model with characters writes all spaces as `SPACE`, by its normalizer or its pattern."""
    metaspace = model.pre_tokenizer.metaspace
    return model.normalization.writes_spaces if metaspace is None else metaspace.replacement == SPACE


def token_bytes(model: BPEModel, step: int = 1) -> dict[int, bytes]:
    """Return id → bytes of the tokens of a model, or of samples at regular intervals.

    Of a model with characters, `▁` is a space if the model writes spaces so, and a byte token is its byte.

    >>> from hf_bpe.core import BPEModel
    >>> token_bytes(BPEModel({0: b"a", 3: b"aa"}, []))
    {0: b'a', 3: b'aa'}
    """
    vocab = model.vocab if step == 1 else model.token_arrays.to_dict(step)
    if model.alphabet.is_bytes:
        return vocab
    space, written = SPACE.encode(), b" " if writes_spaces(model) else SPACE.encode()
    as_byte = model.alphabet.byte_tokens
    return {
        token_id: bytes([as_byte[token]]) if token in as_byte else token.replace(space, written)
        for token_id, token in vocab.items()
    }


class ByteDecoder(Protocol):
    """What joins the bytes of tokens; the encoders of the native core do.

    Ids whose byte in `skipped` is not 0 are left out. An id without a token is a KeyError.
    """

    def decode(self, ids: Sequence[int], skipped: bytes) -> bytes:
        """Return the bytes of ids."""

    def decode_text(self, ids: Sequence[int], skipped: bytes, errors: str) -> str:
        """Return the text of ids; `errors` is that of `bytes.decode`."""
        return self.decode(ids, skipped).decode("utf-8", errors)

    def decode_batch(self, rows: list[Sequence[int]], skipped: bytes, errors: str) -> list[str]:
        """Return the text of each row of ids."""
        return [self.decode_text(row, skipped, errors) for row in [*rows]]


class _TableDecoder(ByteDecoder):
    def __init__(self, contents: Mapping[int, bytes]) -> None:
        self._contents = contents

    def decode(self, ids: Sequence[int], skipped: bytes) -> bytes:
        numbers = [index(token_id) for token_id in [*ids]]  # a copy, for `__index__` may change the list
        return b"".join([self._contents[number] for number in numbers if not is_skipped(number, skipped)])


def byte_decoder(encoder: Encoder) -> ByteDecoder:
    """Return the decoder of the ids that an encoder gives; added tokens stand for their contents as they are given."""
    prepared = as_prepared(encoder)
    core = encoder if prepared is None else prepared.core.with_added_tokens(prepared.added_tokens)
    if is_native(core):
        return core  # type: ignore[no-any-return]
    added: tuple[AddedTokenTuple, ...] = core.added_tokens  # type: ignore[attr-defined]
    return _TableDecoder({token.id: token.content.encode() for token in added} | token_bytes(core.model))


def bytes_of_known(decoder: ByteDecoder, ids: list[int]) -> bytes:
    """Return the bytes of ids; a ValueError if one has no token."""
    try:
        return decoder.decode(ids, b"")
    except (KeyError, OverflowError) as error:
        raise ValueError(f"ids: {error} is not in the vocabulary; expected ids of tokens") from None
