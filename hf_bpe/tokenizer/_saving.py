"""Saving and loading of BPETokenizer: folders that give the same ids to everybody, checked before they take effect.

What transformers' own `save_pretrained` forgets or would get wrong is put right here.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
import sys
import warnings
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
from hf_bpe.tokenizer._files.panics import panics_as_errors
from hf_bpe.tokenizer._files.tokenizer_config import CONFIG_FILE, DIGESTS, check_config
from hf_bpe.tokenizer._files.tokenizer_json import render_tokenizer_json
from hf_bpe.tokenizer._files.verify import ids_difference, verify_folder
from hf_bpe.tokenizer._files.vocab_and_merges import read_gpt2_with_vocab, write_gpt2
from hf_bpe.tokenizer._template import Template
from hf_bpe.tokenizer._transformers_compat import constructor_errors

if TYPE_CHECKING:
    from typing_extensions import Self

    from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

TOKENIZER_FILE = "tokenizer.json"
MODEL_CONFIG_FILE = "config.json"
CHAT_TEMPLATE_FILE = "chat_template.jinja"

# The module that AutoTokenizer copies out of a folder and runs to find our class.
_SHIM = "tokenization_hf_bpe"
_REMOTE_CODE = "transformers_modules."  # where transformers puts modules that it has copied out of folders


class Saving(Converting):
    """Mixed into BPETokenizer."""

    _registered_for_auto_class = False

    # What BPETokenizer has.
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
        """Load a folder, or a repository of the Hub, as every tokenizer of transformers does.

        Args:
            pretrained_model_name_or_path: a folder that holds `vocab.json` and `merges.txt`, or `tokenizer.json`, or
                the name of a repository that does. A folder that is not of BPETokenizer, which names no pattern in
                `tokenizer_config.json`, is loaded from its `tokenizer.json` to the tokenizer that
                `PreTrainedTokenizerFast.from_pretrained` gives; where there is none the pattern is GPT-2's.
            init_inputs, kwargs: as in transformers; settings given here go before those of the folder.

        Raises:
            OSError: there is no such folder or repository, or a file of it cannot be read.
            ValueError: a file is damaged or missing, the files do not fit together, or a file is not the one that was
                saved with the others.

        >>> from hf_bpe import BPETokenizer
        >>> _ = BPETokenizer.train(["low lower"], vocab_size=258).save_pretrained("my-tokenizer")
        >>> BPETokenizer.from_pretrained("my-tokenizer", padding_side="left").encode("low")
        [257]
        """
        folder = Path(pretrained_model_name_or_path, kwargs.get("subfolder") or "")
        if (folder / CONFIG_FILE).is_file():  # transformers reads it in several places, each with errors of its own
            check_config(folder / CONFIG_FILE)
        check_complete(folder)
        return cast("Self", super().from_pretrained(pretrained_model_name_or_path, *init_inputs, **kwargs))  # type: ignore[misc]

    @classmethod
    def _from_pretrained(cls, files: dict[str, str | None], name: str, *args: Any, **kwargs: Any) -> Self:
        folder = Folder.of(name, files, kwargs)  # those of a repository are in the cache
        checked_files = {key: path for key, path in files.items() if kwargs.get(key) is None}
        # Before 5.13 a path in the file is opened; what is passed here is not replaced by it.
        settings = {key: files.get(key) for key in ("vocab_file", "merges_file", "tokenizer_file")} | kwargs
        try:
            with constructor_errors():
                loaded = super()._from_pretrained(files, name, *args, _folder=folder, **settings)  # type: ignore[misc]
        except Exception as error:
            check_digests(folder.config, checked_files, None)  # files of two tokenizers may fail anywhere
            # What transformers makes of files of another shape, but for settings of the caller that it names.
            of_files = isinstance(error, (AttributeError, LookupError, RecursionError, TypeError))
            if not of_files or any(str(error).startswith(f"{setting} ") for setting in kwargs):
                raise
            raise ValueError(f"{name}: its files are not those of a tokenizer: {error!r}") from error
        tokenizer = cast("Self", loaded)
        # Not before, for a save may replace the files meanwhile.
        check_digests(folder.config, checked_files, tokenizer.model)
        return tokenizer

    @classmethod
    @checked(tokenizer_file=optional(check_path))
    def convert_to_native_format(cls, **kwargs: Any) -> dict[str, Any]:
        """Take a tokenizer that others have saved from its `tokenizer.json`; from_pretrained calls this."""
        folder: Folder | None = kwargs.pop("_folder", None)
        kwargs.pop(DIGESTS, None)
        return kwargs if folder is None else folder.settings(kwargs)

    @classmethod
    def convert_added_tokens(cls, obj: Any, save: bool = False, add_type_field: bool = True) -> Any:
        """Return what settings are in JSON, or what they were before; save_pretrained and from_pretrained call this."""
        if isinstance(obj, BPEModel):  # which the vocabulary files hold
            return None
        if isinstance(obj, Template):
            return obj.to_json()
        return super().convert_added_tokens(obj, save=save, add_type_field=add_type_field)  # type: ignore[misc]

    # Saving.

    @checked(save_directory=check_path, filename_prefix=optional(check_path))
    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str, ...]:
        """Write `vocab.json` and `merges.txt`, each whole or not at all; return their paths."""
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
        """Save all that from_pretrained needs, and a `tokenizer.json` for those who have no hf_bpe.

        Files are written next to the old ones, loaded and compared with this tokenizer, and put in their place when
        all is well; if anything fails the old ones stay. Old files that are not written again stay as well. If the
        process is killed meanwhile, the folder holds the old tokenizer or the new one, or loading it is an error.

        Args:
            save_directory: the folder; made if need be.
            legacy_format: as in transformers; False is refused.
            filename_prefix: put before each file's name, with a hyphen.
            push_to_hub: call `push_to_hub` afterwards, with `repo_id` (default: the folder's name) and what else of
                `kwargs` it takes.
            portable: have AutoTokenizer load `PreTrainedTokenizerFast`, of transformers 4 and 5, whether hf_bpe is
                installed or not; `BPETokenizer.from_pretrained` loads the folder all the same.
            verify: load what was written with BPETokenizer, `tokenizers` and PreTrainedTokenizerFast, and compare
                vocabulary and ids. Takes half a second for GPT-2's vocabulary.
            kwargs: as in transformers.

        Returns:
            The paths written.

        Raises:
            OSError: the files cannot be written.
            ValueError: the verification found a difference; or `portable` together with `push_to_hub`.

        Warns:
            UserWarning: a `config.json` in the folder makes AutoTokenizer choose a class that gives other ids (a file
                that is put there later cannot be seen now); or the folder holds an old chat template, which whoever
                loads the folder will get, and this tokenizer has none.

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
                "without push_to_hub, and send the folder with huggingface_hub.upload_folder"
            )
        hub_names = ("commit_message", "commit_description", "private", "token", "revision", "create_pr", "tags")
        hub_options = {name: kwargs.pop(name) for name in hub_names if name in kwargs}
        repo_id = kwargs.pop("repo_id", Path(save_directory).name)
        prefix = f"{filename_prefix}-" if filename_prefix else ""
        self = copy.copy(self)  # all files must be of one moment, and another thread may add tokens
        with staged_folder(save_directory, last=[prefix + name for name in LAST]) as staging:
            super().save_pretrained(staging, legacy_format, **kwargs)  # type: ignore[misc]
            (staging / TOKENIZER_FILE).write_text(self._tokenizer_json(), encoding="utf-8", newline="\n")
            self._finish_config(staging, portable)
            if verify:
                verify_folder(staging, cast("BPETokenizer", self))
                self._warn_of(Path(save_directory), staging, prefix)
            if prefix:  # which is put on last, for no loader would find the files
                for path in [path for path in staging.iterdir() if path.suffix != ".py"]:
                    path.rename(staging / (prefix + path.name))
            written = sorted(path.relative_to(staging) for path in staging.rglob("*") if path.is_file())
        if push_to_hub:
            self.push_to_hub(repo_id, **hub_options)  # type: ignore[attr-defined]
        return tuple(str(Path(save_directory, path)) for path in written)

    @classmethod
    def register_for_auto_class(cls, auto_class: str | type = "AutoTokenizer") -> None:
        """Have folders that are saved from now on tell AutoTokenizer to load this class, whatever their `config.json`.

        They then hold an `auto_map` and `tokenization_hf_bpe.py`, one line that imports the class from where it is
        installed. AutoTokenizer loads them as this class where hf_bpe is imported already, and elsewhere with
        `trust_remote_code=True`. Without trust it takes `tokenizer.json`, with the same ids, if transformers has a
        tokenizer for the `config.json` in the folder, and else refuses the folder. What is loaded from such a folder is
        saved like it.

        Args:
            auto_class: "AutoTokenizer"; tokenizers have no other.

        A subclass is registered by itself. Its module must be importable where the folder is loaded.

        Raises:
            ValueError: another `auto_class`; or a class that cannot be imported, as one in `__main__`.
        """
        name = auto_class.__name__ if isinstance(auto_class, type) else auto_class
        if not isinstance(name, str) or name != "AutoTokenizer":
            raise ValueError(f"auto_class: expected 'AutoTokenizer', got {short_repr(name)}")
        if cls.__module__.startswith(_REMOTE_CODE):  # a file of the folder itself, which transformers then copies
            super().register_for_auto_class(auto_class)  # type: ignore[misc]
        elif not cls._is_importable():
            raise ValueError(
                f"{cls.__qualname__} of {cls.__module__} cannot be imported by those who load the folder: expected a "
                "class at the top of a module; move it into one that is installed where it is to be loaded"
            )
        else:
            cls._registered_for_auto_class = True

    def _tokenizer_json(self) -> str:
        return render_tokenizer_json(self.definition)

    def _finish_config(self, folder: Path, portable: bool) -> None:
        """Put right in `tokenizer_config.json` what transformers has written."""
        path = folder / CONFIG_FILE
        config = json.loads(path.read_text(encoding="utf-8"))
        auto_map = config.pop("auto_map", None) or {}
        auto_map = dict(auto_map) if isinstance(auto_map, dict) else {"AutoTokenizer": auto_map}
        if portable:
            auto_map.pop("AutoTokenizer", None)
            config["tokenizer_class"] = "PreTrainedTokenizerFast"
            if "extra_special_tokens" in config:  # which is something else there
                config["additional_special_tokens"] = config.pop("extra_special_tokens")
        elif self._auto_class is None:  # else transformers has copied the source of the class, and written the map
            loaded = auto_map.pop("AutoTokenizer", None)
            if self._needs_shim(loaded):
                auto_map["AutoTokenizer"] = [f"{_SHIM}.{type(self).__name__}", None]
                module = type(self).__module__
                module = "hf_bpe" if module.startswith("hf_bpe.") else module
                line = f"from {module} import {type(self).__name__}  # found here by AutoTokenizer\n"
                (folder / f"{_SHIM}.py").write_text(line, encoding="utf-8", newline="\n")
        if auto_map:
            config["auto_map"] = auto_map
        config.pop("model", None)  # which is in the other files
        config["signature"] = self.model.signature
        config[DIGESTS] = digests_of(folder)
        text = json.dumps(config, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        path.write_text(text, encoding="utf-8", newline="\n")

    def _needs_shim(self, loaded: Any) -> bool:
        """Tell whether to save with the shim: if the class is registered, or the tokenizer was loaded through it."""
        if vars(type(self)).get("_registered_for_auto_class"):
            return True
        references = loaded if isinstance(loaded, list) else [loaded]
        return self._is_importable() and any(str(each).split("--")[-1].startswith(f"{_SHIM}.") for each in references)

    @classmethod
    def _is_importable(cls) -> bool:
        return cls.__module__ != "__main__" and getattr(sys.modules[cls.__module__], cls.__name__, None) is cls

    def _warn_of(self, folder: Path, staging: Path, prefix: str) -> None:
        """Warn of files that are in the folder already and change what is loaded from it."""
        if (folder / MODEL_CONFIG_FILE).is_file() and not prefix:
            shutil.copy(folder / MODEL_CONFIG_FILE, staging)
            problem = self._auto_tokenizer_problem(staging)
            (staging / MODEL_CONFIG_FILE).unlink()
            if problem:
                name = type(self).__name__
                warnings.warn(
                    f"{folder / MODEL_CONFIG_FILE} makes AutoTokenizer {problem}. Call {name}.register_for_auto_class()"
                    f" before saving, and AutoTokenizer will load {name} (where hf_bpe is not imported, with "
                    f"trust_remote_code=True); or load the folder with {name}.from_pretrained or "
                    "PreTrainedTokenizerFast.from_pretrained; or save the tokenizer in a folder of its own",
                    UserWarning,
                    stacklevel=4,
                )
        template = prefix + CHAT_TEMPLATE_FILE
        if self.chat_template is None and (folder / template).is_file():
            warnings.warn(
                f"{folder / template} is of an earlier tokenizer, and this one has no chat template; whoever loads the "
                "folder will get the old one: delete the file if it is not wanted",
                UserWarning,
                stacklevel=4,
            )

    def _auto_tokenizer_problem(self, folder: Path) -> str | None:
        """Say what is wrong with what AutoTokenizer makes of a folder, None if nothing is."""
        from transformers import AutoTokenizer

        try:
            # Without a word on trust it would ask the user, and wait.
            with panics_as_errors():
                chosen = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
            if type(chosen) is type(self):
                return None
            difference = ids_difference(cast("BPETokenizer", self), chosen)
        except Exception as error:  # other classes fail with anything
            return f"fail to load the tokenizer: {error}"
        return difference and f"load the tokenizer as {type(chosen).__name__}, which gives wrong ids: {difference}"


class NotInFiles(NamedTuple):
    """What `vocab.json` and `merges.txt` do not say of a model.

    Attributes:
        pattern, normalizer, ignore_merges, drop_missing_bytes: as in `BPEModel`.
        special_tokens: None for those that the settings call special.
        signature: that of the model when it was saved, None if it is not known.
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
    told: NotInFiles,
    kwargs: dict[str, Any],
) -> tuple[BPEModel, dict[str, int]]:
    """Read the two files; where it is not said which tokens are special, the settings' special tokens are."""
    if vocab_file is None or merges_file is None:
        raise ValueError(
            f"BPETokenizer needs a model, or vocab_file and merges_file; got vocab_file={vocab_file!r}, "
            f"merges_file={merges_file!r}"
        )
    special_tokens = told.special_tokens
    if special_tokens is None:
        added = [token.content for token in kwargs.get("added_tokens_decoder", {}).values() if token.special]
        special_tokens = added or None
    model, printable_vocab = read_gpt2_with_vocab(
        vocab_file, merges_file, special_tokens=special_tokens, pattern=told.pattern, leave_out_ordinary=True
    )
    if told.ignore_merges is not False or told.drop_missing_bytes is not False:
        model = replace(
            model,
            merges=CheckedMerges(model.merges),
            ignore_merges=told.ignore_merges,
            drop_missing_bytes=told.drop_missing_bytes,
        )
    return with_normalizer(model, told.normalizer).with_signature(told.signature), printable_vocab
