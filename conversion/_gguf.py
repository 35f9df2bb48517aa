"""GGUF: the vocabulary in the model files of llama.cpp.

Tokens are stored in printable form, special and added tokens unchanged, and each has a type. The pattern is a name in
`tokenizer.ggml.pre`. llama.cpp defines the meaning of a file; a tokenizer that it would run differently is not written.

The tokenizer model "llama", of Llama 2, Mistral and Gemma, has an alphabet of characters, and is only read. It has no
merges, but scores of tokens: of all neighbors that make a token together llama.cpp, like SentencePiece,
joins the two of the highest score, the leftmost first. A merge has no rank of its own; a token has.

Both ways are the same for any text if, for each token, both make it of the same last two parts, or neither makes it.
Proof: what happens inside a stretch of text whose ends nothing has crossed depends on that stretch alone, in either
way. So if two neighbors of a text make the token t together, they are a state of the stretch t that has two parts left.
There is one such state at most, since each step joins two, and it is the last one before t. Hence either way joins only
those two parts to t, in any text; and if the parts are the same and the order of the tokens is, too, both take the same
step whenever one is taken.

llama.cpp puts a space before texts, or does not; writes spaces as `▁`; and splits at nothing but special tokens.
Source: llm_tokenizer_spm_session and llama_vocab::impl::tokenize in llama-vocab.cpp.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from tokenizers import AddedToken

from hf_bpe._utils.messages import warn_caller
from hf_bpe.conversion._gguf_file import MAGIC, Metadata
from hf_bpe.conversion._gguf_writer import as_expressed, write
from hf_bpe.conversion._llama_cpp import (
    BYTE,
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
from hf_bpe.core._alphabet import BYTE_TOKENS, CharacterAlphabet
from hf_bpe.core._model import BPEModel, Merge
from hf_bpe.encoding._added_tokens.finder import TokenFinder
from hf_bpe.encoding._merge_trees import last_pair, unreachable
from hf_bpe.formats._decoder import default_decoding
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._format import Format, Hints
from hf_bpe.normalizers._normalizer import Normalizer
from hf_bpe.normalizers._steps import PREPENDS_SPACE, SPACE, WRITES_SPACE
from hf_bpe.pretokenizers._byte_level import from_printable_all
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
            model, added = _model_of_characters(metadata, tokens, types)
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
    if hints.special_tokens is None:
        raise metadata.error("token_type", "the file does not store which tokens are special; give the special tokens")
    return [CONTROL if hints.special_tokens.get(token) == i else NORMAL for i, token in enumerate(tokens)]


def _model(
    tokens: list[str], types: list[int], merge_lines: list[str], pattern: Pattern
) -> tuple[BPEModel, dict[int, AddedToken]]:
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


def _model_of_characters(
    metadata: Metadata, tokens: list[str], types: list[int]
) -> tuple[BPEModel, dict[int, AddedToken]]:
    """Return the model in a file of the tokenizer model "llama", whose tokens are distinct, and all added tokens."""
    scores = metadata.array("scores", float)
    if len(scores) != len(tokens):
        raise metadata.error("scores", f"{len(scores)} scores for {len(tokens)} tokens")
    vocab: dict[int, bytes] = {}
    specials: list[str] = []
    added: dict[int, AddedToken] = {}
    unknown: str | None = None
    for token_id, (text, kind) in enumerate(zip(tokens, types, strict=True)):
        if not text or not NORMAL <= kind <= BYTE:
            raise ValueError(f"token {token_id}, {text!r}: type {kind}, expected text, and a type of 1 to 6")
        if (kind == BYTE) != (text.encode() in BYTE_TOKENS):
            raise ValueError(f"token {token_id}, {text!r}: type {kind}; expected {BYTE} for <0x00> to <0xFF> only")
        if kind == UNUSED and text == placeholder(token_id):
            continue
        if kind == UNKNOWN and unknown is None:
            unknown = text
        if kind in (UNKNOWN, CONTROL):
            specials.append(text)
        if kind in (UNKNOWN, CONTROL, USER_DEFINED):
            added[token_id] = AddedToken(text, normalized=False, special=kind != USER_DEFINED)
        if kind != USER_DEFINED or SPACE in text:
            vocab[token_id] = text.encode()
    # Added tokens are searched in text whose spaces are not written as `▁` yet, so tokens with `▁` can still be merged.
    finder = TokenFinder(token.content for token in added.values() if SPACE not in token.content)
    texts = [token.encode() for token in dict.fromkeys(tokens) if next(iter(finder.find_all(token)), None) is None]
    by_token = dict(zip(map(str.encode, tokens), scores, strict=True))
    made = _merges_of_scores(texts, {token: by_token[token] for token in texts})
    prefixes = metadata.flag("add_space_prefix", True)
    steps = [PREPENDS_SPACE, WRITES_SPACE] if prefixes else [WRITES_SPACE]
    model = BPEModel(
        vocab,
        [*made.values()],
        tuple(specials),
        None,
        normalizer=Normalizer.of(steps).canonical,
        alphabet=CharacterAlphabet(True, unknown),
    )
    return model, added


def _merges_of_scores(tokens: Iterable[bytes], scores: Mapping[bytes, float]) -> dict[bytes, Merge]:
    """Return the last merge of each token of several characters that scores make, in the order of the scores.

    >>> _merges_of_scores([b"ab", b"abc", b"xy"], {b"ab": -1.0, b"bc": -2.0, b"abc": -3.0, b"a": 0, b"b": 0, b"c": 0})
    {b'ab': (b'a', b'b'), b'abc': (b'ab', b'c')}
    """

    def rank(first: bytes, second: bytes) -> float | None:
        score = scores.get(first + second)
        return None if score is None else -score

    merges: dict[bytes, Merge] = {}
    of_score: dict[float, bytes] = {}
    for token in tokens:
        symbols = [*map(str.encode, token.decode())]
        pair = last_pair(symbols, rank) if len(symbols) > 1 and token in scores else None
        if pair is None:
            continue
        other = of_score.setdefault(scores[token], token)
        if other != token:
            raise ValueError(
                f"tokens {other.decode()!r} and {token.decode()!r} have the same score, {scores[token]}, so which is "
                "made first depends on the text; expected another score for each"
            )
        merges[token] = pair
    return dict(sorted(merges.items(), key=lambda entry: -scores[entry[0]]))


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
