"""GGUF: the vocabulary in the model files of llama.cpp.

Tokens are stored in printable form, special and added tokens unchanged, and each has a type. The pattern is a name in
`tokenizer.ggml.pre`. llama.cpp defines the meaning of a file; a tokenizer that it would run differently is not written.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from tokenizers import AddedToken

from hf_bpe._utils.callers import outer_stacklevel
from hf_bpe.conversion import _gguf_characters as characters
from hf_bpe.conversion._gguf_characters import placeholder
from hf_bpe.conversion._gguf_file import KEY, MAGIC, Metadata
from hf_bpe.conversion._llama_cpp import (
    NOT_BYTE_LEVEL,
    PATTERNS,
    PRE_TOKENIZERS,
    SPECIAL_BY_TEXT,
    UNKNOWN,
    check_found_alike,
    known_difference,
    pre_tokenizer_name,
)
from hf_bpe.conversion._llama_cpp_peer import peer
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._merge_trees import unreachable
from hf_bpe.formats._decoding import default_decoding
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._format import Format, Hints, Peer
from hf_bpe.formats._native_readers import from_printable_all
from hf_bpe.formats._settings import NAMED_TOKENS
from hf_bpe.formats._verification.sides import side_of
from hf_bpe.pretokenizers._byte_level import from_printable, is_utf8, to_printable
from hf_bpe.pretokenizers._patterns import canonical_pattern

# The architecture in the header of a file without a model; llama.cpp requires one that it knows.
_ARCHITECTURE = "gpt2"
_SIGNATURE = "signature"  # our own key, which other readers ignore
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED = 1, 2, 3, 4, 5
_ID_KEYS = {
    **{name: f"{KEY}{name}_id" for name in NAMED_TOKENS},
    # In all files one name is spelled out and one is misspelt.
    **{"unk_token": f"{KEY}unknown_token_id", "pad_token": f"{KEY}padding_token_id"},
    "sep_token": f"{KEY}seperator_token_id",
}
# Every byte that occurs in UTF-8.
_BYTES_OF_TEXT = {byte for byte in range(256) if byte not in (0xC0, 0xC1) and byte < 0xF5}
_OTHER_MODELS = {
    "gemma4": "a SentencePiece model",
    "bert": "a WordPiece model",
    "t5": "a Unigram model",
    "rwkv": "a World tokenizer of RWKV",
    "plamo2": "a Unigram model",
}


def read(path: Path, hints: Hints) -> Definition:
    """Read the vocabulary of a GGUF file, with or without a model.

    Args:
        path: the file.
        hints: the pattern, if llama.cpp's name for it is unknown here, and the special tokens, if the file has no token
            types.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is damaged, or its tokenizer is not byte-level BPE; the message gives the location.

    Warns:
        UserWarning: a named token is not found in text, so its name is dropped.
    """
    metadata = Metadata(path)
    kind = metadata.text("model")
    if kind == "llama":
        return _read_characters(metadata, path, hints)
    if kind != "gpt2":
        what = "no vocabulary" if kind is None else f"{kind!r}, {_OTHER_MODELS.get(kind, 'another kind of tokenizer')}"
        raise metadata.error("model", f"{what}; expected 'gpt2' or 'llama', a BPE model of bytes or characters")
    name = metadata.text("pre")
    if name in NOT_BYTE_LEVEL:
        raise metadata.error("pre", f"{name!r}, whose tokens are characters; expected a byte-level BPE model")
    pre = PRE_TOKENIZERS.get(name or "", UNKNOWN)
    pattern = _pattern(metadata, name, pre.pattern, hints)
    tokens = metadata.array("tokens", str)
    types = metadata.array("token_type", int) if metadata.has("token_type") else _types(metadata, tokens, hints)
    if len(types) != len(tokens):
        raise metadata.error("token_type", f"{len(types)} types for {len(tokens)} tokens")
    merges = metadata.array("merges", str)
    try:
        model, added = _model(tokens, types, merges, pattern)
        if pre.ignore_merges and unreachable(model):
            model = replace(model, ignore_merges=True)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None
    if hints.special_tokens is not None and dict(hints.special_tokens) != model.special_ids():
        raise ValueError(f"{path}: its special tokens are {model.special_ids()}; leave the argument out")
    return _definition(metadata, model, added, len(tokens), adds_bos=pre.add_bos)


def _read_characters(metadata: Metadata, path: Path, hints: Hints) -> Definition:
    """Read the vocabulary of a file whose tokens are characters."""
    tokens, types = metadata.array("tokens", str), metadata.array("token_type", int)
    if len(types) != len(tokens):
        raise metadata.error("token_type", f"{len(types)} types for {len(tokens)} tokens")
    try:
        model, added = characters.read_model(metadata, tokens, types)
        hints.check(model.pattern, model.special_ids())
    except (TypeError, ValueError) as error:
        raise error if str(error).startswith(str(path)) else ValueError(f"{path}: {error}") from None
    definition = _definition(metadata, model, added, len(tokens), adds_bos=True)
    return replace(definition, settings={**definition.settings, "decoding": default_decoding(model)})


def _definition(
    metadata: Metadata, model: BPEModel, added: dict[int, AddedToken], size: int, *, adds_bos: bool
) -> Definition:
    """Return a definition with the settings of a file; `adds_bos` is what llama.cpp does if the file says nothing."""
    contents = {**{i: token for token, i in model.special_ids().items()}, **{i: t.content for i, t in added.items()}}
    settings: dict[str, Any] = _names(metadata, contents, size)
    for name, default in (("bos", adds_bos), ("eos", False)):
        if metadata.flag(f"add_{name}_token", default):
            if f"{name}_token" not in settings:
                raise metadata.error(f"add_{name}_token", f"no special token has {name}_token_id")
            settings[f"add_{name}_token"] = True
    model = model.with_signature(metadata.text(_SIGNATURE))
    return Definition(model, added, {**settings, "chat_template": metadata.chat_template()})


def _pattern(metadata: Metadata, name: str | None, known: str, hints: Hints) -> str | None:
    if hints.pattern == "auto":
        if not known:
            raise metadata.error("pre", f"unknown pattern {name!r}; give the pattern, if the tokenizer has only one")
        return known
    pattern = canonical_pattern(hints.pattern)
    alike = {"cl100k", "llama3"}
    if known and pattern != known and not alike.issuperset((known, pattern)):
        raise metadata.error("pre", f"{name!r} is the pattern {known!r}; leave the argument out")
    return pattern


def _types(metadata: Metadata, tokens: list[str], hints: Hints) -> list[int]:
    """Return the token types for a file without them."""
    if hints.special_tokens is None:
        raise metadata.error("token_type", "the file does not store which tokens are special; give the special tokens")
    return [_CONTROL if hints.special_tokens.get(token) == i else _NORMAL for i, token in enumerate(tokens)]


def _model(
    tokens: list[str], types: list[int], merge_lines: list[str], pattern: str | None
) -> tuple[BPEModel, dict[int, AddedToken]]:
    """Return the model, and the added tokens."""
    ids = dict(zip(tokens, range(len(tokens)), strict=True))
    if len(ids) < len(tokens):
        twice = next(i for i, token in enumerate(tokens) if ids[token] != i)
        raise ValueError(f"tokens {twice} and {ids[tokens[twice]]} are the same, {tokens[twice]!r}")
    pairs = [(first, second) for first, _, second in (line.partition(" ") for line in merge_lines)]
    merged = {*chain.from_iterable(pairs), *(first + second for first, second in pairs)}
    as_bytes = from_printable_all(tokens)
    vocab: dict[int, bytes] = {}
    found: dict[int, str] = {}
    for token_id, (text, token, kind) in enumerate(zip(tokens, as_bytes, types, strict=True)):
        if kind == _UNUSED and text == placeholder(token_id):
            continue
        if kind not in (_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED):
            raise ValueError(f"token {token_id}, {text!r}: type {kind}, expected one of 1 to 5")
        is_found = kind in (_UNKNOWN, _CONTROL, _USER_DEFINED)
        if is_found:
            found[token_id] = text
        if not is_found or text in merged or (token is not None and len(token) == 1):
            if not token:
                raise ValueError(f"token {token_id}, {text!r}: expected GPT-2's characters for bytes")
            vocab[token_id] = token
    taken = {*vocab.values()}
    specials = {i for i, text in found.items() if i not in vocab and types[i] != _USER_DEFINED}
    specials -= {i for i in specials if found[i].encode() in taken}
    vocab |= {token_id: found[token_id].encode() for token_id in specials}
    merges = _merges(merge_lines, pairs, dict(zip(tokens, as_bytes, strict=True)))
    model = BPEModel(vocab, merges, tuple(found[token_id] for token_id in specials), pattern)
    added = _added_tokens(found, {token_id for token_id in found if types[token_id] != _USER_DEFINED}, model)
    return model, {token_id: token for token_id, token in added.items() if token_id not in specials}


def _added_tokens(found: Mapping[int, str], special: set[int], model: BPEModel) -> dict[int, AddedToken]:
    """Return the added tokens with flags that find them like llama.cpp."""
    later = {token_id for token_id in found if token_id not in special and token_id not in model.vocab}
    for normalized in (True, False):  # the first is the default of added tokens
        tokens = {
            token_id: AddedToken(text, normalized=normalized and token_id in later, special=token_id in special)
            for token_id, text in found.items()
        }
        try:
            check_found_alike(tokens)
        except ValueError:
            if not normalized:
                raise
        else:
            break
    return tokens


def _merges(
    lines: list[str], pairs: list[tuple[str, str]], as_bytes: Mapping[str, bytes | None]
) -> list[tuple[bytes, bytes]]:
    merges: list[tuple[bytes, bytes]] = []
    for rank, (first, second) in enumerate(pairs):
        parts = as_bytes.get(first), as_bytes.get(second)
        if parts[0] is None or parts[1] is None:
            raise ValueError(f"merge {rank}: expected two tokens separated by a space, got {lines[rank]!r:.80}")
        merges.append((parts[0], parts[1]))
    return merges


def _names(metadata: Metadata, contents: Mapping[int, str], count: int) -> dict[str, str]:
    names = {}
    for name, key in _ID_KEYS.items():
        token_id = metadata.token_id(key, count)
        if token_id is None:
            continue
        if token_id in contents:
            names[name] = contents[token_id]
        else:
            warnings.warn(
                f"{key} is {token_id}, which is not a special token: {name} is dropped, because it would make it one",
                stacklevel=outer_stacklevel(),
            )
    return names


def write(definition: Definition, path: Path) -> None:
    """Write a vocabulary without a model, for llama.cpp to read.

    Raises:
        OSError: the file cannot be written.
        ImportError: the package `gguf` is not installed.
        ValueError: llama.cpp would encode differently; the message names the feature.

    Warns:
        UserWarning: llama.cpp splits some texts differently although it has a name for the pattern.
    """
    try:
        from gguf import GGUFEndian, GGUFValueType, GGUFWriter
    except ImportError:
        raise ImportError("writing GGUF files needs the package gguf: pip install 'hf_bpe[gguf]'") from None

    model = definition.model
    of_characters = model.characters is not None
    prefixes = of_characters and characters.check(definition)
    pre = "default" if of_characters else _checked_pre_tokenizer(definition)
    if not of_characters and PRE_TOKENIZERS[pre].is_near:
        warnings.warn(
            f"llama.cpp's {pre!r} differs a little from the pattern {model.pattern!r}: it gives other ids for "
            "combining marks, or where the case of letters beyond ASCII changes within a word",
            stacklevel=outer_stacklevel(),
        )
    if taken := _taken_for_special(definition):
        warnings.warn(
            f"llama.cpp treats ordinary tokens as special by their text: {', '.join(map(repr, taken))}; it gives "
            "other ids where text has them",
            stacklevel=outer_stacklevel(),
        )
    tokens, types = _tokens_and_types(definition)
    ids = _ids_of_names(definition, dict(zip(tokens, range(len(tokens)), strict=True)))
    template = _checked_template(definition.setting("chat_template"))
    writer = GGUFWriter(path, _ARCHITECTURE, endianess=GGUFEndian.LITTLE)
    try:
        writer.add_tokenizer_model("llama" if of_characters else "gpt2")
        writer.add_tokenizer_pre(pre)
        writer.add_token_list(tokens)
        writer.add_token_types(types)
        if of_characters:
            writer.add_token_scores(characters.token_scores(definition, tokens))
        else:
            merges = [f"{to_printable(first)} {to_printable(second)}" for first, second in model.merges]
            writer.add_token_merges(merges)
        for name, token_id in ids.items():
            writer.add_key_value(_ID_KEYS[name], token_id, GGUFValueType.UINT32)
        # Always written, because some names of patterns imply it.
        adds_bos, adds_eos = definition.bos_eos or (False, False)
        writer.add_add_bos_token(adds_bos)
        writer.add_add_eos_token(adds_eos)
        writer.add_add_space_prefix(prefixes)
        writer.add_key_value(KEY + _SIGNATURE, model.signature, GGUFValueType.STRING)
        if template is not None:
            writer.add_chat_template(template)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
    finally:
        writer.close()


def _checked_pre_tokenizer(definition: Definition) -> str:
    """Return llama.cpp's name for the pattern, if llama.cpp then runs the model correctly."""
    model = definition.model
    if not model.merges:
        raise ValueError("the model has no merges, which llama.cpp requires")
    missing = _BYTES_OF_TEXT.difference(token[0] for token in model.vocab.values() if len(token) == 1)
    if missing:
        raise ValueError(f"there is no token for the byte 0x{min(missing):02X}; llama.cpp would leave it out of texts")
    lost = unreachable(model)
    name = pre_tokenizer_name(model.pattern, model.ignore_merges if lost else None)
    if name is None:
        if lost and pre_tokenizer_name(model.pattern, None) is not None:
            lookup = "with" if model.ignore_merges else "without"
            raise ValueError(
                f"token {lost[0]}, {model.vocab[lost[0]]!r}, is made by no merges, so it is only met as a whole word; "
                f"llama.cpp has no name for the pattern {model.pattern!r} {lookup} whole-word lookup"
            )
        raise ValueError(f"llama.cpp has no name for the pattern {model.pattern!r}")
    if PRE_TOKENIZERS[name].ignore_merges:
        for token_id, added in definition.added_tokens.items():
            twin = from_printable(added.content)
            if twin is not None and twin != added.content.encode() and is_utf8(twin):
                raise ValueError(
                    f"added token {token_id}, {added.content!r}, is the printable form of the word {twin.decode()!r}; "
                    "llama.cpp would treat that word as the added token; choose another"
                )
    return name


