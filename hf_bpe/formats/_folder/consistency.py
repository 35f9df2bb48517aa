"""Integrity of folders: digests of saved files, and contradictions between any files.

`tokenizer_config.json` holds a digest of each file that the vocabulary and merges are read from. Files of two saves in
one folder, or a damaged or changed file, raise an error instead of giving wrong ids. `tokenizer_config.json` itself and
chat templates have no digest, because people edit them by hand and they decide no ids of a text. Files that contradict
each other make other loaders get other ids, names or embeddings.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hf_bpe._utils.files import interrupted_save
from hf_bpe._utils.input_files import decode, read_bounded, read_json_object
from hf_bpe.core._model import BPEModel
from hf_bpe.formats._files.tokenizer_json import read_tokenizer_json
from hf_bpe.formats._folder.files import CONFIG_FILE, DIGESTS, TOKENIZER_FILE, VOCABULARY_FILES, content_of_token
from hf_bpe.formats._settings import NAMED_TOKENS

# Put in place last. Fast tokenizers and BPETokenizer for characters need the first, BPETokenizer for bytes and readers
# of GPT-2's files the second.
REQUIRED_FILES = (TOKENIZER_FILE, "vocab.json")

_MODEL_FILES = ("config.json", "generation_config.json")
_SHOWN = 3


def compute_digests(folder: Path) -> dict[str, str]:
    """Return name → digest of the files in a folder with vocabulary and merges."""
    return {name: _compute_digest(folder / name) for name in VOCABULARY_FILES.values() if (folder / name).is_file()}


def check_complete(folder: Path) -> None:
    """Raise a ValueError if files are missing because a save was interrupted."""
    for name in reversed(REQUIRED_FILES):
        if waiting := interrupted_save(folder, name):
            raise ValueError(
                f"{folder}: a save into this folder was interrupted before it put {name} in place; save the tokenizer "
                f"again, or move what is left in {waiting.parent} into the folder"
            )


def check_digests(config: Mapping[str, Any], files: Mapping[str, str | None], model: BPEModel | None) -> None:
    """Raise an error if a file does not match its digest in `tokenizer_config.json`.

    Another library may have rewritten `tokenizer.json`, for example with added tokens; it must hold the same model,
    unless the files could not be read, which is None. A file without a digest is not checked.
    """
    digests = config.get(DIGESTS) or {}
    for key, name in VOCABULARY_FILES.items():
        path = files.get(key)
        if path is None or name not in digests or _compute_digest(Path(path)) == digests[name]:
            continue
        if key == "tokenizer_file" and (model is None or _holds(Path(path), model)):
            continue
        other = "" if key != "tokenizer_file" else ", and holds a different tokenizer than vocab.json and merges.txt"
        raise ValueError(
            f"{path}: is not the file that was saved with {CONFIG_FILE}{other}: a save or a copy of the folder was "
            "interrupted, or the file was changed. Save the tokenizer or copy the folder again; if the file is meant "
            f"to be as it is, delete {name!r} from {DIGESTS!r} in {CONFIG_FILE}"
        )


def _holds(tokenizer_json: Path, model: BPEModel) -> bool:
    """Return whether a `tokenizer.json` holds a model, possibly with more tokens, such as names for unused ids."""
    other = read_tokenizer_json(tokenizer_json).model
    return (
        [*other.merges] == [*model.merges]
        and (other.pattern, other.normalizer) == (model.pattern, model.normalizer)
        and other.ignore_merges == model.ignore_merges
        and model.vocab.items() <= other.vocab.items()
    )


def _compute_digest(path: Path) -> str:
    """Return a digest of a text file that ignores the kind of line ends, which Git may change."""
    digest = hashlib.sha256()
    with path.open(encoding="latin-1") as file:  # decodes every byte as one character
        while text := file.read(1 << 20):
            digest.update(text.encode("latin-1"))
    return f"sha256:{digest.hexdigest()}"


def find_contradictions(folder: Path) -> list[str]:
    """Find what the other files of a folder say differently from its `tokenizer.json`, or from each other."""
    content = _read(folder / "tokenizer.json")
    config = _read(folder / "tokenizer_config.json")
    part = content.get("model")
    model: Mapping[str, Any] = part if isinstance(part, dict) else {}
    listed = [token for token in content.get("added_tokens") or [] if isinstance(token, dict)]
    added = {str(token.get("content")): token.get("id") for token in listed}
    ids = {**(model["vocab"] if isinstance(model.get("vocab"), dict) else {}), **added}
    return [
        *_vocabulary_contradictions(folder, model),
        *_added_token_contradictions(folder, config, ids),
        *_name_contradictions(folder, config),
        *_model_contradictions(folder, config, ids),
    ]


def _vocabulary_contradictions(folder: Path, model: Mapping[str, Any]) -> Iterator[str]:
    vocab, merges = model.get("vocab"), model.get("merges")
    if isinstance(vocab, dict) and (other := _read(folder / "vocab.json")):
        if differing := [token for token, token_id in other.items() if vocab.get(token, token_id) != token_id]:
            yield f"vocab.json has other ids than tokenizer.json for {_some(differing)}"
        if missing := [token for token in other if token not in vocab]:
            yield f"vocab.json has tokens that the vocabulary of tokenizer.json lacks: {_some(missing)}"
        if missing := [token for token in vocab if token not in other]:
            yield f"vocab.json lacks tokens of tokenizer.json: {_some(missing)}"
    path = folder / "merges.txt"
    if isinstance(merges, list) and path.is_file():
        lines = decode(path, read_bounded(path)).splitlines()
        lines = [line for line in lines[lines[:1] != [] and lines[0].startswith("#version") :] if line]
        expected = [merge if isinstance(merge, str) else " ".join(merge) for merge in merges]
        if lines != expected:
            at = next((i for i, (a, b) in enumerate(zip(lines, expected, strict=False)) if a != b), None)
            where = "" if at is None else f"; merge {at} is {lines[at]!r:.80}, there {expected[at]!r:.80}"
            yield f"merges.txt has {len(lines)} merges and tokenizer.json {len(expected)}{where}"


def _added_token_contradictions(folder: Path, config: Mapping[str, Any], ids: Mapping[str, Any]) -> Iterator[str]:
    decoder = config.get("added_tokens_decoder")
    of_config = {
        str(token.get("content")): int(token_id)
        for token_id, token in (decoder if isinstance(decoder, dict) else {}).items()
        if isinstance(token, dict) and token_id.isdecimal()
    }
    sources = {"tokenizer_config.json": of_config, "added_tokens.json": _read(folder / "added_tokens.json")}
    for name, tokens in sources.items() if ids else ():
        moved = [
            f"{token!r:.80} {token_id} (there {ids[token]})"
            for token, token_id in tokens.items()
            if token in ids and ids[token] != token_id
        ]
        if moved:
            yield f"{name} has other ids than tokenizer.json: {_some(moved, str)}"
        if new := [token for token in tokens if token not in ids]:
            yield f"{name} adds tokens that tokenizer.json lacks: {_some(new)}"


def _name_contradictions(folder: Path, config: Mapping[str, Any]) -> Iterator[str]:
    special_tokens = _read(folder / "special_tokens_map.json")
    for name in NAMED_TOKENS:
        token, other = content_of_token(config.get(name)), content_of_token(special_tokens.get(name))
        if token is not None and other is not None and token != other:
            yield f"{name} is {token!r:.80} in tokenizer_config.json and {other!r:.80} in special_tokens_map.json"


def _model_contradictions(folder: Path, config: Mapping[str, Any], ids: Mapping[str, Any]) -> Iterator[str]:
    for file in _MODEL_FILES:
        model = _read(folder / file)
        for name in ("bos_token", "eos_token", "pad_token"):
            token, value = content_of_token(config.get(name)), model.get(f"{name}_id")
            choices = value if isinstance(value, list) else [value]
            if token is not None and token in ids and value is not None and ids[token] not in choices:
                yield (
                    f"{file}: {name}_id is {value}, and {token!r:.80} of tokenizer_config.json has the id {ids[token]}"
                )
        size, numbers = model.get("vocab_size"), [number for number in ids.values() if type(number) is int]
        if type(size) is int and numbers and max(numbers) >= size:
            yield f"{file}: vocab_size is {size}, and the highest id {max(numbers)}: the model has no embedding for it"


def _some(tokens: list[str], shown: Any = repr) -> str:
    more = f" and {len(tokens) - _SHOWN} more" if len(tokens) > _SHOWN else ""
    return ", ".join(map(shown, tokens[:_SHOWN])) + more


def _read(path: Path) -> dict[str, Any]:
    return read_json_object(path) if path.is_file() else {}
