"""Encoding with an alphabet of characters, in the manner of SentencePiece, in plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hf_bpe.core._model import BPEModel
from hf_bpe.reference._encoder import merge_symbols
from hf_bpe.reference._splitting import apply_metaspace, utf8


class SizedId(NamedTuple):
    """An id, and how many bytes of its piece it stands for."""

    id: int
    size: int


class CharacterPreToken(NamedTuple):
    """A pre-token."""

    text: str  # its text, with spaces as the model writes them
    start: int  # the index in the given text of its first character; -1 if that was put before the text
    ids: list[SizedId]


class CharacterEncoder:
    """Encode normalized text, without added tokens, with a model whose alphabet is characters.

    Source: `models/bpe/model.rs` and `pre_tokenizers/metaspace.rs` of tokenizers 0.23.

    >>> from hf_bpe.core import BPEModel, CharacterAlphabet
    >>> vocab = {0: b"<unk>", 1: b"l", 2: b"o", 3: b"lo"}
    >>> alphabet = CharacterAlphabet(byte_fallback=False, unk_token="<unk>", fuse_unk=True)
    >>> CharacterEncoder(BPEModel(vocab, [(b"l", b"o")], pattern=None, alphabet=alphabet)).encode("loxyo")
    [3, 0, 2]
    """

    def __init__(self, model: BPEModel) -> None:
        self.model = model
        self._alphabet = model.alphabet
        self._metaspace = model.pre_tokenizer.metaspace
        self._ids = ids = {token.decode(): token_id for token_id, token in model.vocab.items()}
        self._ranks = {
            (ids[first.decode()], ids[second.decode()]): (rank, ids[(first + second).decode()])
            for rank, (first, second) in enumerate(model.merges)
        }

    def encode(self, text: str, *, is_first: bool = True) -> list[int]:
        """Return the ids of a text, see `pieces`."""
        return [token_id for piece in self.pieces(text, is_first=is_first) for token_id, _ in piece.ids]

    def pieces(self, text: str, *, is_first: bool = True) -> Iterator[CharacterPreToken]:
        """Cut a text into pre-tokens, and encode each.

        U+DC80 to U+DCFF stand for invalid bytes; `is_first` says that nothing precedes the text, not even a token.
        """
        puts, texts = False, [text] if text else []
        if self._metaspace is not None and text:
            puts, texts = apply_metaspace(self._metaspace, text, is_first=is_first)
        start = -1 if puts else 0
        for part in texts:
            yield CharacterPreToken(part, start, self.encode_piece(part))
            start += len(part)

    def encode_piece(self, text: str) -> list[SizedId]:
        """Return the ids of a pre-token.

        Characters in the vocabulary are symbols that merge. All others are negative numbers, which merge with nothing:
        -1 - the place of their id and size in a list.
        """
        symbols: list[int] = []
        unmerged: list[SizedId] = []
        was_unknown = False
        for char in text:
            data = utf8(char)
            new: list[SizedId] = []
            is_known = char in self._ids
            is_unknown = not is_known and not self._alphabet.byte_fallback
            if is_known:
                symbols.append(self._ids[char])
            elif not is_unknown:
                new = [SizedId(self._ids[f"<0x{byte:02X}>"], 1) for byte in data]
            elif was_unknown and self._alphabet.fuse_unk:
                unmerged[-1] = unmerged[-1]._replace(size=unmerged[-1].size + len(data))
            else:
                new = [SizedId(self._ids[str(self._alphabet.unk_token)], len(data))]
            for sized in new:
                unmerged.append(sized)
                symbols.append(-len(unmerged))
            was_unknown = is_unknown
        merged = merge_symbols(symbols, self._ranks)
        vocab = self.model.vocab
        return [SizedId(symbol, len(vocab[symbol])) if symbol >= 0 else unmerged[-1 - symbol] for symbol in merged]
