"""The names of the options that BPETokenizer takes by keyword, so that misspelt ones are refused.

transformers stores any keyword argument as a setting, or ignores it. Files may hold settings of other tokenizers, so
only names that a caller gives are checked.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tokenizers import AddedToken
from transformers import PreTrainedTokenizerBase
from transformers.utils import logging

from hf_bpe._utils.arguments import Function, refuse_unknown, short_repr
from hf_bpe.formats._settings import NAMED_TOKENS, SETTINGS, ModelSettings, Settings, roles_missing
from hf_bpe.tokenizer._hub import HUB_ARGUMENTS
from hf_bpe.tokenizer._inherited import CONSTRUCTOR
from hf_bpe.training._train import TrainingOptions

if TYPE_CHECKING:
    from hf_bpe.core._model import BPEModel
    from hf_bpe.tokenizer._self_types import OwnTokenizer

logger = logging.get_logger(__name__)

RESTORED = "_is_restored"
"""The argument of the constructor that says that settings are from files, whose names are not checked."""


class TrainerOptions(TrainingOptions, Settings, total=False):  # type: ignore[misc]  # unk_token is wider here
    """The keyword arguments of `BPETokenizer.train`."""


class LoadingOptions(ModelSettings, Settings, total=False):
    """The keyword arguments of `BPETokenizer.from_pretrained`."""

    vocab_file: str | os.PathLike[str] | None
    merges_file: str | os.PathLike[str] | None
    model: BPEModel | None
    cache_dir: str | os.PathLike[str] | None
    force_download: bool
    local_files_only: bool
    token: str | bool | None
    revision: str
    subfolder: str
    proxies: Mapping[str, str] | None
    trust_remote_code: bool


_MODEL_KEYS = ("vocab_file", "merges_file", "model", "signature")  # what training makes
# What PreTrainedTokenizer takes besides, and what transformers hands to every tokenizer.
_SETTINGS = {*CONSTRUCTOR, *SETTINGS, RESTORED} | {
    *("max_len", "processor_class", "response_template", "response_schema", "chat_control_tokens", "auto_map"),
    *("model_specific_special_tokens", "backend", "files_loaded", "is_local", "local_files_only", "init_inputs"),
    *("clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output", "tokenizer_class"),
    "tokenizer_file",
}
_LOADING = {*LoadingOptions.__annotations__, *HUB_ARGUMENTS} | {
    *("gguf_file", "use_auth_token", "from_slow", "user_agent", "resume_download", "local_dir", "repo_type", "config"),
    *("_from_pipeline", "mirror", "tokenizer_config_file", "special_tokens_map_file", "added_tokens_file"),
    "tokenizer_type",
}
# Options of other classes that scripts pass to every tokenizer; transformers' own tests demand that they do no harm.
_FOREIGN_OPTIONS = {"do_lower_case", "src_lang", "tgt_lang"}
PUSHING = {*inspect.signature(PreTrainedTokenizerBase.push_to_hub).parameters} - {"self"}
"""Options of `push_to_hub`, which `save_pretrained` takes, too."""
# Scripts that save models and tokenizers alike pass options of models.
SAVING = {*inspect.signature(PreTrainedTokenizerBase.save_pretrained).parameters, *PUSHING} - {"self", "kwargs"} | {
    *("save_jinja_files", "safe_serialization", "is_main_process", "state_dict", "variant", "save_function"),
    *("exist_ok", "use_auth_token", "repo_url", "organization"),
}
"""Options of transformers' `save_pretrained`, ignored ones included."""
# Options of version 4, and of tokenizers that translate: serving libraries pass them to every tokenizer.
DECODING = {
    *("skip_special_tokens", "use_source_tokenizer"),
    *("clean_up_tokenization_spaces", "spaces_between_special_tokens"),
}
"""Options of `decode`."""


def _accepts_more(cls: type, base: type) -> bool:
    """Return whether the constructor of a subclass takes keyword arguments that its signature may not name."""
    return cls.__init__ is not base.__init__  # type: ignore[misc]


def _refuse(function: str, options: Mapping[str, object], allowed: Iterable[str]) -> None:
    # Any name of a token is a setting of transformers: image_token="<image>".
    tokens = {name for name, value in options.items() if isinstance(value, str | AddedToken)}
    names = [name for name in options if not (name.endswith("_token") and name in tokens)]
    for name in names:
        if name not in allowed and callable(getattr(PreTrainedTokenizerBase, name, None)):
            raise AttributeError(f"{function}: {name} conflicts with the method {name}")  # as transformers refuses it
    refuse_unknown(function, names, allowed)


def without_foreign_options(function: str, options: Mapping[str, object]) -> dict[str, object]:
    """Drop options of other tokenizer classes, with a warning for each that asks for anything."""
    for name in sorted(_FOREIGN_OPTIONS & options.keys()):
        if options[name]:
            logger.warning_once(f"{function}: {name}={options[name]!r} has no effect")
    return {name: value for name, value in options.items() if name not in _FOREIGN_OPTIONS}


def check_settings(settings: Mapping[str, object]) -> dict[str, Any]:
    """Return the settings; raise a TypeError for one that the constructor does not know, unless they were restored."""
    options = {**settings}
    if not options.pop(RESTORED, False) and not options.keys() <= _SETTINGS:
        if "tokenizer_object" in options:
            raise TypeError("BPETokenizer takes no tokenizer_object; write BPETokenizer.convert_from(tokenizer_object)")
        _refuse("BPETokenizer", options, _SETTINGS)
    return options


def check_training(cls: type, base: type, options: Mapping[str, object]) -> dict[str, Any]:
    """Return the options; raise a TypeError for one that neither training nor the constructor knows."""
    for name in _MODEL_KEYS:
        if options.get(name) is not None:
            raise TypeError(f"{cls.__name__}.train: {name}: expected none, because the model is trained")
    if not options.get(RESTORED) and not _accepts_more(cls, base):
        allowed = {"vocab_size", "special_tokens", *TrainingOptions.__annotations__, *_SETTINGS}.difference(_MODEL_KEYS)
        _refuse(f"{cls.__name__}.train", options, allowed)
    return {**options}


def check_loading(cls: type, base: type, options: Mapping[str, object]) -> None:
    """Raise a TypeError for an option that from_pretrained does not know.

    AutoTokenizer passes on what its caller gives for any class, so there a warning is logged.
    """
    if _accepts_more(cls, base):
        return
    function = f"{cls.__name__}.from_pretrained"
    try:
        _refuse(function, without_foreign_options(function, options), _SETTINGS | _LOADING)
    except TypeError as error:
        if not options.get("_from_auto"):
            raise
        logger.warning("%s", error)


def hint_at_roles(tokenizer: OwnTokenizer) -> None:
    """Log a hint for special tokens that look like a role that the tokenizer does not have."""
    settings = {role: getattr(tokenizer, role) for role in NAMED_TOKENS}
    for token, role in roles_missing(tokenizer.model.special_tokens, settings).items():
        logger.warning(
            "the special token %s has no role, so transformers does not use it as %s; give %s=%s",
            *(short_repr(token), role, role, short_repr(token)),
        )


def with_options_from(other: Callable[..., object]) -> Callable[[Function], Function]:
    """Return a decorator that adds another function's keyword arguments to a signature, for help and completion."""

    def decorate(function: Function) -> Function:
        *named, kwargs = inspect.signature(function).parameters.values()
        names = {each.name for each in named}
        options = [each for each in inspect.signature(other).parameters.values() if each.name not in names]
        function.__signature__ = inspect.Signature([*named, *options, kwargs])  # type: ignore[attr-defined]
        return function

    return decorate
