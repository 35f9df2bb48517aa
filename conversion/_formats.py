"""The conversion API: detect, read and write all formats."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hf_bpe._utils.arguments import check_path
from hf_bpe._utils.files import staged_folder
from hf_bpe._utils.input_files import MAX_BYTES, open_regular
from hf_bpe._utils.object_stores import StorageOptions, as_local_folder
from hf_bpe._utils.paths import local_path, output_url
from hf_bpe.conversion import _gguf as gguf
from hf_bpe.conversion import _hf_folder as hf_folder
from hf_bpe.conversion import _rank_folder as rank_folder
from hf_bpe.conversion import _tekken as tekken
from hf_bpe.conversion import _text as text
from hf_bpe.conversion import _tiktoken as tiktoken
from hf_bpe.core._model import BPEModel
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._files import tokenizer_json as tokenizer_json
from hf_bpe.formats._files import vocab_and_merges as gpt2
from hf_bpe.formats._folder.files import FOLDER_FILES, OTHER_FILES, OWN_FILES, needs_conversion
from hf_bpe.formats._folder.verify import verify_folder
from hf_bpe.formats._format import Format, Hints
from hf_bpe.formats._pipeline import without_idle_ignore_merges
from hf_bpe.formats._settings import NAMED_TOKENS
from hf_bpe.formats._verification.mismatch import MismatchSearch, check_ids, check_offsets, verify_file
from hf_bpe.formats._verification.sides import side_of_file

_FORMATS = (hf_folder, text, gpt2, gguf, tokenizer_json, tiktoken)
FORMATS: dict[str, Format] = {module.FORMAT.name: module.FORMAT for module in _FORMATS}
"""Name → format, in the order of detection: more specific formats first."""

READ_ONLY: dict[str, Format] = {module.FORMAT.name: module.FORMAT for module in (rank_folder, tekken)}
"""Name → format that is only read."""

_READERS = {"llamacpp": "gguf", "ollama": "gguf", "lmstudio": "gguf", "transformers": "hf", "huggingface": "hf",
            "tokenizers": "tokenizer.json", "openai": "tiktoken", "mistral": "tekken"}  # fmt: skip
"""Programs that read a format, as people may call it → the format."""

_HEAD_BYTES = 1 << 12
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]*")  # not of a version, as in llama-3.1


class SentencePieceFound(ValueError):
    """A SentencePiece model, which is for transformers to convert."""

    def __init__(self, path: Path, model: Path) -> None:
        super().__init__(f"{path}: a SentencePiece model, which BPETokenizer.convert_from and hf-bpe convert take")
        self.path, self.model = path, model


def detect(path: str | os.PathLike[str]) -> Format:
    """Detect the format of a file or folder by its content.

    Raises:
        OSError: the path cannot be read.
        ValueError: the format is unknown.
    """
    path = Path(path)
    if path.is_dir():
        head = b""
    else:
        with open_regular(path) as file:
            head = file.read(_HEAD_BYTES)
    if (model := sentencepiece_model(path)) is not None:
        raise SentencePieceFound(path, model)
    for each in (*READ_ONLY.values(), *FORMATS.values()):
        if each.matches(path, head):
            return each
    if path.is_dir():
        names = sorted(each.name for each in path.iterdir())
        shown = ", ".join(names[:8]) or "nothing"
        # One may be of ranks, whose pattern must be given.
        advice = next((f"; give the file {name} itself" for name in names if name.endswith(".model")), "")
        raise ValueError(f"{path}: expected a folder with a tokenizer; this one holds {shown}{advice}")
    raise ValueError(f"{path}: unknown format; expected one of {_format_names()}, got {head[:40]!r}")


def sentencepiece_model(path: Path) -> Path | None:
    """Return the SentencePiece model that a path is, or that a folder has for its vocabulary; None if there is none."""
    files = [path]
    if path.is_dir():
        files = [] if any((path / name).is_file() for name in (*OWN_FILES, *OTHER_FILES)) else [*path.glob("*.model")]
    for file in files if len(files) == 1 and files[0].is_file() else ():
        with open_regular(file) as opened:
            return file if _is_sentencepiece(opened.read(_HEAD_BYTES)) else None
    return None


def _is_sentencepiece(head: bytes) -> bool:
    r"""Tell whether a file begins as the protocol buffer of a SentencePiece model: with a piece and its score.

    >>> _is_sentencepiece(b"\n\x0e\n\x05<unk>\x15\x00\x00\x00\x00\x18\x02\n\x0c\n\x03<s>")
    True
    >>> _is_sentencepiece(b"\n\n\n# Text that begins with empty lines")
    False
    """
    if len(head) < 4 or head[0] != 0x0A or head[2] != 0x0A or head[1] >= 0x80:
        return False
    end = 4 + head[3]
    return head[end : end + 1] == b"\x15" and end + 5 <= 2 + head[1] <= len(head)


def named_format(name: str) -> Format:
    """Return the format with a name; raise a ValueError if there is none."""
    formats = {**FORMATS, **READ_ONLY}
    if name not in formats:
        meant = _READERS.get(re.sub(r"[-_. ]", "", name.lower()))
        like = f"; for {name} it is {meant}" if meant else ""
        raise ValueError(f"unknown format {name!r:.80}: expected one of {_format_names()}{like}")
    return formats[name]


def read(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    pattern: str | None = "auto",
    special_tokens: Mapping[str, int] | None = None,
) -> Definition:
    """Read a tokenizer of any format.

    Args:
        path: the file or folder.
        format: the name of its format; None to detect it.
        pattern: the split pattern, if the file does not store it; "auto" for that of the file or its format.
        special_tokens: content → id, if the file does not store them.

    Raises:
        OSError: the path cannot be read.
        ValueError: the file is damaged, or has a feature that cannot be represented; the message names the location or
            the feature.
    """
    return without_idle_ignore_merges(_read(path, format, Hints(pattern, special_tokens)))


def _read(path: str | os.PathLike[str], format: str | None, hints: Hints) -> Definition:
    path = Path(path)
    chosen = None if format is None else named_format(format)
    if chosen is None or (chosen is hf_folder.FORMAT and needs_conversion(path, {})):
        chosen = detect(path)
    if chosen.name in READ_ONLY:  # of which some are a file or the folder that holds it
        path.stat()
    elif chosen.is_file and path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; expected {chosen.what}")
    elif not chosen.is_file and not path.is_dir():
        path.stat()  # raises the system's error if the path does not exist
        raise NotADirectoryError(f"{path} is a file; expected {chosen.what}")
    definition = chosen.read(path, hints)
    if chosen is not rank_folder.FORMAT:  # which adds the given special tokens to its own
        try:
            hints.check(definition.model.pre_tokenizer, definition.model.special_ids())
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
    return definition


def definition_of(
    source: Any, *, format: str | None = None, storage_options: StorageOptions | None = None, **hints: Any
) -> Definition:
    """Return the definition of a tokenizer in a file or in memory; see `BPETokenizer.convert_from`.

    Unlike `read`, this leaves it to a `Pipeline` to find out that `ignore_merges` has no effect.
    """
    source = local_path(source) if isinstance(source, str) else source
    if isinstance(source, (str, os.PathLike)) and (url := output_url(source)) is not None:
        with as_local_folder(url, FOLDER_FILES, MAX_BYTES, storage_options) as folder:
            return _read(folder, format, Hints(**hints))
    if isinstance(source, str) and format is None and not Path(check_path("source", source)).exists():
        source = tiktoken.encoding_named(source)
    if isinstance(source, (str, os.PathLike)):
        return _read(check_path("source", source), format, Hints(**hints))
    definition = Definition(source) if isinstance(source, BPEModel) else getattr(source, "definition", source)
    backend = getattr(source, "backend_tokenizer", source)
    if not (isinstance(definition, Definition) or hasattr(source, "_mergeable_ranks") or hasattr(backend, "to_str")):
        raise TypeError(
            "source: expected a path, the name of an encoding of tiktoken, a tiktoken.Encoding, a fast tokenizer of "
            f"transformers, a tokenizers.Tokenizer or a BPEModel, got {type(source).__name__}"
        )
    if options := [name for name, value in {"format": format, **hints}.items() if value not in (None, "auto")]:
        raise ValueError(f"{options[0]} is only for files; the source is a {type(source).__name__}, which has its own")
    if isinstance(definition, Definition):
        return definition
    if hasattr(source, "_mergeable_ranks"):
        return tiktoken.definition_of_encoding(source)
    content = tokenizer_json.parse_tokenizer_json("tokenizer.json", backend.to_str().encode())
    if backend is source:
        return tokenizer_json.definition_of_json(content)
    # Padding and truncation are left from the last call; transformers keeps what belongs to the tokenizer.
    return _with_own_settings(
        source, tokenizer_json.definition_of_json({**content, "padding": None, "truncation": None})
    )


def _with_own_settings(tokenizer: object, definition: Definition) -> Definition:
    """Return the definition with the settings that a fast tokenizer of transformers has besides its backend."""
    names = ("padding_side", "truncation_side", "split_special_tokens", "chat_template", "model_max_length")
    settings = {name: getattr(tokenizer, name) for name in names}
    settings |= {name: getattr(tokenizer, name) for name in NAMED_TOKENS}
    settings["unk_token"] = tokenizer_json.resolve_unk_token(definition, settings["unk_token"])
    return replace(definition, settings={**definition.settings, **settings})


def write(
    definition: Definition,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    drop: Iterable[str] = (),
    verify: bool = True,
    against: tuple[Path, Format] | None = None,
    files: Sequence[Path] = (),
    check_folder: Callable[[Path], object] | None = None,
) -> tuple[Path, ...]:
    """Write a tokenizer in a format; see `BPETokenizer.convert_to`.

    Args:
        definition: the tokenizer.
        path, format, drop, verify: see `BPETokenizer.convert_to`.
        against: the file that the tokenizer was read from, and its format. The written file must also give the ids of
            that file's own library.
        files: text files to encode for the verification, besides the stress texts.
        check_folder: what else to do with a folder for transformers, before its files are moved into place.
    """
    if format in READ_ONLY:
        raise ValueError(f"the format {format} is only read; expected one of {', '.join(FORMATS)}")
    chosen, path = choose_output(Path(path), format)
    reduced = chosen.reduce(without_idle_ignore_merges(definition), drop)
    if not chosen.is_file and chosen is not hf_folder.FORMAT and hf_folder.FORMAT.matches(path, b""):
        raise FileExistsError(  # because loaders of the folder would read those files
            f"{path} holds another tokenizer's tokenizer_config.json or tokenizer.json; choose another folder"
        )
    folder, last = (path.parent, (path.name,)) if chosen.is_file else (path, chosen.last)
    with staged_folder(folder, last) as staging:
        staged = staging / path.name if chosen.is_file else staging
        assert chosen.write is not None  # as of all FORMATS
        chosen.write(reduced, staged)
        if verify:
            if chosen is hf_folder.FORMAT:
                _, written_side, _ = verify_folder(staged, reduced, files=files)
            else:
                written_side = verify_file(reduced, staged, chosen, files)
            if against is not None and not drop:
                name, original = f"{chosen.name}, read back,", side_of_file(*against, definition)
                check_ids(name, MismatchSearch(original, written_side), files)
                if "trim_offsets" in chosen.carries:
                    check_offsets(name, original, written_side)
            if chosen is hf_folder.FORMAT and check_folder is not None:
                check_folder(staged)
        written = sorted(file.relative_to(staging) for file in staging.rglob("*") if file.is_file())
    return tuple(folder / file for file in written)


def choose_output(path: Path, format: str | None) -> tuple[Format, Path]:
    """Return the format in which to write, and the path of the file, or of the folder for formats of several files.

    A name that ends in a dot and a word that begins with a letter, such as x.gguf, is a file's; any other name, such as
    llama-3.1 or my-model-v1.5, is a folder's, and so is the name of a folder that exists.
    """
    by_suffix = next((each for each in FORMATS.values() if each.suffix and each.suffix == path.suffix), None)
    chosen = named_format(format) if format is not None else by_suffix or hf_folder.FORMAT
    if path.is_dir() or not _SUFFIX.fullmatch(path.suffix):
        return chosen, path / f"tokenizer{chosen.suffix}" if chosen.is_file else path
    if format is None and by_suffix is None:
        suffixes = ", ".join(f"{each.suffix} ({each.name})" for each in FORMATS.values() if each.suffix)
        raise ValueError(
            f"expected a folder, or a file that ends in {suffixes}, got {str(path)!r}; for a folder of this name give "
            "format='hf'"
        )
    if by_suffix not in (None, chosen):
        expected = f"a file that ends in {chosen.suffix}" if chosen.is_file else "a folder"
        raise ValueError(f"expected {expected} for format={chosen.name!r}, got {str(path)!r}")
    return chosen, path


def _format_names() -> str:
    return ", ".join((*FORMATS, *READ_ONLY))
