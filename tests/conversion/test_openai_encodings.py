"""The expressions of OpenAI's encodings, as tiktoken defines them, are named patterns, and split alike."""

import itertools

import pytest
import tiktoken
from tiktoken_ext import openai_public

from hf_bpe import BPETokenizer

PATTERNS = {"cl100k_base": "cl100k", "o200k_base": "o200k", "o200k_harmony": "o200k"}  # gpt2 for others
TEXTS = [
    "1234567 12345678 1 22 333 4444 0.12345 ١٢٣٤٥٦٧ Ⅷ²³¹ 1234567890" * 3,
    "it's IT'S they'LL we'Ve 'ſ don'T I'm I'D 'tis",
    "  two  three   \n\n \r\n\t x \u00a0\u3000\u0085 end   ",
    "trailing spaces   \n   ",
    "\n\n\n",
    "a\u200db c\u200cd e\u0301 ﬁ İ ǅ",
    "def f(x):\n    return x**2 // 3  # (comment)\n\n\n/* a/b */",
    "Привет, мир! 你好世界 こんにちは 안녕하세요 🏳️‍🌈👩‍👩‍👧 हिन्दी العربية",
    "CamelCaseHTTPServer snake_case kebab-case …—«quoted» $1,234,567.89",
    "<|endoftext|>text<|endofprompt|><|fim_prefix|> 1234567<|endoftext|>",
]


def arguments_of(name, ranks):
    """Return the arguments of an encoding, as tiktoken defines it except for its ranks."""
    with pytest.MonkeyPatch.context() as patch:
        for loader in ("load_tiktoken_bpe", "data_gym_to_mergeable_bpe_ranks"):
            patch.setattr(openai_public, loader, lambda *args, **kwargs: ranks)
        content = openai_public.ENCODING_CONSTRUCTORS[name]()
    content.pop("explicit_n_vocab", None)
    return content


@pytest.mark.parametrize("name", openai_public.ENCODING_CONSTRUCTORS)
def test_expressions_of_encodings_split_as_in_tiktoken(name):
    pairs = {bytes(pair) for text in TEXTS for pair in itertools.pairwise(text.encode()) if pair[0] not in b"\r\n"}
    ranks = {token: rank for rank, token in enumerate([*(bytes([byte]) for byte in range(256)), *sorted(pairs)])}
    small_ids = {token: len(ranks) + place for place, token in enumerate(["<|endoftext|>", "<|endofprompt|>"])}
    encoding = tiktoken.Encoding(**{**arguments_of(name, ranks), "special_tokens": small_ids})
    tokenizer = BPETokenizer.convert_from(encoding)
    assert tokenizer.pattern == PATTERNS.get(name, "gpt2")
    expected = [encoding.encode(text, allowed_special="all") for text in TEXTS]
    assert [tokenizer.encode(text, add_special_tokens=False) for text in TEXTS] == expected
