"""Streaming decoding: text from ids that arrive one by one, as a model generates them."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Protocol


class DecodesBytes(Protocol):
    """A function that returns the bytes of ids, such as `BPETokenizer.decode_bytes`."""

    def __call__(self, token_ids: int | Sequence[int], *, skip_special_tokens: bool) -> bytes:
        """Return the bytes of the ids."""


class DecodeStream:
    r"""Decode ids incrementally; text is returned as soon as its characters are complete.

    A token may end inside a character. The concatenation of all results of `step` and `finish` equals `decode` of all
    ids; after given `ids` it is what `decode` of all has beyond the complete characters of these.

    Args:
        decode_bytes: returns the bytes of ids.
        errors: the handling of bytes that are not UTF-8, as in `bytes.decode`.
        skip_special_tokens: leave special tokens out.
        ids: the ids before the stream, such as a prompt, whose text is not returned. A character that they begin is
            returned as a whole when it is complete.

    >>> from hf_bpe import BPETokenizer
    >>> stream = BPETokenizer.train([], vocab_size=256).decode_stream()
    >>> [stream.step(token_id) for token_id in [104, 195, 169, 195]], stream.finish()
    (['h', '', 'é', ''], '�')
    >>> stream.step(195), stream
    ('', <DecodeStream that holds b'\xc3'>)
    """

    def __init__(
        self,
        decode_bytes: DecodesBytes,
        errors: str = "replace",
        skip_special_tokens: bool = False,
        ids: Sequence[int] = (),
    ) -> None:
        self._decode_bytes = decode_bytes
        self._skip_special_tokens = skip_special_tokens
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)
        self.step(ids)

    def __repr__(self) -> str:
        held = repr(self._held()) if self._held() else "nothing"
        return f"<{type(self).__name__} that holds {held}>"

    def _held(self) -> bytes:
        """Return the bytes of a character that is not complete."""
        return self._decoder.getstate()[0]

    def step(self, token_ids: int | Sequence[int]) -> str:
        """Return the text that the next id, or the next few ids, complete; "" if none."""
        return self._decoder.decode(self._decode_bytes(token_ids, skip_special_tokens=self._skip_special_tokens))

    def finish(self) -> str:
        """Return the text of the remaining bytes, which are an incomplete character; the stream may then be reused."""
        return self.flush()

    def flush(self) -> str:
        """Return the text of the remaining bytes, which ids that follow do not complete."""
        text = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return text
