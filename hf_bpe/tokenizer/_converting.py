"""The definition of a tokenizer: which settings belong to it, and the arguments that restore them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tokenizers import AddedToken

from hf_bpe._utils.arguments import wrong_type
from hf_bpe.core._model import BPEModel
from hf_bpe.editing._remap import Remap
from hf_bpe.encoding._added_tokens import as_special
from hf_bpe.formats._definition import NAMED_TOKENS, Definition
from hf_bpe.pretokenizers._patterns import canonical_pattern
from hf_bpe.tokenizer._options import RESTORED

if TYPE_CHECKING:
    from hf_bpe.tokenizer._protocol import Tokenizer

# Attributes that save_pretrained of transformers drops unless they are in init_kwargs.
PERSISTENT = (
    *("errors", "pattern", "normalizer", "add_prefix_space", "trim_offsets", "token_type_ids_pattern"),
    *("ignore_merges", "drop_missing_bytes", "model_special_tokens", "template", "unused_tokens"),
    *("padding_side", "truncation_side", "split_special_tokens", "clean_up_tokenization_spaces"),
    # transformers 4 has a different default of model_input_names.
    *("model_input_names", "token_type_ids_include_special_tokens"),
)
# Defaults of every tokenizer, which need not be stored.
_DEFAULTS: dict[str, Any] = {
    **{"errors": "replace", "padding_side": "right", "truncation_side": "right"},
    **{"token_type_ids_pattern": "all_zeros", "model_input_names": ["input_ids", "attention_mask"]},
    **{"token_type_ids_include_special_tokens": True, "add_prefix_space": False, "split_special_tokens": False},
    **{"unused_tokens": {}, "trim_offsets": False, "clean_up_tokenization_spaces": False},
}
# Settings of the model or of its loading, and those that the template contains.
_NOT_SETTINGS = {
    *("model", "pattern", "ignore_merges", "normalizer", "drop_missing_bytes", "model_special_tokens", "signature"),
    *("name_or_path", "tokenizer_file", "added_tokens_decoder", "init_inputs"),
    *("special_tokens_pattern", "add_bos_token", "add_eos_token"),
}
_NO_LIMIT = 10**20  # transformers writes 10**30 for no model_max_length


def check_definition(name: str, value: Any) -> Definition:
    """Return the value if it is a definition."""
    if not isinstance(value, Definition):
        raise wrong_type(name, "a Definition", value)
    return value


def check_pattern(name: str, value: Any) -> str | None:
    """Return the value if it is a str, for the reader of a file to judge, else its canonical pattern."""
    return value if isinstance(value, str) else canonical_pattern(value)


def check_edited(name: str, value: Any) -> Any:
    """Return the value if it is an edited model with its remap."""
    model, remap = value if isinstance(value, tuple) and len(value) == 2 else (None, None)
    if not isinstance(model, BPEModel) or not isinstance(remap, Remap):
        error = wrong_type(name, "the result of a function of hf_bpe.editing", value)
        raise TypeError(f"{error}; give all of what it returned: tokenizer.with_model(truncate(tokenizer.model, 8000))")
    return value


def _special_without_name(tokens: Mapping[int, Any], settings: Mapping[str, Any]) -> list[str]:
    named = {*map(str, map(settings.get, NAMED_TOKENS))}
    return [token.content for token in tokens.values() if token.special and token.content not in named]


def settings_of(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the settings of a tokenizer that are not the default."""
    settings = {**tokenizer.init_kwargs, **{name: getattr(tokenizer, name) for name in (*PERSISTENT, "chat_template")}}
    settings["model_max_length"] = tokenizer.model_max_length if tokenizer.model_max_length < _NO_LIMIT else None
    settings |= dict(tokenizer.pipeline.names)
    extra = tokenizer.extra_special_tokens
    is_default = {*extra} == {*_special_without_name(tokenizer.pipeline.added_tokens, settings)}
    settings["extra_special_tokens"] = None if is_default else extra
    return {
        name: value
        for name, value in settings.items()
        if name not in _NOT_SETTINGS and not (name in _DEFAULTS and _DEFAULTS[name] == value)
    }


def arguments_of(definition: Definition, model: BPEModel, others: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `BPETokenizer` for a definition and the model that runs, overridden by others."""
    tokens = {**definition.added_tokens, **others.get("added_tokens_decoder", {})}
    settings = {**definition.settings, **others}
    settings.setdefault("extra_special_tokens", _special_without_name(tokens, settings))
    return {**settings, "model": model, "added_tokens_decoder": tokens, RESTORED: True}


def arguments_to_retrain(
    tokenizer: Tokenizer, new_special_tokens: Sequence[str | AddedToken], names: Mapping[str, str]
) -> tuple[list[str | AddedToken], dict[str, Any]]:
    """Return special tokens and settings to train another tokenizer with; `names` renames special tokens."""
    definition = tokenizer.definition
    special = [token for token in definition.added_tokens.values() if token.special]
    named = {name: definition.setting(name) for name in tokenizer.SPECIAL_TOKENS_ATTRIBUTES}
    extra = [names.get(token, token) for token in tokenizer.extra_special_tokens]
    settings = {
        **definition.settings,
        **{name: names.get(token, token) for name, token in named.items()},
        "template": definition.template and definition.template.renamed(names),
        "normalizer": tokenizer.normalizer,
        "unused_tokens": None,
        "extra_special_tokens": [*extra, *map(str, new_special_tokens)],
        RESTORED: True,
    }
    return [*(as_special(token, names.get(token.content)) for token in special), *new_special_tokens], settings
