"""Folders and repositories: what transformers calls while it loads one, and saving."""

from __future__ import annotations

import copy
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformers.utils import logging

from hf_bpe._utils.arguments import check_flag, check_mapping, check_path, checked, optional, refuse_unknown
from hf_bpe._utils.files import staged_folder
from hf_bpe._utils.object_stores import StorageOptions
from hf_bpe._utils.paths import check_destination, check_output, is_url
from hf_bpe.formats._files.vocab_and_merges import write_gpt2
from hf_bpe.formats._folder.consistency import REQUIRED_FILES
from hf_bpe.formats._folder.files import VOCABULARY_FILES
from hf_bpe.formats._folder.read import Folder
from hf_bpe.tokenizer._auto_tokenizer_choice import warn_of_existing_files
from hf_bpe.tokenizer._options import PUSHING, RESTORED, SAVING
from hf_bpe.tokenizer._saving import check_auto_class, is_copied, upload_folder, verify_saved, write_files
from hf_bpe.tokenizer._self_types import OwnTokenizer

if TYPE_CHECKING:
    from typing_extensions import Self

logger = logging.get_logger(__name__)

# Arguments of transformers' `_from_pretrained`, some only in older releases.
_LOADING_OPTIONS = ("token", "cache_dir", "local_files_only", "_commit_hash", "_is_local", "trust_remote_code")


class SavingMethods(OwnTokenizer):
    """The methods that save folders, and that transformers calls when it loads or saves one."""

    _registered_for_auto_class = False

    @classmethod
    def _from_pretrained(
        cls, files: dict[str, str | None], name: str, init_configuration: object, *args: object, **kwargs: object
    ) -> Self:
        # Files of a repository are in the cache.
        settings = {key: value for key, value in kwargs.items() if key not in _LOADING_OPTIONS}
        of_class = [key for key in cls.vocab_files_names if key not in VOCABULARY_FILES and settings.get(key) is None]
        settings |= {key: files.get(key) for key in of_class}
        folder = Folder.read(str(name), files, settings)
        with folder.errors():
            arguments = cls.convert_to_native_format(**cls.convert_added_tokens(folder.arguments()))
            tokenizer = cls(*args, **arguments, **{RESTORED: True})
        folder.check_digests(tokenizer.model)
        return tokenizer

    # Saving.

    @checked(save_directory=check_output, filename_prefix=optional(check_path))
    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str, ...]:
        """Write `vocab.json` and `merges.txt`, which tokens of characters do not have; return their paths."""
        if not self.model.alphabet.is_bytes:
            return ()
        prefix = f"{filename_prefix}-" if filename_prefix else ""
        return tuple(map(str, write_gpt2(self.model, save_directory, prefix=prefix)))

    @checked(
        save_directory=check_destination,
        filename_prefix=optional(check_path),
        portable=check_flag,
        verify=check_flag,
        storage_options=optional(check_mapping),
    )
    def save_pretrained(
        self,
        save_directory: str | os.PathLike[str],
        legacy_format: bool | None = None,
        filename_prefix: str | None = None,
        push_to_hub: bool = False,
        *,
        portable: bool = False,
        verify: bool = True,
        storage_options: StorageOptions | None = None,
        **kwargs: Any,
    ) -> tuple[str, ...]:
        """Save all files for from_pretrained, and a `tokenizer.json` for users without hf_bpe.

        Files are written to a staging folder, loaded to verify their ids, and then moved into place; if anything fails
        the old files stay, as do files that are not written again. If the process is killed, the folder holds the old
        tokenizer or the new one, or loading it raises an error.

        Args:
            save_directory: the folder; created if needed. It may be a URL, such as `s3://bucket/tokenizer`; files that
                are there are not read, and `convert_from` loads it.
            legacy_format: as in transformers; False is refused.
            filename_prefix: put before each file's name, with a hyphen.
            push_to_hub: call `push_to_hub` afterwards, with `repo_id` (default: the folder's name) and its other
                arguments in `kwargs`.
            portable: make AutoTokenizer load `PreTrainedTokenizerFast` (transformers 4 and 5), whether hf_bpe is
                installed or not; `BPETokenizer.from_pretrained` still loads the folder.
            verify: read the files back, load them with `tokenizers` and PreTrainedTokenizerFast, and verify vocabulary
                and ids. Takes about a second for GPT-2's vocabulary. Next to a `config.json` they are also loaded with
                AutoTokenizer, with which transformers imports torch where it is installed.
            storage_options: what fsspec takes to reach a URL, as in `Source`.
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
        if is_url(os.fspath(save_directory)):
            options = {**kwargs, "portable": portable, "verify": verify}
            if push_to_hub:
                raise ValueError("push_to_hub: expected False with a URL; save in a local folder to push it")
            with tempfile.TemporaryDirectory(prefix="hf_bpe-") as folder:
                written = self.save_pretrained(folder, legacy_format, filename_prefix, **options)
                return upload_folder(Path(folder), written, os.fspath(save_directory), filename_prefix, storage_options)
        refuse_unknown("BPETokenizer.save_pretrained", kwargs, {"portable", "verify", "storage_options", *SAVING})
        hub_options = {name: kwargs.pop(name) for name in PUSHING if name in kwargs}
        repo_id = hub_options.pop("repo_id", Path(save_directory).name)
        prefix = f"{filename_prefix}-" if filename_prefix else ""
        snapshot = self._with_named_tokens()  # for all files, because another thread may add tokens
        jinja = bool(kwargs.get("save_jinja_files", True))
        with staged_folder(save_directory, last=[prefix + name for name in REQUIRED_FILES]) as staging:
            write_files(snapshot, staging, legacy_format, portable=portable, save_jinja_files=jinja)
            if verify:
                verify_saved(staging, snapshot)
                warn_of_existing_files(snapshot, Path(save_directory), staging, prefix)
            if prefix:  # added last, because no loader would find the files
                for path in [path for path in staging.iterdir() if path.suffix != ".py"]:
                    path.rename(staging / (prefix + path.name))
            files = sorted(path.relative_to(staging) for path in staging.rglob("*") if path.is_file())
        if push_to_hub:
            snapshot.push_to_hub(repo_id, **hub_options)
        return tuple(str(Path(save_directory, path)) for path in files)

    def _with_named_tokens(self) -> Self:
        """Return a copy in which every named token is a special token, as whoever loads the saved folder makes it."""
        other = copy.copy(self)
        named = [*other._special_tokens_map.values(), *other._extra_special_tokens]
        named = [token for token in named if token is not None and str(token)]  # transformers adds no empty token
        if missing := [token for token in named if str(token) not in other._added_tokens_encoder]:
            other._add_tokens(missing, True)
            ids = {str(token): other._added_tokens_encoder[str(token)] for token in missing}
            logger.warning("these named tokens are special tokens, with ids, once the folder is loaded: %s", ids)
        return other

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
        check_auto_class(cls, auto_class)
        if is_copied(cls):
            super().register_for_auto_class(auto_class)
        else:
            cls._registered_for_auto_class = True
