"""Verification of a written folder without transformers: do its files, and `tokenizers`, give the tokenizer?"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, cast

from tokenizers import AddedToken, Tokenizer

from hf_bpe.core._arrays import MergeIds, WrittenVocab
from hf_bpe.core._model import BPEModel
from hf_bpe.formats._added_tokens import NamedTokens
from hf_bpe.formats._construction import make_vocabulary, with_named_tokens
from hf_bpe.formats._definition import ENCODING_SETTINGS, Definition
from hf_bpe.formats._files.native_readers import read_model
from hf_bpe.formats._folder.files import TOKENIZER_FILE
from hf_bpe.formats._folder.read import read_folder
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.formats._verification.mismatch import check_model, check_side
from hf_bpe.formats._verification.sides import Side, side_of, side_of_loaded
from hf_bpe.formats._verification.stress_texts import stress_texts
from hf_bpe.normalizers._backend import panics_as_errors
from hf_bpe.pretokenizers._byte_level import from_printable, is_utf8

COMMON_SETTINGS = ("padding_side", "truncation_side", "model_max_length", "chat_template", "split_special_tokens")
"""Settings that every tokenizer of transformers must load."""

_CHECKED = (*COMMON_SETTINGS, *ENCODING_SETTINGS, "errors", "clean_up_tokenization_spaces", "template", "unused_tokens")
_BACKEND_LOADER = "tokenizers.Tokenizer.from_file"
_MAX_TOKENS_IF_READ = 1 << 12  # of a vocabulary that is read back with all merges


def verify_folder(
    folder: Path,
    definition: Definition,
    read: Callable[[Path], Definition] = read_folder,
    load_backend: Callable[[], Tokenizer] | None = None,
    files: Sequence[Path] = (),
) -> tuple[Tokenizer, Side, list[tuple[list[int], str]]]:
    """Read a written folder back, load it with `tokenizers`, verify both, and return that and `decoded_texts`.

    `load_backend` returns what transformers has loaded from `tokenizer.json`, and perhaps changed. If it is proven
    unchanged, it is verified and returned, not loaded again.
    """
    definition = with_named_tokens(definition)
    pipeline = Pipeline.from_definition(definition)
    expected = side_of(definition, "the tokenizer by hf_bpe", pipeline)
    with loading("from_pretrained"):  # which reads the same files
        got = read(folder)
    check_model("from_pretrained", definition, got.model)
    check_equal("from_pretrained", _values(definition), _values(got))
    with loading(_BACKEND_LOADER):
        loaded, file = _load(folder / TOKENIZER_FILE, definition, load_backend)
    vocabulary, max_tokens = _vocabulary(definition), None if file is None else _MAX_TOKENS_IF_READ
    if file is None or not file.vocabulary.equals(vocabulary) or loaded.get_vocab_size() != len(vocabulary):
        check_vocabulary(_BACKEND_LOADER, vocabulary.entries, loaded.get_vocab())
    if file is not None:
        file.check_merges(_BACKEND_LOADER, definition.model)
    written = replace(side_of_loaded(loaded, _BACKEND_LOADER), definition=definition)  # which shows the bytes of ids
    check_side(_BACKEND_LOADER, expected, written, files, max_tokens=max_tokens)
    check_decoding(_BACKEND_LOADER, decoded := decoded_texts(definition, pipeline), loaded)
    check_equal(_BACKEND_LOADER, flags(definition.added_tokens), flags(loaded.get_added_tokens_decoder()))
    return loaded, written, decoded


@contextmanager
def loading(name: str) -> Iterator[None]:
    """Raise a ValueError with the name of a loader for any error but a MemoryError."""
    try:
        with panics_as_errors():
            yield
    except MemoryError:
        raise
    except Exception as error:  # `tokenizers` raises no narrower class
        raise ValueError(f"{name} cannot load the folder: {error}") from error


def _load(
    path: Path, definition: Definition, load_backend: Callable[[], Tokenizer] | None
) -> tuple[Tokenizer, WrittenFile | None]:
    """Return `tokenizer.json` as `tokenizers` loads it, and as it is read back, None if that is irregular."""
    file: WrittenFile | None = None
    splits, as_text = definition.setting("split_special_tokens", False), not definition.model.alphabet.is_bytes
    with suppress(Exception), panics_as_errors():  # `verify_saved` reports what transformers cannot load
        file = WrittenFile(path.read_bytes(), as_text=as_text)
        backend = load_backend() if load_backend else None
        if backend is not None and backend.encode_special_tokens == splits and file.is_loaded_as(backend):
            return backend, file
    loaded = Tokenizer.from_file(str(path))
    loaded.encode_special_tokens = splits  # which the file does not store
    with suppress(Exception), panics_as_errors():  # a file that repeats a merge is irregular
        file = file or WrittenFile(loaded.to_str().encode(), as_text=as_text)
    return loaded, file


def _values(definition: Definition) -> dict[str, object]:
    named = NamedTokens.from_settings(definition.settings).contents
    return {name: definition.setting(name) for name in _CHECKED} | named | flags(definition.added_tokens)


def _vocabulary(definition: Definition) -> WrittenVocab:
    """Return printable token → id, including added tokens, with placeholders for unused ids of the model."""
    contents = {token_id: token.content for token_id, token in definition.added_tokens.items()}
    vocab = make_vocabulary(definition.model, definition.unused_tokens, contents)
    return vocab.with_more({content: token_id for token_id, content in contents.items()})


def check_vocabulary(name: str, expected: Mapping[str, int], got: Mapping[str, int]) -> None:
    """Raise a ValueError if a vocabulary differs."""
    if expected != got:
        ids = ({f"token {token!r} the id": token_id for token, token_id in each.items()} for each in (expected, got))
        check_equal(name, *ids)


def decoded_texts(definition: Definition, pipeline: Pipeline) -> list[tuple[list[int], str]]:
    """Return the ids of stress texts and the text that each row is decoded to, where this is UTF-8.

    What becomes of other bytes is a setting of BPETokenizer. Texts are left out that have an added token which
    `tokenizers` takes for the printable form of bytes, such as "café", or decodes to its normalized content.
    """
    model = definition.model
    decoded_otherwise = {
        token_id
        for token_id, token in definition.added_tokens.items()
        if model.alphabet.is_bytes
        and (
            from_printable(token.content) not in (None, token.content.encode())
            or (token.normalized and model.normalization.apply(token.content) != token.content)
        )
    }
    encoded = filter(decoded_otherwise.isdisjoint, pipeline.encode(stress_texts(definition)))
    rows = [ids for ids in encoded if is_utf8(pipeline.decode_bytes(ids))]
    return [*zip(rows, pipeline.decode(rows), strict=True)]


def check_decoding(name: str, decoded: list[tuple[list[int], str]], loaded: Any) -> None:
    """Raise a ValueError if ids are decoded to another text."""
    options = {} if isinstance(loaded, Tokenizer) else {"clean_up_tokenization_spaces": False}
    for ids, expected in decoded:
        text = loaded.decode(ids, skip_special_tokens=False, **options)
        check_equal(name, {f"text of {ids}": expected}, {f"text of {ids}": text})


def flags(tokens: Mapping[int, AddedToken]) -> dict[str, object]:
    """Return content and flags of added tokens, by a name for messages."""
    return {f"added token {token_id}": token.__getstate__() for token_id, token in tokens.items()}


def check_equal(name: str, expected: Mapping[str, object], got: Mapping[str, object]) -> None:
    """Raise a ValueError for the first property that a loader, with a name, gives another value."""
    for what in {**expected, **got}:
        if got.get(what) != expected.get(what):
            raise ValueError(f"{name} gives {what} {got.get(what)!r:.200}, expected {expected.get(what)!r:.200}")


# What transformers puts in the place of no post-processor.
_NO_TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {},
}


class WrittenFile:
    """A `tokenizer.json` read back natively, with tokens `as_text` in a model of characters."""

    def __init__(self, data: bytes, *, as_text: bool = False) -> None:
        if (read := read_model(data, as_text=as_text)) is None:
            raise ValueError("no core, or an irregular file")
        content, model = read
        self._merge_ids, self._content = cast("MergeIds", model.merges), json.loads(content)
        self.vocabulary = model.vocab.with_more({each["content"]: each["id"] for each in self._content["added_tokens"]})

    def check_merges(self, name: str, model: BPEModel) -> None:
        """Raise a ValueError, with the name of the loader, if it has other merges than a model."""
        if self._merge_ids != model.merge_ids:
            merges = self._merge_ids.pairs(defaultdict(bytes, model.vocab))
            for rank, (merge, own) in enumerate(zip_longest(merges, model.merges)):
                if merge != own:
                    raise ValueError(f"{name} gives different merges: merge {rank} is {merge!r}, expected {own!r}")

    def is_loaded_as(self, backend: Tokenizer) -> bool:
        """Return whether a backend has all of the file; its vocabulary and merges nobody changes."""
        added = sorted(backend.get_added_tokens_decoder().items())
        loaded = {**self._content, "truncation": backend.truncation, "padding": backend.padding}
        loaded["added_tokens"] = [{"id": token_id, **token.__getstate__()} for token_id, token in added]
        for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
            part = getattr(backend, name)
            loaded[name] = None if part is None else json.loads(part.__getstate__())
        settings = self._content["model"].items()  # without attributes type, vocab and merges
        is_same = all(getattr(backend.model, name, value) == value for name, value in settings)
        return is_same and _with_no_template_as_none(self._content) == _with_no_template_as_none(loaded)


def _with_no_template_as_none(content: dict[str, Any]) -> dict[str, Any]:
    return {**content, "post_processor": None} if content["post_processor"] == _NO_TEMPLATE else content
