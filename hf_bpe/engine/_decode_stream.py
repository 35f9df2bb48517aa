"""Text from ids that come one by one, as a model makes them."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Protocol


class DecodesBytes(Protocol):
    """What gives the bytes of ids: `BPETokenizer.decode_bytes`."""

    def __call__(self, token_ids: int | Sequence[int], *, skip_special_tokens: bool) -> bytes:
        """Return the bytes."""


class DecodeStream:
    """Gives text as soon as it is whole: a token may end inside a character.

    All that `step` and `finish` give, joined, is what `decode` gives for all ids, whatever they are.

    Args:
        decode_bytes: what gives the bytes of ids.
        errors: what is done with bytes that are not UTF-8, as in `bytes.decode`.
        skip_special_tokens: leave special tokens out.

    >>> from hf_bpe import BPETokenizer
    >>> stream = BPETokenizer.train([], vocab_size=256).decode_stream()
    >>> [stream.step(token_id) for token_id in [104, 195, 169, 195]], stream.finish()
    (['h', '', 'é', ''], '�')
    """

    def __init__(self, decode_bytes: DecodesBytes, errors: str = "replace", skip_special_tokens: bool = False) -> None:
        self._decode_bytes = decode_bytes
        self._skip_special_tokens = skip_special_tokens
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)

    def step(self, token_ids: int | Sequence[int]) -> str:
        """Return the text that the next id, or the next few, make whole; "" if they make none."""
        return self._decoder.decode(self._decode_bytes(token_ids, skip_special_tokens=self._skip_special_tokens))

    def finish(self) -> str:
        """Return what is left, which is no whole character; the stream may then be used for another text."""
        text = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return text
