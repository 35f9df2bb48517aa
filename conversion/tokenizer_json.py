"""`tokenizer.json` of the `tokenizers` library: the one file that carries a whole tokenizer, pattern and flags too.

It can say more than a byte-level BPE model can: other models, normalizers, chains of splits. What of that would change
ids is refused by name.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_bpe.conversion.definition import FEATURES, FLAGS, Definition, Format, Hints, Peer, written_out
from hf_bpe.conversion.reading import check_ids, read_json_object
from tokenizers import AddedToken

from hf_bpe.byte_level import to_printable
from hf_bpe.engine import from_printable_all
from hf_bpe.model import BPEModel, with_placeholders
from hf_bpe.patterns import PATTERNS, canonical_pattern, pattern_expression

# `tokenizers` splits with the expression of GPT-2 by itself where ByteLevel is told to.
_BUILT_IN = "gpt2"


def render_tokenizer_json(definition: Definition) -> str:
    """Return the contents of a `tokenizer.json` that gives the same ids.

    Ids that no token has get placeholders, so that `tokenizers` counts them. Tokens added later must follow the model
    without a gap, or have ids that it leaves out.

    Raises:
        ValueError: `add_prefix_space` with a pattern for which `tokenizers` cannot express it.
    """
    model = definition.model
    add_prefix_space = bool(definition.setting("add_prefix_space"))
    check_prefix_space(model.pattern, add_prefix_space)
    ids = {token.content: token_id for token_id, token in definition.added_tokens.items()}
    names = {token_id: token.content for token_id, token in definition.tokens_added_later.items()}
    vocab = with_placeholders(model.printable_vocab(), names)
    unk_token = definition.setting("unk_token")
    if unk_token is not None and unk_token not in vocab:  # `tokenizers` looks for it here only
        vocab.update({token: token_id for token, token_id in ids.items() if token_id <= ids.get(unk_token, -1)})
    prefix = [definition.setting("bos_token")] if definition.setting("add_bos_token") else []
    suffix = [definition.setting("eos_token")] if definition.setting("add_eos_token") else []
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": token_id, **written_out(token)} for token_id, token in definition.added_tokens.items()],
        "normalizer": {"type": model.normalizer} if model.normalizer else None,
        "pre_tokenizer": _pre_tokenizer(model.pattern, add_prefix_space),
        "post_processor": _template(prefix, suffix, ids) if prefix or suffix else None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": unk_token,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": model.ignore_merges,
            # Special tokens stand here at their ids, else `tokenizers` moves them to the end.
            "vocab": vocab,
            "merges": [[to_printable(first), to_printable(second)] for first, second in model.merges],
        },
    }
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def definition_of_json(content: Mapping[str, Any]) -> Definition:
    """Return the tokenizer that the contents of a `tokenizer.json` define.

    Args:
        content: what the JSON says.

    Raises:
        ValueError: it is no such file, or what it defines is no byte-level BPE or prepares text in a way that would be
            lost; the message names the part.

    Warns:
        UserWarning: of what is not taken over and decides no ids.
    """
    try:
        return _definition(content)
    except (LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"not a tokenizer.json: {error!r}") from None


def read_tokenizer_json(path: str | os.PathLike[str]) -> Definition:
    """Read a `tokenizer.json`.

    Raises, warns: what `definition_of_json` does, with the path; and OSError if the file cannot be read.
    """
    content = read_json_object(Path(path))
    try:
        return definition_of_json(content)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _definition(content: Mapping[str, Any]) -> Definition:
    data = content["model"]
    _check_model(data)
    pattern, add_prefix_space = _pattern_and_prefix_space(content.get("pre_tokenizer"))
    _check_decoder(content.get("decoder"))
    added = _added_tokens(content.get("added_tokens") or [], data["vocab"])
    how = pattern, bool(data.get("ignore_merges")), _normalizer(content.get("normalizer"))
    model, later = _model(data, added, how)
    settings: dict[str, Any] = {"add_prefix_space": add_prefix_space or None}
    settings |= _bos_and_eos(content.get("post_processor"), added)
    settings |= _padding_and_truncation(content)
    lacks_bytes = model.lacks_bytes
    unk_token = data.get("unk_token")
    if unk_token in {token.content for token in added.values()}:
        settings["unk_token"] = unk_token
    elif lacks_bytes and unk_token is not None:
        raise ValueError(f"model: unk_token {unk_token!r} is no added token; expected one")
    if lacks_bytes and data.get("byte_fallback"):
        raise ValueError("model: byte_fallback, where bytes have no token of their own, would be lost")
    if lacks_bytes and data.get("fuse_unk") and unk_token is not None:
        raise ValueError("model: fuse_unk, which makes one unk_token of several unknown bytes, would be lost")
    flagged = {token_id: token for token_id, token in added.items() if token_id in model.vocab}
    return Definition(model, {**flagged, **later}, settings)


def _check_model(data: Mapping[str, Any]) -> None:
    if data.get("type", "BPE") != "BPE" or not isinstance(data.get("merges"), list):
        raise ValueError(f"model: is {data.get('type', 'of no type')}, expected BPE with merges; ids would be others")
    if data.get("dropout"):
        raise ValueError(f"model: dropout {data['dropout']}, by which ids are random, would be lost")
    for name in ("continuing_subword_prefix", "end_of_word_suffix"):
        if data.get(name):
            raise ValueError(f"model: {name} {data[name]!r}: byte-level BPE has none, and its tokens would be misread")
    if not isinstance(data["vocab"], dict):
        raise ValueError(f"model: vocab: expected an object of token to id, got {type(data['vocab']).__name__}")
    check_ids(data["vocab"], "model: vocab")


def _added_tokens(tokens: Sequence[Mapping[str, Any]], vocab: Mapping[str, int]) -> dict[int, AddedToken]:
    """Return id → added token, where the ids are those that `tokenizers` gives; it does not heed the file's own."""
    added: dict[int, AddedToken] = {}
    for token in tokens:
        text, token_id = token["content"], token["id"]
        following = max([len(vocab), *(known + 1 for known in added)])
        expected = vocab.get(text, following)
        if type(token_id) is not int or token_id != expected or token_id in added:
            raise ValueError(
                f"added_tokens: {text!r} has the id {token_id!r:.40}, where tokenizers gives it {expected}: a token of "
                "the vocabulary has its id there, and others follow without a gap"
            )
        if any(type(token.get(flag, False)) is not bool for flag in (*FLAGS, "special")):
            raise ValueError(f"added_tokens: {text!r}: expected flags that are true or false, got {token!r:.200}")
        added[token_id] = AddedToken(text, **{flag: token.get(flag, False) for flag in (*FLAGS, "special")})
    return added


