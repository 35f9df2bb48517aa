"""OpenAI's encodings, as tiktoken defines them, give the same ids in every way to convert them."""

import itertools
import sys

import pytest
import tiktoken
from tiktoken_ext import openai_public

from hf_bpe import BPETokenizer
from support.profiles import thorough

# The ranks of tiktoken's other files are not at hand: gpt2's are those of r50k_base, and p50k's are the same but for
# some tokens of spaces, so that r50k's show whether their expression is read as tiktoken reads it.
OTHER_RANKS = {"gpt2": "r50k_base", "p50k_base": "r50k_base", "p50k_edit": "r50k_base", "o200k_harmony": "o200k_base"}
NAMES = {"r50k_base": "gpt2", "cl100k_base": "cl100k", "o200k_base": "o200k"}
QUICK = ("r50k_base",)

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


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=() if name in QUICK else thorough) for name in openai_public.ENCODING_CONSTRUCTORS
    ],
)
def encoding(request, test_data):
    file = test_data / f"tiktoken/{OTHER_RANKS.get(request.param, request.param)}.tiktoken"
    arguments = arguments_of(request.param, tiktoken.load.load_tiktoken_bpe(str(file)))
    if request.param == "o200k_harmony":  # where <|endofprompt|> has a second name, which no tokenizer.json can express
        with pytest.raises(ValueError, match="have the same id, 200018"):
            BPETokenizer.convert_from(tiktoken.Encoding(**arguments))
        del arguments["special_tokens"]["<|reserved_200018|>"]
    return tiktoken.Encoding(**arguments)


@pytest.fixture(scope="module")
def tokenizer(encoding):
    return BPETokenizer.convert_from(encoding)


def ids_of_tiktoken(encoding):
    return [encoding.encode(text, allowed_special="all") for text in TEXTS]


def ids_of(tokenizer):
    return [tokenizer.encode(text, add_special_tokens=False) for text in TEXTS]


@pytest.mark.parametrize("name", openai_public.ENCODING_CONSTRUCTORS)
def test_expressions_of_encodings_split_as_in_tiktoken(name):
    pairs = {bytes(pair) for text in TEXTS for pair in itertools.pairwise(text.encode()) if pair[0] not in b"\r\n"}
    ranks = {token: rank for rank, token in enumerate([*(bytes([byte]) for byte in range(256)), *sorted(pairs)])}
    small_ids = {token: len(ranks) + place for place, token in enumerate(["<|endoftext|>", "<|endofprompt|>"])}
    encoding = tiktoken.Encoding(**{**arguments_of(name, ranks), "special_tokens": small_ids})
    assert ids_of(BPETokenizer.convert_from(encoding)) == ids_of_tiktoken(encoding)


def test_encodings_in_memory_keep_their_ids(encoding, tokenizer):
    assert ids_of(tokenizer) == ids_of_tiktoken(encoding)
    assert tokenizer.pattern == NAMES[OTHER_RANKS.get(encoding.name, encoding.name)]


def test_encodings_written_for_tiktoken_keep_their_ids(encoding, tokenizer, tmp_path):
    file = tmp_path / "x.tiktoken"
    tokenizer.convert_to(file)
    assert tiktoken.load.load_tiktoken_bpe(str(file)) == encoding._mergeable_ranks
    assert ids_of(BPETokenizer.convert_from(file)) == ids_of_tiktoken(encoding)


def test_names_of_tiktoken_say_that_they_need_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(FileNotFoundError, match=r"no file or folder 'cl100k_base'; .* pip install tiktoken"):
        BPETokenizer.convert_from("cl100k_base")