def _tokens_and_types(definition: Definition) -> tuple[list[str], list[int]]:
    """Return the text and type of each id, including unused ids, if llama.cpp finds all tokens correctly."""
    model, added = definition.model, definition.added_tokens
    texts = {token_id: text for text, token_id in model.printable_vocab().items()}
    types = dict.fromkeys(texts, _NORMAL)
    for token_id, token in added.items():
        if eats := [flag for flag in ("single_word", "lstrip", "rstrip") if getattr(token, flag)]:
            raise ValueError(f"added token {token_id}, {token.content!r}, has {eats[0]}, which the format cannot carry")
        if not token.content or "\0" in token.content:
            raise ValueError(
                f"added token {token_id}, {token.content!r}: llama.cpp accepts neither empty tokens nor tokens with \\0"
            )
        if texts.setdefault(token_id, token.content) != token.content:
            raise ValueError(
                f"added token {token_id}, {token.content!r}, is the token {model.vocab[token_id]!r} of the model, "
                f"written as {texts[token_id]!r}; a file has only one text for both, so one of them would not be found"
            )
        types[token_id] = _CONTROL if token.special else _USER_DEFINED
    if model.characters is not None:
        types = characters.token_types(definition, types)
    check_found_alike(added)
    size = max(texts) + 1
    if size > 2 * len(texts) + 1024:
        raise ValueError(f"the highest id is {size - 1} but there are only {len(texts)} tokens; renumber the ids first")
    tokens = [texts.get(token_id, placeholder(token_id)) for token_id in range(size)]
    ids = dict(zip(tokens, range(size), strict=True))
    if len(ids) < size:
        twice = next(i for i, token in enumerate(tokens) if ids[token] != i)
        raise ValueError(f"tokens {twice} and {ids[tokens[twice]]} are both written as {tokens[twice]!r}; change one")
    return tokens, [types.get(token_id, _UNUSED) for token_id in range(size)]


