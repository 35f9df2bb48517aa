"""Vocabularies and merges of files, read and written by the native core.

Files are read natively if they are regular: without native core or for any other file, the readers return None, and the
caller, which reads all files, reports what is wrong.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hf_bpe._native_core import native_core
from hf_bpe.core._model import BPEModel, CheckedMerges, Merge
from hf_bpe.pretokenizers._byte_level import from_printable


def from_printable_all(texts: list[str]) -> list[bytes | None]:
    """Return `from_printable` of each text."""
    native = native_core()
    return [*map(from_printable, texts)] if native is None else native.from_printable(texts)


def join_merges(model: BPEModel, texts: Sequence[str], before: str, between: str, after: str) -> str:
    """Return the merges of a model as text: for each the texts of both parts.

    Args:
        model: the model.
        texts: the texts of the tokens of its vocabulary, in that order.
        before, between, after: what stands before the first part, between the parts, and after the second.
    """
    native = native_core()
    if native is not None and model._merge_ids is not None:  # many merges in Python are as many waits for memory
        text: str | None = native.join_merges(model._merge_ids, [*model.vocab], [*texts], before, between, after)
        if text is not None:
            return text
    text_of = dict(zip(model.vocab.values(), texts, strict=True))
    return "".join(f"{before}{text_of[first]}{between}{text_of[second]}{after}" for first, second in model.merges)


class ReadMerges(CheckedMerges):
    """The merges of a file as bytes, read natively, in place of the merges in a parsed `tokenizer.json`.

    Args:
        tokens: the bytes of the tokens of the file, whose ids are distinct integers; None for printable tokens with a
            character that stands for no byte.
        merges: distinct pairs of `tokens`.
        is_used: a byte for each token, 1 if a merge has or makes it.
        ids: see `CheckedMerges.ids`.
    """

    def __init__(self, tokens: list[bytes | None], merges: list[Merge], is_used: bytes, ids: bytes) -> None:
        super().__init__(merges)
        self.tokens = tokens
        self.is_used = is_used
        self.ids = ids


def read_vocab(content: bytes) -> tuple[dict[str, int], list[bytes | None]] | None:
    """Read a `vocab.json`: return printable token → id, and `tokens` of `ReadMerges`."""
    native = native_core()
    return None if native is None else native.read_vocab(content)


def read_merges(content: bytes, tokens: list[bytes | None], ids: list[int]) -> ReadMerges | None:
    """Read a `merges.txt` of tokens with ids; a token that is None is in no merge."""
    native = native_core()
    read = None if native is None else native.read_merges(content, tokens, ids)
    return None if read is None else ReadMerges(tokens, *read)


def read_model(content: bytes, *, as_text: bool = False) -> tuple[bytes, dict[str, int], ReadMerges] | None:
    """Read vocabulary and merges of a `tokenizer.json`, with printable tokens or with text.

    Returns:
        The content without these, to be parsed; token as it is written → id, all distinct; and the merges.
    """
    native = native_core()
    read = None if native is None else native.read_model(content, as_text)
    if read is None:
        return None
    remaining_json, ids, tokens, merges = read
    return remaining_json, ids, ReadMerges(tokens, *merges)


def merges_of_json(
    ids: Mapping[str, int], merges: list[Any], tokens_of: Callable[[list[str]], Sequence[bytes | None]]
) -> tuple[list[Merge], Sequence[bytes | None], bytes]:
    """Return merges, tokens and `is_used` as `ReadMerges` has them, of the model of a parsed `tokenizer.json`.

    Args:
        ids: token as it is written → id.
        merges: what `read_model` read, or merges as they are written.
        tokens_of: returns the bytes of tokens.

    Raises:
        ValueError: a merge is not of two tokens of the vocabulary that stand for bytes.
    """
    if isinstance(merges, ReadMerges):
        return merges, merges.tokens, merges.is_used
    tokens = tokens_of([*ids])
    token_bytes = dict(zip(ids, tokens, strict=True))
    pairs = [_merge(rank, merge, token_bytes) for rank, merge in enumerate(merges)]
    used = {part for first, second in pairs for part in (first, second, first + second)}
    return pairs, tokens, bytes(token in used for token in tokens)


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


def read_model_ids(content: bytes, *, as_text: bool) -> tuple[bytes, dict[str, int], bytes] | None:
    """Read a `tokenizer.json` to compare it: return what `read_model` does, with `ids` in place of the merges."""
    native = native_core()
    return None if native is None else native.read_model_ids(content, as_text)


def merge_ids(model: BPEModel) -> bytes:
    """Return the merges of a model as `ids` of `ReadMerges`."""
    if model._merge_ids is not None:
        return model._merge_ids
    ids = {token: token_id for token_id, token in model.vocab.items()}
    tokens = ((first, second, first + second) for first, second in model.merges)
    return array("I", [ids[token] for merge in tokens for token in merge]).tobytes()
