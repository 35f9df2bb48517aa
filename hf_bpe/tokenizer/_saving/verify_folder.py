"""Verification of a saved folder: does each loader give the vocabulary and the ids of the tokenizer?"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenizers import AddedToken, Tokenizer

from hf_bpe._utils.panics import panics_as_errors
from hf_bpe.formats._verification.mismatch import check_ids, check_offsets, check_side
from hf_bpe.formats._verification.sides import Side, side_of_loaded

if TYPE_CHECKING:
    from hf_bpe.tokenizer._protocol import Tokenizer as OwnTokenizer
_HEAD_BYTES = 1 << 18


def verify_folder(
    folder: str | os.PathLike[str],
    tokenizer: OwnTokenizer,
    *,
    original: Side | None = None,
    files: Sequence[Path] = (),
) -> None:
    r"""Load a folder with each loader, and verify that it gives vocabulary and ids of the tokenizer.

    The loaders are BPETokenizer, `tokenizers`, and the fallback of transformers if hf_bpe is not installed.

    Args:
        folder: a folder that `save_pretrained` wrote, without a prefix.
        tokenizer: the tokenizer that was saved.
        original: another side that must give the same ids.
        files: text files to encode, besides the stress texts.

    Raises:
        OSError: one of `files` cannot be read.
        ValueError: a loader fails, or its vocabulary, ids or offsets differ; the message names the loader and the text.

    >>> from hf_bpe import BPETokenizer
    >>> tokenizer = BPETokenizer.train(["low lower"], vocab_size=258)
    >>> _ = tokenizer.save_pretrained("folder")
    >>> verify_folder("folder", tokenizer)
    >>> verify_folder("folder", BPETokenizer.train(["new"], vocab_size=258))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: BPETokenizer.from_pretrained gives token 'ne' the id None, expected 256...
    """
    expected = side_of_loaded(tokenizer, "the tokenizer")
    vocabulary, checked = tokenizer.get_vocab(), None
    for name, load in _loaders(Path(folder), tokenizer):
        try:
            with panics_as_errors():
                loaded = load()
        except Exception as error:  # `tokenizers` raises no narrower class
            raise ValueError(f"{name} cannot load the folder: {error}. {_ADVICE}") from error
        try:
            backend = getattr(loaded, "_tokenizer", loaded)
            if backend is not checked:  # PreTrainedTokenizerFast has the vocabulary of its tokenizers.Tokenizer
                _check_vocabulary(name, vocabulary, loaded.get_vocab())
            checked = backend
            written = side_of_loaded(loaded, name)
            # Other libraries have no definition; this one shows the bytes of ids.
            written = replace(written, definition=written.definition or expected.definition)
            # The model that BPETokenizer loads is equal, and both others load the vocabulary of tokenizer.json, which
            # `tokenizers` encodes faster.
            check_side(name, expected, written, files, tries_vocabulary=name == _OF_TOKENIZERS)
            if original is not None and name == _OF_TRANSFORMERS:
                check_ids(name, original, written, files)
                check_offsets(name, original, written)
        except ValueError as error:
            raise ValueError(f"{error}\n{_ADVICE}") from None


_OF_TOKENIZERS = "tokenizers.Tokenizer.from_file"
_OF_TRANSFORMERS = "PreTrainedTokenizerFast.from_pretrained"
_ADVICE = "Change what is named here, or, to have the folder all the same, save with verify=False"


def _loaders(folder: Path, tokenizer: OwnTokenizer) -> Iterator[tuple[str, Callable[[], Any]]]:
    from transformers.tokenization_utils_tokenizers import PreTrainedTokenizerFast

    path = folder / "tokenizer.json"

    @cache
    def load_with_transformers() -> Any:
        # AutoTokenizer falls back to this class if it does not know ours.
        return PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)

    def load_with_tokenizers() -> Tokenizer:
        with suppress(Exception):  # reported when it is this loader's turn
            backend: Tokenizer = load_with_transformers().backend_tokenizer
            if _is_as_in_file(backend, path) and backend.encode_special_tokens == tokenizer.split_special_tokens:
                return backend
        loaded = Tokenizer.from_file(str(path))
        loaded.encode_special_tokens = tokenizer.split_special_tokens  # which the file does not store
        return loaded

    ours = type(tokenizer)
    yield f"{ours.__name__}.from_pretrained", lambda: ours.from_pretrained(folder, local_files_only=True)
    yield _OF_TOKENIZERS, load_with_tokenizers
    yield _OF_TRANSFORMERS, load_with_transformers


def _is_as_in_file(loaded: Tokenizer, path: Path) -> bool:
    """Return whether a tokenizer that was loaded from a `tokenizer.json` of ours has not been changed since.

    Its vocabulary and merges cannot be changed. Everything else is compared with what `tokenizers` reads from the file
    without these two, which come last in it.
    """
    marker = b'\n    "vocab": {\n'
    head = b""
    with path.open("rb") as file:
        while marker not in head and (block := file.read(_HEAD_BYTES)):
            head += block
    head, vocab, _ = head.partition(marker)
    if not vocab:
        return False
    content = json.loads(head + b'"vocab": {}, "merges": []}}')
    added = {token.pop("id"): AddedToken(**token) for token in content["added_tokens"]}
    of_file = Tokenizer.from_str(json.dumps({**content, "added_tokens": []}))

    def parts(tokenizer: Tokenizer) -> list[Any]:
        stages = tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.post_processor, tokenizer.decoder
        model = [getattr(tokenizer.model, name) for name in _OPTIONS_OF_BPE]
        states = [stage and json.loads(stage.__getstate__()) for stage in stages]
        states = [None if state == _NO_TEMPLATE else state for state in states]
        return [*states, tokenizer.padding, tokenizer.truncation, *model]

    def written(tokens: Mapping[int, AddedToken]) -> dict[int, Any]:
        return {token_id: token.__getstate__() for token_id, token in tokens.items()}

    return parts(loaded) == parts(of_file) and written(loaded.get_added_tokens_decoder()) == written(added)


# What transformers puts in the place of no post-processor.
_NO_TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {},
}
_OPTIONS_OF_BPE = (
    *("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"),
    *("fuse_unk", "byte_fallback", "ignore_merges"),
)


def _check_vocabulary(name: str, expected: Mapping[str, int], got: Mapping[str, int]) -> None:
    for token in [*expected, *got] if expected != got else ():
        if expected.get(token) != got.get(token):
            raise ValueError(f"{name} gives token {token!r} the id {got.get(token)}, expected {expected.get(token)}")
