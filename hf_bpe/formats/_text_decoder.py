"""Ids to text by the decoders of a `tokenizer.json`, for models whose alphabet is characters."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from hf_bpe._native_core import native_core
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._decode_stream import DecodeStream
from hf_bpe.encoding._encoder import is_skipped
from hf_bpe.formats._decoding import decoders_of
from hf_bpe.pretokenizers._byte_level import is_utf8, repair_surrogates
from hf_bpe.reference._decoding import apply_decoders, decode_tokens, is_byte, removed_characters

# Chains by which each token becomes bytes by itself, and only the beginning of a text depends on its place.
_BY_TOKENS = re.compile("(?:Replace )*(?:Metaspace )?(?:ByteFallback )?(?:Fuse (?:Strip )?)?")


class TextDecoder:
    """A decoder of ids to text.

    Most files have decoders that replace a character, join bytes and strip a space from the beginning. Then the core
    joins the bytes of tokens; only rows with invalid UTF-8 are left to the definition, `reference.decode_tokens`.

    Args:
        decoding: the decoders, see `canonical_decoding`.
        model: the model.
        other_tokens: id → content of added tokens, and of tokens to which no text is encoded.
    """

    def __init__(self, decoding: str, model: BPEModel, other_tokens: Mapping[int, str]) -> None:
        self._text_decoders = decoders = decoders_of(decoding)
        self._tokens = {token_id: token.decode() for token_id, token in model.vocab.items()} | dict(other_tokens)
        kinds = [decoder["type"] for decoder in decoders]
        self.is_by_tokens = _BY_TOKENS.fullmatch("".join(f"{kind} " for kind in kinds)) is not None
        self._of_tokens = [each for each in decoders if each["type"] in ("Replace", "Metaspace")]
        # A first token before it stands for what the first token of a text is not.
        self._marks_first = any(each["type"] == "Metaspace" and each["prepend_scheme"] != "never" for each in decoders)
        self._has_bytes = "ByteFallback" in kinds
        strip = decoders[-1] if self.is_by_tokens and kinds and kinds[-1] == "Strip" else {}
        self.stripped, self.max_stripped = strip.get("content", ""), strip.get("start", 0)
        self._native: Any = None
        self._bytes: dict[int, bytes] = {}
        if self.is_by_tokens:
            texts = self._replaced([*self._tokens.values()])
            self._bytes = dict(zip(self._tokens, map(self._as_bytes, texts), strict=True))
            native = native_core()
            if native is not None and all(self._bytes.values()):
                self._native = native.Encoder(model, _no_rebuild, self._bytes, [], None)

    def texts(self, rows: Sequence[Any], skipped: bytes) -> list[str]:
        """Return the text of each row of ids.

        Raises:
            KeyError, TypeError, OverflowError: an id has no token, or a row is not one of ids.
        """
        if self._native is not None and not self._marks_first:
            try:
                texts: list[str] = self._native.decode_batch([*rows], skipped, "strict")
            except UnicodeDecodeError:
                return [self._text(row, skipped) for row in rows]
            if self.max_stripped:
                return [text[removed_characters(text, self.stripped, self.max_stripped) :] for text in texts]
            return texts
        return [self._text(row, skipped) for row in rows]

    def row_bytes(self, ids: Sequence[int], skipped: bytes) -> bytes:
        """Return the bytes of ids, of which the text is made if they are UTF-8."""
        if not self.is_by_tokens:
            return self._text(ids, skipped).encode()
        kept = [token_id for token_id in ids if not is_skipped(token_id, skipped)]
        data = b"".join(map(self._bytes.__getitem__, kept))
        if self._marks_first and kept:
            data = self._first(kept[0]) + data[len(self._bytes[kept[0]]) :]
        return data[self.removed(kept, data) :]

    def removed(self, ids: Sequence[int], data: bytes) -> int:
        """Return how many bytes decoding removes from the beginning of the bytes of ids; only if `is_by_tokens`."""
        stripped, size = self.stripped.encode(), 0
        if self.max_stripped == 0 or not data.startswith(stripped):
            return 0
        run = b""  # of byte tokens at the beginning, which are U+FFFD if they are not UTF-8 together
        for at, token_id in enumerate(ids):
            byte, is_of_run = self.token_bytes(token_id, is_first=at == 0)
            if not is_of_run:
                break
            run += byte
        if not is_utf8(run):
            return 0
        while size < self.max_stripped * len(stripped) and data.startswith(stripped, size):
            size += len(stripped)
        return size

    @property
    def contents(self) -> Mapping[int, bytes]:
        """Id → bytes of each token where it is not the first of a text; only if `is_by_tokens`."""
        return self._bytes

    def token_bytes(self, token_id: int, *, is_first: bool) -> tuple[bytes, bool]:
        """Return the bytes of a token, and whether it is a byte; only if `is_by_tokens`."""
        data = self._first(token_id) if is_first and self._marks_first else self._bytes[token_id]
        return data, self._has_bytes and is_byte(self._replaced([self._tokens[token_id]])[0]) is not None

    def string(self, tokens: Sequence[str]) -> str:
        """Return the text of tokens."""
        return decode_tokens(self._text_decoders, [*map(repair_surrogates, tokens)])

    def _text(self, ids: Sequence[int], skipped: bytes) -> str:
        kept = [self._tokens[token_id] for token_id in ids if not is_skipped(token_id, skipped)]
        return decode_tokens(self._text_decoders, kept)

    def _replaced(self, tokens: Sequence[str]) -> list[str]:
        return apply_decoders(self._of_tokens, ["", *tokens])[1:]  # after a token, so that none is the first

    def _first(self, token_id: int) -> bytes:
        return self._as_bytes(decode_tokens(self._of_tokens, [self._tokens[token_id]]))

    def _as_bytes(self, text: str) -> bytes:
        byte = is_byte(text) if self._has_bytes else None
        return text.encode() if byte is None else bytes([byte])


@cache
def shows_normalized_contents() -> bool:
    """Return whether `tokenizers` shows and decodes added tokens as normalized, which depends on its version."""
    from tokenizers import AddedToken, Tokenizer, models, normalizers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.add_tokens([AddedToken("A", normalized=True)])
    return bool(tokenizer.id_to_token(0) == "a")


def _no_rebuild(*args: object) -> None:
    raise TypeError("a table of tokens has no pickle")


class CharacterDecodeStream(DecodeStream):
    """The `DecodeStream` of a model with characters.

    Characters of byte tokens are returned when they are complete, as `tokenizers` does. So where other byte tokens
    directly after them are not UTF-8, `decode` gives U+FFFD for them, too, and the stream only for the rest.

    Args:
        decoder: what decodes ids.
        to_ids: returns the ids of which the decoder knows all, and leaves out skipped ones.
        errors: the handling of bytes that are not UTF-8, as in `bytes.decode`; "replace" writes U+FFFD for each byte.
        decoding: the decoders, for messages.
        ids: the ids before the stream, see `DecodeStream`.
    """

    def __init__(self, decoder: TextDecoder, to_ids: Any, errors: str, decoding: str, ids: Sequence[int] = ()) -> None:
        if not decoder.is_by_tokens:
            raise ValueError(f"decode_stream: the decoder {decoding:.200} makes text of several tokens at once")
        self._text_decoder, self._to_ids, self._errors = decoder, to_ids, errors
        self._reset()
        self.step(ids)

    def _reset(self) -> None:
        self._run, self._is_first, self._left = b"", True, self._text_decoder.max_stripped

    def _held(self) -> bytes:
        return self._run

    def step(self, token_ids: int | Sequence[int]) -> str:
        """Return the text that the next id, or the next few ids, complete; "" if none."""
        texts = []
        for token_id in self._to_ids(token_ids):
            data, is_of_run = self._text_decoder.token_bytes(token_id, is_first=self._is_first)
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
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            text = decoder.decode(self._run)
        except UnicodeDecodeError:
            return ""
        self._run = decoder.getstate()[0]
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
        removed = removed_characters(text, self._text_decoder.stripped, self._left)
        self._left = self._left - removed if removed == len(text) else 0
        return text[removed:]
