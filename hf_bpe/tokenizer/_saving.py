"""Saving and loading of BPETokenizer, with verified folders that give the same ids in every loader.

This corrects what transformers' `save_pretrained` omits or gets wrong.
"""

from __future__ import annotations

import copy
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from hf_bpe._utils.arguments import check_flag, check_path, checked, optional, short_repr
from hf_bpe._utils.files import staged_folder
from hf_bpe.core._model import BPEModel, CheckedMerges
from hf_bpe.engine._normalizers import with_normalizer
from hf_bpe.tokenizer._converting import Converting
from hf_bpe.tokenizer._files.folders import Folder
from hf_bpe.tokenizer._files.integrity import LAST, check_complete, check_digests, digests_of
from hf_bpe.tokenizer._files.neighbours import warn_of_neighbours
from hf_bpe.tokenizer._files.tokenizer_config import CONFIG_FILE, DIGESTS, check_config
from hf_bpe.tokenizer._files.tokenizer_json import render_tokenizer_json
from hf_bpe.tokenizer._files.verification import verify_folder
from hf_bpe.tokenizer._files.vocab_and_merges import read_gpt2_with_vocab, write_gpt2
from hf_bpe.tokenizer._template import Template
from hf_bpe.tokenizer._transformers_compat import constructor_errors

if TYPE_CHECKING:
    from typing_extensions import Self

    from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

TOKENIZER_FILE = "tokenizer.json"

# The module that AutoTokenizer copies from a folder and runs to find our class.
_SHIM = "tokenization_hf_bpe"
_REMOTE_CODE = "transformers_modules."  # the package of modules that transformers copied from folders


