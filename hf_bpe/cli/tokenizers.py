"""Tokenizers that commands load and save, as definitions without transformers, and the options for them."""

from __future__ import annotations

import atexit
import re
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hf_bpe._utils.messages import without_credentials
from hf_bpe._utils.paths import is_url
from hf_bpe.cli.errors import closest
from hf_bpe.cli.messages import phase, warnings_said
from hf_bpe.cli.options import SPLIT, Options, option, with_command_options

if TYPE_CHECKING:
    from hf_bpe.analysis._tokenizers import AnyTokenizer
    from hf_bpe.formats._definition import Definition

FOLDER_HELP = (
    "A folder or file with a tokenizer, in any format that convert knows; with --download also the name of a "
    "repository on the Hub."
)
DOWNLOAD_HELP = "Download a tokenizer that is no file or folder from the Hugging Face Hub, or take it from the cache."
PATTERN_HELP = f"How text is split, for files that do not store it, such as .tiktoken. {SPLIT}"
RankPattern = Annotated[
    str, option(PATTERN_HELP, "--pattern", metavar="PATTERN", panel="Text", show_default="from the file")
]

ROLES = {
    "bos_token": "that begins a text",
    "eos_token": "that ends a text",
    "pad_token": "that fills up shorter texts of a batch",
    "unk_token": "for what has no other token",
}
"""The roles that options give to special tokens, and what each token is for."""

Roles = dict[str, str]
"""Role → token."""

_ROLE_HELP = "The special token {}; it need not be listed as one."
_ROLE_OPTIONS: Options = {
    role: (Annotated[str | None, option(_ROLE_HELP.format(what), metavar="TEXT", panel="Special tokens")], None)
    for role, what in ROLES.items()
}

_SUFFIXES = frozenset((".gguf", ".tiktoken", ".model"))
_MAX_NEIGHBORS = 1000  # names in the folder of a missing tokenizer that are looked at

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?$")
_FILE_SUFFIXES = _SUFFIXES | {".json", ".txt"}  # of files with a tokenizer, not of repositories


def _given_roles(**tokens: str | None) -> Roles:
    return {role: token for role, token in tokens.items() if token is not None}


with_role_options = with_command_options(_given_roles, _ROLE_OPTIONS, parameter="roles")
"""Gives a command the options of `ROLES`, and its parameter `roles` the tokens that are given."""


class Downloads:
    """Whether names that are no files are downloaded."""

    allowed = False


def load(source: str, pattern: str = "auto") -> Definition:
    """Load a tokenizer from a folder or a file of any format."""
    from hf_bpe.conversion import definition_of  # these need tokenizers, which --help and counting do not
    from hf_bpe.formats._pipeline import without_idle_ignore_merges

    path = source if is_url(source) else existing(source)
    with phase(f"loading {source}"), warnings_said():
        return without_idle_ignore_merges(definition_of(path, pattern=pattern))


def load_several(sources: Sequence[str], pattern: str = "auto") -> dict[str, Definition]:
    """Load tokenizers, by their names, or by their paths if names are equal; one may store its own pattern."""
    from hf_bpe.formats._format import PatternNeeded

    if len({*sources}) < len(sources):
        raise typer.BadParameter("a tokenizer is given twice", param_hint="'FOLDER'")
    names = [*map(tokenizer_name, sources)]
    loaded: dict[str, Definition] = {}
    for name, source in zip(names if len({*names}) == len(names) else sources, sources, strict=True):
        try:
            loaded[name] = load(source)
        except PatternNeeded:
            loaded[name] = load(source, pattern)
    return loaded


def for_chats(definition: Definition) -> AnyTokenizer:
    """Return a tokenizer that applies its chat template, if it has one, for which it is of a class of transformers."""
    if definition.setting("chat_template") is None:
        return definition
    from hf_bpe.tokenizer import BPETokenizer

    return BPETokenizer.from_definition(definition)


def tokenizer_name(source: str) -> str:
    """Return the name of a tokenizer's folder or file."""
    return Path(source).resolve().name


def save(definition: Definition, folder: Path) -> None:
    """Save a tokenizer in a folder, verified."""
    from hf_bpe.conversion import write

    with phase(f"saving and verifying {folder}"), warnings_said():
        write(definition, folder, format="hf", check_folder=partial(warn_of_existing_files, definition, folder))


def warn_of_existing_files(definition: Definition, folder: Path, staged: Path) -> None:
    """Warn of files in a folder that change what is loaded from it once those in `staged` are there, too."""
    if any((folder / name).is_file() for name in ("config.json", "chat_template.jinja")):
        from hf_bpe.tokenizer import BPETokenizer
        from hf_bpe.tokenizer import _auto_tokenizer_choice as auto_tokenizer

        auto_tokenizer.warn_of_existing_files(BPETokenizer.from_definition(definition), folder, staged)


def existing(source: str) -> Path:
    """Return the path of a tokenizer, which is downloaded if that is allowed and there is no such file or folder."""
    if Path(source).exists():
        return _converted_if_sentencepiece(Path(source))
    name = {"gpt2": "openai-community/gpt2"}.get(source, source)
    is_repository = _REPOSITORY.match(name) is not None and Path(name).suffix not in _FILE_SUFFIXES
    if is_repository and Downloads.allowed:
        return _downloaded(name)
    like = _closest_tokenizer(Path(source))
    message = f"no file or folder {without_credentials(source)!r}" + (f"; did you mean {like}?" if like else "")
    if not is_repository:
        raise FileNotFoundError(message)
    raise FileNotFoundError(
        f"{message}{' To' if like else '; to'} get {name} from the Hugging Face Hub give --download, or run: "
        f"hf download {name} --local-dir {source}"
    )


def _converted_if_sentencepiece(path: Path) -> Path:
    """Return a path, or a folder with what transformers makes of the SentencePiece model there, until Python ends."""
    from hf_bpe.conversion._formats import sentencepiece_model

    if (model := sentencepiece_model(path)) is None:
        return path
    from hf_bpe.tokenizer._sentencepiece import converted

    kept = ExitStack()
    atexit.register(kept.close)
    with phase(f"converting {path} by transformers"):
        return kept.enter_context(converted(path, model))


def _closest_tokenizer(path: Path) -> Path | None:
    """Return the tokenizer in the folder of a missing path whose name is most like that of the path."""
    try:
        siblings = [*islice(path.parent.iterdir(), _MAX_NEIGHBORS)]
    except OSError:
        return None
    names = [each.name for each in siblings if (each / "tokenizer.json").is_file() or each.suffix in _SUFFIXES]
    like = closest(path.name, names)
    return None if like is None else path.with_name(like)


def _downloaded(name: str) -> Path:
    """Return the folder in the Hub's cache with the files of a repository, which are downloaded if need be."""
    from huggingface_hub.utils.tqdm import disable_progress_bars

    from hf_bpe.tokenizer._hub import check_repository, download

    options = check_repository(name, {})
    disable_progress_bars()  # the phase is shown instead
    with phase(f"downloading {name}"):
        folder = download(name, options)
    if not folder.is_dir():
        raise FileNotFoundError(f"{name}: this repository has no tokenizer")
    return folder
