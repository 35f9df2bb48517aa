"""GGUF for models whose alphabet is characters: llama.cpp's tokenizer model "llama", of Llama 2, Mistral and Gemma.

There are no merges in such a file, but scores: llama.cpp joins the two neighbors that make the token of the highest
score. See `_scores` for when that is the same. It puts a space before texts, or does not; writes spaces as `▁`; and
splits at nothing but special tokens. Source: llm_tokenizer_spm_session and llama_vocab::impl::tokenize in
llama-vocab.cpp.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tokenizers import AddedToken

from hf_bpe.conversion._gguf_file import Metadata
from hf_bpe.conversion._scores import merges_of_scores, scores_of_merges, without_contents
from hf_bpe.core._characters import BYTE_TOKENS, Characters
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._merge_trees import parts_of_tokens
from hf_bpe.encoding._token_bytes import SPACE
from hf_bpe.formats._definition import Definition
from hf_bpe.normalizers._names import Part, canonical_normalizer, parts_of_normalizer
from hf_bpe.pretokenizers._patterns import metaspace_of
from hf_bpe.pretokenizers._stages import Metaspace

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
PREPEND: Part = {"type": "Prepend", "prepend": SPACE}
REPLACE: Part = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}

FEATURES = frozenset(
    {"pattern", "characters", "special_tokens", "added_tokens", "bos_eos", "normalizer", "decoding"}
    | {"names", "chat_template"}
)
"""Names of the features that a file of such a model carries, as far as `check` allows."""


def read_model(metadata: Metadata, tokens: list[str], types: list[int]) -> tuple[BPEModel, dict[int, AddedToken]]:
    """Return the model in a file of the tokenizer model "llama", and all added tokens.

    Args:
        metadata: of the file.
        tokens: the text of each id.
        types: the type of each.

    Raises:
        ValueError: the vocabulary is invalid, or scores decide differently from merges.
    """
    ids = dict(zip(tokens, range(len(tokens)), strict=True))
    if len(ids) < len(tokens):
        twice = next(i for i, token in enumerate(tokens) if ids[token] != i)
        raise ValueError(f"tokens {twice} and {ids[tokens[twice]]} are the same, {tokens[twice]!r}")
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
    contents = _never_merged(token.content for token in added.values())
    texts = without_contents(map(str.encode, tokens), contents)
    by_token = dict(zip(map(str.encode, tokens), scores, strict=True))
    made = merges_of_scores(texts, {token: by_token[token] for token in texts})
    prefixes = metadata.flag("add_space_prefix", True)
    parts = [PREPEND, REPLACE] if prefixes else [REPLACE]
    model = BPEModel(
        vocab,
        [*made.values()],
        tuple(specials),
        None,
        normalizer=canonical_normalizer({"type": "Sequence", "normalizers": parts}),
        characters=Characters(True, unknown),
    )
    return model, added


def as_expressed(definition: Definition) -> Definition:
    """Return a definition with the same ids that has what scores and llama.cpp express: see `_scores` for the merges.

    Of the merges that make the same token only one is ever made, in any text. Llama 2, Mistral and others have all.
    """
    definition = without_metaspace(definition)
    model, characters = definition.model, definition.model.characters
    if characters is None:
        return definition
    # Special tokens may be text, if the caller wants that; the others never are.
    added = {i: token.content for i, token in definition.added_tokens.items() if not token.special}
    added = {i: content for i, content in added.items() if SPACE not in content}
    results = {*without_contents((first + second for first, second in model.merges), _never_merged(added.values()))}
    made = {(model.vocab[first], model.vocab[second]) for first, second in parts_of_tokens(model).values()}
    merges = [merge for merge in model.merges if merge in made and b"".join(merge) in results]
    if len(merges) < len(model.merges) or not added.keys().isdisjoint(model.vocab):
        vocab = {i: token for i, token in model.vocab.items() if i not in added}
        model = replace(model, vocab=vocab, merges=merges)
    if characters.byte_fallback and characters.fuse_unk:  # which has no effect then
        model = replace(model, characters=replace(characters, fuse_unk=False))
    return replace(definition, model=model)


def _never_merged(contents: Iterable[str]) -> list[bytes]:
    """Return the contents of added tokens that no text between added tokens holds.

    Tokens are searched in text whose spaces are not written as `▁` yet, so this can still become a token with `▁`.
    """
    return [content.encode() for content in contents if SPACE not in content]


def without_metaspace(definition: Definition) -> Definition:
    """Return a definition whose normalizer writes spaces as `▁` instead of its pattern, if the ids stay the same."""
    model = definition.model
    metaspace, parts = metaspace_of(model.pattern), parts_of_normalizer(model.normalizer)
    if model.characters is None or any(part not in (PREPEND, REPLACE) for part in parts):
        return definition
    if metaspace is not None and (metaspace != Metaspace(SPACE, "never", metaspace.split) or _crossing(model)):
        return definition
    if metaspace is None and REPLACE not in parts:
        return definition
    made = {"type": "Sequence", "normalizers": [*([PREPEND] if PREPEND in parts else []), REPLACE]}
    if parts.count(PREPEND) > 1:
        return definition
    return replace(definition, model=replace(model, pattern=None, normalizer=canonical_normalizer(made)))


def _crossing(model: BPEModel) -> int | None:
    """Return the id of a token with a `▁` inside, before which a Metaspace would cut; None if there is none."""
    metaspace = metaspace_of(model.pattern)
    if metaspace is None or not metaspace.split:
        return None
    return next((i for i in parts_of_tokens(model) if SPACE in model.vocab[i].decode()[1:]), None)


def check(definition: Definition) -> bool:
    """Return whether llama.cpp must put a space before texts.

    Args:
        definition: what `as_expressed` returns.

    Raises:
        ValueError: llama.cpp would give other ids; the message names the reason.
    """
    model = definition.model
    if model.characters is None or not model.characters.byte_fallback:
        raise ValueError("byte_fallback is False; llama.cpp makes bytes of characters without a token")
    if not model.merges:
        raise ValueError("the model has no merges, which llama.cpp requires")
    if model.ignore_merges:
        raise ValueError("ignore_merges: llama.cpp looks up no whole texts")
    parts, metaspace = parts_of_normalizer(model.normalizer), metaspace_of(model.pattern)
    if any(part not in (PREPEND, REPLACE) for part in parts) or parts.count(PREPEND) > 1:
        raise ValueError(
            f"normalizer: llama.cpp only puts {SPACE!r} before a text and writes spaces as {SPACE!r}, got "
            f"{model.normalizer}"
        )
    if metaspace is not None:
        if metaspace.replacement != SPACE:
            raise ValueError(f"pattern: llama.cpp writes spaces as {SPACE!r}, got {metaspace.replacement!r}")
        if metaspace.prepend_scheme != "never":
            raise ValueError(
                f"pattern: Metaspace with prepend_scheme {metaspace.prepend_scheme!r} puts no space before a text that "
                f"begins with one, and llama.cpp puts one before any; expected 'never', and a normalizer that prepends "
                f"{SPACE!r}"
            )
        crossing = _crossing(model)
        raise ValueError(
            f"token {crossing}, {model.vocab[crossing or 0].decode()!r}: the pattern cuts text before {SPACE!r}, and "
            "llama.cpp does not"
        )
    if REPLACE not in parts:
        raise ValueError(f"normalizer: expected one that writes spaces as {SPACE!r}, as llama.cpp does, got none")
    for token_id, added in definition.added_tokens.items():
        if added.normalized:
            raise ValueError(
                f"added token {token_id}, {added.content!r}, is found in normalized text, and llama.cpp finds it in "
                "text as it is; expected normalized=False"
            )
    return PREPEND in parts


def token_scores(definition: Definition, tokens: list[str]) -> list[float]:
    """Return the score of each id.

    Raises:
        ValueError: no scores give the ids of the merges.
    """
    contents = _never_merged(token.content for token in definition.added_tokens.values())
    scores = scores_of_merges(definition.model, map(str.encode, tokens), contents)
    return [scores.get(token.encode(), 0.0) for token in tokens]


def token_types(definition: Definition, types: Mapping[int, int]) -> dict[int, int]:
    """Return the types of ids, with those of bytes and of the unknown token."""
    model, more = definition.model, dict(types)
    unk_token = model.characters and model.characters.unk_token
    for token_id, token in model.vocab.items():
        if token in BYTE_TOKENS:
            more[token_id] = BYTE
        elif token.decode() == unk_token:
            more[token_id] = UNKNOWN
    return more


def placeholder(token_id: int) -> str:
    """Return the placeholder for an unused id, as in llama.cpp's own converter."""
    return f"[PAD{token_id}]"
