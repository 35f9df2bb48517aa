"""Files on object stores, and on all else that fsspec reaches by URL: whole or not there.

A store publishes an object when its last part has arrived, so what is written there needs no temporary key. On other
file systems a file is written under a hidden name, and then moved. The clients of stores try again what may pass.
"""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from hf_bpe._utils.arguments import short_repr
from hf_bpe._utils.messages import without_credentials
from hf_bpe._utils.paths import local_path

StorageOptions = Mapping[str, Any]
"""Options of fsspec for reaching a URL, such as `endpoint_url`; they may be secret, so hf_bpe writes them nowhere."""

STORES = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oci", "r2")
"""The protocols of object stores."""

_UPLOADING = ".uploading"
_AT_ONCE = 4  # files to move at once
_MAX_URL = 1 << 13  # characters; servers take about as many
_KEPT = (FileNotFoundError, PermissionError)  # callers tell these apart from other errors


def file_system(url: str, options: StorageOptions | None = None) -> tuple[Any, str]:
    """Return the file system of a URL, and the path of the URL in it."""
    if len(url) > _MAX_URL:  # which no message could show
        raise ValueError(f"expected a URL of at most {_MAX_URL} characters, got {short_repr(url)}")
    # fsspec takes the % of file:// for a part of the name.
    chain = "::".join(map(local_path, url.split("::")))
    try:
        system, path = importlib.import_module("fsspec.core").url_to_fs(chain, **(options or {}))
    except ValueError as error:
        raise ValueError(without_credentials(f"{url}: {error}")) from None
    except TypeError as error:  # names an option, and not its value
        message = f"storage_options: {sorted(options or {})} are not for {url}: {error}"
        raise ValueError(without_credentials(message)) from None
    except ImportError as error:
        needed = "fsspec" if isinstance(error, ModuleNotFoundError) else "another package besides fsspec"
        extra = "; pip install 'hf_bpe[s3]'" if url.startswith(("s3:", "s3a:")) else ""
        raise ImportError(without_credentials(f"{url}: this URL needs {needed}: {error}{extra}")) from None
    return system, path


def advice(url: str) -> str:
    """Return why a file may seem to be missing: stores answer alike for what is absent and for what is forbidden."""
    protocol = url.partition("://")[0]
    if protocol not in STORES:
        return ""
    return (
        "; expected a bucket and a path that exist and that these credentials may use: check the names, the "
        f"credentials, and the region or endpoint (`fsspec.filesystem({protocol!r})` takes them from the environment)"
    )


def join(url: str, name: str) -> str:
    """Return the URL of a name in a folder."""
    return f"{url.rstrip('/')}/{name}"


def parent_and_name(url: str) -> tuple[str, str]:
    """Return the URL of the folder of a file, and the file's name.

    >>> parent_and_name("s3://bucket/a/b.bin"), parent_and_name("memory://b.bin")
    (('s3://bucket/a', 'b.bin'), ('memory://', 'b.bin'))
    """
    protocol, _, path = url.rstrip("/").partition("://")
    folder, _, name = path.rpartition("/")
    return f"{protocol}://{folder}", name


def upload(file: Path, url: str, options: StorageOptions | None = None) -> None:
    """Write the content of a file to a URL, where it is whole or not there, whenever the process ends."""
    system, path = file_system(url, options)
    size = file.stat().st_size
    is_store = url.partition("://")[0] in STORES
    where = PurePosixPath(path)
    there = path if is_store else str(where.with_name(f".{where.name}.{os.urandom(4).hex()}{_UPLOADING}"))

    with _errors_named(url, "written"):
        try:
            if not is_store:
                system.makedirs(str(where.parent), exist_ok=True)
            system.put_file(str(file), there)
            system.invalidate_cache()
            if (arrived := system.info(there)["size"]) != size:
                raise OSError(f"{arrived} bytes have arrived of {size}")
            if not is_store:
                system.mv(there, path)
        except Exception:
            if not is_store:  # stores delete the parts of an upload that fails
                with suppress(Exception):  # the error above is what matters
                    system.rm_file(there)
            raise


