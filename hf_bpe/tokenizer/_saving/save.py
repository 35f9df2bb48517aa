"""Saving of BPETokenizer: verified folders that give the same ids in every loader."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformers.dynamic_module_utils import custom_object_save

from hf_bpe._utils.arguments import short_repr
from hf_bpe._utils.files import staged_folder
from hf_bpe._utils.object_stores import StorageOptions, join, remove, transfer, upload
from hf_bpe.formats._features import without_missing_features
from hf_bpe.formats._folder.config import FOLDER_FEATURES
from hf_bpe.formats._folder.digests import LAST
from hf_bpe.formats._folder.write import write_beside_vocabulary
from hf_bpe.tokenizer._saving.auto_tokenizer import warn_of_existing_files
from hf_bpe.tokenizer._saving.verify_folder import verify_folder

if TYPE_CHECKING:
    from hf_bpe.tokenizer._self_types import OwnTokenizer

# The module that AutoTokenizer copies from a folder and runs to find our class.
_SHIM = "tokenization_hf_bpe"


def save(
    tokenizer: OwnTokenizer,
    save_directory: str | os.PathLike[str],
    prefix: str,
    *,
    portable: bool,
    verify: bool,
    legacy_format: bool | None,
    save_jinja_files: bool,
) -> tuple[str, ...]:
    """Save a tokenizer, which no other thread changes."""
    with staged_folder(save_directory, last=[prefix + name for name in LAST]) as staging:
        carried = without_missing_features(tokenizer.definition, FOLDER_FEATURES, "hf")
        tokenizer._save_pretrained(str(staging), (), legacy_format)
        settings = _settings_to_save(tokenizer, staging, portable)
        write_beside_vocabulary(carried, staging, settings, tokenizer.vocab_size, save_jinja_files=save_jinja_files)
        if verify:
            verify_folder(staging, tokenizer)
            warn_of_existing_files(tokenizer, Path(save_directory), staging, prefix)
        if prefix:  # added last, because no loader would find the files
            for path in [path for path in staging.iterdir() if path.suffix != ".py"]:
                path.rename(staging / (prefix + path.name))
        written = sorted(path.relative_to(staging) for path in staging.rglob("*") if path.is_file())
    return tuple(str(Path(save_directory, path)) for path in written)


def upload_folder(
    folder: Path, files: Sequence[str], url: str, filename_prefix: str | None, options: StorageOptions | None
) -> tuple[str, ...]:
    """Upload the files of a saved tokenizer, those that loading needs last, and return their URLs.

    These are deleted first, so that no reader finds files of two tokenizers without an error.
    """
    names = [Path(file).relative_to(folder).as_posix() for file in files]
    last = [f"{filename_prefix}-{name}" if filename_prefix else name for name in LAST]
    for name in reversed(last):
        remove(join(url, name), options)
    transfer(upload, ((folder / name, join(url, name)) for name in names if name not in last), options)
    for name in filter(names.__contains__, last):
        upload(folder / name, join(url, name), options)
    return tuple(join(url, name) for name in names)


def check_auto_class(cls: type, auto_class: str | type) -> None:
    """Raise a ValueError if AutoTokenizer could not import a class, or for another auto class."""
    name = auto_class.__name__ if isinstance(auto_class, type) else auto_class
    if not isinstance(name, str) or name != "AutoTokenizer":
        raise ValueError(f"auto_class: expected 'AutoTokenizer', got {short_repr(name)}")
    if not is_copied(cls) and not _is_importable(cls):
        raise ValueError(
            f"{cls.__qualname__} of {cls.__module__} cannot be imported where the folder is loaded: expected a "
            "class at the top of a module; move it into an installed module"
        )


def is_copied(cls: type) -> bool:
    """Return whether a class is from a module in a saved folder, which transformers copies."""
    return cls.__module__.startswith("transformers_modules.")


def _settings_to_save(tokenizer: OwnTokenizer, folder: Path, portable: bool) -> dict[str, Any]:
    """Return what `tokenizer_config.json` says of a tokenizer, and write the code that its `auto_map` names."""
    names = [*tokenizer.init_kwargs, "model_max_length", "chat_template"]
    settings = {
        **tokenizer.init_kwargs,
        **{name: getattr(tokenizer, name) for name in names if hasattr(tokenizer, name)},
    }
    settings |= tokenizer.special_tokens_map
    if tokenizer._extra_special_tokens:
        settings["extra_special_tokens"] = tokenizer.extra_special_tokens
    of_transformers = {name: getattr(tokenizer, name, None) for name in ("response_template", "chat_control_tokens")}
    of_transformers |= {name: getattr(tokenizer, f"_{name}", None) for name in ("auto_map", "processor_class")}
    settings |= {name: value for name, value in of_transformers.items() if value is not None}
    settings["tokenizer_class"] = type(tokenizer).__name__
    settings = {name: value for name, value in settings.items() if name not in tokenizer.vocab_files_names}
    settings = tokenizer.convert_added_tokens(settings, save=True)
    if tokenizer._auto_class is not None:
        custom_object_save(tokenizer, str(folder), config=settings)  # copies the source of the class
    auto_map = settings.pop("auto_map", None) or {}
    auto_map = dict(auto_map) if isinstance(auto_map, dict) else {"AutoTokenizer": auto_map}
    if portable:
        auto_map.pop("AutoTokenizer", None)
        settings["tokenizer_class"] = "PreTrainedTokenizerFast"
        if "extra_special_tokens" in settings:  # has a different meaning there
            settings["additional_special_tokens"] = settings.pop("extra_special_tokens")
    elif tokenizer._auto_class is None:
        loaded = auto_map.pop("AutoTokenizer", None)
        if _needs_shim(type(tokenizer), loaded):
            auto_map["AutoTokenizer"] = [f"{_SHIM}.{type(tokenizer).__name__}", None]
            module = type(tokenizer).__module__
            module = "hf_bpe" if module.startswith("hf_bpe.") else module
            line = f"from {module} import {type(tokenizer).__name__}  # found here by AutoTokenizer\n"
            (folder / f"{_SHIM}.py").write_text(line, encoding="utf-8", newline="\n")
    return {**settings, "auto_map": auto_map} if auto_map else settings


def _needs_shim(cls: type, loaded: Any) -> bool:
    """Return whether to save the shim: if the class is registered, or the tokenizer was loaded through it."""
    if vars(cls).get("_registered_for_auto_class"):
        return True
    references = loaded if isinstance(loaded, list) else [loaded]
    return _is_importable(cls) and any(str(each).split("--")[-1].startswith(f"{_SHIM}.") for each in references)


def _is_importable(cls: type) -> bool:
    return cls.__module__ != "__main__" and getattr(sys.modules[cls.__module__], cls.__name__, None) is cls
