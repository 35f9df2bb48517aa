"""Pre-tokenizers as the Hub's own files spell them, which is how other libraries recognize a pattern."""

from __future__ import annotations

from hf_bpe.pretokenizers._chains import PreTokenizer
from hf_bpe.pretokenizers._named_patterns import KIMI_K2_OF_ITS_CODE, PATTERNS
from hf_bpe.pretokenizers._patterns import CHAINS, pre_tokenizer
from hf_bpe.pretokenizers._stages import ByteLevel, Split

_NUMBERS, _SCRIPTS, _WORDS, _BYTES = CHAINS["deepseek-v3"].stages
assert isinstance(_WORDS, Split)

# gpt2 and the chains of digits are spelled so anyway, and so are the other expressions. tokenizers 1.0 refuses
# minicpm5, and would run it with Digits first and the expression of Llama 3 last. But Digits of tokenizers 0.23 knows
# 13 numbers newer than Unicode 16.0, around which ids would differ.
_SPELLED: dict[str | None, PreTokenizer] = {
    # GPT-3.5, OLMo 2 and phi-4: Llama 3's expression, but of the kind that keeps matches only, as it is read back.
    "cl100k": PreTokenizer((Split(PATTERNS["llama3"], "Removed", invert=True), ByteLevel())),
    "kimi-k2": PreTokenizer((Split(KIMI_K2_OF_ITS_CODE), ByteLevel())),
    # Line ends stand for themselves in this file.
    "deepseek-v3": PreTokenizer(
        (_NUMBERS, _SCRIPTS, Split(_WORDS.expression.replace(r"\r", "\r").replace(r"\n", "\n")), _BYTES)
    ),
}


def hub_pre_tokenizer(pattern: str | None) -> PreTokenizer:
    """Return the chain of a canonical pattern in the spelling of the Hub's files.

    >>> hub_pre_tokenizer("kimi-k2") == pre_tokenizer("kimi-k2"), hub_pre_tokenizer("qwen2") == pre_tokenizer("qwen2")
    (False, True)
    """
    return _SPELLED.get(pattern) or pre_tokenizer(pattern)
