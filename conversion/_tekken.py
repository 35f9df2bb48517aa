"""`tekken.json`, the file of Mistral's mistral-common: tokens in base64 by rank, special tokens before them, a pattern.

Ids are ranks plus the number of special tokens. The vocabulary is cut to the size that the file names, and special
tokens without a name are `<SPECIAL_n>`. mistral-common never looks for special tokens in text; here they are found, as
by the `tokenizer.json` files of these models, unless `split_special_tokens` is set. Source: `tekken.py` of
mistral-common 1.13.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hf_bpe._utils.input_files import read_json_object
from hf_bpe.conversion._tiktoken import model_of_ranks
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._format import Format, Hints, Peer
from hf_bpe.formats._template import Template

TEKKEN_FILE = "tekken.json"
_NAMES = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
# The special tokens of versions up to 7, whose files need not list them.
_FORMER = [
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]"),
    *("[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]"),
    *("[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"),
]
_LAST_VERSION_WITHOUT_LIST = 7
_MAX_SPECIAL_TOKENS = 1 << 16


def definition_of_tekken(content: Mapping[str, Any]) -> Definition:
    """Return the definition in the content of a `tekken.json`, with `<s>` before each sequence."""
    from hf_bpe.conversion._expressions import read_expression  # parses, which other formats do not

    try:
        config = content["config"]
        size, number = config["default_vocab_size"], config["default_num_special_tokens"]
        if type(size) is not int or type(number) is not int or not 0 <= number <= min(size, _MAX_SPECIAL_TOKENS):
            raise ValueError(f"config: expected a vocabulary that is larger than {number!r:.20}, got {size!r:.20}")
        specials = _special_tokens(content.get("special_tokens"), config.get("version"), number)
        ranks = {token: rank + number for token, rank in _ranks(content["vocab"], size - number).items()}
        model = model_of_ranks(ranks, specials, read_expression(config["pattern"], ranks))
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"not a tekken.json: {error!r:.200}") from None
    names = {name: token for name, token in _NAMES.items() if token in specials}
    template = Template.of_bos_eos(names.get("bos_token"), None)
    return Definition(model, {}, {**dict.fromkeys(("bos_token", "eos_token")), **names, "template": template})


def _special_tokens(listed: Any, version: Any, number: int) -> dict[str, int]:
    if listed is None:
        if not (str(version)[1:].isdecimal() and int(str(version)[1:]) <= _LAST_VERSION_WITHOUT_LIST):
            raise ValueError(f"special_tokens: expected a list in version {version!r:.20}, got none")
        listed = [{"rank": rank, "token_str": token} for rank, token in enumerate(_FORMER)]
    tokens = [token["token_str"] for token in listed]
    if wrong := [token for rank, token in enumerate(listed) if token["rank"] != rank or type(token["rank"]) is not int]:
        raise ValueError(f"special_tokens: expected ranks from 0 without a gap, got {wrong[0]!r:.80}")
    if len(tokens) > number:
        raise ValueError(f"special_tokens: expected at most {number}, got {len(tokens)}")
    tokens += [f"<SPECIAL_{rank}>" for rank in range(len(tokens), number)]
    if len({*tokens}) < number:
        raise ValueError("special_tokens: expected distinct tokens, got one twice")
    return {token: rank for rank, token in enumerate(tokens)}


def _ranks(vocab: Any, number: int) -> dict[bytes, int]:
    if len(vocab) < number:
        raise ValueError(f"vocab: expected {number} tokens or more, got {len(vocab)}")
    ranks: dict[bytes, int] = {}
    for rank, entry in enumerate(vocab[:number]):
        try:
            token = base64.b64decode(entry["token_bytes"], validate=True)
        except (binascii.Error, ValueError) as error:
            raise ValueError(f"vocab: token {rank} is not base64: {error}") from None
        if entry["rank"] != rank or token in ranks or (rank < 256 and token != bytes([rank])):
            raise ValueError(f"vocab: expected the bytes and then distinct tokens, got {entry!r:.120} at rank {rank}")
        ranks[token] = rank
    return ranks


def _matches(path: Path, head: bytes) -> bool:
    if path.is_dir():
        return (path / TEKKEN_FILE).is_file() and not (path / "tokenizer.json").is_file()
    return path.suffix == ".json" and (b'"token_bytes"' in head or path.name == TEKKEN_FILE)


def _read(path: Path, hints: Hints) -> Definition:
    path = path / TEKKEN_FILE if path.is_dir() else path
    content = read_json_object(path)
    try:
        return definition_of_tekken(content)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _peer(path: Path, definition: Definition) -> Peer:
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    tokenizer = Tekkenizer.from_file(path / TEKKEN_FILE if path.is_dir() else path)

    def encode(texts: list[str], added: bool) -> list[list[int]]:
        return [_with_special_tokens(text, tokenizer, definition, added) for text in texts]

    return Peer("mistral-common", encode, adds=True)


def _with_special_tokens(text: str, tokenizer: Any, definition: Definition, added: bool) -> list[int]:
    """Return the ids of a text in which special tokens are found, which mistral-common leaves to its callers."""
    from hf_bpe.encoding._added_tokens.rules import AddedTokenSplitter

    row = [tokenizer.bos_id] if added else []
    for part in AddedTokenSplitter(definition.added_tokens).split(text):
        row += [part] if isinstance(part, int) else tokenizer.encode(part, bos=False, eos=False)
    return row


FORMAT = Format(
    name="tekken",
    what="a tekken.json of Mistral",
    is_file=True,
    matches=_matches,
    read=_read,
    peer=_peer,
)
