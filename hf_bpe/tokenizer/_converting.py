"""The definition of a tokenizer: which settings belong to it, and the arguments that restore them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tokenizers import AddedToken

from hf_bpe._utils.arguments import wrong_type
from hf_bpe.core._model import BPEModel
from hf_bpe.editing._remap import Remap
from hf_bpe.encoding._added_tokens import as_special
from hf_bpe.formats._construction import PERSISTENT, changed_settings
from hf_bpe.formats._definition import Definition
from hf_bpe.pretokenizers._pattern import Pattern
from hf_bpe.tokenizer._options import RESTORED

if TYPE_CHECKING:
    from hf_bpe.tokenizer._self_types import OwnTokenizer


def check_definition(name: str, value: object) -> Definition:
    """Return the value if it is a definition."""
    if not isinstance(value, Definition):
        raise wrong_type(name, "a Definition", value)
    return value


def check_pattern(name: str, value: Any) -> str | Pattern:
    """Return the value if it is a str, for the reader of a file to judge, else its pattern."""
    return value if isinstance(value, str) else Pattern.parse(value)


def check_edited(name: str, value: object) -> Any:
    """Return the value if it is an edited model with its remap."""
    model, remap = value if isinstance(value, tuple) and len(value) == 2 else (None, None)
    if not isinstance(model, BPEModel) or not isinstance(remap, Remap):
        error = wrong_type(name, "the result of a function of hf_bpe.editing", value)
        raise TypeError(f"{error}; give all of what it returned: tokenizer.with_model(truncate(tokenizer.model, 8000))")
    return value


def settings_of(tokenizer: OwnTokenizer) -> dict[str, Any]:
    """Return the settings of a tokenizer that are not the default."""
    settings = {**tokenizer.init_kwargs, **{name: getattr(tokenizer, name) for name in (*PERSISTENT, "chat_template")}}
    names, added = tokenizer.pipeline.names, tokenizer.pipeline.added_tokens
    return changed_settings(settings, names, tokenizer.extra_special_tokens, added, tokenizer.model_max_length)


def arguments_to_retrain(
    tokenizer: OwnTokenizer, new_special_tokens: Sequence[str | AddedToken], names: Mapping[str, str]
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
    alphabet = tokenizer.model.alphabet
    if not alphabet.is_bytes:
        settings |= {"byte_fallback": alphabet.byte_fallback, "fuse_unk": alphabet.fuse_unk}
    if alphabet.unk_token is not None:
        settings["unk_token"] = names.get(alphabet.unk_token, alphabet.unk_token)
    return [*(as_special(token, names.get(token.content)) for token in special), *new_special_tokens], settings
