"""Vocabularies and merges of files, read and written by the native core.

Files are read natively if they are regular: without native core or for any other file, the readers return None, and the
caller, which reads all files, reports what is wrong.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from hf_bpe._native_core import native_core
from hf_bpe.core._model import CheckedMerges
from hf_bpe.pretokenizers._byte_level import from_printable

if TYPE_CHECKING:
    from hf_bpe.core._model import BPEModel, Merge


def from_printable_all(texts: list[str]) -> list[bytes | None]:
    """Return `from_printable` of each text."""
    native = native_core()
    return [*map(from_printable, texts)] if native is None else native.from_printable(texts)


def printable_vocab(model: BPEModel) -> dict[str, int]:
    """Return `BPEModel.printable_vocab` of a model."""
    native = native_core()
    if native is None or model._printable_vocab is not None or model.characters is not None:
        return model.printable_vocab()
    specials = {special.encode(): special for special in model.special_tokens}
    return dict(zip(native.to_printable([*model.vocab.values()], specials), model.vocab, strict=True))


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


# Files are read natively if they are regular: without native core or for any other file, these return None, and the
# caller, which reads all files, reports what is wrong.


class MergesOfFile(NamedTuple):
    """Distinct merges of a file.

    Attributes:
        merges: pairs of the given tokens.
        is_used: a byte for each token, 1 if a merge has or makes it.
        ids: see `CheckedMerges.ids`.
    """

    merges: list[tuple[bytes, bytes]]
    is_used: bytes
    ids: bytes


class ModelOfFile(NamedTuple):
    """Vocabulary and merges of a `tokenizer.json`.

    Attributes:
        rest: the content without these, to be parsed.
        ids: token as it is written → id; ids are distinct.
        tokens: the bytes of each token, None if a character stands for no byte.
        merges: the merges.
    """

    rest: bytes
    ids: dict[str, int]
    tokens: list[bytes | None]
    merges: MergesOfFile


class ReadMerges(CheckedMerges):
    """The merges of a `tokenizer.json` as bytes, in place of those in its content, where they were read natively.

    Args:
        merges: pairs of `tokens`.
        tokens: the bytes of the tokens in `model.vocab`, whose ids are distinct integers; None for printable tokens
            with a character that stands for no byte.
        is_used: a byte for each token, 1 if a merge has or makes it.
        ids: see `CheckedMerges.ids`.
    """

    def __init__(self, merges: list[Merge], tokens: list[bytes | None], is_used: bytes, ids: bytes) -> None:
        super().__init__(merges)
        self.tokens = tokens
        self.is_used = is_used
        self.ids = ids


def read_vocab(content: bytes) -> tuple[dict[str, int], list[bytes | None]] | None:
    """Read a `vocab.json`: return printable token → id, and the tokens as in `ModelOfFile`."""
    native = native_core()
    return None if native is None else native.read_vocab(content)


def read_merges(content: bytes, tokens: list[bytes | None], ids: list[int]) -> MergesOfFile | None:
    """Read a `merges.txt` of tokens with ids; those that are None are in no merge."""
    native = native_core()
    merges = None if native is None else native.read_merges(content, tokens, ids)
    return None if merges is None else MergesOfFile(*merges)


def read_model(content: bytes, *, as_text: bool = False) -> ModelOfFile | None:
    """Read vocabulary and merges of a `tokenizer.json`, with printable tokens or with text."""
    native = native_core()
    model = None if native is None else native.read_model(content, as_text)
    if model is None:
        return None
    rest, ids, tokens, merges = model
    return ModelOfFile(rest, ids, tokens, MergesOfFile(*merges))


def read_model_ids(content: bytes, *, as_text: bool) -> tuple[bytes, dict[str, int], bytes] | None:
    """Read a `tokenizer.json` to compare it: return `rest` and `ids` of `ModelOfFile`, and `ids` of its merges."""
    native = native_core()
    return None if native is None else native.read_model_ids(content, as_text)


def merge_ids(model: BPEModel) -> bytes:
    """Return the merges of a model as `ids` of `MergesOfFile`."""
    if model._merge_ids is not None:
        return model._merge_ids
    ids = {token: token_id for token_id, token in model.vocab.items()}
    tokens = ((first, second, first + second) for first, second in model.merges)
    return array("I", [ids[token] for merge in tokens for token in merge]).tobytes()
