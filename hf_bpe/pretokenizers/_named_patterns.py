"""The expressions of named patterns, and other spellings of them that occur in files."""

from __future__ import annotations

import difflib
import re

# Sources: gpt2 from OpenAI's GPT-2 release, cl100k and o200k from tiktoken, kimi-k2 from tokenization_kimi.py, the
# others from the tokenizer.json files of those models. cl100k and llama3 cut identically; both names exist because
# people look for both.
PATTERNS: dict[str, str] = {
    "gpt2": r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""",
    "cl100k": (
        r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"""
        r"""|\s*[\r\n]+|\s+(?!\S)|\s+"""
    ),
    "o200k": (
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
        r"""|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
        r"""|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
    ),
    "llama3": (
        r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"""
        r"""|\s*[\r\n]+|\s+(?!\S)|\s+"""
    ),
    "qwen2": (
        r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"""
        r"""|\s*[\r\n]+|\s+(?!\S)|\s+"""
    ),
    "qwen3.5": (
        r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"""
        r"""|\s*[\r\n]+|\s+(?!\S)|\s+"""
    ),
    "tekken": (
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"""
        r"""|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"""
        r"""|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
    ),
    # Kimi writes its words as `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]` and the like, but only some engines read
    # `&&` as an intersection. These are the same classes, as complements of all the others, for any engine.
    "kimi-k2": (
        r"""[\p{Han}]+"""
        r"""|[^\r\n\p{L}\p{N}]?[^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{Han}]*[^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{Han}]+"""
        r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
        r"""|[^\r\n\p{L}\p{N}]?[^\p{Ll}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{Han}]+[^\p{Lu}\p{Lt}\p{N}\p{P}\p{S}\p{Z}\p{C}\p{Han}]*"""
        r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
        r"""|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
    ),
}

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
    # minbpe.
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]"""
    r"""|\s+(?!\S)|\s+""": "cl100k",
    KIMI_K2_OF_ITS_CODE: "kimi-k2",
}

# By what else people look for them: models, families, encodings of tiktoken. In lower case, without signs.
_ALSO_CALLED: dict[str, str] = {
    "gpt2": "gpt gpt1 gpt3 r50k r50kbase p50k p50kbase p50kedit bytelevel roberta bart gptneox neox pythia olmo phi2",
    "cl100k": "gpt4 gpt4turbo gpt35 gpt35turbo cl100 cl100kbase olmo2 phi4 dbrx glm4",
    "o200k": "gpt4o gpt4omini gpt41 gpt5 gptoss o1 o3 o4 o200 o200kbase o200kharmony llama4 minimaxm2 phi4mini",
    "llama3": "llama llama31 llama32 llama33 llama3instruct",
    "qwen2": "qwen qwen25 qwen3 qwen3moe",
    "qwen3.5": "qwen35 qwen3next",
    "tekken": "mistral mistralnemo nemo pixtral ministral devstral",
    "kimi-k2": "kimi kimik2 kimik3 moonshot",
    "gpt2-digits": "starcoder starcoder2 smollm smollm2 commandr digits",
    "gpt2-numbers": "numbers",
    "minicpm5": "minicpm",
    "deepseek-v3": "deepseek deepseekv3 deepseekr1 deepseekv31",
}
_MEANT = {other: name for name, others in _ALSO_CALLED.items() for other in others.split()}


def name_meant(name: str) -> str | None:
    """Return the name of the pattern that somebody probably means by another name; None if none is close.

    >>> name_meant("GPT-4o"), name_meant("cl100"), name_meant("lama3"), name_meant("words")
    ('o200k', 'cl100k', 'llama3', None)
    """
    plain = re.sub("[^a-z0-9]", "", name.lower())
    known = {**_MEANT, **{re.sub("[^a-z0-9]", "", each): each for each in _ALSO_CALLED}}
    close = difflib.get_close_matches(plain, known, 1, 0.75)
    return known[close[0]] if close else None
