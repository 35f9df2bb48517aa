"""Streaming encoding of texts too long for memory, in blocks that give the ids of the whole.

The encoder decides where a block may end: where neither the pattern nor an added token can span the cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hf_bpe._utils.arguments import check_sequence
from hf_bpe._utils.tables import elements, refuse_tables
from hf_bpe.encoding._cuts.safe import cut_into_blocks
from hf_bpe.encoding._encoder import Encoder, Ids, Options
from hf_bpe.pretokenizers._byte_level import repair_surrogates

BLOCK_BYTES = 1 << 24


def encode_blocks(
    encoder: Encoder, pieces: Iterable[str | bytes], options: Options, threads: int, block_bytes: int = BLOCK_BYTES
) -> Iterator[Ids]:
    """Yield the ids of the concatenation of pieces, one array for about every `block_bytes` bytes.

    Memory holds one block, or the text up to the next safe cut if that is longer.

    Raises:
        TypeError: a piece is neither str nor bytes.
        ValueError: a byte has no token.
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
