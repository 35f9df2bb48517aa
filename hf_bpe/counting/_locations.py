"""Find the files at paths, directories, globs and fsspec URLs by names, sizes and times, without reading them."""

from __future__ import annotations

import errno
import glob
import logging
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Literal, NamedTuple

from hf_bpe._utils.input_files import check_regular, is_open_pipe, open_stream
from hf_bpe._utils.messages import credentials_hidden
from hf_bpe._utils.object_stores import StorageOptions, advice, file_system
from hf_bpe._utils.paths import Location, is_url
from hf_bpe._utils.visible import with_noun

FileFormat = Literal["text", "jsonl", "parquet"]
Compression = Literal["gzip", "zstd"]

_FORMATS: dict[str, FileFormat] = {".txt": "text", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
_COMPRESSIONS: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd"}
_SUFFIXES = f"{' '.join(_FORMATS)}, or the first three followed by {' or '.join(_COMPRESSIONS)}"
_GLOB = re.compile(r"[*?\[]")
TEXT_ADVICE = "; a str is a path: for a text itself give [text]"
_LONGEST_NAME = 4096  # bytes; no system allows more

logger = logging.getLogger(__name__)


class File(NamedTuple):
    """A file that was found; size and version are None if they are unknown, as for a pipe."""

    location: Location  # of which a path is absolute
    size: int | None
    version: str | None


_UNREADABLE = frozenset((".xz", ".bz2", ".lzma", ".zip", ".7z", ".rar", ".tar", ".tgz", ".br", ".lz4", ".z"))


def _is_glob(name: str) -> bool:
    return len(name) <= _LONGEST_NAME and _GLOB.search(name) is not None


def file_kind(name: str) -> tuple[FileFormat | None, Compression | None]:
    """Return the format and compression by the end of a file name; None if unknown.

    >>> file_kind("a.jsonl.gz"), file_kind("a.md")
    (('jsonl', 'gzip'), (None, None))
    """
    if name.startswith(("http://", "https://")):
        name = name.partition("?")[0]
    path = PurePosixPath(name.lower())
    compression = _COMPRESSIONS.get(path.suffix)
    if path.suffix in _UNREADABLE and "::" not in name:  # fsspec unpacks zip://a.txt::all.zip
        raise ValueError(f"{name}: files that end in {path.suffix} are not read; decompress it, or use .gz or .zst")
    return _FORMATS.get(PurePosixPath(path.stem).suffix if compression else path.suffix), compression


def find_files(location: Location, only: FileFormat | None, options: StorageOptions | None) -> list[File]:
    """Return the files at a path, glob, directory or URL, in the order of their names.

    In a glob, `**` stands for directories at any depth. From a directory, files at any depth with the suffix of a known
    format are taken, or of this format `only`, except hidden ones.
    """
    name = location.address
    if location.is_url:
        with credentials_hidden(name):
            return _find_remote_files(location, only, options)
    status = _status(name)
    if status is not None and stat.S_ISDIR(status.st_mode):
        return [_local_file(Path(name, file)) for file in _choose(name, _walk(Path(name)), only)]
    if status is not None:
        return [_local_file(Path(name))]
    if _is_glob(name):
        matches = sorted({*_glob(name, recursive=True)})
        return [_local_file(Path(match)) for match in _only_files(name, {m: Path(m).is_dir() for m in matches})]
    raise FileNotFoundError(f"no file {name[:80]!r}{TEXT_ADVICE}")


def are_paths(strings: Iterable[str]) -> bool:
    """Return whether all strings of a list are existing paths (True) or texts (False), or raise a ValueError."""
    names = sorted(strings, key=_is_glob)  # a glob may be slow
    if all(_is_name(name, recursive=True) for name in names):
        return bool(names)
    for name in names:
        # A sentence with a question mark is not a glob, and there may be millions of sentences.
        if not (_is_glob(name) and re.search(r"\s", name)) and _is_name(name):
            other = next(other for other in names if not _is_name(other, recursive=True))
            if is_url(name):
                difference, files = f"is a URL and {other[:80]!r} is not", "only paths and URLs"
            else:
                difference, files = f"names a file or directory and {other[:80]!r} does not", "pathlib.Path objects"
            raise ValueError(f"source: {name!r:.80} {difference}; give {files} for files, or iter(texts) for texts")
    return False


def _is_name(text: str, recursive: bool = False) -> bool:
    # A lone dot or slash would be a directory, and a star would match files, but each is more likely a text.
    if len(text) > _LONGEST_NAME or "\n" in text or not re.search(r"\w", text):
        return False
    if is_url(text):
        return re.search(r"\s", text) is None
    try:
        return _status(text) is not None or (_is_glob(text) and next(_glob(text, recursive), None) is not None)
    except OSError:
        return False


def _glob(pattern: str, recursive: bool) -> Iterator[str]:
    with suppress(RecursionError, ValueError):  # too many slashes, or a null character: not a file name
        yield from glob.iglob(pattern, recursive=recursive)  # noqa: PTH207  # Path.glob takes no absolute ones


def _status(name: str) -> os.stat_result | None:
    """Return the status of a path, None if it does not exist."""
    try:
        return Path(name).stat() if name else None
    except ValueError:  # a null character
        return None
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
            return None
        raise


def _local_file(path: Path) -> File:
    status = path.stat()
    path = path.absolute()  # not resolved: the name of a link tells the format, that of its target may not
    location = Location(str(path), is_url=False)
    if is_open_pipe(path, status.st_mode):
        return File(location, None, None)
    check_regular(path, status.st_mode)
    return File(location, status.st_size, f"{status.st_size}-{status.st_mtime_ns}")


def _walk(folder: Path) -> list[str]:
    """Return the names of all files in a directory tree; links are followed, but no directory is entered twice."""

    def fail(error: OSError) -> None:
        raise error

    names: list[str] = []
    seen = {folder.resolve()}
    for root, folders, files in os.walk(folder, onerror=fail, followlinks=True):
        here = Path(root)
        names += [(here / file).relative_to(folder).as_posix() for file in files]
        targets = {name: (here / name).resolve() for name in sorted(folders)}
        folders[:] = [name for name in targets if targets[name] not in seen]
        seen.update(targets.values())
    return names


def _choose(folder: str, names: Iterable[str], only: FileFormat | None) -> list[str]:
    """Return the names of the files to take from a directory."""
    visible = [name for name in names if not any(part.startswith(".") for part in name.split("/"))]
    chosen = sorted(name for name in visible if (kind := file_kind(name)[0]) and only in (None, kind))
    if len(visible) > len(chosen):
        left_out = with_noun(len(visible) - len(chosen), "file")
        logger.info("%s: left out %s without these suffixes: %s", folder, left_out, _SUFFIXES)
    if not chosen:
        raise FileNotFoundError(
            f"{folder!r} is a directory without {only or 'text'} files: expected names that end in {_SUFFIXES}; "
            f"for other files give a glob, such as {folder.rstrip('/') + '/**/*.md'!r}"
        )
    return chosen


def _only_files(pattern: str, matches: dict[str, bool]) -> list[str]:
    """Return the matches of a glob that are not directories."""
    files = [name for name, is_folder in matches.items() if not is_folder]
    if not files and matches:
        raise FileNotFoundError(f"{pattern!r:.80} matches directories only; give {pattern.rstrip('/') + '/**'!r}")
    if not files:
        raise FileNotFoundError(f"no file matches {pattern[:80]!r}{TEXT_ADVICE}")
    return files


@contextmanager
def open_file(location: Location, options: StorageOptions | None) -> Iterator[BinaryIO]:
    """Open a file for reading."""
    if location.is_url:
        system, path = file_system(location.address, options)  # must live as long as its file
        with credentials_hidden(location.address), system.open(path, "rb") as file:
            yield file
    else:
        with open_stream(location) as file:
            yield file


def _find_remote_files(location: Location, only: FileFormat | None, options: StorageOptions | None) -> list[File]:
    url = location.address
    system, path = file_system(url, options)
    archive = "".join("::" + link for link in url.split("::")[1:])  # of the file, as in zip://a.txt::s3://b/c

    def remote_file(name: str, details: dict[str, Any]) -> File:
        address = system.unstrip_protocol(name) + archive
        return File(Location(address, is_url=True), details.get("size"), system.ukey(name))

    try:
        details = system.info(path)
    except FileNotFoundError:
        if not _is_glob(path):
            raise FileNotFoundError(f"no file {url!r}{advice(url)}") from None
        matches = system.glob(path, detail=True)
        matches = {name: matches[name] for name in matches if "/." not in name or "/." in path}  # as a local glob does
        names = _only_files(url, {name: matches[name]["type"] == "directory" for name in sorted(matches)})
        return [remote_file(name, matches[name]) for name in names]
    if details["type"] == "other":  # fsspec's name for local FIFOs, devices and sockets
        raise OSError(f"{url} is not a regular file; expected a file or a directory")
    if details["type"] != "directory":
        return [File(location, details.get("size"), system.ukey(path))]
    inside = {item[0].removeprefix(path).lstrip("/"): item for item in system.find(path, detail=True).items()}
    return [remote_file(*inside[name]) for name in _choose(str(location), inside, only)]