class Saving(Converting):
    """The part of BPETokenizer for saving and loading."""

    _registered_for_auto_class = False

    # Attributes of BPETokenizer.
    encoder: dict[str, int]
    add_prefix_space: bool
    add_bos_token: bool
    add_eos_token: bool
    bos_token: Any
    eos_token: Any
    unk_token: Any
    chat_template: Any
    _auto_class: str | None
    _added_tokens_decoder: dict[int, Any]

    # Loading.

    @classmethod
    @checked(pretrained_model_name_or_path=check_path, subfolder=optional(check_path))
    def from_pretrained(
        cls, pretrained_model_name_or_path: str | os.PathLike[str], *init_inputs: Any, **kwargs: Any
    ) -> Self:
        """Load a folder or a repository of the Hub, like other tokenizers of transformers.

        Args:
            pretrained_model_name_or_path: a folder that holds `vocab.json` and `merges.txt`, or `tokenizer.json`, or
                the name of a repository that does. A folder that BPETokenizer did not save, which names no pattern in
                `tokenizer_config.json`, is loaded from its `tokenizer.json`, with the result of
                `PreTrainedTokenizerFast.from_pretrained`; without that file the pattern is GPT-2's.
            init_inputs, kwargs: as in transformers; settings given here override those of the folder.

        Raises:
            OSError: the folder or repository does not exist, or a file cannot be read.
            ValueError: a file is damaged or missing, the files contradict each other, or a file was not saved together
                with the others.

        >>> from hf_bpe import BPETokenizer
        >>> _ = BPETokenizer.train(["low lower"], vocab_size=258).save_pretrained("my-tokenizer")
        >>> BPETokenizer.from_pretrained("my-tokenizer", padding_side="left").encode("low")
        [257]
        """
        folder = Path(pretrained_model_name_or_path, kwargs.get("subfolder") or "")
        # Checked here, because transformers reads it in several places with different errors.
        if (folder / CONFIG_FILE).is_file():
            check_config(folder / CONFIG_FILE)
        check_complete(folder)
        return cast("Self", super().from_pretrained(pretrained_model_name_or_path, *init_inputs, **kwargs))  # type: ignore[misc]

    @classmethod
    def _from_pretrained(cls, files: dict[str, str | None], name: str, *args: Any, **kwargs: Any) -> Self:
        folder = Folder.of(name, files, kwargs)  # files of a repository are in the cache
        checked_files = {key: path for key, path in files.items() if kwargs.get(key) is None}
        # Before 5.13 transformers opens a path in the file; arguments passed here override it.
        settings = {key: files.get(key) for key in ("vocab_file", "merges_file", "tokenizer_file")} | kwargs
        try:
            with constructor_errors():
                loaded = super()._from_pretrained(files, name, *args, _folder=folder, **settings)  # type: ignore[misc]
        except Exception as error:
            check_digests(folder.config, checked_files, None)  # mixed files of two tokenizers may fail anywhere
            # Errors of transformers for malformed files, except for settings of the caller, which they name.
            of_files = isinstance(error, (AttributeError, LookupError, RecursionError, TypeError))
            if not of_files or any(str(error).startswith(f"{setting} ") for setting in kwargs):
                raise
            raise ValueError(f"{name}: its files are not those of a tokenizer: {error!r}") from error
        tokenizer = cast("Self", loaded)
        # Checked last, because a save may replace the files meanwhile.
        check_digests(folder.config, checked_files, tokenizer.model)
        return tokenizer

    @classmethod
    @checked(tokenizer_file=optional(check_path))
    def convert_to_native_format(cls, **kwargs: Any) -> dict[str, Any]:
        """Convert the `tokenizer.json` of other libraries; called by from_pretrained."""
        folder: Folder | None = kwargs.pop("_folder", None)
        kwargs.pop(DIGESTS, None)
        return kwargs if folder is None else folder.settings(kwargs)

    @classmethod
    def convert_added_tokens(cls, obj: Any, save: bool = False, add_type_field: bool = True) -> Any:
        """Convert settings to JSON values or back; called by save_pretrained and from_pretrained."""
        if isinstance(obj, BPEModel):  # stored in the vocabulary files
            return None
        if isinstance(obj, Template):
            return obj.to_json()
        return super().convert_added_tokens(obj, save=save, add_type_field=add_type_field)  # type: ignore[misc]

    # Saving.

    @checked(save_directory=check_path, filename_prefix=optional(check_path))
    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str, ...]:
        """Write `vocab.json` and `merges.txt` atomically; return their paths."""
        prefix = f"{filename_prefix}-" if filename_prefix else ""
        return tuple(map(str, write_gpt2(self.model, save_directory, prefix=prefix)))

    @checked(save_directory=check_path, filename_prefix=optional(check_path), portable=check_flag, verify=check_flag)
    def save_pretrained(
        self,
        save_directory: str | os.PathLike[str],
        legacy_format: bool | None = None,
        filename_prefix: str | None = None,
        push_to_hub: bool = False,
        *,
        portable: bool = False,
        verify: bool = True,
        **kwargs: Any,
    ) -> tuple[str, ...]:
        """Save all files for from_pretrained, and a `tokenizer.json` for users without hf_bpe.

        Files are written to a staging folder, loaded to verify their ids, and then moved into place; if anything fails
        the old files stay. Old files that are not written again also stay. If the process is killed, the folder holds
        the old tokenizer or the new one, or loading it raises an error.

        Args:
            save_directory: the folder; created if needed.
            legacy_format: as in transformers; False is refused.
            filename_prefix: put before each file's name, with a hyphen.
            push_to_hub: call `push_to_hub` afterwards, with `repo_id` (default: the folder's name) and its other
                arguments in `kwargs`.
            portable: make AutoTokenizer load `PreTrainedTokenizerFast` (transformers 4 and 5), whether hf_bpe is
                installed or not; `BPETokenizer.from_pretrained` still loads the folder.
            verify: load the files with BPETokenizer, `tokenizers` and PreTrainedTokenizerFast, and verify vocabulary
                and ids. Takes about a second for GPT-2's vocabulary.
            kwargs: as in transformers.

        Returns:
            The paths written.

        Raises:
            OSError: the files cannot be written.
            ValueError: the verification found a difference, or `portable` is combined with `push_to_hub`.

        Warns:
            UserWarning: a `config.json` in the folder makes AutoTokenizer choose a class that gives different ids (a
                file that is added later cannot be checked); or the folder holds an old chat template, which loading
                would add to this tokenizer.

        >>> from hf_bpe import BPETokenizer
        >>> from transformers import AutoTokenizer, PreTrainedTokenizerFast
        >>> tokenizer = BPETokenizer.train(["low lower"], vocab_size=258)
        >>> _ = tokenizer.save_pretrained("for-everybody", portable=True)
        >>> isinstance(AutoTokenizer.from_pretrained("for-everybody"), PreTrainedTokenizerFast)
        True
        """
        if portable and push_to_hub:
            raise ValueError(
                "portable=True with push_to_hub=True: transformers would save again for the upload, not portable; save "
                "without push_to_hub, and upload the folder with huggingface_hub.upload_folder"
            )
        hub_names = ("commit_message", "commit_description", "private", "token", "revision", "create_pr", "tags")
        hub_options = {name: kwargs.pop(name) for name in hub_names if name in kwargs}
        repo_id = kwargs.pop("repo_id", Path(save_directory).name)
        prefix = f"{filename_prefix}-" if filename_prefix else ""
        self = copy.copy(self)  # a snapshot for all files, because another thread may add tokens
        with staged_folder(save_directory, last=[prefix + name for name in LAST]) as staging:
            super().save_pretrained(staging, legacy_format, **kwargs)  # type: ignore[misc]
            (staging / TOKENIZER_FILE).write_text(self._tokenizer_json(), encoding="utf-8", newline="\n")
            self._finish_config(staging, portable)
            if verify:
                verify_folder(staging, cast("BPETokenizer", self))
                warn_of_neighbours(cast("BPETokenizer", self), Path(save_directory), staging, prefix)
            if prefix:  # added last, because no loader would find the files
                for path in [path for path in staging.iterdir() if path.suffix != ".py"]:
                    path.rename(staging / (prefix + path.name))
            written = sorted(path.relative_to(staging) for path in staging.rglob("*") if path.is_file())
        if push_to_hub:
            self.push_to_hub(repo_id, **hub_options)  # type: ignore[attr-defined]
        return tuple(str(Path(save_directory, path)) for path in written)

    @classmethod
    def register_for_auto_class(cls, auto_class: str | type = "AutoTokenizer") -> None:
        """Make AutoTokenizer load this class from folders that are saved from now on, whatever their `config.json`.

        Such folders hold an `auto_map` and `tokenization_hf_bpe.py`, one line that imports the installed class.
        AutoTokenizer loads them as this class if hf_bpe is already imported, and otherwise with
        `trust_remote_code=True`. Without trust it loads `tokenizer.json`, with the same ids, if transformers has a
        tokenizer for the `config.json` in the folder, and otherwise refuses the folder. A tokenizer loaded from such a
        folder is saved the same way.

        Args:
            auto_class: "AutoTokenizer", the only choice for tokenizers.

        Register each subclass separately. Its module must be importable where the folder is loaded.

        Raises:
            ValueError: `auto_class` has another value, or the class cannot be imported, such as one in `__main__`.
        """
        name = auto_class.__name__ if isinstance(auto_class, type) else auto_class
        if not isinstance(name, str) or name != "AutoTokenizer":
            raise ValueError(f"auto_class: expected 'AutoTokenizer', got {short_repr(name)}")
        if cls.__module__.startswith(_REMOTE_CODE):  # a module from a folder, which transformers copies
            super().register_for_auto_class(auto_class)  # type: ignore[misc]
        elif not cls._is_importable():
            raise ValueError(
                f"{cls.__qualname__} of {cls.__module__} cannot be imported where the folder is loaded: expected a "
                "class at the top of a module; move it into an installed module"
            )
        else:
            cls._registered_for_auto_class = True

    def _tokenizer_json(self) -> str:
        return render_tokenizer_json(self.definition)

    def _finish_config(self, folder: Path, portable: bool) -> None:
        """Correct the `tokenizer_config.json` that transformers wrote."""
        path = folder / CONFIG_FILE
        config = json.loads(path.read_text(encoding="utf-8"))
        auto_map = config.pop("auto_map", None) or {}
        auto_map = dict(auto_map) if isinstance(auto_map, dict) else {"AutoTokenizer": auto_map}
        if portable:
            auto_map.pop("AutoTokenizer", None)
            config["tokenizer_class"] = "PreTrainedTokenizerFast"
            if "extra_special_tokens" in config:  # has a different meaning there
                config["additional_special_tokens"] = config.pop("extra_special_tokens")
        elif self._auto_class is None:  # otherwise transformers has copied the source of the class and written the map
            loaded = auto_map.pop("AutoTokenizer", None)
            if self._needs_shim(loaded):
                auto_map["AutoTokenizer"] = [f"{_SHIM}.{type(self).__name__}", None]
                module = type(self).__module__
                module = "hf_bpe" if module.startswith("hf_bpe.") else module
                line = f"from {module} import {type(self).__name__}  # found here by AutoTokenizer\n"
                (folder / f"{_SHIM}.py").write_text(line, encoding="utf-8", newline="\n")
        if auto_map:
            config["auto_map"] = auto_map
        config.pop("model", None)  # stored in the other files
        config["signature"] = self.model.signature
        config[DIGESTS] = digests_of(folder)
        text = json.dumps(config, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        path.write_text(text, encoding="utf-8", newline="\n")

    def _needs_shim(self, loaded: Any) -> bool:
        """Return whether to save the shim: if the class is registered, or the tokenizer was loaded through it."""
        if vars(type(self)).get("_registered_for_auto_class"):
            return True
        references = loaded if isinstance(loaded, list) else [loaded]
        return self._is_importable() and any(str(each).split("--")[-1].startswith(f"{_SHIM}.") for each in references)

    @classmethod
    def _is_importable(cls) -> bool:
        return cls.__module__ != "__main__" and getattr(sys.modules[cls.__module__], cls.__name__, None) is cls


class NotInFiles(NamedTuple):
    """The fields of a model that `vocab.json` and `merges.txt` do not store.

    Attributes:
        pattern, normalizer, ignore_merges, drop_missing_bytes: as in `BPEModel`.
        special_tokens: the special tokens; None for those that the settings name.
        signature: the signature of the saved model, None if unknown.
    """

    pattern: str | None
    normalizer: str | None
    ignore_merges: bool
    drop_missing_bytes: bool
    special_tokens: Sequence[str] | None
    signature: str | None


def read_model(
    vocab_file: str | os.PathLike[str] | None,
    merges_file: str | os.PathLike[str] | None,
    stored: NotInFiles,
    kwargs: dict[str, Any],
) -> tuple[BPEModel, dict[str, int]]:
    """Read the two files; by default the special tokens in the settings are the special tokens."""
    if vocab_file is None or merges_file is None:
        raise ValueError(
            f"BPETokenizer needs a model, or vocab_file and merges_file; got vocab_file={vocab_file!r}, "
            f"merges_file={merges_file!r}"
        )
    special_tokens = stored.special_tokens
    if special_tokens is None:
        added = [token.content for token in kwargs.get("added_tokens_decoder", {}).values() if token.special]
        special_tokens = added or None
    model, printable_vocab = read_gpt2_with_vocab(
        vocab_file, merges_file, special_tokens=special_tokens, pattern=stored.pattern, leave_out_ordinary=True
    )
    if stored.ignore_merges is not False or stored.drop_missing_bytes is not False:
        model = replace(
            model,
            merges=CheckedMerges(model.merges),
            ignore_merges=stored.ignore_merges,
            drop_missing_bytes=stored.drop_missing_bytes,
        )
    return with_normalizer(model, stored.normalizer).with_signature(stored.signature), printable_vocab
