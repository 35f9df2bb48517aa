"""Reading GGUF whose alphabet is characters: llama.cpp's tokenizer model "llama", of Llama 2, Mistral and Gemma.

There are no merges in such a file, but scores: llama.cpp joins the two neighbors that make the token of the highest
score. See `_scores` for when that is the same. It puts a space before texts, or does not; writes spaces as `▁`; and
splits at nothing but special tokens. Source: llm_tokenizer_spm_session and llama_vocab::impl::tokenize in
llama-vocab.cpp.
"""

from __future__ import annotations

from tokenizers import AddedToken

from hf_bpe.conversion._gguf_file import Metadata
from hf_bpe.conversion._llama_cpp import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED, placeholder
from hf_bpe.conversion._scores import merges_of_scores, without_contents
from hf_bpe.core._characters import BYTE_TOKENS, Characters
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._token_bytes import SPACE
from hf_bpe.normalizers._names import Part, canonical_normalizer

_PREPEND: Part = {"type": "Prepend", "prepend": SPACE}
_REPLACE: Part = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}


def read_model(metadata: Metadata, tokens: list[str], types: list[int]) -> tuple[BPEModel, dict[int, AddedToken]]:
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
    contents = [token.content.encode() for token in added.values() if SPACE not in token.content]
    texts = without_contents(map(str.encode, tokens), contents)
    by_token = dict(zip(map(str.encode, tokens), scores, strict=True))
    made = merges_of_scores(texts, {token: by_token[token] for token in texts})
    prefixes = metadata.flag("add_space_prefix", True)
    parts = [_PREPEND, _REPLACE] if prefixes else [_REPLACE]
    model = BPEModel(
        vocab,
        [*made.values()],
        tuple(specials),
        None,
        normalizer=canonical_normalizer({"type": "Sequence", "normalizers": parts}),
        characters=Characters(True, unknown),
    )
    return model, added
