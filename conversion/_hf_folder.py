"""Folders for transformers: the output of `save_pretrained`, of BPETokenizer or a fast tokenizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tokenizers

from hf_bpe._utils.input_files import read_bounded
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._folder.consistency import REQUIRED_FILES
from hf_bpe.formats._folder.files import CONFIG_FILE, FOLDER_FEATURES, TOKENIZER_FILE
from hf_bpe.formats._folder.read import read_folder
from hf_bpe.formats._folder.write import write_folder
from hf_bpe.formats._format import Format, Hints, Peer
from hf_bpe.formats._verification.sides import side_of_loaded


def _matches(path: Path, head: bytes) -> bool:
    return path.is_dir() and ((path / CONFIG_FILE).is_file() or (path / TOKENIZER_FILE).is_file())


def _read(path: Path, hints: Hints) -> Definition:
    tells_pattern = (path / TOKENIZER_FILE).is_file() or b'"pattern"' in read_bounded(path / CONFIG_FILE)
    options: dict[str, Any] = {} if tells_pattern or hints.pattern == "auto" else {"pattern": hints.pattern}
    return read_folder(path, **options)


def _peer(path: Path, definition: Definition) -> Peer | None:
    if not (path / TOKENIZER_FILE).is_file():
        return None
    backend = tokenizers.Tokenizer.from_file(str(path / TOKENIZER_FILE))
    backend.no_truncation()
    backend.no_padding()
    # The other files may add tokens, make some special, and say that special tokens in text are ordinary text.
    backend.add_tokens([*definition.added_tokens.values()])
    backend.encode_special_tokens = definition.setting("split_special_tokens", False)
    return side_of_loaded(backend, f"tokenizers {tokenizers.__version__}").peer


FORMAT = Format(
    name="hf",
    what="a folder for transformers",
    is_file=False,
    carries=FOLDER_FEATURES,
    matches=_matches,
    read=_read,
    write=write_folder,
    peer=_peer,
    last=REQUIRED_FILES,
)
