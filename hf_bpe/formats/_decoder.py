"""Ids to text and bytes: by joining the bytes of tokens, or by decoders as in a `tokenizer.json`."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from string import hexdigits
from typing import Any

from hf_bpe._native_core import native_core
from hf_bpe._utils.arguments import check_int, short_repr, wrong_type
from hf_bpe._utils.cached_property import cached_property
from hf_bpe.core._arrays import TokenArrays, find_tokens
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._encoder import Encoder, is_skipped
from hf_bpe.encoding._sessions.streams import CharacterDecodeStream, DecodesBytes, DecodeStream, ToIds
from hf_bpe.encoding._token_bytes import byte_decoder
from hf_bpe.normalizers._steps import MAX_GROWTH, READS_SPACE, SPACE, total_growth
from hf_bpe.pretokenizers._byte_level import from_printable, is_utf8, repair_surrogates
from hf_bpe.reference._decoding import apply_decoders, decode_tokens, is_byte, removed_characters

# Chains by which each token becomes bytes by itself, and only the beginning of a text depends on its place.
_BY_TOKENS = re.compile("(?:Replace )*(?:Metaspace )?(?:ByteFallback )?(?:Fuse (?:Strip )?)?")

INVALID_ID_ERRORS = (KeyError, TypeError, OverflowError, ValueError)
"""The errors of decoders for ids without a token and for values that are not ids."""

_FIELDS: dict[str, dict[str, type]] = {
    "ByteFallback": {},
    "Fuse": {},
    "Replace": {"pattern": dict, "content": str},
    "Strip": {"content": str, "start": int, "stop": int},
    "Metaspace": {"replacement": str, "prepend_scheme": str, "split": bool},
}
_BYTE_TOKENS = [f"<0x{first}{second}>".encode() for first in f"+{hexdigits}" for second in hexdigits]
_OPTIONAL: dict[str, dict[str, Any]] = {"Metaspace": {"prepend_scheme": "always", "split": True}}
_MAX_DECODERS = 64

logger = logging.getLogger(__name__)


class Decoder:
    """What ids stand for: the bytes of their tokens, joined.

    Given are the encoder of the model with the added tokens, and by id the contents of these and of tokens to which no
    text is encoded. Ids whose byte in `skipped` is not 0 are left out; one without a token raises one of
    `INVALID_ID_ERRORS`.
    """

    is_by_tokens = True  # each token becomes bytes by itself, so that there are `contents` and streams
    has_bytes = False  # some tokens of characters stand for bytes
    marks_first = False  # the first token of a text has other bytes than elsewhere
    stripped, max_stripped = "", 0  # the character that is removed from the beginning of a text, and how often

    def __init__(self, encoder: Encoder, added: Mapping[int, str], unused: Mapping[int, str]) -> None:
        self._decoder, self._added, self._unused = byte_decoder(encoder), added, unused
        self._model = encoder.model

    def texts(self, rows: Sequence[Any], skipped: bytes, errors: str) -> list[str]:
        """Return the text of each row of ids; `errors` is that of `bytes.decode`."""
        try:
            return self._decoder.decode_batch([*rows], skipped, errors)
        except KeyError:
            if not self._unused:
                raise
        return [self.row_bytes(row, skipped).decode("utf-8", errors) for row in rows]

    def text(self, ids: Sequence[int], skipped: bytes, errors: str) -> str:
        """Return the text of ids."""
        return self._decoder.decode_text(ids, skipped, errors)

    def row_bytes(self, ids: Sequence[int], skipped: bytes) -> bytes:
        """Return the bytes of ids, which make the text if they are UTF-8."""
        try:
            return self._decoder.decode(ids, skipped)
        except KeyError:
            if not self._unused:
                raise
        texts = self._unused  # which `tokenizers` takes as they are
        return b"".join([texts[i].encode() if i in texts else self._decoder.decode([i], skipped) for i in ids])

    def string(self, tokens: Sequence[str], errors: str) -> str:
        """Return the text of printable tokens."""
        ids = {content: token_id for token_id, content in self._added.items()}
        pieces = []
        for token in tokens:
            data = self._model.vocab.get(ids[token]) if token in ids else from_printable(token)
            pieces.append(repair_surrogates(token).encode() if data is None else data)
        return b"".join(pieces).decode("utf-8", errors)

    def stream(self, decode_bytes: DecodesBytes, to_ids: ToIds, errors: str, skips: bool, ids: Any) -> DecodeStream:
        """Return a streaming decoder; see `DecodeStream`, and `CharacterDecodeStream` for `to_ids`."""
        return DecodeStream(decode_bytes, errors, skips, ids)

    @property
    def contents(self) -> Mapping[int, bytes]:
        """Id → bytes of each token where it is not the first of a text; a ValueError unless `is_by_tokens`."""
        texts = {**self._unused, **self._added}
        return {token_id: text.encode() for token_id, text in texts.items()} | dict(self._model.vocab)

    def token_bytes(self, token_id: int, *, is_first: bool) -> tuple[bytes, bool]:
        """Return the bytes of a token, and whether it is one of characters that stands for a byte."""
        return self.row_bytes([token_id], b""), False

    def removed(self, ids: Sequence[int], data: bytes) -> int:
        """Return how many bytes decoding strips from the bytes of ids."""
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

    def known_ids(self, name: str, ids: object, skipped: bytes, unknown_id: int | None) -> list[int]:
        """Return ids without skipped ones, and with `unknown_id` outside the vocabulary; None to leave these out."""
        if not isinstance(ids, (list, tuple)):
            raise wrong_type(name, "a row of ids", ids)
        known_ids: list[int] = []
        for at, each in enumerate(ids):
            token_id = check_int(f"{name}[{at}]", each)
            if is_skipped(token_id, skipped):
                continue
            if token_id in self._model.vocab or token_id in self._added or token_id in self._unused:
                known_ids.append(token_id)
            elif unknown_id is not None:
                known_ids.append(unknown_id)  # not skipped, although it is a special token
            else:
                logger.warning("id %s is not in the vocabulary; it is skipped", short_repr(token_id))
        return known_ids


class CharacterDecoder(Decoder):
    """The decoder of tokens of characters.

    Most files have decoders that replace a character, join bytes and strip a space from the beginning. Then the core
    joins the bytes of tokens; only rows with invalid UTF-8 are left to the definition, `reference.decode_tokens`.
    """

    def __init__(self, decoding: str, model: BPEModel, added: Mapping[int, str], unused: Mapping[int, str]) -> None:
        self._model, self._added, self._unused = model, added, unused
        self._contents = {**unused, **added}
        self._decoding, self._decoders = decoding, (decoders := decoders_of(decoding))
        kinds = [decoder["type"] for decoder in decoders]
        self.is_by_tokens = _BY_TOKENS.fullmatch("".join(f"{kind} " for kind in kinds)) is not None
        self._token_decoders = [each for each in decoders if each["type"] in ("Replace", "Metaspace")]
        # A first token before it stands for what the first token of a text is not.
        self.marks_first = any(each["type"] == "Metaspace" and each["prepend_scheme"] != "never" for each in decoders)
        self.has_bytes = "ByteFallback" in kinds
        strip = decoders[-1] if self.is_by_tokens and kinds and kinds[-1] == "Strip" else {}
        self.stripped, self.max_stripped = strip.get("content", ""), strip.get("start", 0)

    @cached_property
    def _tokens(self) -> dict[int, str]:
        vocab = self._model.vocab
        return dict(zip(vocab, map(bytes.decode, vocab.values()), strict=True)) | self._contents

    @cached_property
    def _bytes(self) -> dict[int, bytes]:
        return dict(zip(self._tokens, map(self._as_bytes, self._replaced([*self._tokens.values()])), strict=True))

    @cached_property
    def _native(self) -> Any:
        """What joins the bytes of tokens in the core; None if it cannot."""
        native = native_core()
        if native is None or not self.is_by_tokens:
            return None
        arrays = self._model.token_arrays
        if arrays.ids and self._token_decoders == [READS_SPACE]:  # as in most files: no object for each token
            texts = {i: text.decode() for text, i in find_tokens(arrays, _BYTE_TOKENS).items()} | self._contents
            changes = dict(zip(texts, map(self._as_bytes, self._replaced([*texts.values()])), strict=True))
            arrays = TokenArrays(*native.change_tokens(arrays.with_character(SPACE.encode(), b" "), changes))
        else:
            arrays = TokenArrays.of(self._bytes)
        return None if 0 in arrays.lengths else native.Encoder(self._model, _no_rebuild, arrays, b"", None)

    def texts(self, rows: Sequence[Any], skipped: bytes, errors: str) -> list[str]:
        if errors != "replace":
            return [self.row_bytes(row, skipped).decode("utf-8", errors) for row in rows]
        if self.marks_first or self._native is None:
            return [self._text(row, skipped) for row in rows]
        try:
            texts: list[str] = self._native.decode_batch([*rows], skipped, "strict")
        except UnicodeDecodeError:
            return [self._text(row, skipped) for row in rows]
        if self.max_stripped:
            return [text[removed_characters(text, self.stripped, self.max_stripped) :] for text in texts]
        return texts

    def text(self, ids: Sequence[int], skipped: bytes, errors: str) -> str:
        return self.texts([ids], skipped, errors)[0]

    def row_bytes(self, ids: Sequence[int], skipped: bytes) -> bytes:
        if not self.is_by_tokens:
            return self._text(ids, skipped).encode()
        kept = [token_id for token_id in ids if not is_skipped(token_id, skipped)]
        data = b"".join(map(self._bytes.__getitem__, kept))
        if self.marks_first and kept:
            data = self.token_bytes(kept[0], is_first=True)[0] + data[len(self._bytes[kept[0]]) :]
        return data[self.removed(kept, data) :]

    @property
    def contents(self) -> Mapping[int, bytes]:
        self._check_by_tokens("bytes of ids")
        return self._bytes

    def token_bytes(self, token_id: int, *, is_first: bool) -> tuple[bytes, bool]:
        data = self._bytes[token_id]
        if is_first and self.marks_first:
            data = self._as_bytes(decode_tokens(self._token_decoders, [self._tokens[token_id]]))
        return data, self.has_bytes and is_byte(self._replaced([self._tokens[token_id]])[0]) is not None

    def string(self, tokens: Sequence[str], errors: str) -> str:
        return decode_tokens(self._decoders, [*map(repair_surrogates, tokens)])

    def stream(self, decode_bytes: DecodesBytes, to_ids: ToIds, errors: str, skips: bool, ids: Any) -> DecodeStream:
        self._check_by_tokens("decode_stream")
        return CharacterDecodeStream(self.token_bytes, (self.stripped, self.max_stripped), to_ids, errors, ids)

    def _check_by_tokens(self, name: str) -> None:
        if not self.is_by_tokens:
            raise ValueError(f"{name}: the decoder {self._decoding:.200} makes text of several tokens at once")

    def _text(self, ids: Sequence[int], skipped: bytes) -> str:
        kept = [self._tokens[token_id] for token_id in ids if not is_skipped(token_id, skipped)]
        return decode_tokens(self._decoders, kept)

    def _replaced(self, tokens: Sequence[str]) -> list[str]:
        return apply_decoders(self._token_decoders, ["", *tokens])[1:]  # after a token, so that none is the first

    def _as_bytes(self, text: str) -> bytes:
        byte = is_byte(text) if self.has_bytes and text[:1] == "<" else None
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


def canonical_decoding(value: str | Mapping[str, Any] | None) -> str | None:
    """Return the canonical form of the decoder of a model with characters: its JSON in one line, or None for bytes.

    It is given as in a `tokenizer.json`, as JSON or the mapping it stands for: Replace of a string, ByteFallback, Fuse,
    Strip, Metaspace, or a Sequence of these. Another value is a TypeError, another decoder a ValueError.

    >>> canonical_decoding({"type": "Sequence", "decoders": [{"type": "Fuse"}]})
    '{"type":"Fuse"}'
    """
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise ValueError(f"decoding: expected the JSON of a decoder, got {short_repr(value)}") from None
    if not isinstance(value, Mapping):
        raise wrong_type("decoding", "a decoder as in a tokenizer.json", value)
    waiting: list[object] = [value]
    parts: list[dict[str, Any]] = []
    while waiting:
        part = waiting.pop()
        if not isinstance(part, Mapping):
            raise ValueError(f"decoding: expected a decoder, got {short_repr(part)}")
        if part.get("type") == "Sequence" and isinstance(part.get("decoders"), (list, tuple)):
            waiting += reversed(part["decoders"])
        else:
            parts.append(_checked(part))
    if len(parts) > _MAX_DECODERS:
        raise ValueError(f"decoding: expected at most {_MAX_DECODERS} decoders, got {len(parts)}")
    growth = sum(total_growth(part for part in parts if part["type"] == "Replace"))
    if growth > MAX_GROWTH:
        raise ValueError(
            f"decoding: its Replace can make a token {growth:,.0f} times as long; expected at most {MAX_GROWTH} times "
            "(bytes of UTF-8)"
        )
    content = parts[0] if len(parts) == 1 else {"type": "Sequence", "decoders": parts}
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def default_decoding(model: BPEModel) -> str | None:
    """Return the decoder of a model that training made, as files of such models have it; None for bytes.

    >>> default_decoding(BPEModel({0: b"a"}, [])) is None
    True
    """
    if model.alphabet.is_bytes:
        return None
    metaspace = model.pre_tokenizer.metaspace
    space = SPACE if metaspace is None else metaspace.replacement
    puts_one = not {SPACE, " "}.isdisjoint(model.normalization.prepended)
    parts: list[dict[str, Any]] = [{**READS_SPACE, "pattern": {"String": space}}]
    if model.alphabet.byte_fallback:
        parts.append({"type": "ByteFallback"})
    parts.append({"type": "Fuse"})
    if puts_one or (metaspace is not None and metaspace.prepend_scheme != "never"):
        parts.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return canonical_decoding({"type": "Sequence", "decoders": parts})


@lru_cache(maxsize=64)
def decoders_of(decoding: str) -> Sequence[Mapping[str, Any]]:
    """Return the decoders that a canonical decoder applies one after the other."""
    content = json.loads(decoding)
    return tuple(content.get("decoders", [content]))


def _checked(part: Mapping[str, Any]) -> dict[str, Any]:
    kind = part.get("type")
    if kind not in _FIELDS:
        raise ValueError(f"decoding: {short_repr(kind)} is not supported, expected {', '.join(_FIELDS)} or a Sequence")
    fields = {**_OPTIONAL.get(kind, {}), **part}
    checked: dict[str, Any] = {"type": kind}
    for field, expected in _FIELDS[kind].items():
        value = fields.get(field)
        if type(value) is not expected:
            raise ValueError(f"decoding: {kind}: {field}: expected {expected.__name__}, got {short_repr(value)}")
        checked[field] = value
    if kind == "Replace" and ([*checked["pattern"]] != ["String"] or not checked["pattern"]["String"]):
        raise ValueError(f"decoding: Replace: pattern: expected a String, got {short_repr(checked['pattern'])}")
    if kind == "Strip" and (len(checked["content"]) != 1 or checked["start"] < 0 or checked["stop"] != 0):
        raise ValueError(  # `tokenizers` panics if it strips more at the end than a token has
            f"decoding: Strip: expected a character, start from 0 on, and stop 0, got {short_repr(dict(part))}"
        )
    if kind == "Metaspace" and (
        len(checked["replacement"]) != 1 or checked["prepend_scheme"] not in ("always", "first", "never")
    ):
        raise ValueError(
            f"decoding: Metaspace: expected a character and a prepend_scheme, got {short_repr(dict(part))}"
        )
    return checked
