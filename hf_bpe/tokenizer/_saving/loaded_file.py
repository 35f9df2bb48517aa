"""Proof, without encoding any text, that `tokenizers` has loaded a `tokenizer.json` with the model of a tokenizer.

What `tokenizers` has loaded it serializes, and that is read back and compared: vocabulary, added tokens, and merges in
their order. Only that equal parts mean equal ids is left to the texts of `hf_bpe.formats._verification`.
"""

from __future__ import annotations

import json
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_bpe.formats._native_readers import merge_ids, read_model_ids

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from hf_bpe.core._model import BPEModel
    from hf_bpe.tokenizer._self_types import OwnTokenizer

_VOCAB = b'\n    "vocab": {'  # its line break is in no string, because JSON escapes them
_BLOCK_BYTES = 1 << 18

# What transformers puts in the place of no post-processor.
_NO_TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {},
}


class LoadedFile:
    """A `tokenizer.json` that `render_tokenizer_json` has written, as `tokenizers` has loaded it, and perhaps changed.

    Tokens are written `as_text` in a model of characters.

    Raises:
        ValueError: the core is not built, which reads what `tokenizers` writes; or it reads no regular model there.
    """

    def __init__(self, path: Path, backend: Tokenizer, *, as_text: bool = False) -> None:
        self._path = path
        read = read_model_ids(backend.to_str().encode(), as_text=as_text)
        if read is None:
            raise ValueError(f"{path}: the core is not built, or what `tokenizers` has loaded is irregular")
        content, self._vocab, self._merge_ids = read
        self._content = _with_no_template_as_none(json.loads(content))

    def has_vocabulary_of(self, tokenizer: OwnTokenizer) -> bool:
        """Return whether it has the vocabulary of a tokenizer, added tokens included."""
        added = {token["content"]: token["id"] for token in self._content["added_tokens"]}
        return {**self._vocab, **added} == tokenizer.get_vocab()

    def check_merges(self, name: str, model: BPEModel) -> None:
        """Raise a ValueError, with the name of the loader, if it has other merges than a model."""
        expected = merge_ids(model)
        if self._merge_ids == expected:
            return
        merges = [_merges_of(ids) for ids in (self._merge_ids, expected)]
        pairs = enumerate(zip(*merges, strict=False))
        rank, (got, own) = next(((rank, pair) for rank, pair in pairs if pair[0] != pair[1]), (0, (None, None)))
        if got is None or own is None:
            raise ValueError(f"{name} gives {len(merges[0])} merges, expected {len(merges[1])}")
        shown = [tuple(model.vocab.get(token_id, token_id) for token_id in merge[:2]) for merge in (got, own)]
        raise ValueError(f"{name} gives different merges: merge {rank} is {shown[0]!r}, expected {shown[1]!r}")

    def is_unchanged(self) -> bool:
        """Return whether all but vocabulary and merges, which cannot be changed, is as in the file.

        `encode_special_tokens` is not in files.
        """
        head = b""
        with self._path.open("rb") as file:
            while _VOCAB not in head and (block := file.read(_BLOCK_BYTES)):
                head += block
        head, vocab, _ = head.partition(_VOCAB)
        if not vocab:
            return False
        return _with_no_template_as_none(json.loads(head + b'"vocab": {}, "merges": []}}')) == self._content


def _with_no_template_as_none(content: dict[str, Any]) -> dict[str, Any]:
    return {**content, "post_processor": None} if content["post_processor"] == _NO_TEMPLATE else content


def _merges_of(ids: bytes) -> list[tuple[int, int, int]]:
    """Return the ids of the first part, the second part and the result of each merge."""
    numbers = array("I", ids)
    return [*zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True)]