def _taken_for_special(definition: Definition) -> list[str]:
    """Return the ordinary tokens that llama.cpp treats as special: by their text, such as Qwen's `</s>`, or unknown."""
    model, added = definition.model, {token.content for token in definition.added_tokens.values()}
    special = SPECIAL_BY_TEXT
    if model.characters is not None and model.characters.unk_token is not None:
        special |= {model.characters.unk_token}
    return sorted(special.intersection(model.printable_vocab()) - added)


def _ids_of_names(definition: Definition, ids: Mapping[str, int]) -> dict[str, int]:
    named = {}
    for name in NAMED_TOKENS:
        token = definition.setting(name)
        if token is not None:
            if ids.get(token) not in definition.added_tokens:
                raise ValueError(f"{name} is {token!r}, which is not a special or added token; expected one")
            named[name] = ids[token]
    return named


def _checked_template(template: Any) -> str | list[dict[str, str]] | None:
    """Return a chat template, or several named ones, in the form for the writer."""
    if not isinstance(template, Mapping):
        return template or None
    for name in template:
        if not re.fullmatch(r"\w+", name, re.ASCII):
            raise ValueError(f"the chat template {name!r}: expected a name of ASCII letters, digits and _")
    return [{"name": name, "template": text} for name, text in template.items()]


def _peer(path: Path, definition: Definition) -> Peer | None:
    llama = peer(path)
    if llama is None:
        return None
    ours = side_of(definition, "hf_bpe").peer.encode
    taken = _taken_for_special(definition)

    def encode(texts: list[str], added: bool) -> list[list[int]]:
        # Texts that llama.cpp is known to split wrongly say nothing about the file.
        pattern = definition.model.pattern
        are_known = [known_difference(text, pattern) or any(token in text for token in taken) for text in texts]
        return [
            (ours if is_known else llama.encode)([text], added)[0]
            for text, is_known in zip(texts, are_known, strict=True)
        ]

    return Peer(f"{llama.name}, except texts that it is known to split differently", encode, adds=True)


FORMAT = Format(
    name="gguf",
    what="a vocabulary for llama.cpp, or a model file with one",
    is_file=True,
    carries=frozenset(
        {"special_tokens", "added_tokens", "bos_eos", "ignore_merges", "names", "chat_template"},
    ),
    matches=lambda path, head: head.startswith(MAGIC),
    read=read,
    write=write,
    patterns=PATTERNS,
    of_characters=characters.FEATURES,
    as_expressed=characters.as_expressed,
    peer=_peer,
    suffix=".gguf",
)
