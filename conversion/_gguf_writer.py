"""Writing the vocabulary of a byte-level model as GGUF, without a model file.

What llama.cpp has no name for is not written: patterns other than its own, and added tokens that are not special.
llama.cpp's own converter reads a folder; but it knows vocabularies by a hash of their ids, so it refuses each one that
somebody trained, extended or pruned.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hf_bpe._utils.messages import warn_caller
from hf_bpe.conversion._gguf_file import KEY
from hf_bpe.conversion._llama_cpp import (
    CONTROL,
    ID_KEYS,
    NORMAL,
    PRE_TOKENIZERS,
    SIGNATURE,
    SPECIAL_BY_TEXT,
    UNUSED,
    check_found_alike,
    placeholder,
    pre_tokenizer_name,
)
from hf_bpe.core._checks import check_gaps
from hf_bpe.encoding._merge_trees import unreachable
from hf_bpe.formats._definition import Definition, with_all_special_tokens
from hf_bpe.formats._settings import NAMED_TOKENS
from hf_bpe.pretokenizers._byte_level import from_printable, is_utf8, to_printable

# The architecture in the header of a file without a model; llama.cpp requires one that it knows.
_ARCHITECTURE = "gpt2"
# Every byte that occurs in UTF-8.
_BYTES_OF_TEXT = {byte for byte in range(256) if byte not in (0xC0, 0xC1) and byte < 0xF5}


def as_expressed(definition: Definition) -> Definition:
    """Return a definition with all special tokens in its model, as files do not tell apart which were added later."""
    if not definition.model.alphabet.is_bytes:
        raise ValueError(
            "the format gguf is written for byte-level models only, and this one's alphabet is characters; save it "
            "with save_pretrained, and give the folder to llama.cpp's convert_hf_to_gguf.py"
        )
    return with_all_special_tokens(definition)


def write(definition: Definition, path: Path) -> None:
    """Write a vocabulary without a model, for llama.cpp to read."""
    try:
        from gguf import GGUFEndian, GGUFValueType, GGUFWriter
    except ImportError:
        raise ImportError("writing GGUF files needs the package gguf: pip install 'hf_bpe[gguf]'") from None

    model = definition.model
    pre = _checked_pre_tokenizer(definition)
    if PRE_TOKENIZERS[pre].is_near:
        warn_caller(
            f"llama.cpp's {pre!r} differs a little from the pattern {model.pattern!r}: it gives other ids for "
            "combining marks, or where the case of letters beyond ASCII changes within a word",
        )
    contents = {token.content for token in definition.added_tokens.values()}
    if taken := sorted(SPECIAL_BY_TEXT.intersection(model.printable_vocab()) - contents):
        warn_caller(
            f"llama.cpp treats ordinary tokens as special by their text: {', '.join(map(repr, taken))}; it gives "
            "other ids where text has them",
        )
    tokens, types = _tokens_and_types(definition)
    ids = _ids_of_names(definition, dict(zip(tokens, range(len(tokens)), strict=True)))
    template = _checked_template(definition.setting("chat_template"))
    writer = GGUFWriter(path, _ARCHITECTURE, endianess=GGUFEndian.LITTLE)
    try:
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(pre)
        writer.add_token_list(tokens)
        writer.add_token_types(types)
        writer.add_token_merges([f"{to_printable(first)} {to_printable(second)}" for first, second in model.merges])
        for name, token_id in ids.items():
            writer.add_key_value(ID_KEYS[name], token_id, GGUFValueType.UINT32)
        # Always written, because some names of patterns imply it.
        adds_bos, adds_eos = definition.bos_eos or (False, False)
        writer.add_add_bos_token(adds_bos)
        writer.add_add_eos_token(adds_eos)
        writer.add_add_space_prefix(False)
        writer.add_key_value(KEY + SIGNATURE, model.signature, GGUFValueType.STRING)
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
    types = {**dict.fromkeys(texts, NORMAL), **dict.fromkeys(added, CONTROL)}
    for token_id, token in added.items():
        if not token.content or "\0" in token.content:
            raise ValueError(
                f"added token {token_id}, {token.content!r}: llama.cpp accepts neither empty tokens nor tokens with \\0"
            )
        if texts.setdefault(token_id, token.content) != token.content:
            raise ValueError(
                f"added token {token_id}, {token.content!r}, is the token {model.vocab[token_id]!r} of the model, "
                f"written as {texts[token_id]!r}; a file has only one text for both, so one of them would not be found"
            )
    check_found_alike(token.content for token in added.values())
    size = max(texts) + 1
    check_gaps(size, len(texts))
    tokens = [texts.get(token_id, placeholder(token_id)) for token_id in range(size)]
    ids = dict(zip(tokens, range(size), strict=True))
    if len(ids) < size:
        twice = next(i for i, token in enumerate(tokens) if ids[token] != i)
        raise ValueError(f"tokens {twice} and {ids[tokens[twice]]} are both written as {tokens[twice]!r}; change one")
    return tokens, [types.get(token_id, UNUSED) for token_id in range(size)]


def _ids_of_names(definition: Definition, ids: Mapping[str, int]) -> dict[str, int]:
    named = {}
    for name in NAMED_TOKENS:
        token = definition.setting(name)
        if token is not None:
            if ids.get(token) not in definition.added_tokens:
                raise ValueError(f"{name} is {token!r}, which is not a special token; expected one")
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