def _model(
    data: Mapping[str, Any], added: Mapping[int, AddedToken], how: tuple[str | None, bool, str | None]
) -> tuple[BPEModel, dict[int, AddedToken]]:
    """Return the model, with a pattern, ignore_merges and a normalizer, and the added tokens that are not of it."""
    texts = [*data["vocab"]]
    tokens = dict(zip(texts, from_printable_all(texts), strict=True))
    merges = [_merge(rank, merge, tokens) for rank, merge in enumerate(data["merges"])]
    merged = {part for first, second in merges for part in (first, second, first + second)}
    vocab: dict[int, bytes] = {}
    specials: list[str] = []
    later: dict[int, AddedToken] = {}
    for text, token_id in {**data["vocab"], **{token.content: i for i, token in added.items()}}.items():
        token, is_added = tokens.get(text), added.get(token_id)
        if token is not None and (token in merged or len(token) == 1):  # an ordinary one, even if it is added as well
            vocab[token_id] = token
        elif is_added is not None and is_added.special:
            vocab[token_id] = text.encode()
            specials.append(text)
        elif is_added is not None:
            later[token_id] = is_added
        elif token is None:
            char = next(char for char, known in zip(text, from_printable_all([*text]), strict=True) if known is None)
            raise ValueError(
                f"model: vocab: token {token_id}, {text!r:.80}, has the character {char!r}, which stands for no byte; "
                "expected a byte-level model"
            )
        elif text.strip("<>") != f"|unused_{token_id}|":  # what `with_placeholders` puts where there is no token
            vocab[token_id] = token
    return BPEModel(vocab, merges, tuple(specials), *how), later


