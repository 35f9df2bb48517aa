"""Tokenizers from definitions, edited models and the files of other tools, and back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenizers import Tokenizer

from hf_bpe._utils.arguments import (
    check_flag,
    check_keywords,
    check_mapping,
    check_str,
    check_strs,
    checked,
    optional,
    wrong_type,
)
from hf_bpe._utils.object_stores import StorageOptions
from hf_bpe._utils.paths import check_output
from hf_bpe.core._model import BPEModel
from hf_bpe.editing._remap import Remap
from hf_bpe.editing._remap import edited as edited_definition
from hf_bpe.formats._construction import PERSISTENT, changed_settings, constructor_arguments
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._files.tokenizer_json_writing import render_tokenizer_json
from hf_bpe.formats._format import ReadFormat, WrittenFormat
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.normalizers._backend import panics_as_errors
from hf_bpe.pretokenizers._pattern import AnyPattern, Pattern
from hf_bpe.tokenizer._auto_tokenizer_choice import warn_of_existing_files
from hf_bpe.tokenizer._options import RESTORED, check_settings
from hf_bpe.tokenizer._self_types import OwnTokenizer

if TYPE_CHECKING:
    from typing_extensions import Self

    from hf_bpe.editing._edits import Edited


def _check_definition(name: str, value: object) -> Definition:
    if not isinstance(value, Definition):
        raise wrong_type(name, "a Definition", value)
    return value


def _check_pattern(name: str, value: Any) -> str | Pattern:
    """Return the value if it is a str, for the reader of a file to judge, else its pattern."""
    return value if isinstance(value, str) else Pattern.parse(value)


def _check_edited(name: str, value: object) -> object:
    model, remap = value if isinstance(value, tuple) and len(value) == 2 else (None, None)
    if not isinstance(model, BPEModel) or not isinstance(remap, Remap):
        error = wrong_type(name, "the result of a function of hf_bpe.editing", value)
        raise TypeError(f"{error}; give all of what it returned: tokenizer.with_model(truncate(tokenizer.model, 8000))")
    return value


class ConversionMethods(OwnTokenizer):
    """The methods that read or make a `Definition`, which all formats have in common."""

    @property
    def backend_tokenizer(self) -> Tokenizer:
        """The `tokenizers.Tokenizer` of our `tokenizer.json`, built on each access, for code that inspects it."""
        with panics_as_errors():
            return Tokenizer.from_buffer(render_tokenizer_json(self.definition))

    @property
    def definition(self) -> Definition:
        """The definition of this tokenizer: model, added tokens and settings that are not the default."""
        settings = {**self.init_kwargs, **{name: getattr(self, name) for name in (*PERSISTENT, "chat_template")}}
        names, added = self.pipeline.names, self.pipeline.added_tokens
        changed = changed_settings(settings, names, self.extra_special_tokens, added, self.model_max_length)
        return Definition(self.model, self._added_tokens_decoder, changed)

    @classmethod
    @checked(definition=_check_definition)
    def from_definition(cls, definition: Definition, **kwargs: object) -> Self:
        """Create a tokenizer from a definition; `kwargs` override its settings."""
        pipeline = Pipeline.from_definition(definition)  # whose encoder the constructor shares as long as it is here
        arguments = constructor_arguments(definition, pipeline.model, check_settings(kwargs))
        return cls(**arguments, **{RESTORED: True})

    @checked(edited=_check_edited)
    def with_model(self, edited: Edited) -> tuple[Self, Remap]:
        """Return this tokenizer with an edited model, and the remap of all ids, including those of added tokens.

        Settings, flags and added tokens stay. Added tokens outside the model keep their ids, or, if tokens of the model
        were removed or moved, get the ids directly after the model's.

        Args:
            edited: the result of a function of `hf_bpe.editing` for this tokenizer's model.

        Raises:
            ValueError: the edit is of another model, or a new token has the id or the content of an added token.

        >>> from hf_bpe import BPETokenizer
        >>> from hf_bpe.editing import truncate
        >>> tokenizer = BPETokenizer.train(["low lower"], vocab_size=259, pad_token="<pad>")
        >>> smaller, remap = tokenizer.with_model(truncate(tokenizer.model, 258))
        >>> smaller.pad_token, smaller.encode("low"), remap.removed
        ('<pad>', [108, 257], (258,))
        """
        definition, remap = edited_definition(self.definition, *edited)
        return self.from_definition(definition), remap

    @classmethod
    @checked(
        format=optional(check_str),
        pattern=_check_pattern,
        special_tokens=optional(check_keywords),
        storage_options=optional(check_mapping),
    )
    def convert_from(
        cls,
        source: object,
        *,
        format: ReadFormat | None = None,
        pattern: AnyPattern = "auto",
        special_tokens: Mapping[str, int] | None = None,
        storage_options: StorageOptions | None = None,
        **kwargs: object,
    ) -> Self:
        """Create a tokenizer from one of another kind, with the same ids.

        Args:
            source: a file or folder of any format that `hf_bpe.conversion` reads (GPT-2's two files, `tokenizer.json`,
                a `.tiktoken` file, a GGUF file, the text form, a saved folder), a
                `tiktoken.Encoding`, a fast tokenizer of transformers, a `tokenizers.Tokenizer`, or a `BPEModel`. Also
                Mistral's `tekken.json`, and a folder with tiktoken's ranks and `tokenizer_config.json`; code in such
                a folder is not run. Where tiktoken is installed, also the name of one of its encodings or of a model
                of OpenAI, such as "cl100k_base" or "gpt-4o"; a file or folder of that name comes first. A URL is of a
                folder, such as `s3://bucket/tokenizer`, of which the files of a tokenizer are copied, by their names. A
                SentencePiece model on this machine is converted by transformers with sentencepiece and protobuf.
            format: the name of the file's format; None to detect it.
            pattern: the split pattern, for files that do not store it, such as `.tiktoken`.
            special_tokens: content → id, for files that do not store them.
            storage_options: what fsspec takes to reach a URL, as in `Source`.
            kwargs: settings of the new tokenizer, which override those of the source.

        Raises:
            OSError: the file cannot be read.
            TypeError: the source is of another kind.
            ValueError: the source is damaged, or BPETokenizer cannot represent it; the message names the feature.

        >>> from hf_bpe import BPETokenizer
        >>> from tokenizers import Tokenizer, decoders, models, pre_tokenizers
        >>> other = Tokenizer(models.BPE(vocab={"l": 0, "o": 1, "lo": 2}, merges=[("l", "o")]))
        >>> other.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        >>> other.decoder = decoders.ByteLevel()
        >>> BPETokenizer.convert_from(other).encode("lolo")
        [2, 2]
        """
        from hf_bpe.conversion._formats import SentencePieceFound, definition_of

        hints: dict[str, Any] = {"pattern": pattern, "special_tokens": special_tokens}
        try:
            definition = definition_of(source, format=format, storage_options=storage_options, **hints)
        except SentencePieceFound as found:
            from hf_bpe.tokenizer._sentencepiece import converted

            with converted(found.path, found.model) as folder:
                definition = definition_of(folder, **hints)
        return cls.from_definition(definition, **kwargs)

    @checked(path=check_output, format=optional(check_str), drop=check_strs, verify=check_flag)
    def convert_to(
        self,
        path: str | os.PathLike[str],
        *,
        format: WrittenFormat | None = None,
        drop: Iterable[str] = (),
        verify: bool = True,
    ) -> tuple[str, ...]:
        """Write this tokenizer in another format, with the same ids.

        The files are written to a staging folder, and read back (with the library of the format if that is installed)
        to verify their ids; only then are they moved into place.

        Args:
            path: the file, or the folder for formats of several files; created if needed. A name that ends in a dot
                and a word that begins with a letter is a file's; others, such as llama-3.1, are a folder's.
            format: a name of `hf_bpe.conversion.FORMATS`; None to tell it by the suffix of a file. A folder is for hf.
            drop: names of `hf_bpe.conversion.FEATURES` that may be dropped although ids depend on them.
            verify: verify that the files, read back, give the same ids.

        Returns:
            The paths of the written files.

        Raises:
            OSError: the files cannot be written.
            ValueError: the suffix is that of no format or not of the one given; the format cannot carry a feature of
                this tokenizer, which the message names; or the ids differ.

        Warns:
            UserWarning: the format does not carry a feature that decides no ids.

        >>> from hf_bpe import BPETokenizer
        >>> tokenizer = BPETokenizer.train(["low lower"], vocab_size=258)
        >>> tokenizer.convert_to("low.tiktoken")
        ('low.tiktoken', 'low.tiktoken.json')
        >>> BPETokenizer.convert_from("low.tiktoken").model == tokenizer.model
        True
        """
        from hf_bpe.conversion import write

        check = partial(warn_of_existing_files, self, Path(path))
        written = write(self.definition, path, format=format, drop=drop, verify=verify, check_folder=check)
        return tuple(map(str, written))
