"""Conversion of BPETokenizer from and to other tools' files and tokenizers in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from hf_bpe._utils.arguments import (
    check_flag,
    check_keywords,
    check_path,
    check_str,
    check_strs,
    checked,
    optional,
    wrong_type,
)
from hf_bpe.core._model import BPEModel
from hf_bpe.editing._remap import Remap
from hf_bpe.tokenizer._files.definition import NAMED_TOKENS, Definition

if TYPE_CHECKING:
    from typing_extensions import Self

    from hf_bpe.editing._edits import Edited

# Attributes that save_pretrained of transformers drops unless they are in init_kwargs.
PERSISTENT = (
    *("errors", "pattern", "normalizer", "add_prefix_space", "token_type_ids_pattern"),
    *("ignore_merges", "drop_missing_bytes", "model_special_tokens", "template"),
    *("padding_side", "truncation_side", "split_special_tokens", "clean_up_tokenization_spaces"),
    # transformers 4 has a different default of model_input_names.
    *("model_input_names", "token_type_ids_include_special_tokens"),
)
# Defaults of every tokenizer, which need not be stored.
_DEFAULTS: dict[str, Any] = {
    **{"errors": "replace", "padding_side": "right", "truncation_side": "right"},
    **{"token_type_ids_pattern": "all_zeros", "model_input_names": ["input_ids", "attention_mask"]},
    **{"token_type_ids_include_special_tokens": True, "add_prefix_space": False, "split_special_tokens": False},
    **{"clean_up_tokenization_spaces": False},
}
# Settings of the model or of its loading, and those that the template contains.
_NOT_SETTINGS = {
    *("model", "pattern", "ignore_merges", "normalizer", "drop_missing_bytes", "model_special_tokens", "signature"),
    *("name_or_path", "tokenizer_file", "added_tokens_decoder", "init_inputs"),
    *("special_tokens_pattern", "add_bos_token", "add_eos_token"),
}
_NO_LIMIT = 10**20  # transformers writes 10**30 for no model_max_length


def _check_definition(name: str, value: Any) -> Definition:
    if not isinstance(value, Definition):
        raise wrong_type(name, "a Definition", value)
    return value


def _check_edited(name: str, value: Any) -> Any:
    model, remap = value if isinstance(value, tuple) and len(value) == 2 else (None, None)
    if not isinstance(model, BPEModel) or not isinstance(remap, Remap):
        raise wrong_type(name, "the result of a function of hf_bpe.editing", value)
    return value


def _special_without_name(tokens: Mapping[int, Any], settings: Mapping[str, Any]) -> list[str]:
    named = {*map(str, map(settings.get, NAMED_TOKENS))}
    return [token.content for token in tokens.values() if token.special and token.content not in named]


class Converting:
    """The part of BPETokenizer for conversion."""

    # Attributes of BPETokenizer.
    init_kwargs: dict[str, Any]
    chat_template: Any
    model_max_length: int
    _special_tokens_map: dict[str, Any]
    _added_tokens_decoder: dict[int, Any]
    if TYPE_CHECKING:

        @property
        def model(self) -> BPEModel:
            """The model."""

    @property
    def definition(self) -> Definition:
        """The definition of this tokenizer: model, added tokens and settings that are not the default."""
        names = [*PERSISTENT, "chat_template"]
        settings = {**self.init_kwargs, **{name: getattr(self, name) for name in names}}
        settings["model_max_length"] = self.model_max_length if self.model_max_length < _NO_LIMIT else None
        settings |= {name: token and str(token) for name, token in self._special_tokens_map.items()}
        extra: list[str] = self.extra_special_tokens  # type: ignore[attr-defined]
        is_default = {*extra} == {*_special_without_name(self._added_tokens_decoder, settings)}
        settings["extra_special_tokens"] = None if is_default else extra
        settings = {
            name: value
            for name, value in settings.items()
            if name not in _NOT_SETTINGS and not (name in _DEFAULTS and _DEFAULTS[name] == value)
        }
        return Definition(self.model, self._added_tokens_decoder, settings)

    @classmethod
    @checked(definition=_check_definition)
    def from_definition(cls, definition: Definition, **kwargs: Any) -> Self:
        """Create a tokenizer from a definition; `kwargs` override its settings."""
        tokens = {**definition.added_tokens, **kwargs.pop("added_tokens_decoder", {})}
        settings = {**definition.settings, **kwargs}
        settings.setdefault("extra_special_tokens", _special_without_name(tokens, settings))
        return cast("Any", cls)(model=definition.model, added_tokens_decoder=tokens, **settings)  # type: ignore[no-any-return]

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
        from hf_bpe.tokenizer._edited import edited as edited_definition

        definition, remap = edited_definition(self.definition, *edited)
        return self.from_definition(definition), remap

    @classmethod
    @checked(format=optional(check_str), pattern=optional(check_str), special_tokens=optional(check_keywords))
    def convert_from(
        cls,
        source: Any,
        *,
        format: str | None = None,
        pattern: str | None = "auto",
        special_tokens: Mapping[str, int] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Create a tokenizer from one of another kind, with the same ids.

        Args:
            source: a file or folder of any format that `hf_bpe.conversion` reads (GPT-2's two files, `tokenizer.json`,
                a `.tiktoken` file, minbpe's `.model`, a GGUF file, the text form, a saved folder), a
                `tiktoken.Encoding`, a fast tokenizer of transformers, a `tokenizers.Tokenizer`, or a `BPEModel`.
            format: the name of the file's format; None to detect it.
            pattern: the split pattern, for files that do not store it, such as `.tiktoken`.
            special_tokens: content → id, for files that do not store them.
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
        from hf_bpe.conversion import definition_of

        definition = definition_of(source, format=format, pattern=pattern, special_tokens=special_tokens)
        return cls.from_definition(definition, **kwargs)

    @checked(path=check_path, format=optional(check_str), drop=check_strs, verify=check_flag)
    def convert_to(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        drop: Iterable[str] = (),
        verify: bool = True,
    ) -> tuple[str, ...]:
        """Write this tokenizer in another format, with the same ids.

        The files are written to a staging folder, and read back (with the library of the format if that is installed)
        to verify their ids; only then are they moved into place.

        Args:
            path: the file, or the folder for formats of several files; created if needed.
            format: a name of `hf_bpe.conversion.FORMATS`; None to tell it by the path.
            drop: names of `hf_bpe.conversion.FEATURES` that may be dropped although ids depend on them.
            verify: verify that the files, read back, give the same ids.

        Returns:
            The paths of the written files.

        Raises:
            OSError: the files cannot be written.
            ValueError: the format cannot carry a feature of this tokenizer, which the message names; or the ids differ.

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

        return tuple(map(str, write(self.definition, path, format=format, drop=drop, verify=verify)))
