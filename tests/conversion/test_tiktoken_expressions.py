"""Expressions of tiktoken: any gives the ids that tiktoken gives, or is refused by name, read or written."""

import itertools

import pytest
import tiktoken
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tiktoken_ext import openai_public
from tokenizers import Regex, pre_tokenizers

from hf_bpe import BPEModel, BPETokenizer
from hf_bpe.conversion import FORMATS, Definition
from hf_bpe.pretokenizers import PATTERNS, Pattern, split
from support.oracles.tiktoken_matches import matches_of_tiktoken
from support.profiles import by_profile
from support.strategies import BYTES, texts

SAME = [
    *PATTERNS,
    r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?i:'s|k)|\p{Han}+|\d+|\D",
    r"a*+[^a]|a+",
    r"[\s\S&&[^a]]|a",
]


@pytest.fixture(scope="module")
def write(tmp_path_factory):
    """Return a function that writes a model with a pattern."""
    path = tmp_path_factory.mktemp("x") / "x.tiktoken"
    return lambda pattern: FORMATS["tiktoken"].write(
        Definition(BPEModel.of(BYTES, [], [], Pattern.read(pattern))), path
    )


@pytest.mark.parametrize("pattern", SAME)
def test_common_expressions_are_written(write, pattern):
    write(pattern)


@given(st.sampled_from(SAME[len(PATTERNS) :]), texts.filter(lambda text: 0 < len(text) < 40))
def test_written_expressions_split_any_text_alike(pattern, text):
    assert matches_of_tiktoken(text, pattern) == split(text, pattern)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"\w+|\W", r"has '\\\\w', which tiktoken may read differently"),  # there with joiners
        (r"\p{L}+", "may leave text between its matches, such as ' '"),
        (r"\p{L}*|\P{L}", "may match no character"),
        (r"[a-z--b]|[\s\S]", "has '-- in a class', which tiktoken may read differently"),
        (r"^a|.|\n", "may read differently"),
        (r"a$|.|\n", "may read differently"),
        (r"\p{N}{1,3}+|\P{N}", "may read differently"),
        (r"[[:alpha:]]|.|\n", "may read differently"),
        (r"(?m:.)|\n", "may read differently"),
    ],
)
def test_other_expressions_are_refused_by_name(write, pattern, message):
    with pytest.raises(ValueError, match=message):
        write(pattern)


NAMES = {"cl100k_base": "cl100k", "o200k_base": "o200k", "o200k_harmony": "o200k"}  # gpt2 for others
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
    assert tokenizer.pattern == NAMES.get(name, "gpt2")
    expected = [encoding.encode(text, allowed_special="all") for text in TEXTS]
    assert [tokenizer.encode(text, add_special_tokens=False) for text in TEXTS] == expected


ALPHABET = "ab1 \n'"
# All strings of two and three of these characters are tokens, so ids show where a text was cut.
RANKS = {bytes([byte]): byte for byte in range(256)}
for length in (2, 3):
    for characters in itertools.product(ALPHABET, repeat=length):
        RANKS["".join(characters).encode()] = len(RANKS)
WHOLE = tiktoken.Encoding("whole", pat_str=r"[\s\S]+", mergeable_ranks=RANKS, special_tokens={})
_LEAVES = r"""
a b 1 ' A . \n \r \s \S \d \D \w \W ab b1 \p{L} \p{N} \P{L} \p{Lu} \pL [ab] [^ab] [^\s1] [\p{L}\s] [a-b1]
[^\r\n\p{L}] ^ $ \b \B \A \z \Z é [[:alpha:]] [a&&b] \h \x61 \x{62} \' #
"""
_REPEATS = "* + ? *? +? ?? *+ ++ ?+ {2} {1,3} {1,} {,2} {2}? {1,3}? {1,3}+ {2}+ {1,}+"
_GROUPS = "(?:{}) ({}) (?i:{}) (?s:{}) (?m:{}) (?x:{}) (?>{}) (?={}) (?!{}) (?<={}) (?<!{})"
LEAVES, REPEATS, GROUPS = [*_LEAVES.split(), " "], _REPEATS.split(), _GROUPS.split()
FLAGS = ("", "", "", "(?i)", "(?s)", "(?m)", "(?x)", "(?im)")


def expressions():
    parts = st.recursive(
        st.sampled_from(LEAVES),
        lambda inner: st.one_of(
            st.builds("{}{}".format, inner, inner),
            st.builds("{}{}".format, inner, st.sampled_from(REPEATS)),
            st.builds("(?:{}){}".format, inner, st.sampled_from(REPEATS)),
            st.builds("(?:{}|{})".format, inner, inner),
            st.builds(str.format, st.sampled_from(GROUPS), inner),
        ),
        max_leaves=6,
    )
    whole = st.lists(parts, min_size=1, max_size=3).map("|".join)
    return st.builds("{}{}{}".format, st.sampled_from(FLAGS), whole, st.sampled_from(["", "", r"|\s+(?!\S)|\s+|\S"]))


SHORT_TEXTS = st.text(st.sampled_from("aabb11  \n\n'A#é\r\u2028"), max_size=12)


def ids_of_tiktoken(encoding, text):
    try:
        return encoding.encode(text, disallowed_special=())
    except BaseException as error:  # a match of nothing is a panic there
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        return None


@settings(max_examples=by_profile(quick=150, thorough=5000), deadline=None)
@given(expressions(), st.lists(SHORT_TEXTS, min_size=1, max_size=6))
@example(r"[\W1]+|\w", ["ab 1"])
def test_ids_are_those_of_tiktoken(expression, texts):
    try:
        encoding = tiktoken.Encoding("random", pat_str=expression, mergeable_ranks=RANKS, special_tokens={})
    except ValueError:  # tiktoken does not take it
        assume(False)
    try:
        tokenizer = BPETokenizer.convert_from(encoding)
    except ValueError:
        assume(False)
    for text in texts:
        expected = ids_of_tiktoken(encoding, text)
        if expected is not None:
            assert tokenizer.encode(text) == expected, (expression, tokenizer.model.pattern, text)


@settings(max_examples=by_profile(quick=100, thorough=3000), deadline=None)
@given(expressions(), st.lists(SHORT_TEXTS, min_size=1, max_size=6))
def test_accepted_pattern_cuts_as_tokenizers_and_tiktoken_do(expression, texts):
    """It is read as tokenizer.json reads it; what tiktoken takes as well and reads otherwise is refused."""
    try:
        chosen = BPETokenizer.train(["a"], num_merges=0, pattern=expression).model.pattern
        encoding = tiktoken.Encoding("random", pat_str=expression, mergeable_ranks=RANKS, special_tokens={})
        plain = pre_tokenizers.Split(Regex(expression), "isolated")
    except ValueError:
        assume(False)
    except Exception:  # of Oniguruma
        assume(False)
    for text in texts:
        pieces = [piece for piece, _ in plain.pre_tokenize_str(text)]
        assert split(text, chosen) == pieces, (expression, text)
        ids = ids_of_tiktoken(encoding, text)
        covered = "".join(pieces) == text if ids is None else encoding.decode(ids) == text
        if ids is not None and covered:
            assert ids == [token for piece in pieces for token in WHOLE.encode(piece)], (expression, text)
