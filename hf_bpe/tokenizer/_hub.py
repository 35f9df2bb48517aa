"""Names of repositories: refuse at once what no folder has and the Hub cannot be asked for.

transformers asks for each of nine files five times before it gives up, which takes minutes without a connection.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from huggingface_hub import constants, try_to_load_from_cache
from huggingface_hub.errors import HFValidationError

from hf_bpe.tokenizer._files.tokenizer_config import CONFIG_FILE

_FILES = ("tokenizer.json", "vocab.json", CONFIG_FILE)
_PATH = re.compile(r"^[./~\\]|^[A-Za-z]:|/.*/")  # no repository has such a name


def check_repository(name: str | os.PathLike[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options to load a name with: those given, and only the cache where the Hub cannot be reached.

    Args:
        name: what `from_pretrained` is given.
        given: its options.

    Raises:
        OSError: there is no folder of this name, and no repository in the cache, and the Hub cannot be reached.
    """
    path = Path(name)
    if path.exists() or given.get("gguf_file"):
        return {**given}
    if isinstance(name, os.PathLike) or _PATH.search(str(name)):
        raise FileNotFoundError(f"{name}: there is no such folder, and it is not the name of a repository")
    if _is_cached(str(name), given):
        is_offline = constants.HF_HUB_OFFLINE or not _is_reachable(given)
        return {**given, "local_files_only": True} if is_offline else {**given}
    reason = None
    if constants.HF_HUB_OFFLINE:
        reason = "HF_HUB_OFFLINE is set"
    elif given.get("local_files_only"):
        reason = "local_files_only is set"
    elif not _is_reachable(given):
        reason = f"{constants.ENDPOINT} cannot be reached"
    if reason is not None:
        raise FileNotFoundError(
            f"{name}: there is no such folder, and no repository of this name in the cache ({reason}); check the name"
        )
    return {**given}


def _is_cached(name: str, given: Mapping[str, Any]) -> bool:
    where = {"cache_dir": given.get("cache_dir"), "revision": given.get("revision")}
    subfolder = given.get("subfolder") or ""
    try:
        return any(isinstance(try_to_load_from_cache(name, _in(subfolder, file), **where), str) for file in _FILES)
    except HFValidationError as error:
        raise FileNotFoundError(f"{name}: there is no such folder, and it is not the name of a repository") from error


def _in(folder: str, file: str) -> str:
    return f"{folder}/{file}" if folder else file


def _is_reachable(given: Mapping[str, Any]) -> bool:
    """Return whether the name of the Hub's host can be resolved; a proxy may do that for us."""
    url = urlsplit(constants.ENDPOINT)
    proxies = {**getproxies(), **(given.get("proxies") or {})}
    if url.hostname is None or (url.scheme in proxies and not proxy_bypass(url.hostname)):
        return True
    try:
        socket.getaddrinfo(url.hostname, url.port or url.scheme)
    except OSError:
        return False
    return True
