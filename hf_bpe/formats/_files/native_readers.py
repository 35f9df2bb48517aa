"""Vocabularies and merges of files, read by the native core.

Files are read natively if they are regular: without native core or for any other file, the readers return None, and the
caller, which reads all files, reports what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, starmap
from operator import add
from typing import Any, NamedTuple

from hf_bpe._native_core import native_core
from hf_bpe.core._arrays import MergeIds, TokenArrays, WrittenVocab
from hf_bpe.core._model import Merge
from hf_bpe.pretokenizers._byte_level import from_printable, from_printable_all


class FileModel(NamedTuple):
    """The vocabulary and merges of a file."""

    vocab: WrittenVocab  # tokens as they are written → id
    unmerged: dict[str, int]  # of tokens that no merge has or makes
    tokens: TokenArrays | dict[int, bytes | None]  # empty or None if a character stands for no byte
    merges: list[Merge] | MergeIds

    @classmethod
    def of_pairs(cls, vocab: dict[str, int], tokens: Mapping[str, bytes | None], merges: list[Merge]) -> FileModel:
        """Return what was not read natively, with the bytes of the tokens."""
        used = {*starmap(add, merges), *chain.from_iterable(merges)}
        unmerged = {text: token_id for text, token_id in vocab.items() if tokens[text] not in used}
        return cls(WrittenVocab(more=vocab), unmerged, {vocab[text]: token for text, token in tokens.items()}, merges)


def read_vocab_and_merges(vocab_json: bytes, merges_txt: bytes) -> FileModel | None:
    """Read a `vocab.json` and a `merges.txt` natively."""
    native = native_core()
    read = None if native is None else native.read_vocab_and_merges(vocab_json, merges_txt)
    return None if read is None else _file_model(*read, as_text=False)


def read_model(content: bytes, *, as_text: bool = False) -> tuple[bytes, FileModel] | None:
    """Read vocabulary and merges of a `tokenizer.json` natively; return its remaining JSON, to be parsed, and these."""
    native = native_core()
    read = None if native is None else native.read_model(content, as_text)
    return None if read is None else (read[0], _file_model(*read[1], as_text=as_text))


def _file_model(unmerged: dict[str, int], arrays: tuple[bytes, ...], merges: bytes, *, as_text: bool) -> FileModel:
    tokens = TokenArrays(*arrays)
    return FileModel(WrittenVocab(tokens, as_text, unmerged), unmerged, tokens, MergeIds(merges))


def model_of_json(vocab: dict[str, int], merges: list[Any] | FileModel, *, as_text: bool = False) -> FileModel:
    """Return vocabulary and merges of a parsed `tokenizer.json`, which has a `FileModel` in place of regular merges.

    It is a ValueError if a merge is not of two tokens of the vocabulary that stand for bytes.
    """
    if isinstance(merges, FileModel):
        return merges
    tokens = dict(zip(vocab, map(str.encode, vocab) if as_text else from_printable_all([*vocab]), strict=True))
    return FileModel.of_pairs(vocab, tokens, [_merge(rank, merge, tokens) for rank, merge in enumerate(merges)])


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
