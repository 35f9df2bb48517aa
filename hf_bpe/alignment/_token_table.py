"""The bytes of all tokens of a tokenizer in arrays, and what decoding does to ids beyond joining these bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from hf_bpe._native_core import require_core
from hf_bpe._utils.arguments import wrong_type
from hf_bpe._utils.cached_property import cached_property
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._encoder import Numbers
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.formats._decoder import CharacterDecoder, Decoder, canonical_decoding
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.pretokenizers._byte_level import from_printable, is_utf8

Flags = npt.NDArray[np.bool_]

_PROBES = 64  # tokens that show that a vocabulary was replaced by another of the same size


class TokenTable:
    """The bytes that the ids of a tokenizer stand for, as `decoder` writes a token that is not the first of a text.

    Attributes:
        size: the highest id plus one.
        data: the bytes of all tokens, by id.
        offsets: int64, of shape (size + 1): the bytes of token i are `data[offsets[i] : offsets[i + 1]]`.
        is_token: whether there is a token with this id.
        is_special: whether it is one of `special`, which decoding leaves out with `skip_special_tokens`.
    """

    def __init__(self, contents: Mapping[int, bytes], special: Flags, decoder: Decoder) -> None:
        self._native = require_core("bytes of ids")
        self.size = max(contents, default=-1) + 1
        tokens = [contents.get(token_id, b"") for token_id in range(self.size)]
        self.data = b"".join(tokens)
        self.offsets: Numbers = np.zeros(self.size + 1, np.int64)
        np.cumsum([*map(len, tokens)], out=self.offsets[1:])
        self.offsets.flags.writeable = False
        self._offset_bytes = self.offsets.tobytes()
        self.is_token: Flags = np.zeros(self.size, bool)
        self.is_token[[*contents]] = True
        self.is_special: Flags = np.zeros(self.size, bool)
        self.is_special[: len(special)] = special[: self.size]
        self.decoder = decoder

    @cached_property
    def sizes(self) -> Numbers:
        """The number of bytes of each token."""
        return np.diff(self.offsets)

    @cached_property
    def is_byte(self) -> Flags:
        """True where a token of characters stands for a byte that has no character of its own."""
        flags: Flags = np.zeros(self.size, bool)
        ids = np.flatnonzero(self.sizes == 1).tolist() if self.decoder.has_bytes else []
        flags[[token_id for token_id in ids if self.decoder.token_bytes(token_id, is_first=False)[1]]] = True
        return flags

    @cached_property
    def characters(self) -> Numbers:
        """The number of characters that begin in each token, if it is part of valid UTF-8."""
        is_begin = np.frombuffer(self.data, np.uint8) & 0xC0 != 0x80
        before = np.concatenate([[0], np.cumsum(is_begin)])
        counts: Numbers = np.diff(before[self.offsets])
        return counts

    @cached_property
    def begins_inside(self) -> Flags:
        """True where a token begins inside a character."""
        flags: Flags = np.zeros(self.size, bool)
        first = self.offsets[:-1][self.sizes > 0]
        flags[self.sizes > 0] = np.frombuffer(self.data, np.uint8)[first] & 0xC0 == 0x80
        return flags

    @cached_property
    def is_text(self) -> Flags:
        """True where a token by itself is valid UTF-8."""
        high = np.concatenate([[0], np.cumsum(np.frombuffer(self.data, np.uint8) >= 0x80)])
        flags: Flags = np.diff(high[self.offsets]) == 0
        uncertain = np.flatnonzero(~flags)
        flags[uncertain] = [is_utf8(self.token(token_id)) for token_id in uncertain.tolist()]
        return flags

    @cached_property
    def by_preference(self) -> npt.NDArray[np.uint32]:
        """The ids of ordinary tokens; of several with the same bytes that first to which text is encoded."""
        ids = np.flatnonzero(self.is_token & ~self.is_special & (self.sizes > 0))
        return ids[np.argsort(self.is_byte[ids], kind="stable")].astype(np.uint32)

    def token(self, token_id: int) -> bytes:
        """Return the bytes of a token."""
        return self.data[self.offsets[token_id] : self.offsets[token_id + 1]]

    def join(self, ids: Numbers) -> bytes:
        """Return the bytes of tokens one after another."""
        joined: bytes = self._native.join_tokens(self.data, self._offset_bytes, ids.astype(np.uint32))
        return joined

    def longest_prefixes(self, other: TokenTable) -> Numbers:
        """Return for each token the id of the longest ordinary token of another table that is a prefix; -1 if none."""
        arrays = self.data, self._offset_bytes, other.data, other._offset_bytes, other.by_preference
        ids: Numbers = self._native.longest_prefixes(*arrays)
        return ids

    def checked(self, name: str, ids: object) -> Numbers:
        """Return a row of ids as an array; a TypeError if it is none of integers, a ValueError if one has no token."""
        row = np.asarray(ids)
        if row.size == 0 and row.ndim == 1:
            return np.empty(0, np.int64)
        if row.ndim != 1 or row.dtype.kind not in "iu":
            raise wrong_type(name, "a row of ids: a list, an array or a tensor of one dimension", ids)
        is_known = (row >= 0) & (row < self.size)
        is_known[is_known] = self.is_token[row[is_known]]
        if not is_known.all():
            at = int(is_known.argmin())
            raise ValueError(f"{name}[{at}]: {row[at]} is not in the vocabulary; expected ids of tokens")
        return row.astype(np.int64, copy=False)


_pipeline_tables: WeakKeyDictionary[Pipeline, TokenTable] = WeakKeyDictionary()
_backend_tables: WeakKeyDictionary[Any, tuple[object, TokenTable]] = WeakKeyDictionary()


def token_table(tokenizer: object) -> TokenTable:
    """Return the table of a tokenizer, which is made once; for its kinds and for errors see `token_bytes`."""
    pipeline = tokenizer if isinstance(tokenizer, Pipeline) else getattr(tokenizer, "_decoding_pipeline", None)
    if isinstance(pipeline, Pipeline):
        table = _pipeline_tables.get(pipeline)
        if table is None:
            special = np.frombuffer(pipeline.skipped(True), bool)
            table = _pipeline_tables[pipeline] = TokenTable(pipeline.decoder.contents, special, pipeline.decoder)
        return table
    backend = getattr(tokenizer, "__dict__", {}).get("_tokenizer")
    if not isinstance(backend, Tokenizer):
        raise wrong_type("tokenizer", "a tokenizer of hf_bpe or a fast tokenizer of transformers", tokenizer)
    state = _backend_state(backend)
    entry = _backend_tables.get(tokenizer)
    if entry is None or entry[0] != state:
        entry = _backend_tables[tokenizer] = state, _table_of_backend(backend)
    return entry[1]


def _table_of_backend(backend: Tokenizer) -> TokenTable:
    """Return the table of a backend that hf_bpe does not run, by the rules of its decoder."""
    added = backend.get_added_tokens_decoder()
    tokens = {token_id: token for token, token_id in backend.get_vocab(with_added_tokens=True).items()}
    special: Flags = np.zeros(max(added, default=-1) + 1, bool)
    special[[token_id for token_id, token in added.items() if token.special]] = True
    decoding = None if backend.decoder is None else json.loads(backend.decoder.__getstate__())
    parts = [] if decoding is None else decoding.get("decoders", [decoding])
    if [part.get("type") for part in parts] in (["ByteLevel"], ["ByteLevel", "Fuse"]):
        # As its decoder does: a token in which some character stands for no byte is taken for text.
        contents = {token_id: from_printable(token) or token.encode() for token_id, token in tokens.items()}
        return TokenTable(contents, special, Decoder(make_encoder(BPEModel({}, [])), {}, {}))
    if decoding is None:
        raise ValueError("bytes of ids: the tokenizer has no decoder, so its tokens stand for no bytes")
    decoder = CharacterDecoder(canonical_decoding(decoding) or "", BPEModel({}, []), tokens, {})
    return TokenTable(decoder.contents, special, decoder)


def _backend_state(backend: Tokenizer) -> object:
    """Return a value that differs once a backend has changed, unless only between the tokens that are sampled."""
    size = backend.get_vocab_size(with_added_tokens=True)
    probes = [backend.id_to_token(size * number // _PROBES) for number in range(_PROBES)]
    added = [(token_id, token.content, token.special) for token_id, token in backend.get_added_tokens_decoder().items()]
    decoder = None if backend.decoder is None else backend.decoder.__getstate__()
    return id(backend), size, probes, added, decoder