def _merge(rank: int, merge: Any, tokens: Mapping[str, bytes | None]) -> tuple[bytes, bytes]:
    parts = merge.split(" ") if isinstance(merge, str) else merge
    if not isinstance(parts, list) or len(parts) != 2:
        raise ValueError(f"model: merge {rank}: expected two tokens, got {merge!r:.80}")
    first, second = map(tokens.get, parts)
    if first is None or second is None:
        raise ValueError(f"model: merge {rank}: {parts[first is not None]!r:.80} is no token of the vocabulary")
    return first, second


def _normalizer(normalizer: Any) -> str | None:
    while normalizer is not None and normalizer["type"] == "Sequence" and len(normalizer["normalizers"]) < 2:
        normalizer = normalizer["normalizers"][0] if normalizer["normalizers"] else None
    if normalizer is None:
        return None
    if normalizer["type"] != "NFC":
        raise ValueError(f"its normalizer {_shown(normalizer)} changes the text; this would be lost")
    return "NFC"


def _pattern_and_prefix_space(pre_tokenizer: Any) -> tuple[str | None, bool]:
    parts = [] if pre_tokenizer is None else pre_tokenizer.get("pretokenizers", [pre_tokenizer])
    types = [part["type"] for part in parts]
    byte_level = parts[-1] if parts else {}
    if types == ["ByteLevel"]:
        pattern = _BUILT_IN if byte_level.get("use_regex", True) else None
        return pattern, bool(byte_level["add_prefix_space"])
    if types == ["Split", "ByteLevel"] and not byte_level.get("use_regex", True) and not byte_level["add_prefix_space"]:
        split = parts[0]
        how = split["behavior"], split["invert"]
        if [*split["pattern"]] == ["Regex"] and how in (("Isolated", False), ("Removed", True)):
            expression = split["pattern"]["Regex"]
            if expression in (*PATTERNS, "none"):
                raise ValueError(f"its expression {expression!r} is the name of a pattern here, and not that pattern")
            pattern = canonical_pattern(expression)
            if how == ("Isolated", False) or pattern in PATTERNS:  # named ones leave nothing that could be removed
                return pattern, False
    raise ValueError(f"its pre-tokenizer {_shown(pre_tokenizer)} is not a split by one pattern and then ByteLevel")


def _check_decoder(decoder: Any) -> None:
    parts = [] if decoder is None else decoder.get("decoders", [decoder])
    if any(part["type"] != "ByteLevel" for part in parts):
        raise ValueError(f"its decoder {_shown(decoder)} is not ByteLevel; decoded text would differ")


def _bos_and_eos(processor: Any, added: Mapping[int, AddedToken]) -> dict[str, Any]:
    """Return the settings of a post-processor that puts a token before, or behind, each sequence."""
    parts = [] if processor is None else processor.get("processors", [processor])
    if any(part["type"] == "ByteLevel" and part.get("trim_offsets", True) for part in parts):
        warnings.warn(
            "the post-processor's trim_offsets is not taken over: offsets of tokens include their spaces", stacklevel=6
        )
    templates = [part for part in parts if part["type"] != "ByteLevel"]
    if not templates:
        return {}
    template = templates[0]
    ids = {token.content: token_id for token_id, token in added.items()}
    if len(templates) == 1 and template["type"] == "TemplateProcessing":
        single, pair = ([*map(_piece, template[name])] for name in ("single", "pair"))
        place = single.index(_TEXT) if _TEXT in single else len(single)
        bos, eos = single[:place], single[place + 1 :]
        tokens = [token for token, is_text in bos + eos if not is_text]
        if len(bos) <= 1 and len(eos) <= 1 and len(tokens) + 1 == len(single) and {*tokens} <= ids.keys():
            ours = _template([token for token, _ in bos], [token for token, _ in eos], ids)
            same_ids = all(template["special_tokens"][token]["ids"] == [ids[token]] for token in tokens)
            if same_ids and pair == [*map(_piece, ours["pair"])]:
                settings = {"bos_token": bos[0][0], "add_bos_token": True} if bos else {}
                return settings | ({"eos_token": eos[0][0], "add_eos_token": True} if eos else {})
    raise ValueError(
        f"its post-processor {_shown(processor)} adds other tokens than one before or behind each sequence, as a "
        "TemplateProcessing of bos_token and eos_token; these would be lost"
    )


