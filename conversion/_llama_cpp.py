"""Rules of llama.cpp that are not in GGUF files, from llama-vocab.cpp at 0c1e57098 (autumn 2026).

llama.cpp knows patterns by names, which also imply whether whole words are looked up before merging. It treats some
tokens as special by their text. It finds special and added tokens one after the other, the longest first, where
`tokenizers` scans the text once. And it splits some texts differently from the patterns of its names.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import regex
from tokenizers import AddedToken

from hf_bpe.encoding._added_tokens import AddedTokenSplitter
from hf_bpe.pretokenizers._named_patterns import NAMED_PATTERNS
from hf_bpe.pretokenizers._patterns import split


class PreTokenizer(NamedTuple):
    """The meaning of a name in `tokenizer.ggml.pre`.

    Attributes:
        pattern: the canonical pattern; "" for one that has no name here.
        ignore_merges: whether whole words that are tokens are looked up before merging.
        add_bos: the default of adding `bos_token` to sequences.
        is_near: whether llama.cpp splits some texts differently, see `known_difference`.
    """

    pattern: str
    ignore_merges: bool = False
    add_bos: bool = False
    is_near: bool = False


UNKNOWN = PreTokenizer("")


def _family(pattern: str, names: str, **others: bool) -> dict[str, PreTokenizer]:
    return dict.fromkeys(names.split(), PreTokenizer(pattern, **others))


# Not listed although they split identically: jina-v2-es, jina-v2-de and jina-v2-code, whose <mask> strips the preceding
# space.
PRE_TOKENIZERS: dict[str, PreTokenizer] = {
    # The expression of GPT-2, which llama.cpp implements by hand, without a last `|\s+`: unmatched text is a pre-token
    # anyway.
    **_family(
        "gpt2",
        "gpt-2 phi-2 mpt olmo jais jina-es jina-de jina-v1-en roberta-bpe modern-bert gigachat a.x-4.0 mellum exaone4 "
        "trillion granite-docling",
    ),
    # The expression of Llama 3, also by hand. cl100k splits identically: each name is assigned to the pattern that the
    # models of this name use. dbrx and the GLM models took theirs from tiktoken.
    **_family(
        "llama3",
        "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
        ignore_merges=True,
        add_bos=True,
    ),
    **_family("llama3", "smaug-bpe"),
    **_family("cl100k", "dbrx chatglm-bpe"),
    **_family("cl100k", "glm4 glm5", ignore_merges=True),
    # The expression of Qwen2, also by hand.
    **_family("qwen2", "qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan solar-open grok-2"),
    # The expression of o200k within the limits of std::regex, which knows no marks and no case beyond ASCII: see
    # `known_difference`.
    **_family("o200k", "gpt-4o llama4 kanana2 talkie minimax-m2", is_near=True),
    # Single digits before the expression of GPT-2, both by hand.
    **_family("gpt2-digits", "smollm starcoder refact command-r codeshell exaone minerva-7b mellum2"),
    # Each stage of a chain, one after the other.
    **_family("deepseek-v3", "deepseek-v3 hunyuan-dense joyai-llm hy_v4"),
    **_family("minicpm5", "minicpm5", ignore_merges=True),
    **_family("qwen3.5", "qwen35"),
    # As o200k, without contractions.
    **_family("tekken", "tekken", ignore_merges=True, add_bos=True, is_near=True),
    # By hand, without the difference between upper and lower case and without marks. So it is read, and not written.
    **_family("kimi-k2", "kimi-k2", is_near=True),
    # Patterns without a name here, which a user may give.
    **_family("", "chameleon", add_bos=True),
    **_family("", "youtu granite-embed-multi-97m", ignore_merges=True),
    **{each.llama_cpp: PreTokenizer(name) for name, each in NAMED_PATTERNS.items() if each.llama_cpp},
}
"""The names of known patterns, and names that imply more than a pattern."""

NOT_BYTE_LEVEL = frozenset({"gemma4", "granite-embed-multi-311m", "sarvam-moe", "whitespace"})
"""Names with which tokens are characters, not bytes."""

# (pattern, ignore_merges) → the name to write.
_NAMES = {
    ("gpt2", False): "gpt-2",
    ("llama3", False): "smaug-bpe",
    ("llama3", True): "llama-bpe",
    ("cl100k", False): "dbrx",
    ("cl100k", True): "glm4",
    ("qwen2", False): "qwen2",
    ("o200k", False): "gpt-4o",
    ("gpt2-digits", False): "smollm",
    ("deepseek-v3", False): "deepseek-v3",
    ("qwen3.5", False): "qwen35",
    ("tekken", True): "tekken",
    ("minicpm5", True): "minicpm5",
    **{(name, False): each.llama_cpp for name, each in NAMED_PATTERNS.items() if each.llama_cpp},
}
_USUAL = {
    **{pattern: name for (pattern, ignores), name in _NAMES.items() if not ignores},
    **{"llama3": "llama-bpe", "tekken": "tekken", "minicpm5": "minicpm5"},
}

PATTERNS = frozenset[str | None](_USUAL)
"""The patterns that llama.cpp has a name for."""


def pre_tokenizer_name(pattern: str | None, ignore_merges: bool | None) -> str | None:
    """Return the name of a pattern, None if there is none.

    Args:
        pattern: a canonical pattern.
        ignore_merges: whether whole words that are tokens are looked up before merging, None if it makes no difference.

    >>> pre_tokenizer_name("cl100k", None), pre_tokenizer_name("gpt2", True)
    ('dbrx', None)
    """
    if pattern is None:
        return None
    return _USUAL.get(pattern) if ignore_merges is None else _NAMES.get((pattern, ignore_merges))


# Tokens that end a turn or a text, tokens for fill-in-the-middle, and tokens that llama.cpp shows.
_SPECIAL_BY_TEXT = """
<|eot_id|> <|im_end|> <|end|> <|return|> <|call|> <|calls|> <|flush|> <end_of_turn> <|endoftext|> </s> <|eom_id|> <EOT>
_<EOT> [EOT] [EOS] <|end_of_text|> <end_of_utterance> <eos> <turn|> <|tool_response> <｜end▁of▁sentence｜> [e~[
<|fim_prefix|> <fim-prefix> <fim_prefix> <｜fim▁begin｜> <PRE> ▁<PRE> <|code_prefix|> <|prefix|>
<|fim_suffix|> <fim-suffix> <fim_suffix> <｜fim▁hole｜> <SUF> ▁<SUF> <|code_suffix|> <|suffix|>
<|fim_middle|> <fim-middle> <fim_middle> <｜fim▁end｜> <MID> ▁<MID> <|code_middle|> <|middle|>
<|fim_pad|> <fim-pad> <fim_pad> <PAD> [PAD] <|fim_repo|> <|repo_name|> <fim-repo> <REPO> <reponame> <|file_sep|>
<|channel|> <|message|> <|start|> <|constrain|>
"""
SPECIAL_BY_TEXT = frozenset(_SPECIAL_BY_TEXT.split())
"""The tokens that llama.cpp treats as special, whatever a file stores."""

# A special token that llama.cpp splits like other text if one of the others is in the vocabulary.
_ORDINARY_BESIDE = ("</s>", ("<|tool_response>", "<|plamo:eos|>"))


def check_found_alike(tokens: Mapping[int, AddedToken]) -> None:
    """Refuse added tokens that llama.cpp finds at other positions than `tokenizers`.

    Args:
        tokens: id → token, without flags that strip white space or check neighboring characters.

    Raises:
        ValueError: the results differ for a text, which the message shows.

    >>> check_found_alike({1: AddedToken("<a>", normalized=False), 2: AddedToken("<a>b", normalized=False)})
    >>> check_found_alike({1: AddedToken("<a>"), 2: AddedToken("a>bc")})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: added tokens '<a>' and 'a>bc': in '<a>bc' llama.cpp finds the longest first, so it gets ['<', 2] ...
    """
    contents = sorted(token.content for token in tokens.values())
    ordinary, others = _ORDINARY_BESIDE
    for other in others:
        if {ordinary, other}.issubset(contents):
            raise ValueError(f"added token {ordinary!r}: llama.cpp does not find it in text if {other!r} exists, too")
    splitter = AddedTokenSplitter(tokens)
    entries = [(token.content, token_id) for token_id, token in tokens.items()]
    # The order of tokens with equal length is undefined.
    orders = [sorted(each, key=_bytes_of_token, reverse=True) for each in (entries, entries[::-1])]
    seen: set[str] = set()
    for text, pair in _texts_of_two(contents):
        if text in seen:
            continue
        seen.add(text)
        expected = splitter.split(text)
        got = next((got for order in orders if (got := _one_by_one(text, order)) != expected), expected)
        if got != expected or len(seen) > _MAX_TEXTS:
            what = f"so it gets {got} instead of {expected}" if got != expected else "which is too much to check"
            raise ValueError(
                f"added tokens {pair[0]!r} and {pair[1]!r}: in {text!r} llama.cpp finds the longest first, {what}; "
                "change one of them"
            )


_LONGEST = 1 << 10  # characters of an added token
_MAX_TEXTS = 1 << 14


def _texts_of_two(contents: list[str]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield texts in which a token begins within another, or at the same position, and both tokens.

    If all these are split identically, so is any text: tokens that do not overlap do not interact.
    """
    known, lengths = {*contents}, sorted({*map(len, contents)})
    for first in contents:
        if len(first) > _LONGEST:
            raise ValueError(f"added token {first[:40]!r}…: expected at most {_LONGEST} characters, got {len(first)}")
        for place in range(len(first)):
            for length in lengths:
                second = first[place : place + length]
                if place + length <= len(first) and second in known and second != first:
                    yield first, (first, second)
            rest = first[place:]
            for index in range(bisect_right(contents, rest), len(contents)):  # the contents are sorted
                if not contents[index].startswith(rest):
                    break
                yield first[:place] + contents[index], (first, contents[index])


def _bytes_of_token(entry: tuple[str, int]) -> int:
    return len(entry[0].encode())


def _one_by_one(text: str, order: list[tuple[str, int]]) -> list[str | int]:
    """Return segments of text and ids of added tokens, as llama.cpp finds them."""
    parts: list[str | int] = [text]
    for content, token_id in order:
        if content in text:
            parts = [found for part in parts for found in _cut(part, content, token_id)]
    return parts


def _cut(part: str | int, content: str, token_id: int) -> Iterator[str | int]:
    if isinstance(part, int):
        yield part
        return
    for number, stretch in enumerate(part.split(content)):
        if number:
            yield token_id
        if stretch:
            yield stretch


# New letters and numbers of Unicode 16.0; llama.cpp has the tables of 15.1.
_NEWER = regex.compile(
    "[\u1c89-\u1c8a\ua7cb-\ua7cd\ua7da-\ua7dc\U000105c0-\U000105f3\U00010d40-\U00010d65\U00010d6f-\U00010d85\U00010ec2-"
    "\U00010ec4\U00011380-\U00011389\U0001138b\U0001138e\U00011390-\U000113b5\U000113b7\U000113d1\U000113d3\U000116d0-"
    "\U000116e3\U00011bc0-\U00011be0\U00011bf0-\U00011bf9\U00013460-\U000143fa\U00016100-\U0001611d\U00016130-"
    "\U00016139\U00016d40-\U00016d6c\U00016d70-\U00016d79\U00018cff\U0001ccf0-\U0001ccf9\U0001e5d0-\U0001e5ed"
    "\U0001e5f0-\U0001e5fa]"
)
# llama.cpp's gpt-4o and tekken: letters beyond ASCII have both cases, and marks are not part of words.
_CASES_OF_ASCII = (
    r"""[^\r\n\p{L}\p{N}]?(?:(?=\p{L})[^a-z])*(?:(?=\p{L})[^A-Z])+%s"""
    r"""|[^\r\n\p{L}\p{N}]?(?:(?=\p{L})[^a-z])+(?:(?=\p{L})[^A-Z])*%s"""
    r"""|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
_CONTRACTIONS = "(?:'(?:[sStTmMdD]|[rRvV][eE]|[lL][lL]))?"
_NEAR = {
    "o200k": _CASES_OF_ASCII % (_CONTRACTIONS, _CONTRACTIONS, "{1,3}"),
    "tekken": _CASES_OF_ASCII % ("", "", ""),
    "kimi-k2": rf"""\p{{Han}}+|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}&&[^\p{{Han}}]]+{_CONTRACTIONS}|\p{{N}}{{1,3}}"""
    r"""| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
}
_WITHOUT_LONG_S = frozenset({"gpt2", "gpt2-digits", "deepseek-v3", "tekken"})


def known_difference(text: str, pattern: str | None) -> str | None:
    """Return the reason why llama.cpp splits a text differently from a pattern, None if no difference is known.

    These differences are in llama.cpp itself; no file could avoid them.

    >>> known_difference("naïve", "o200k") is None
    True
    >>> known_difference("हिन्दी", "o200k")
    'llama.cpp does not know marks, nor cases of letters beyond ASCII, in this pattern'
    """
    if _NEWER.search(text):
        return "llama.cpp does not know the letters and numbers that are new in Unicode 16.0"
    if pattern in _NEAR and split(text, pattern) != split(text, _NEAR[pattern]):
        beyond = "" if pattern == "kimi-k2" else " beyond ASCII"
        return f"llama.cpp does not know marks, nor cases of letters{beyond}, in this pattern"
    if pattern not in _WITHOUT_LONG_S and "'\u017f" in text:
        return "llama.cpp does not treat the long s as an s after an apostrophe"
    return None
