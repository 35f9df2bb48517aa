"""Warnings about files that are already in a folder, and change what is loaded from it after saving."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from hf_bpe._utils.callers import warn_caller
from hf_bpe.formats._verification.mismatch import find_mismatch
from hf_bpe.formats._verification.sides import side_of_loaded
from hf_bpe.tokenizer._saving.auto_tokenizer import load_with_auto_tokenizer

if TYPE_CHECKING:
    from hf_bpe.tokenizer._protocol import Tokenizer

_CONFIG_FILE = "config.json"
_CHAT_TEMPLATE_FILE = "chat_template.jinja"


def warn_of_existing_files(tokenizer: Tokenizer, folder: Path, staging: Path, prefix: str = "") -> None:
    """Warn about files of a folder that change what is loaded from it once those in `staging` are there, too."""
    if (folder / _CONFIG_FILE).is_file() and not prefix:
        shutil.copy(folder / _CONFIG_FILE, staging)
        problem = _auto_tokenizer_problem(tokenizer, staging)
        (staging / _CONFIG_FILE).unlink()
        if problem:
            name = type(tokenizer).__name__
            warn_caller(
                f"{folder / _CONFIG_FILE} makes AutoTokenizer {problem}. Call {name}.register_for_auto_class()"
                f" before saving, and AutoTokenizer will load {name} (where hf_bpe is not imported, with "
                f"trust_remote_code=True); or load the folder with {name}.from_pretrained or "
                "PreTrainedTokenizerFast.from_pretrained; or save the tokenizer in a separate folder",
            )
    template = prefix + _CHAT_TEMPLATE_FILE
    if tokenizer.chat_template is None and (folder / template).is_file():
        warn_caller(
            f"{folder / template} belongs to an earlier tokenizer, but this one has no chat template; loading the "
            "folder will add the old one: delete the file if you do not want it",
        )


def _auto_tokenizer_problem(tokenizer: Tokenizer, folder: Path) -> str | None:
    """Describe the problem with the tokenizer that AutoTokenizer loads from a folder; None if there is none."""
    try:
        chosen = load_with_auto_tokenizer(folder)
    except Exception as error:  # other classes raise any kind of error
        return f"fail to load the tokenizer: {error}"
    if type(chosen) is type(tokenizer):
        return None
    kind = type(chosen).__name__
    mismatch = find_mismatch(side_of_loaded(tokenizer, "saved"), side_of_loaded(chosen, kind), skip_refused=True)
    if mismatch is None:
        return None
    return f"load the tokenizer as {kind}, which gives wrong ids: {mismatch}\n"
