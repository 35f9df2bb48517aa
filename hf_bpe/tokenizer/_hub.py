"""Repositories of the Hub: names that are refused at once, and files that transformers does not ask for."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from huggingface_hub import constants, snapshot_download, try_to_load_from_cache
from huggingface_hub.errors import GatedRepoError, HFValidationError, RepositoryNotFoundError

from hf_bpe._utils.messages import without_credentials
from hf_bpe._utils.visible import in_one_line
from hf_bpe.formats._folder.files import CONFIG_FILE, FOLDER_FILES, OTHER_FILES, OWN_FILES, passes_vocabulary

HUB_ARGUMENTS = frozenset(
    (
        *("cache_dir", "code_revision", "force_download", "local_files_only", "proxies", "revision", "subfolder"),
        *("token", "trust_remote_code", "use_fast", "_commit_hash", "_from_auto"),
    )
)
"""Arguments of from_pretrained that say where the files are and who may run code."""

_FILES = (*OWN_FILES, *OTHER_FILES, CONFIG_FILE)
# What conversion reads besides the vocabulary. The code is compared with what is known of it, and not run.
_SIDES = (CONFIG_FILE, "chat_template.jinja", "tokenization_kimi.py")
_WHERE = ("cache_dir", "local_files_only", "revision", "token")
_PATH = re.compile(r"^[./~\\]|^[A-Za-z]:|/.*/")  # no repository has such a name


def check_repository(name: str | os.PathLike[str], options: Mapping[str, object]) -> dict[str, Any]:
    """Return the given options to load a name, with only the cache where the Hub cannot be reached.

    Without a connection transformers asks for each of nine files five times before it gives up, which takes minutes.
    It is an OSError if the name is found nowhere.
    """
    path = Path(name)
    if path.exists() or options.get("gguf_file"):
        return {**options}
    if isinstance(name, os.PathLike) or _PATH.search(str(name)):
        shown = without_credentials(str(name))
        raise FileNotFoundError(f"{shown}: there is no such folder, and it is not the name of a repository")
    is_cached = _is_cached(str(name), options)
    if constants.HF_HUB_OFFLINE:
        reason = "HF_HUB_OFFLINE is set"
    elif options.get("local_files_only"):
        reason = "local_files_only is set"
    elif _is_reachable(options):
        return {**options}
    else:
        reason = f"{constants.ENDPOINT} cannot be reached"
    if is_cached:
        return {**options, "local_files_only": True}
    raise FileNotFoundError(
        f"{name}: there is no such folder, and no repository of this name in the cache ({reason}); check the name"
    )


def repository_to_convert(name: str | os.PathLike[str], options: Mapping[str, Any]) -> Path | None:
    """Return the folder in the cache of a repository with a vocabulary alone that `convert_from` reads, else None."""
    if Path(name).exists() or passes_vocabulary(options):
        return None
    from transformers.utils.hub import cached_file

    where = {option: options[option] for option in (*_WHERE, "proxies", "subfolder") if option in options}
    # As transformers looks for the files that it reads itself.
    if any(cached_file(str(name), file, **where, _raise_exceptions_for_missing_entries=False) for file in OWN_FILES):
        return None
    subfolder = options.get("subfolder") or ""
    folder = download(str(name), options, [_in(subfolder, file) for file in (*OTHER_FILES, *_SIDES)]) / subfolder
    return folder if any((folder / file).is_file() for file in OTHER_FILES) else None


def download(name: str, options: Mapping[str, Any], files: Sequence[str] = FOLDER_FILES) -> Path:
    """Return the folder in the Hub's cache with the files of a repository that match, or raise an OSError."""
    arguments = {option: options[option] for option in (*_WHERE, "force_download") if option in options}
    try:
        return Path(snapshot_download(name, allow_patterns=[*files], **arguments))
    except GatedRepoError:
        raise PermissionError(f"{name}: accept its terms on the Hub, and log in with: hf auth login") from None
    except RepositoryNotFoundError:
        raise FileNotFoundError(f"{name}: no public repository of the Hub; for a private one: hf auth login") from None
    except Exception as error:  # of the network; its library depends on the release of huggingface_hub
        reason = in_one_line(str(error)).partition(". ")[0] or type(error).__name__
        raise ConnectionError(f"{name}: cannot be downloaded: {reason}") from error


def _is_cached(name: str, options: Mapping[str, Any]) -> bool:
    where = {"cache_dir": options.get("cache_dir"), "revision": options.get("revision")}
    subfolder = options.get("subfolder") or ""
    try:
        return any(isinstance(try_to_load_from_cache(name, _in(subfolder, file), **where), str) for file in _FILES)
    except HFValidationError as error:
        raise FileNotFoundError(f"{name}: there is no such folder, and it is not the name of a repository") from error


def _in(folder: str, file: str) -> str:
    return f"{folder}/{file}" if folder else file


def _is_reachable(options: Mapping[str, Any]) -> bool:
    """Return whether the name of the Hub's host can be resolved; a proxy may do that for us."""
    url = urlsplit(constants.ENDPOINT)
    proxies = {**getproxies(), **(options.get("proxies") or {})}
    if url.hostname is None or (url.scheme in proxies and not proxy_bypass(url.hostname)):
        return True
    try:
        socket.getaddrinfo(url.hostname, url.port or url.scheme)
    except OSError:
        return False
    return True
