"""Knowledge of llama.cpp that GGUF files do not hold, from llama-vocab.cpp at 0c1e57098 (autumn 2026).

llama.cpp knows patterns by names, which also imply whether whole words are looked up before merging. It treats some
tokens as special by their text. And it finds special and added tokens one after the other, the longest first, where
`tokenizers` scans the text once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hf_bpe.conversion._gguf_file import KEY
from hf_bpe.formats._settings import NAMED_TOKENS
from hf_bpe.pretokenizers._named_patterns import NAMED_PATTERNS

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)  # the types of tokens

ID_KEYS = {
    **{name: f"{KEY}{name}_id" for name in NAMED_TOKENS},
    # In all files one name is spelled out and one is misspelt.
    **{"unk_token": f"{KEY}unknown_token_id", "pad_token": f"{KEY}padding_token_id"},
    "sep_token": f"{KEY}seperator_token_id",
}
"""The keys of the ids of named tokens."""

SIGNATURE = "signature"
"""A key of our own, which other readers ignore."""


def placeholder(token_id: int) -> str:
    """Return the placeholder for an unused id, as in llama.cpp's own converter."""
    return f"[PAD{token_id}]"


class PreTokenizerType(NamedTuple):
    """The meaning of a name in `tokenizer.ggml.pre`."""

    pattern: str  # canonical; "" for one that has no name here
    ignore_merges: bool = False  # whole words that are tokens are looked up before merging
    add_bos: bool = False  # the default of adding `bos_token` to sequences
    is_near: bool = False  # llama.cpp splits some texts differently


def _family(pattern: str, names: str, **flags: bool) -> dict[str, PreTokenizerType]:
    return dict.fromkeys(names.split(), PreTokenizerType(pattern, **flags))


# Not listed although they split identically: jina-v2-es, jina-v2-de and jina-v2-code, whose <mask> strips the preceding
# space.
PRE_TOKENIZERS: dict[str, PreTokenizerType] = {
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
    # The expression of o200k within the limits of std::regex, which knows no marks and no case beyond ASCII.
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
    **{each.llama_cpp: PreTokenizerType(name) for name, each in NAMED_PATTERNS.items() if each.llama_cpp},
}
"""The names of known patterns, and names that imply more than a pattern."""

NOT_BYTE_LEVEL = frozenset({"gemma4", "granite-embed-multi-311m", "sarvam-moe", "whitespace"})
"""Names with which tokens are characters, not bytes."""

# The first name of a pattern is written. Kimi's is only read: llama.cpp cuts some texts differently.
_WRITTEN = [(name, each) for name, each in PRE_TOKENIZERS.items() if each.pattern not in ("", "kimi-k2")]
_NAMES = {(each.pattern, each.ignore_merges): name for name, each in reversed(_WRITTEN)}
_USUAL = {each.pattern: name for name, each in reversed(_WRITTEN)}

PATTERNS = frozenset[str | None](_USUAL)
"""The patterns that llama.cpp has a name for."""


def pre_tokenizer_name(pattern: str | None, ignore_merges: bool | None) -> str | None:
    """Return the name of a canonical pattern, None if there is none; `ignore_merges` is None if it changes nothing.

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
_LONGEST = 1 << 10  # characters of an added token
_MAX_OVERLAPS = 1 << 16


def check_found_alike(contents: Iterable[str]) -> None:
    """Refuse added tokens that llama.cpp, which looks for the longest first, finds elsewhere than `tokenizers`.

    That finds them from left to right, at each place the longest.

    >>> check_found_alike(["<a>", "<a>b"])
    >>> check_found_alike(["<a>", "a>bc"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: added tokens '<a>' and 'a>bc': in '<a>bc' llama.cpp finds the longest first, ...
    """
    distinct = {*contents}
    ordinary, markers = _ORDINARY_BESIDE
    for other in markers:
        if {ordinary, other} <= distinct:
            raise ValueError(f"added token {ordinary!r}: llama.cpp does not find it in text if {other!r} exists, too")
    lengths = sorted({*map(len, distinct)}, reverse=True)
    for number, (text, second) in enumerate(_overlaps(sorted(distinct)), 1):
        leftmost = next(text[:length] for length in lengths if text[:length] in distinct)
        # The order of tokens with equal length is undefined.
        if number > _MAX_OVERLAPS or (second != leftmost and len(second.encode()) >= len(leftmost.encode())):
            raise ValueError(
                f"added tokens {leftmost!r} and {second!r}: in {text!r} llama.cpp finds the longest first, other "
                "libraries the one that begins first; change one of them"
            )


def _overlaps(tokens: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each text in which a token begins within another one and ends beyond it, and that token."""
    for first in tokens:
        if len(first) > _LONGEST:
            raise ValueError(f"added token {first[:40]!r}…: expected at most {_LONGEST} characters, got {len(first)}")
        for place in range(1, len(first)):
            tail = first[place:]
            for index in range(bisect_right(tokens, tail), len(tokens)):  # where what begins with it follows
                if not tokens[index].startswith(tail):
                    break
                yield first[:place] + tokens[index], tokens[index]
