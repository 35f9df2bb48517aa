"""The named patterns: one table, from which names, help, messages, GGUF names, the reference and tests follow.

A new one is a line of `NAMED_PATTERNS`; docs/contributing/add-a-pattern.md says more.
"""

from __future__ import annotations

import difflib
import re
from typing import NamedTuple

from hf_bpe.pretokenizers._stages import ByteLevel, Digits, PreTokenizer, Split, Stage


class NamedPattern(NamedTuple):
    """A pattern that has a name."""

    models: str  # the models that use it, for people
    cuts: str | tuple[Stage, ...]  # the regular expression, as `tokenizer.json` reads it; or the stages of a chain
    also: str = ""  # what else people call it: models, families, encodings of tiktoken, in lower case and without signs
    # The name that llama.cpp has for it, if that implies nothing else; what implies more is in conversion/_llama_cpp.py
    llama_cpp: str = ""


# Sources: gpt2 from OpenAI's GPT-2 release, cl100k and o200k from tiktoken, kimi-k2 from tokenization_kimi.py, the
# others from the tokenizer.json files of those models. cl100k and llama3 cut identically; both names exist because
# people look for both.
_GPT2 = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
_CL100K = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"""
    r"""|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
_O200K = (
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
    r"""|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
    r"""|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
_LLAMA3 = (
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"""
    r"""|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
_QWEN2 = (
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"""
    r"""|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
_QWEN3_5 = (
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"""
    r"""|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
_TEKKEN = (
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"""
    r"""|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"""
    r"""|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
# Kimi writes its words as `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]` and the like, but only some engines read `&&`
# as an intersection. These are the same classes, as complements of all the others, for any engine.
_KIMI_K2 = (
    r"""[\p{Han}]+"""
    r"""|[^\r\n\p{L}\p{N}]?[^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{Han}]*[^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{Han}]+"""
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
    r"""|[^\r\n\p{L}\p{N}]?[^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{Han}]+[^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{Han}]*"""
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
    r"""|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
_MINICPM5 = (
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*"""
    r"""|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
_DEEPSEEK_V3 = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    r"""| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
_CJK = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
_BY_THREE = Split(r"\p{N}{1,3}")

NAMED_PATTERNS: dict[str, NamedPattern] = {
    "gpt2": NamedPattern(
        "GPT-2, GPT-3, RoBERTa, OLMo",
        _GPT2,
        also="gpt gpt1 gpt3 r50k r50kbase p50k p50kbase p50kedit bytelevel roberta bart gptneox neox pythia olmo phi2",
    ),
    "cl100k": NamedPattern(
        "GPT-3.5, GPT-4, OLMo 2, phi-4",
        _CL100K,
        also="gpt4 gpt4turbo gpt35 gpt35turbo cl100 cl100kbase olmo2 phi4 dbrx glm4",
    ),
    "o200k": NamedPattern(
        "GPT-4o and later, gpt-oss, Llama 4",
        _O200K,
        also="gpt4o gpt4omini gpt41 gpt5 gptoss o1 o3 o4 o200 o200kbase o200kharmony llama4 minimaxm2 phi4mini",
    ),
    "llama3": NamedPattern("Llama 3", _LLAMA3, also="llama llama31 llama32 llama33 llama3instruct"),
    "qwen2": NamedPattern("Qwen2, Qwen2.5, Qwen3", _QWEN2, also="qwen qwen25 qwen3 qwen3moe"),
    "qwen3.5": NamedPattern("Qwen3.5", _QWEN3_5, also="qwen35 qwen3next"),
    "tekken": NamedPattern(
        "Mistral NeMo and later", _TEKKEN, also="mistral mistralnemo nemo pixtral ministral devstral"
    ),
    "kimi-k2": NamedPattern("Kimi K2", _KIMI_K2, also="kimi kimik2 kimik3 moonshot"),
    "gpt2-digits": NamedPattern(
        "StarCoder, SmolLM, Command R",
        (Digits(individual_digits=True), ByteLevel(use_regex=True)),
        also="starcoder starcoder2 smollm smollm2 commandr digits",
    ),
    "gpt2-numbers": NamedPattern("GPT-2, with numbers apart", (Digits(), ByteLevel(use_regex=True)), also="numbers"),
    "minicpm5": NamedPattern("MiniCPM5", (_BY_THREE, Split(_MINICPM5), ByteLevel()), also="minicpm"),
    "deepseek-v3": NamedPattern(
        "DeepSeek V3, R1",
        (_BY_THREE, Split(_CJK), Split(_DEEPSEEK_V3), ByteLevel()),
        also="deepseek deepseekv3 deepseekr1 deepseekv31",
    ),
}
"""Name → the pattern, expressions first."""

PATTERNS: dict[str, str] = {name: each.cuts for name, each in NAMED_PATTERNS.items() if isinstance(each.cuts, str)}

CHAINS: dict[str, PreTokenizer] = {
    name: PreTokenizer(each.cuts) for name, each in NAMED_PATTERNS.items() if not isinstance(each.cuts, str)
}
"""The chains with names, from the `tokenizer.json` files of StarCoder and others, MiniCPM5, and DeepSeek V3."""

NAMES = (*PATTERNS, *CHAINS)
"""The names of patterns."""

WITH_SCANNER = frozenset(
    (
        *("gpt2", "cl100k", "o200k", "llama3", "qwen2", "qwen3.5", "tekken", "kimi-k2"),
        *("gpt2-digits", "gpt2-numbers", "minicpm5", "deepseek-v3"),
    )
)
"""The names for which the native core has a scanner of its own; all others are compiled.

A scanner relies on two rules: the pattern matches all text and looks at nothing before a match; and no pre-token has a
space after another character, or any white space after a letter or number. Masks of canonical ids rely on more of these
(`hf_bpe.canonical._character_classes`).
"""

# In tokenization_kimi.py.
KIMI_K2_OF_ITS_CODE = (
    r"""[\p{Han}]+"""
    r"""|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"""
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
    r"""|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"""
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
    r"""|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)

# Other spellings of named patterns that occur in files. They cut every text identically: without `+` after the last
# `\s` no match differs, because `\s+(?!\S)` leaves one character; possessive quantifiers never had anything to give
# back.
SPELLINGS: dict[str, str] = {
    # OpenAI's GPT-2 release and most tokenizer.json files; tiktoken since 0.7 and before.
    r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""": "gpt2",
    r"""'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""": "gpt2",
    r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s""": "gpt2",
    r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++\z|\s+(?!\S)|\s""": "gpt2",
    # tiktoken's for GPT-4, before 0.7.
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]"""
    r"""|\s+(?!\S)|\s+""": "cl100k",
    KIMI_K2_OF_ITS_CODE: "kimi-k2",
}

# Pre-tokenizers as the Hub's own files spell them, which is how other libraries recognize a pattern. gpt2 and the
# chains of digits are spelled so anyway, and so are the other expressions. tokenizers 1.0 refuses minicpm5, and would
# run it with Digits first and the expression of Llama 3 last. But Digits of tokenizers 0.23 knows 13 numbers newer than
# Unicode 16.0, around which ids would differ.
HUB_SPELLINGS: dict[str | None, PreTokenizer] = {
    # GPT-3.5, OLMo 2 and phi-4: Llama 3's expression, but of the kind that keeps matches only, as it is read back.
    "cl100k": PreTokenizer((Split(_LLAMA3, "Removed", invert=True), ByteLevel())),
    "kimi-k2": PreTokenizer((Split(KIMI_K2_OF_ITS_CODE), ByteLevel())),
    # Line ends stand for themselves in this file.
    "deepseek-v3": PreTokenizer(
        (_BY_THREE, Split(_CJK), Split(_DEEPSEEK_V3.replace(r"\r", "\r").replace(r"\n", "\n")), ByteLevel())
    ),
}


def name_meant(name: str) -> str | None:
    """Return the name of the pattern that somebody probably means by another name; None if none is close.

    >>> name_meant("GPT-4o"), name_meant("cl100"), name_meant("lama3"), name_meant("words")
    ('o200k', 'cl100k', 'llama3', None)
    """
    names = {alias: name for name, pattern in NAMED_PATTERNS.items() for alias in (_plain(name), *pattern.also.split())}
    close = difflib.get_close_matches(_plain(name), names, 1, 0.75)
    return names[close[0]] if close else None


def _plain(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())
