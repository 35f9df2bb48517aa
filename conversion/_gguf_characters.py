"""Reading GGUF whose alphabet is characters: llama.cpp's tokenizer model "llama", of Llama 2, Mistral and Gemma.

There are no merges in such a file, but scores of tokens: of all neighbors that make a token together llama.cpp, like
SentencePiece, joins the two of the highest score, the leftmost first. A merge has no rank of its own; a token has.

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

from tokenizers import AddedToken

from hf_bpe.conversion._gguf_file import Metadata
from hf_bpe.conversion._llama_cpp import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED, placeholder
from hf_bpe.core._alphabet import BYTE_TOKENS, CharacterAlphabet
from hf_bpe.core._model import BPEModel, Merge
from hf_bpe.encoding._added_tokens.finder import TokenFinder
from hf_bpe.encoding._merge_trees import last_pair
from hf_bpe.normalizers._normalizer import Normalizer
from hf_bpe.normalizers._steps import PREPENDS_SPACE, SPACE, WRITES_SPACE


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
    texts = _without_contents(map(str.encode, tokens), contents)
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
    """Return the last two parts of each token of two characters or more that scores make, the first to be made first.

    Args:
        tokens: the tokens, as UTF-8.
        scores: token → score, for all tokens of the vocabulary.

    Raises:
        ValueError: two tokens have the same score, so that their order depends on where they are in a text.

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


def _without_contents(tokens: Iterable[bytes], contents: Iterable[bytes]) -> list[bytes]:
    """Return the tokens, each once, that hold none of the contents at which text is split."""
    finder = TokenFinder(content.decode() for content in contents)
    return [token for token in dict.fromkeys(tokens) if next(iter(finder.find_all(token.decode())), None) is None]
