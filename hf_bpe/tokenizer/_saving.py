"""Saving of BPETokenizer: verified folders that give the same ids in every loader."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformers.dynamic_module_utils import custom_object_save

from hf_bpe._utils.arguments import short_repr
from hf_bpe._utils.object_stores import StorageOptions, join, remove, transfer, upload
from hf_bpe.formats._features import without_missing_features
from hf_bpe.formats._folder import verify as checks
from hf_bpe.formats._folder.consistency import REQUIRED_FILES
from hf_bpe.formats._folder.files import FOLDER_FEATURES
from hf_bpe.formats._folder.read import read_folder
from hf_bpe.formats._folder.write import write_other_files
from hf_bpe.formats._verification.mismatch import check_side
from hf_bpe.formats._verification.sides import side_of_loaded

if TYPE_CHECKING:
    from hf_bpe.tokenizer._self_types import OwnTokenizer

# The module that AutoTokenizer copies from a folder and runs to find our class.
_SHIM = "tokenization_hf_bpe"
_ADVICE = "Change what is named here, or, to have the folder all the same, save with verify=False"


def write_files(
    tokenizer: OwnTokenizer, folder: Path, legacy_format: bool | None, *, portable: bool, save_jinja_files: bool
) -> None:
    """Write all files of a tokenizer, which no other thread changes, without verifying them."""
    carried = without_missing_features(tokenizer.definition, FOLDER_FEATURES, "hf")
    tokenizer._save_pretrained(str(folder), (), legacy_format)
    settings = _settings_to_save(tokenizer, folder, portable)
    write_other_files(carried, folder, settings, tokenizer.vocab_size, save_jinja_files=save_jinja_files)


def verify_saved(folder: Path, tokenizer: OwnTokenizer) -> None:
    """Verify a folder without a prefix, also with the class of transformers that loads it where hf_bpe is missing.

    Raises:
        ValueError: loading fails, or gives another tokenizer, ids or offsets; the message names the loader.

    >>> from hf_bpe import BPETokenizer
    >>> tokenizer = BPETokenizer.train(["low lower"], vocab_size=258)
    >>> _ = tokenizer.save_pretrained("folder")
    >>> verify_saved(Path("folder"), BPETokenizer.train(["new"], vocab_size=258))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: from_pretrained gives a different model: ...
    """
    from transformers.tokenization_utils_tokenizers import PreTrainedTokenizerFast

    definition, own = tokenizer.definition, type(tokenizer)
    load_fast = cache(partial(PreTrainedTokenizerFast.from_pretrained, folder, local_files_only=True))
    load_own = cache(partial(own.from_pretrained, folder, local_files_only=True))
    loaders = {"PreTrainedTokenizerFast.from_pretrained": load_fast}
    if is_derived := not own.__module__.startswith("hf_bpe."):  # it may load in its own way
        loaders[f"{own.__name__}.from_pretrained"] = load_own
    read = read_folder if not is_derived else lambda _: load_own().definition
    expected = side_of_loaded(tokenizer, "the tokenizer")
    try:
        verified, _, decoded = checks.verify_folder(folder, definition, read, lambda: load_fast().backend_tokenizer)
        for name, load in loaders.items():
            with checks.loading(name):
                loaded = load()
            if not (is_verified := getattr(loaded, "_tokenizer", None) is verified) or is_derived:
                checks.check_vocabulary(name, tokenizer.get_vocab(), loaded.get_vocab())
            written = replace(side_of_loaded(loaded, name), definition=definition)  # which shows the bytes of ids
            if is_verified:  # with its offsets
                written = replace(written, peer=written.peer._replace(offsets=None))
            check_side(name, expected, written, max_tokens=0)
            checks.check_decoding(name, decoded, loaded)
            checks.check_equal(name, _loaded_values(tokenizer), _loaded_values(loaded))
    except ValueError as error:
        raise ValueError(f"{error}\n{_ADVICE}") from error.__cause__


def _loaded_values(tokenizer: Any) -> dict[str, object]:
    """Return settings, named tokens and flags of a tokenizer of transformers."""
    named = {name: token and str(token) for name, token in tokenizer._special_tokens_map.items()}
    values = {name: getattr(tokenizer, name) for name in checks.COMMON_SETTINGS}
    return values | named | checks.flags(tokenizer.added_tokens_decoder)


def upload_folder(
    folder: Path, files: Sequence[str], url: str, filename_prefix: str | None, options: StorageOptions | None
) -> tuple[str, ...]:
    """Upload the files of a saved tokenizer, the ones that loading needs last, and return their URLs.

    These are deleted first, so that no reader finds files of two tokenizers without an error.
    """
    names = [Path(file).relative_to(folder).as_posix() for file in files]
    last = [f"{filename_prefix}-{name}" if filename_prefix else name for name in REQUIRED_FILES]
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


def _needs_shim(cls: type, loaded: object) -> bool:
    """Return whether to save the shim: if the class is registered, or the tokenizer was loaded through it."""
    if vars(cls).get("_registered_for_auto_class"):
        return True
    references = loaded if isinstance(loaded, list) else [loaded]
    return _is_importable(cls) and any(str(each).split("--")[-1].startswith(f"{_SHIM}.") for each in references)


def _is_importable(cls: type) -> bool:
    return cls.__module__ != "__main__" and getattr(sys.modules[cls.__module__], cls.__name__, None) is cls
