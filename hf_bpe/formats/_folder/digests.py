"""Integrity of saved folders: digests of files, and the files that are moved into place last.

`tokenizer_config.json` holds a digest of each file that the vocabulary and merges are read from. Files of two saves in
one folder, or a damaged or changed file, raise an error instead of giving wrong ids. `tokenizer_config.json` itself and
chat templates have no digest, because people edit them by hand and they decide no ids of a text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hf_bpe._utils.files import interrupted_save
from hf_bpe.core._model import BPEModel
from hf_bpe.formats._files.tokenizer_json import read_tokenizer_json
from hf_bpe.formats._folder.config import CONFIG_FILE, DIGESTS
from hf_bpe.formats._folder.files import TOKENIZER_FILE, VOCABULARY_FILES

# Required files: fast tokenizers need the first, and BPETokenizer for characters; BPETokenizer for bytes and readers of
# GPT-2's files the second.
LAST = (TOKENIZER_FILE, "vocab.json")


def compute_digests(folder: Path) -> dict[str, str]:
    """Return name → digest of the files in a folder with vocabulary and merges."""
    return {name: _compute_digest(folder / name) for name in VOCABULARY_FILES.values() if (folder / name).is_file()}


def check_complete(folder: Path) -> None:
    """Raise a ValueError if files are missing because a save was interrupted."""
    for name in reversed(LAST):
        if waiting := interrupted_save(folder, name):
            raise ValueError(
                f"{folder}: a save into this folder was interrupted before it put {name} in place; save the tokenizer "
                f"again, or move what is left in {waiting.parent} into the folder"
            )


def check_digests(config: Mapping[str, Any], files: Mapping[str, str | None], model: BPEModel | None) -> None:
    """Raise an error if a file does not match its digest in `tokenizer_config.json`.

    Another library may have rewritten `tokenizer.json`, for example with added tokens; it must hold the same model.

    Args:
        config: the content of `tokenizer_config.json`; a file without a digest is not checked.
        files: transformers' key of a file → its path, None if it does not exist.
        model: the model read from the files; None if they could not be read.

    Raises:
        OSError: a file cannot be read.
        ValueError: a file does not match; the message names it.
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
