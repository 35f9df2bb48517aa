"""The class that AutoTokenizer loads from a folder, whether it gives the ids there, and warnings if not.

transformers chooses a class by `tokenizer_class` in tokenizer_config.json and by `model_type` in config.json. Many of
its classes build their own pre-tokenizer instead of reading that of tokenizer.json, so the ids may differ.
"""

from __future__ import annotations

import shutil
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_bpe._utils.input_files import read_json_object
from hf_bpe._utils.lazy_exports import no_advice
from hf_bpe._utils.messages import warn_caller
from hf_bpe.core._model import BPEModel
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._folder.files import CONFIG_FILE, TOKENIZER_FILE
from hf_bpe.formats._verification.mismatch import Mismatch, MismatchSearch
from hf_bpe.formats._verification.sides import Side, side_of_loaded
from hf_bpe.normalizers._backend import panics_as_errors
from hf_bpe.normalizers._steps import is_bounded

if TYPE_CHECKING:
    from hf_bpe.conversion._inspection import AutoTokenizerChoice
    from hf_bpe.tokenizer._self_types import OwnTokenizer

MODEL_CONFIG_FILE = "config.json"
_MAX_ADDED_TOKENS = 64  # in texts that are compared, if nothing else is known of the tokenizer


def auto_tokenizer_choice(folder: Path, definition: Definition | None = None) -> AutoTokenizerChoice:
    """Find out what AutoTokenizer loads from a folder, by loading it, and whether it is what the definition says.

    Nothing is downloaded or written, and no code of the folder is run.
    """
    with no_advice():
        from transformers.models.auto import tokenization_auto

    from hf_bpe.conversion._inspection import AutoTokenizerChoice  # not needed to load or save

    overruled = getattr(tokenization_auto, "MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS", ())  # not in 5.0
    config, model = (_read(folder / name) for name in (CONFIG_FILE, MODEL_CONFIG_FILE))
    model_type = model.get("model_type")
    auto_map = config.get("auto_map")
    named = config.get("tokenizer_class") or model.get("tokenizer_class")
    code = auto_map.get("AutoTokenizer") if isinstance(auto_map, dict) else auto_map
    error: str | None
    try:
        tokenizer, error = load_with_auto_tokenizer(folder), None
    except Exception as failure:  # its classes raise any kind of error
        tokenizer, error = None, " ".join(str(failure).split())[:300] or type(failure).__name__
    mismatch = ids = None
    if tokenizer is not None and _can_be_run(folder):
        mismatch, ids = _compare(folder, tokenizer, definition)
    kind = None if tokenizer is None else type(tokenizer)
    is_listed = isinstance(model_type, str) and model_type in overruled
    return AutoTokenizerChoice(
        loads=None if kind is None else kind.__name__,
        error=error,
        files=[] if kind is None else _files(folder, kind),
        # AutoTokenizer prefers a class of its own only where it has one for this type.
        is_overruled=bool(is_listed and kind is not None and _bare(named) not in ("", _bare(kind.__name__))),
        tokenizer_class=named,
        model_type=model_type,
        has_code=bool(code),
        ids=ids,
        mismatch=None if mismatch is None else str(mismatch),
    )


def warn_of_existing_files(tokenizer: OwnTokenizer, folder: Path, staging: Path, prefix: str = "") -> None:
    """Warn about files of a folder that change what is loaded from it once those in `staging` are there, too."""
    if (folder / MODEL_CONFIG_FILE).is_file() and not prefix:
        shutil.copy(folder / MODEL_CONFIG_FILE, staging)
        problem = _auto_tokenizer_problem(tokenizer, staging)
        (staging / MODEL_CONFIG_FILE).unlink()
        if problem:
            name = type(tokenizer).__name__
            warn_caller(
                f"{folder / MODEL_CONFIG_FILE} makes AutoTokenizer {problem}. Call {name}.register_for_auto_class()"
                f" before saving, and AutoTokenizer will load {name} (where hf_bpe is not imported, with "
                f"trust_remote_code=True); or load the folder with {name}.from_pretrained or "
                "PreTrainedTokenizerFast.from_pretrained; or save the tokenizer in a separate folder",
            )
    template = prefix + "chat_template.jinja"
    if tokenizer.chat_template is None and (folder / template).is_file():
        warn_caller(
            f"{folder / template} belongs to an earlier tokenizer, but this one has no chat template; loading the "
            "folder will add the old one: delete the file if you do not want it",
        )


def _auto_tokenizer_problem(tokenizer: OwnTokenizer, folder: Path) -> str | None:
    """Describe the problem with the tokenizer that AutoTokenizer loads from a folder; None if there is none."""
    try:
        chosen = load_with_auto_tokenizer(folder)
    except Exception as error:  # other classes raise any kind of error
        return f"fail to load the tokenizer: {error}"
    if type(chosen) is type(tokenizer):
        return None
    kind = type(chosen).__name__
    saved, loaded = side_of_loaded(tokenizer, "saved"), side_of_loaded(chosen, kind)
    mismatch = MismatchSearch(saved, loaded, skip_refused=True).find()
    if mismatch is None:
        return None
    return f"load the tokenizer as {kind}, which gives wrong ids: {mismatch}\n"


def load_with_auto_tokenizer(folder: Path) -> Any:
    """Return what AutoTokenizer loads from a local folder without running code that is in it, or raise any error."""
    from transformers import AutoTokenizer

    with panics_as_errors():  # without trust_remote_code it would prompt the user and block
        return AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)


def _compare(folder: Path, tokenizer: object, definition: Definition | None) -> tuple[Mismatch | None, str | None]:
    from tokenizers import Tokenizer

    from hf_bpe.conversion._inspection import OTHER_IDS, SAME, SAME_IN_TEXT

    try:
        with panics_as_errors():
            backend = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
            of_file, added = side_of_loaded(backend, TOKENIZER_FILE), backend.get_added_tokens_decoder()
    except Exception:  # `tokenizers` raises no narrower class
        return None, None
    chosen = side_of_loaded(tokenizer, type(tokenizer).__name__)
    # A class may prepare text after an added token otherwise.
    some = dict(islice(added.items(), _MAX_ADDED_TOKENS))
    common = Definition(BPEModel({}, [], drop_missing_bytes=True), some) if definition is None else definition
    first, second = (Side(side.name, side.peer, common) for side in (of_file, chosen))
    mismatch = MismatchSearch(first, second, max_tokens=0 if definition is None else None).find()
    if mismatch is None:
        return None, SAME
    return mismatch, SAME_IN_TEXT if mismatch.added else OTHER_IDS


def _can_be_run(folder: Path) -> bool:
    """Return whether there is a `tokenizer.json` whose normalizer does not take all memory."""
    try:
        return (folder / TOKENIZER_FILE).is_file() and is_bounded(_read(folder / TOKENIZER_FILE).get("normalizer"))
    except ValueError:
        return False


def _files(folder: Path, kind: type) -> list[str]:
    """Return the files in a folder from which a class of transformers reads its vocabulary."""
    names = {**getattr(kind, "vocab_files_names", {}), "tokenizer_file": TOKENIZER_FILE}
    files = [name for name in names.values() if isinstance(name, str) and (folder / name).is_file()]
    return [TOKENIZER_FILE] if TOKENIZER_FILE in files else files  # the others are read only without it


def _bare(name: object) -> str:
    return name.removesuffix("Fast") if isinstance(name, str) else ""


def _read(path: Path) -> dict[str, Any]:
    return read_json_object(path) if path.is_file() else {}
