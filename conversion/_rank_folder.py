"""Folders of models with tiktoken's ranks: a rank file, and the special tokens in `tokenizer_config.json`.

Such folders come with Python code, which is never run. What only the code has, such as the pattern, is known here for
some of them by the name of their class, and must be given for others.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tokenizers import AddedToken

from hf_bpe.conversion import _tiktoken as tiktoken
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._folder.files import CONFIG_FILE, check_config, content_of_token
from hf_bpe.formats._format import Format, Hints, PatternNeeded, Peer
from hf_bpe.formats._settings import NAMED_TOKENS

_RANK_FILES = ("tiktoken.model", "qwen.tiktoken")


class _CodeFacts(NamedTuple):
    """Facts that only the code of a folder has."""

    pattern: str
    has: tuple[str, ...]  # lines of the code that say so; a folder with other code is not known
    reserved: int = 0  # how many ids after the ranks are special tokens, with this name unless the folder has one
    reserved_name: str = ""  # with {} for the id


_KIMI = (
    r'r"""[\p{Han}]+"""',
    r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    "num_reserved_special_tokens = 256",
    "<|reserved_token_{i}|>",
)
# The class of each → what it may be, of which the first is assumed if the code is not there.
_CODE_FACTS = {
    "tokenization_kimi.TikTokenTokenizer": (
        _CodeFacts("kimi-k2", (*_KIMI, "self.num_reserved_special_tokens + 2"), 258, "<|reserved_token_{}|>"),
        _CodeFacts("kimi-k2", (*_KIMI, "self.num_reserved_special_tokens)"), 256, "<|reserved_token_{}|>"),  # K3
    ),
}


def rank_file(folder: Path) -> Path | None:
    """Return the only rank file of a folder that has no other vocabulary, None if there is none."""
    if not folder.is_dir() or any((folder / name).is_file() for name in ("tokenizer.json", "vocab.json")):
        return None
    names = {*folder.glob("*.tiktoken"), *(folder / name for name in _RANK_FILES)}
    files = sorted(path for path in names if path.is_file())
    return files[0] if len(files) == 1 else None


def _matches(path: Path, head: bytes) -> bool:
    return (path / CONFIG_FILE).is_file() and rank_file(path) is not None


def _read(path: Path, hints: Hints) -> Definition:
    file = rank_file(path)
    if file is None:
        raise ValueError(f"{path}: expected one rank file (*.tiktoken or tiktoken.model), and no other vocabulary")
    config = check_config(path / CONFIG_FILE)
    facts = _code_facts(path, config)
    pattern = hints.pattern if hints.pattern != "auto" or facts is None else facts.pattern
    if pattern == "auto":
        raise PatternNeeded(path, "; the code of the folder has it, as pat_str or PAT_STR, and is not run")
    ranks = tiktoken.read_ranks(file)
    listed = {
        int(token_id): AddedToken(**{name: value for name, value in token.items() if name != "__type"})
        for token_id, token in config.get("added_tokens_decoder", {}).items()
    }
    specials = {token.content: token_id for token_id, token in listed.items() if token.special}
    added = {i: AddedToken(token.content, normalized=False) for i, token in listed.items() if not token.special}
    if facts is not None:
        reserved = range(len(ranks), len(ranks) + facts.reserved)
        specials |= {facts.reserved_name.format(i): i for i in reserved if i not in listed}
    specials |= hints.special_tokens or {}
    try:
        model = tiktoken.model_of_ranks(ranks, specials, pattern)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    names = {name: content_of_token(config.get(name)) for name in NAMED_TOKENS}
    known_tokens = {None, *specials, *map(str, added.values())}
    if unknown := [token for token in names.values() if token not in known_tokens]:
        raise ValueError(
            f"{path}: {CONFIG_FILE} names {unknown[0]!r}, and no id for it; give it with its id as a special token"
        )
    return Definition(model, added, {**names, "chat_template": _chat_template(path, config)})


def _code_facts(path: Path, config: dict[str, object]) -> _CodeFacts | None:
    """Return what is known of the code of a folder, if the code that is there agrees."""
    auto_map = config.get("auto_map")
    entry = auto_map.get("AutoTokenizer") if isinstance(auto_map, dict) else auto_map
    names = [str(name).split("--")[-1] for name in (entry if isinstance(entry, list) else [entry])]
    for name in names:
        code = path / f"{name.split('.')[0]}.py"
        text = code.read_text(encoding="utf-8", errors="replace") if code.is_file() else None
        for facts in _CODE_FACTS.get(name, ()):
            if text is None or all(line in text for line in facts.has):
                return facts
    return None


def _chat_template(path: Path, config: dict[str, object]) -> object:
    file = path / "chat_template.jinja"
    return file.read_text(encoding="utf-8") if file.is_file() else config.get("chat_template")


def _peer(path: Path, definition: Definition) -> Peer:
    file = rank_file(path)
    assert file is not None
    return tiktoken.FORMAT.peer(file, definition)  # type: ignore[misc,return-value]


FORMAT = Format(
    name="tiktoken-folder",
    what="a folder with a rank file and tokenizer_config.json",
    is_file=False,
    matches=_matches,
    read=_read,
    peer=_peer,
)