_TEXT = ("A", True)


def _piece(piece: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the special token or the sequence of a piece of a template, and whether it is a sequence."""
    is_text = "Sequence" in piece
    return str(piece["Sequence" if is_text else "SpecialToken"]["id"]), is_text


def _padding_and_truncation(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a tokenizer can keep of what a call decides in transformers, as transformers takes it over."""
    settings: dict[str, Any] = {}
    truncation, padding = content.get("truncation"), content.get("padding")
    if truncation is not None:
        settings |= {"model_max_length": truncation["max_length"], "truncation_side": truncation["direction"].lower()}
    if padding is not None:
        settings |= {"pad_token": padding["pad_token"], "padding_side": padding["direction"].lower()}
    if settings:
        warnings.warn(
            "padding and truncation are not taken over, for each call decides them; sides, pad_token and "
            "model_max_length are",
            stacklevel=6,
        )
    return settings


def _shown(part: Any) -> str:
    text = json.dumps(part, ensure_ascii=False)
    return text if len(text) <= 200 else text[:200] + "…"


def check_prefix_space(pattern: str | None, add_prefix_space: bool) -> None:
    """Refuse a prefix space where `tokenizer.json` could not carry it: ByteLevel adds it only as it splits itself."""
    if add_prefix_space and pattern not in (_BUILT_IN, None):
        raise ValueError(
            f"add_prefix_space=True with the pattern {pattern!r}: tokenizer.json cannot say that, so others would get "
            "other ids; put the space into the text, or use the pattern 'gpt2'"
        )


def _pre_tokenizer(pattern: str | None, add_prefix_space: bool) -> dict[str, Any]:
    byte_level = {
        "type": "ByteLevel",
        "add_prefix_space": add_prefix_space,
        "trim_offsets": True,
        "use_regex": pattern == _BUILT_IN,
    }
    if pattern in (_BUILT_IN, None):
        return byte_level
    expression = {"Regex": pattern_expression(pattern)}
    split = {"type": "Split", "pattern": expression, "behavior": "Isolated", "invert": False}
    return {"type": "Sequence", "pretokenizers": [split, byte_level]}


def _template(prefix: Sequence[str], suffix: Sequence[str], ids: Mapping[str, int]) -> dict[str, Any]:
    def sequence(name: str, type_id: int) -> list[dict[str, Any]]:
        def special(token: str) -> dict[str, Any]:
            return {"SpecialToken": {"id": token, "type_id": type_id}}

        return [*map(special, prefix), {"Sequence": {"id": name, "type_id": type_id}}, *map(special, suffix)]

    return {
        "type": "TemplateProcessing",
        "single": sequence("A", 0),
        # As transformers' special_tokens_pattern has it: with both, bos stands only once, at the beginning.
        "pair": [*sequence("A", 0), *(sequence("B", 0)[len(prefix) if suffix else 0 :])],
        "special_tokens": {
            token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in dict.fromkeys([*prefix, *suffix])
        },
    }


def _matches(path: Path, head: bytes) -> bool:
    return path.name == "tokenizer.json" or (path.suffix == ".json" and b'"added_tokens"' in head)


def _read(path: Path, hints: Hints) -> Definition:
    definition = read_tokenizer_json(path)
    try:
        hints.check(definition.model.pattern, definition.model.special_ids())
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return definition


def _write(definition: Definition, path: Path) -> None:
    path.write_text(render_tokenizer_json(definition), encoding="utf-8", newline="\n")


def _peer(path: Path, definition: Definition) -> Peer:
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(str(path))

    def encode(texts: list[str], added: bool) -> list[list[int]]:
        return [encoding.ids for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=added)]

    return Peer(f"tokenizers {tokenizers.__version__}", encode, adds=True)


FORMAT = Format(
    name="tokenizer.json",
    what="the file of the tokenizers library",
    is_file=True,
    carries=frozenset(FEATURES) - {"split_special_tokens", "names", "chat_template", "settings"},
    matches=_matches,
    read=_read,
    write=_write,
    peer=_peer,
    suffix=".json",
)
