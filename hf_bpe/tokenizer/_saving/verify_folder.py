"""Verification of a saved folder: does each loader give the vocabulary and the ids of the tokenizer?"""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenizers import AddedToken, Tokenizer

from hf_bpe._utils.cached_property import cached_property
from hf_bpe._utils.panics import panics_as_errors
from hf_bpe.formats._definition import ENCODING_SETTINGS
from hf_bpe.formats._native_readers import merge_ids, read_model_ids
from hf_bpe.formats._verification.mismatch import check_side
from hf_bpe.formats._verification.sides import side_of_loaded
from hf_bpe.formats._verification.stress_texts import stress_texts
from hf_bpe.pretokenizers._byte_level import from_printable

if TYPE_CHECKING:
    from hf_bpe.core._model import BPEModel
    from hf_bpe.tokenizer._self_types import OwnTokenizer


def verify_folder(folder: str | os.PathLike[str], tokenizer: OwnTokenizer) -> None:
    r"""Load a folder with each loader, and verify that it gives vocabulary and ids of the tokenizer.

    The loaders are BPETokenizer, `tokenizers`, and the fallback of transformers if hf_bpe is not installed.

    `save_pretrained` has written the folder, without a prefix.

    Raises:
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
    decoded = _decoded_texts(tokenizer)
    loaders = _Loaders(Path(folder), tokenizer)
    for name, load in loaders.items():
        try:
            with panics_as_errors():
                loaded = load()
        except MemoryError:
            raise
        except Exception as error:  # `tokenizers` raises no narrower class
            raise ValueError(f"{name} cannot load the folder: {error}. {_ADVICE}") from error
        file = loaders.file_of(loaded) if name == _OF_TOKENIZERS else None
        try:
            # PreTrainedTokenizerFast has the vocabulary and the offsets of its tokenizers.Tokenizer.
            backend = getattr(loaded, "_tokenizer", loaded)
            is_checked, checked = backend is checked, backend
            if not is_checked and not (file is not None and file.has_vocabulary_of(tokenizer)):
                _check_vocabulary(name, vocabulary, loaded.get_vocab())
            if file is not None:
                file.check_merges(name, tokenizer.model)
            written = side_of_loaded(loaded, name)
            # Other libraries have no definition; this one shows the bytes of ids.
            written = replace(written, definition=written.definition or expected.definition)
            # The model that BPETokenizer loads is equal, and both others load the vocabulary of tokenizer.json, which
            # `tokenizers` encodes faster.
            max_tokens = None if name == _OF_TOKENIZERS else 0
            max_tokens = _TOKENS_OF_PROVEN if file is not None else max_tokens
            check_side(name, expected, written, (), max_tokens=max_tokens, has_checked_offsets=is_checked)
            _check_decoding(name, decoded, loaded)
            if isinstance(loaded, Tokenizer):
                _check_equal(name, _flags(tokenizer.definition.added_tokens), _flags(loaded.get_added_tokens_decoder()))
            else:
                _check_settings(name, tokenizer, loaded)
        except ValueError as error:
            raise ValueError(f"{error}\n{_ADVICE}") from None


_OF_TOKENIZERS = "tokenizers.Tokenizer.from_file"
_OF_TRANSFORMERS = "PreTrainedTokenizerFast.from_pretrained"
_SETTINGS_OF_ALL = ("padding_side", "truncation_side", "model_max_length", "chat_template", "split_special_tokens")
_SETTINGS = (*_SETTINGS_OF_ALL, *ENCODING_SETTINGS, "errors", "clean_up_tokenization_spaces")
_TOKENS_OF_PROVEN = 1 << 12  # of a vocabulary that `tokenizers` is proven to have loaded with all merges
_ADVICE = "Change what is named here, or, to have the folder all the same, save with verify=False"


class _Loaders:
    """The loaders of the folder of a saved tokenizer."""

    def __init__(self, folder: Path, tokenizer: OwnTokenizer) -> None:
        self._folder = folder
        self._tokenizer = tokenizer
        self._path = folder / "tokenizer.json"
        self._file = cache(partial(LoadedFile, self._path, as_text=not tokenizer.model.alphabet.is_bytes))

    def items(self) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Yield the name of each loader, and the loader."""
        ours = type(self._tokenizer)
        yield f"{ours.__name__}.from_pretrained", lambda: ours.from_pretrained(self._folder, local_files_only=True)
        yield _OF_TOKENIZERS, self._load_with_tokenizers
        yield _OF_TRANSFORMERS, lambda: self._loaded_with_transformers

    def file_of(self, backend: Tokenizer) -> LoadedFile | None:
        """Return `tokenizer.json` as a `tokenizers.Tokenizer` has loaded it; None if it cannot be compared."""
        with suppress(Exception), panics_as_errors():  # encoding tells what is wrong
            return self._file(backend)
        return None

    def _load_with_tokenizers(self) -> Tokenizer:
        treats_specials_as_text = self._tokenizer.split_special_tokens
        with suppress(Exception), panics_as_errors():  # reported when it is this loader's turn
            backend: Tokenizer = self._loaded_with_transformers.backend_tokenizer  # need not be loaded twice
            if backend.encode_special_tokens == treats_specials_as_text and self._file(backend).is_unchanged():
                return backend
        loaded = Tokenizer.from_file(str(self._path))
        loaded.encode_special_tokens = treats_specials_as_text  # which the file does not store
        return loaded

    @cached_property
    def _loaded_with_transformers(self) -> Any:
        from transformers.tokenization_utils_tokenizers import PreTrainedTokenizerFast

        # AutoTokenizer falls back to this class if it does not know ours.
        return PreTrainedTokenizerFast.from_pretrained(self._folder, local_files_only=True)


