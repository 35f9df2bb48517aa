"""Streams: ids of texts too long for memory, and text of ids that arrive one by one, as a model generates them."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from hf_bpe._utils.arguments import check_sequence
from hf_bpe._utils.tables import elements, refuse_tables
from hf_bpe.encoding._cuts.safe import cut_into_blocks
from hf_bpe.encoding._encoder import Encoder, Ids, Options
from hf_bpe.pretokenizers._byte_level import repair_surrogates
from hf_bpe.reference._decoding import removed_characters

BLOCK_BYTES = 1 << 24

ToIds = Callable[..., Sequence[int]]
TokenBytes = Callable[..., tuple[bytes, bool]]


def encode_blocks(
    encoder: Encoder, pieces: Iterable[str | bytes], options: Options, threads: int, block_bytes: int = BLOCK_BYTES
) -> Iterator[Ids]:
    """Yield the ids of the concatenation of pieces, one array for about every `block_bytes` bytes.

    Memory holds one block, or the text up to the next safe cut if that is longer.
    """
    blocks = cut_into_blocks(_as_bytes(pieces), lambda data: encoder.find_last_cut(data, options), block_bytes)
    for block in blocks:
        yield encoder.encode_to_numpy([block], options, threads)[0]
        options = options._replace(continued=True)


def _as_bytes(pieces: Iterable[str | bytes]) -> Iterator[bytes]:
    """Yield pieces as UTF-8. A surrogate at the end of a piece may form a pair with the beginning of the next piece."""
    surrogate = ""
    refuse_tables("pieces", pieces)
    pieces = check_sequence("pieces", pieces, "texts, such as a list or an open file")
    for index, piece in enumerate(elements("pieces", pieces)):
        if isinstance(piece, str):
            text = surrogate + piece
            surrogate = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
            yield repair_surrogates(text[: len(text) - len(surrogate)]).encode()
        elif isinstance(piece, bytes):
            yield repair_surrogates(surrogate).encode() + piece
            surrogate = ""
        else:
            raise TypeError(f"pieces: piece {index} is {type(piece).__name__}, expected str or bytes")
    yield repair_surrogates(surrogate).encode()


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


class CharacterDecodeStream(DecodeStream):
    """The `DecodeStream` of a model with characters.

    Characters of byte tokens are returned when they are complete, as `tokenizers` does. So where other byte tokens
    directly after them are not UTF-8, `decode` gives U+FFFD for them, too, and the stream only for the rest.

    Args:
        token_bytes: returns the bytes of a token, given its id and `is_first`, and whether it stands for a byte.
        strip: the character to strip from the beginning of the text, and how often at most.
        to_ids: returns the ids with a token, without skipped ones.
        errors: the handling of bytes that are not UTF-8, as in `bytes.decode`; "replace" writes U+FFFD for each byte.
        ids: the ids before the stream, see `DecodeStream`.
    """

    def __init__(
        self, token_bytes: TokenBytes, strip: tuple[str, int], to_ids: ToIds, errors: str, ids: Sequence[int]
    ) -> None:
        self._token_bytes, self._strip, self._to_ids, self._errors = token_bytes, strip, to_ids, errors
        self._reset()
        self.step(ids)

    def _reset(self) -> None:
        self._run, self._is_first, self._left = b"", True, self._strip[1]

    def _held(self) -> bytes:
        return self._run

    def step(self, token_ids: int | Sequence[int]) -> str:
        """Return the text that the next id, or the next few ids, complete; "" if none."""
        texts = []
        for token_id in self._to_ids(token_ids):
            data, is_of_run = self._token_bytes(token_id, is_first=self._is_first)
            self._is_first = False
            if is_of_run:
                self._run += data
            else:
                texts += [self._end_run(), data.decode()]
        return self._stripped("".join([*texts, self._complete()]))

    def finish(self) -> str:
        """Return the text of the remaining bytes; the stream may then be reused."""
        text = self.flush()
        self._reset()
        return text

    def flush(self) -> str:
        """Return the text of the remaining bytes, which ids that follow do not complete."""
        return self._stripped(self._end_run())

    def _complete(self) -> str:
        """Return the characters of the run that are complete, if it may be UTF-8."""
        try:
            text, size = codecs.utf_8_decode(self._run, "strict", False)
        except UnicodeDecodeError:
            return ""
        self._run = self._run[size:]
        return text

    def _end_run(self) -> str:
        run, self._run = self._run, b""
        try:
            return run.decode()
        except UnicodeDecodeError:
            return "\ufffd" * len(run) if self._errors == "replace" else run.decode("utf-8", self._errors)

    def _stripped(self, text: str) -> str:
        if self._left == 0:
            return text
        removed = removed_characters(text, self._strip[0], self._left)
        self._left = self._left - removed if removed == len(text) else 0
        return text[removed:]
