"""All formats, and the doors to them: what a file is, reading it, writing it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from hf_bpe.conversion import _gguf as gguf
from hf_bpe.conversion import _hf_folder as hf_folder
from hf_bpe.conversion import _minbpe as minbpe
from hf_bpe.conversion import _text as text
from hf_bpe.conversion import _tiktoken as tiktoken

from hf_bpe._utils.arguments import check_path
from hf_bpe._utils.files import staged_folder
from hf_bpe._utils.input_files import open_regular
from hf_bpe.core._model import BPEModel
from hf_bpe.tokenizer._files import tokenizer_json
from hf_bpe.tokenizer._files import vocab_and_merges as gpt2
from hf_bpe.tokenizer._files.compare_ids import check_written, side_of_file
from hf_bpe.tokenizer._files.definition import NAMED_TOKENS, Definition, Format, Hints

_FORMATS = (hf_folder, text, gpt2, gguf, minbpe, tokenizer_json, tiktoken)
FORMATS: dict[str, Format] = {module.FORMAT.name: module.FORMAT for module in _FORMATS}
"""Name → format, in the order in which a path is asked what it is: the more particular first."""

_HEAD_BYTES = 1 << 12


def detect(path: str | os.PathLike[str]) -> Format:
    """Return the format of a file or folder, told by its content.

    Raises:
        OSError: it cannot be read.
        ValueError: it is of no format that is known here.
    """
    path = Path(path)
    if path.is_dir():
        head = b""
    else:
        with open_regular(path) as file:
            head = file.read(_HEAD_BYTES)
    for each in FORMATS.values():
        if each.matches(path, head):
            return each
    if path.is_dir():
        shown = ", ".join(sorted(each.name for each in path.iterdir())[:8]) or "nothing"
        raise ValueError(f"{path}: expected a folder with a tokenizer; this one holds {shown}")
    raise ValueError(f"{path}: is of no format that is known here; expected one of {_known()}, got {head[:40]!r}")


def named_format(name: str) -> Format:
    """Return the format of a name; ValueError if there is none."""
    if name not in FORMATS:
        raise ValueError(f"format {name!r} is not known: expected one of {_known()}")
    return FORMATS[name]


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
        format: the name of its format; None to tell it by the content.
        pattern: the split pattern, if the file does not say it; "auto" for what it says or its format implies.
        special_tokens: content → id, if the file does not say them.

    Raises:
        OSError: it cannot be read.
        ValueError: it is damaged, or holds what cannot be carried over; the message says where, or names what.
    """
    path = Path(path)
    chosen = detect(path) if format is None else named_format(format)
    if chosen.is_file and path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; expected {chosen.what}")
    if not chosen.is_file and not path.is_dir():
        path.stat()  # for the system's own words if there is nothing
        raise NotADirectoryError(f"{path} is a file; expected {chosen.what}")
    return chosen.read(path, Hints(pattern, special_tokens))


def definition_of(source: Any, *, format: str | None = None, **hints: Any) -> Definition:
    """Return what defines a tokenizer, of a file or in memory; see `BPETokenizer.convert_from`."""
    if isinstance(source, (str, os.PathLike)):
        return read(check_path("source", source), format=format, **hints)
    definition = Definition(source) if isinstance(source, BPEModel) else getattr(source, "definition", source)
    backend = getattr(source, "backend_tokenizer", source)
    if not (isinstance(definition, Definition) or hasattr(source, "_mergeable_ranks") or hasattr(backend, "to_str")):
        raise TypeError(
            "source: expected a path, a tiktoken.Encoding, a fast tokenizer of transformers, a tokenizers.Tokenizer or "
            f"a BPEModel, got {type(source).__name__}"
        )
    if given := [name for name, value in {"format": format, **hints}.items() if value not in (None, "auto")]:
        raise ValueError(f"{given[0]} is for files; a tokenizer in memory, {type(source).__name__}, says it itself")
    if isinstance(definition, Definition):
        return definition
    if hasattr(source, "_mergeable_ranks"):
        return tiktoken.definition_of_encoding(source)
    # How the last call padded and truncated is no part of the tokenizer.
    content = {**json.loads(backend.to_str()), "padding": None, "truncation": None}
    definition = tokenizer_json.definition_of_json(content)
    return definition if backend is source else _with_settings_of(source, definition)


def _with_settings_of(tokenizer: Any, definition: Definition) -> Definition:
    """Return the definition with what a fast tokenizer of transformers knows beside its backend."""
    names = ("padding_side", "truncation_side", "split_special_tokens", "chat_template", "model_max_length")
    settings = {name: getattr(tokenizer, name) for name in names}
    settings |= {name: getattr(tokenizer, name) for name in NAMED_TOKENS}
    return replace(definition, settings={**definition.settings, **settings})


def write(
    definition: Definition,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    drop: Iterable[str] = (),
    verify: bool = True,
    against: tuple[Path, Format] | None = None,
    files: Iterable[Path] = (),
) -> tuple[Path, ...]:
    """Write a tokenizer in a format; see `BPETokenizer.convert_to`.

    Args:
        definition: the tokenizer.
        path, format, drop, verify: as there.
        against: the file that the tokenizer was read from, and its format. What is written is compared with how its
            own library encodes by it, too.
        files: text files that are encoded for the comparison besides the stress texts.
    """
    path = Path(path)
    chosen = _format_for(path) if format is None else named_format(format)
    reduced = chosen.reduce(definition, drop)
    if chosen.is_file and (path.is_dir() or not path.suffix):
        path /= f"tokenizer{chosen.suffix}"
    if not chosen.is_file and chosen is not hf_folder.FORMAT and hf_folder.FORMAT.matches(path, b""):
        raise FileExistsError(  # for whoever loads the folder would believe those
            f"{path} holds another tokenizer's tokenizer_config.json or tokenizer.json; choose another folder"
        )
    folder, last = (path.parent, (path.name,)) if chosen.is_file else (path, chosen.last)
    with staged_folder(folder, last) as staging:
        staged = staging / path.name if chosen.is_file else staging
        with _neighbours(path, staging):
            chosen.write(reduced, staged)
        if verify:
            original = None if against is None or drop else side_of_file(*against, definition)
            check_written(reduced, staged, chosen, original, files)
        written = sorted(file.relative_to(staging) for file in staging.rglob("*") if file.is_file())
    return tuple(folder / file for file in written)


@contextmanager
def _neighbours(folder: Path, staging: Path) -> Iterator[None]:
    """Have a writer see what is in a folder already and decides what is loaded from it, so that it can warn."""
    seen = {}
    if folder.is_dir():
        for name in ("config.json", "chat_template.jinja"):
            if (folder / name).is_file():
                seen[name] = (folder / name).read_bytes()
                (staging / name).write_bytes(seen[name])
    yield
    for name, content in seen.items():
        if (staging / name).read_bytes() == content:
            (staging / name).unlink()


def _format_for(path: Path) -> Format:
    """Return the format that the name of a file to be written stands for."""
    return next((each for each in FORMATS.values() if each.suffix and path.suffix == each.suffix), hf_folder.FORMAT)


def _known() -> str:
    return ", ".join(FORMATS)