def _check_vocabulary(name: str, expected: Mapping[str, int], got: Mapping[str, int]) -> None:
    for token in [*expected, *got] if expected != got else ():
        if expected.get(token) != got.get(token):
            raise ValueError(f"{name} gives token {token!r} the id {got.get(token)}, expected {expected.get(token)}")


def _decoded_texts(tokenizer: Any) -> list[tuple[list[int], str]]:
    """Return ids of stress texts with the text to which they are decoded, where this is UTF-8.

    What becomes of other bytes is a setting of BPETokenizer. Texts are left out that have an added token which
    `tokenizers` takes for the printable form of bytes, such as "café", or decodes to its normalized content.
    """
    definition = tokenizer.definition
    normalize = definition.model.normalization.apply
    decoded_otherwise = {
        token_id
        for token_id, token in definition.added_tokens.items()
        if definition.model.alphabet.is_bytes
        and (
            from_printable(token.content) not in (None, token.content.encode())
            or (token.normalized and normalize(token.content) != token.content)
        )
    }
    decoded = []
    for ids in tokenizer.encode_to_lists(stress_texts(definition)):
        if not decoded_otherwise.isdisjoint(ids):
            continue
        with suppress(UnicodeDecodeError):
            tokenizer.decode_bytes(ids).decode()
            decoded.append((ids, tokenizer.decode(ids, clean_up_tokenization_spaces=False)))
    return decoded


def _check_decoding(name: str, decoded: Sequence[tuple[list[int], str]], loaded: Any) -> None:
    """Raise a ValueError if ids are decoded to another text."""
    options = {} if isinstance(loaded, Tokenizer) else {"clean_up_tokenization_spaces": False}
    for ids, expected in decoded:
        if (text := loaded.decode(ids, skip_special_tokens=False, **options)) != expected:
            raise ValueError(f"{name} decodes {ids} to {text!r}, expected {expected!r}")


def _check_settings(name: str, tokenizer: OwnTokenizer, loaded: Any) -> None:
    """Raise a ValueError if a transformers tokenizer has loaded another setting, named token or flag."""
    settings = _SETTINGS if type(loaded) is type(tokenizer) else _SETTINGS_OF_ALL

    def values(each: Any) -> dict[str, object]:
        named = {setting: token and str(token) for setting, token in each._special_tokens_map.items()}
        return {setting: getattr(each, setting) for setting in settings} | named | _flags(each.added_tokens_decoder)

    _check_equal(name, values(tokenizer), values(loaded))


def _flags(tokens: Mapping[int, AddedToken]) -> dict[str, object]:
    return {f"added token {token_id}": token.__getstate__() for token_id, token in tokens.items()}


def _check_equal(name: str, expected: Mapping[str, object], got: Mapping[str, object]) -> None:
    for what in {**expected, **got}:
        if got.get(what) != expected.get(what):
            raise ValueError(f"{name} gives {what} {got.get(what)!r:.200}, expected {expected.get(what)!r:.200}")


# What `tokenizers` has loaded it serializes, and that is read back and compared: vocabulary, added tokens, and merges
# in their order. Only that equal parts mean equal ids is left to the texts of `hf_bpe.formats._verification`.
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
