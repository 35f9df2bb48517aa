"""GGUF: the vocabulary in the model files of llama.cpp.

Tokens are stored in printable form, special and added tokens unchanged, and each has a type. The pattern is a name in
`tokenizer.ggml.pre`. llama.cpp defines the meaning of a file; a tokenizer that it would run differently is not written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from tokenizers import AddedToken

from hf_bpe._utils.messages import warn_caller
from hf_bpe.conversion import _gguf_characters as characters
from hf_bpe.conversion._gguf_file import MAGIC, Metadata
from hf_bpe.conversion._gguf_writer import as_expressed, write
from hf_bpe.conversion._llama_cpp import (
    CONTROL,
    ID_KEYS,
    NORMAL,
    NOT_BYTE_LEVEL,
    PATTERNS,
    PRE_TOKENIZERS,
    SIGNATURE,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    PreTokenizerType,
    check_found_alike,
    placeholder,
)
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._merge_trees import unreachable
from hf_bpe.formats._decoding import default_decoding
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._files.native_readers import from_printable_all
from hf_bpe.formats._format import Format, Hints
from hf_bpe.pretokenizers._pattern import Pattern

_OTHER_MODELS = {
    "gemma4": "a SentencePiece model",
    "bert": "a WordPiece model",
    "t5": "a Unigram model",
    "rwkv": "a World tokenizer of RWKV",
    "plamo2": "a Unigram model",
}


def read(path: Path, hints: Hints) -> Definition:
    """Read the vocabulary of a GGUF file, with or without a model.

    Hints give the pattern if llama.cpp's name for it is unknown here, and the special tokens if a file has no types.

    Warns:
        UserWarning: a named token is not found in text, so its name is dropped.
    """
    metadata = Metadata(path)
    kind = metadata.text("model")
    if kind not in ("gpt2", "llama"):
        what = "no vocabulary" if kind is None else f"{kind!r}, {_OTHER_MODELS.get(kind, 'another kind of tokenizer')}"
        raise metadata.error("model", f"{what}; expected 'gpt2' or 'llama', a BPE model of bytes or characters")
    is_of_bytes = kind == "gpt2"
    name = metadata.text("pre") if is_of_bytes else None
    if name in NOT_BYTE_LEVEL:
        raise metadata.error("pre", f"{name!r}, whose tokens are characters; expected a byte-level BPE model")
    pre = PRE_TOKENIZERS.get(name or "", PreTokenizerType("", add_bos=not is_of_bytes))
    pattern = _pattern(metadata, name, pre.pattern, hints) if is_of_bytes else Pattern(None)
    tokens = metadata.array("tokens", str)
    has_types = metadata.has("token_type") or not is_of_bytes
    types = metadata.array("token_type", int) if has_types else _types(metadata, tokens, hints)
    if len(types) != len(tokens):
        raise metadata.error("token_type", f"{len(types)} types for {len(tokens)} tokens")
    try:
        ids = dict(zip(tokens, range(len(tokens)), strict=True))
        if len(ids) < len(tokens):
            twice = next(i for i, token in enumerate(tokens) if ids[token] != i)
            raise ValueError(f"tokens {twice} and {ids[tokens[twice]]} are the same, {tokens[twice]!r}")
        if is_of_bytes:
            model, added = _model(tokens, types, metadata.array("merges", str), pattern)
        else:
            model, added = characters.read_model(metadata, tokens, types)
        if pre.ignore_merges and unreachable(model):
            model = replace(model, ignore_merges=True)
    except (TypeError, ValueError) as error:
        raise error if str(error).startswith(str(path)) else ValueError(f"{path}: {error}") from None
    return _definition(metadata, model, added, len(tokens), adds_bos=pre.add_bos)


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
    model = model.with_signature(metadata.text(SIGNATURE))
    settings |= {"chat_template": metadata.chat_template(), "decoding": default_decoding(model)}
    return Definition(model, added, settings)


def _pattern(metadata: Metadata, name: str | None, expected: str, hints: Hints) -> Pattern:
    if hints.pattern == "auto":
        if not expected:
            raise metadata.error("pre", f"unknown pattern {name!r}; give the pattern, if the tokenizer has only one")
        return Pattern(expected)
    pattern = Pattern.parse(hints.pattern)
    alike = {"cl100k", "llama3"}
    if expected and pattern.canonical != expected and not alike.issuperset((expected, pattern.canonical)):
        raise metadata.error("pre", f"{name!r} is the pattern {expected!r}; leave the argument out")
    return pattern


def _types(metadata: Metadata, tokens: list[str], hints: Hints) -> list[int]:
    """Return the token types for a file without them."""
    if hints.special_tokens is None:
        raise metadata.error("token_type", "the file does not store which tokens are special; give the special tokens")
    return [CONTROL if hints.special_tokens.get(token) == i else NORMAL for i, token in enumerate(tokens)]


def _model(
    tokens: list[str], types: list[int], merge_lines: list[str], pattern: Pattern
) -> tuple[BPEModel, dict[int, AddedToken]]:
    """Return the model, and the added tokens."""
    pairs = [(first, second) for first, _, second in (line.partition(" ") for line in merge_lines)]
    merged = {*chain.from_iterable(pairs), *(first + second for first, second in pairs)}
    as_bytes = from_printable_all(tokens)
    vocab: dict[int, bytes] = {}
    contents: dict[int, str] = {}
    for token_id, (text, token, kind) in enumerate(zip(tokens, as_bytes, types, strict=True)):
        if kind == UNUSED and text == placeholder(token_id):
            continue
        if kind not in (NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED):
            raise ValueError(f"token {token_id}, {text!r}: type {kind}, expected one of 1 to 5")
        is_found = kind in (UNKNOWN, CONTROL, USER_DEFINED)
        if is_found:
            contents[token_id] = text
        if not is_found or text in merged or (token is not None and len(token) == 1):
            if not token:
                raise ValueError(f"token {token_id}, {text!r}: expected GPT-2's characters for bytes")
            vocab[token_id] = token
    taken = {*vocab.values()}
    specials = {i for i, text in contents.items() if i not in vocab and types[i] != USER_DEFINED}
    specials -= {i for i in specials if contents[i].encode() in taken}
    vocab |= {token_id: contents[token_id].encode() for token_id in specials}
    merges = _merges(merge_lines, pairs, dict(zip(tokens, as_bytes, strict=True)))
    model = BPEModel.of(vocab, merges, [contents[token_id] for token_id in specials], pattern)
    check_found_alike(contents.values())
    added = {
        token_id: AddedToken(text, normalized=False, special=types[token_id] != USER_DEFINED)
        for token_id, text in contents.items()
        if token_id not in specials
    }
    return model, added


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
    for name, key in ID_KEYS.items():
        token_id = metadata.token_id(key, count)
        if token_id is None:
            continue
        if token_id in contents:
            names[name] = contents[token_id]
        else:
            warn_caller(
                f"{key} is {token_id}, which is not a special token: {name} is dropped, because it would make it one",
            )
    return names


FORMAT = Format(
    name="gguf",
    what="a vocabulary for llama.cpp, or a model file with one",
    is_file=True,
    carries=frozenset({"special_tokens", "bos_eos", "ignore_merges", "names", "chat_template"}),
    matches=lambda path, head: head.startswith(MAGIC),
    read=read,
    write=write,
    patterns=PATTERNS,
    as_expressed=as_expressed,
    suffix=".gguf",
)
