"""Vocabularies and merges of files, read and written by the native core.

Files are read natively if they are regular: without native core or for any other file, the readers return None, and the
caller, which reads all files, reports what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from hf_bpe._native_core import native_core
from hf_bpe.core._arrays import MergeIds, TokenArrays
from hf_bpe.core._model import BPEModel, Merge
from hf_bpe.pretokenizers._byte_level import from_printable


def from_printable_all(texts: list[str]) -> list[bytes | None]:
    """Return `from_printable` of each text."""
    native = native_core()
    return [*map(from_printable, texts)] if native is None else native.from_printable(texts)


def join_merges(model: BPEModel, texts: Sequence[str], before: str, between: str, after: str) -> str:
    """Return the merges of a model as text, given the texts of the tokens of its vocabulary, in that order.

    `before`, `between` and `after` are written around the two parts of a merge.
    """
    if (native := native_core()) is not None:  # many merges in Python are as many waits for memory
        text: str | None = native.join_merges(model.merge_ids, model.token_arrays.ids, [*texts], before, between, after)
        if text is not None:
            return text
    text_of = dict(zip(model.vocab.values(), texts, strict=True))
    return "".join(f"{before}{text_of[first]}{between}{text_of[second]}{after}" for first, second in model.merges)


FileTokens = TokenArrays | dict[int, bytes | None]
"""The tokens of a file, empty or None for printable tokens with a character that stands for no byte."""


def bytes_by_id(tokens: FileTokens) -> Mapping[int, bytes | None]:
    """Return id → bytes of the tokens of a file."""
    return tokens if isinstance(tokens, dict) else tokens.to_dict()


class ReadMerges(NamedTuple):
    """The merges of a file, read natively, in place of the merges in a parsed `tokenizer.json`."""

    ids: MergeIds
    tokens: TokenArrays  # whose ids are distinct integers
    is_used: bytes  # a byte for each token, 1 if a merge has or makes it


def read_vocab(content: bytes) -> tuple[dict[str, int], TokenArrays] | None:
    """Read a `vocab.json`: return printable token → id, and `tokens` of `ReadMerges`."""
    native = native_core()
    read = None if native is None else native.read_vocab(content)
    return None if read is None else (read[0], TokenArrays(*read[1]))


def read_merges(content: bytes, tokens: FileTokens) -> ReadMerges | None:
    """Read a `merges.txt` of tokens with ids; one without bytes is in no merge."""
    native = native_core()
    if native is None or (isinstance(tokens, dict) and not all(0 <= token_id < 2**32 for token_id in tokens)):
        return None
    if isinstance(tokens, dict):
        tokens = TokenArrays.of({token_id: token or b"" for token_id, token in tokens.items()})
    read = native.read_merges(content, tokens)
    return None if read is None else ReadMerges(MergeIds(read[1]), tokens, read[0])


def read_model(content: bytes, *, as_text: bool = False) -> tuple[bytes, dict[str, int], ReadMerges] | None:
    """Read vocabulary and merges of a `tokenizer.json`, with printable tokens or with text.

    Returned are the content without these, to be parsed; token as it is written → id, all distinct; and the merges.
    """
    native = native_core()
    read = None if native is None else native.read_model(content, as_text)
    if read is None:
        return None
    remaining_json, ids, tokens, is_used, merge_ids = read
    return remaining_json, ids, ReadMerges(MergeIds(merge_ids), TokenArrays(*tokens), is_used)


def merges_of_json(
    ids: Mapping[str, int], merges: list[Any] | ReadMerges, tokens_of: Callable[[list[str]], Sequence[bytes | None]]
) -> tuple[list[Merge] | MergeIds, FileTokens, bytes]:
    """Return the merges of a parsed `tokenizer.json`, as pairs or ids, and `tokens` and `is_used` of `ReadMerges`.

    `merges` are what `read_model` read, or as they are written. It is a ValueError if one is not of two tokens of the
    vocabulary that stand for bytes.
    """
    if isinstance(merges, ReadMerges):
        return merges
    tokens = tokens_of([*ids])
    token_bytes = dict(zip(ids, tokens, strict=True))
    pairs = [_merge(rank, merge, token_bytes) for rank, merge in enumerate(merges)]
    used = {part for first, second in pairs for part in (first, second, first + second)}
    return pairs, dict(zip(ids.values(), tokens, strict=True)), bytes(token in used for token in tokens)


def _merge(rank: int, merge: object, tokens: Mapping[str, bytes | None]) -> Merge:
    parts = merge.split(" ") if isinstance(merge, str) else merge
    if not isinstance(parts, list) or len(parts) != 2:
        raise ValueError(f"model: merge {rank}: expected two tokens, got {merge!r:.80}")
    first, second = map(tokens.get, parts)
    if first is None or second is None:
        part = parts[first is not None]
        what = "is not a token of the vocabulary"
        if part in tokens:
            char = next(char for char in part if from_printable(char) is None)
            what = f"has the character {char!r}, which stands for no byte; expected a byte-level model"
        raise ValueError(f"model: merge {rank}: {part!r:.80} {what}")
    return first, second