def download(file: Path, url: str, options: StorageOptions | None = None) -> None:
    """Copy what is at a URL to a file, in a folder that is made if needed."""
    system, path = file_system(url, options)
    file.parent.mkdir(parents=True, exist_ok=True)

    with _errors_named(url, "read"):
        size = system.info(path)["size"]
        system.get_file(path, str(file))
        if (arrived := file.stat().st_size) != size:
            raise OSError(f"{arrived} bytes have arrived of {size}")


def transfer(
    move: Callable[[Path, str, StorageOptions | None], None],
    pairs: Iterable[tuple[Path, str]],
    options: StorageOptions | None,
) -> None:
    """Call `upload` or `download` for pairs of a file and a URL, some of them at once, until one fails."""
    from concurrent.futures import ThreadPoolExecutor, as_completed

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        moves = [pool.submit(move, file, url, options) for file, url in pairs]
        try:
            for done in as_completed(moves):
                done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def sizes(url: str, options: StorageOptions | None = None, max_depth: int | None = None) -> dict[str, int]:
    """Return the sizes of the files in a folder, by default at any depth, by their paths in it."""
    system, path = file_system(url, options)
    with _errors_named(url, "listed"):
        system.invalidate_cache()
        try:
            files = system.find(path, maxdepth=max_depth, detail=True)
        except FileNotFoundError:
            return {}
        folder = system._strip_protocol(path).rstrip("/")
        inside = {name.removeprefix(folder).lstrip("/"): about["size"] for name, about in files.items()}
        return {name: size for name, size in inside.items() if _is_safe(name)}


def exists(url: str, options: StorageOptions | None = None) -> bool:
    """Return whether there is a file at a URL; raise an OSError if the store does not say."""
    system, path = file_system(url, options)
    with _errors_named(url, "read"):  # isfile of fsspec takes any error for a file that is absent
        system.invalidate_cache()
        try:
            return bool(system.info(path)["type"] == "file")
        except FileNotFoundError:
            return False


def remove(url: str, options: StorageOptions | None = None) -> None:
    """Delete a file, if it is there."""
    system, path = file_system(url, options)
    with _errors_named(url, "deleted"):
        with suppress(FileNotFoundError):
            system.rm_file(path)
        system.invalidate_cache()


def _is_safe(name: str) -> bool:
    """Return whether a key of a store names a whole file inside the folder: keys may have two dots as a part."""
    return bool(name) and ".." not in name.split("/") and "\\" not in name and not name.endswith(_UPLOADING)


@contextmanager
def as_local_folder(
    url: str, files: Collection[str], max_bytes: int, options: StorageOptions | None = None
) -> Iterator[Path]:
    """Yield a temporary folder with copies of a folder's files that match patterns and have at most `max_bytes`.

    The folder may hold a corpus as well. `*` stands for a part of one name.
    """

    def is_wanted(path: str) -> bool:
        return any(path.count("/") == pattern.count("/") and fnmatchcase(path, pattern) for pattern in files)

    with tempfile.TemporaryDirectory() as folder:
        listing = sizes(url, options, 1 + max(pattern.count("/") for pattern in files))
        chosen = [name for name, size in listing.items() if size <= max_bytes and is_wanted(name)]
        if not chosen:
            where = repr(without_credentials(url))
            raise FileNotFoundError(f"no file of a tokenizer in {where}: expected {', '.join(files)}{advice(url)}")
        transfer(download, ((Path(folder, name), join(url, name)) for name in chosen), options)
        yield Path(folder)


@contextmanager
def _errors_named(url: str, done: str) -> Iterator[None]:
    """Raise what goes wrong as an error that names the URL, without its credentials, and what is `done` to it."""
    try:
        yield
    except Exception as error:
        kind = next((each for each in _KEPT if isinstance(error, each)), OSError)
        message = without_credentials(f"{url} cannot be {done}: {error or repr(error)}", url)
        cause = error if without_credentials(url) == url else None  # whose message has them
        raise kind(f"{message}{advice(url)}") from cause
