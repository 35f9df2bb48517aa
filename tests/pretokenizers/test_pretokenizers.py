"""Named patterns split as in `tokenizers`, `tiktoken` and `transformers`, and in a limited time."""

import functools
import itertools
import random
import signal
import time

import pytest
import regex
from hypothesis import given
from tokenizers import pre_tokenizers
from transformers.convert_slow_tokenizer import TikTokenConverter
from transformers.models.qwen2.tokenization_qwen2 import PRETOKENIZE_REGEX as QWEN2

from hf_bpe.encoding._added_tokens.rules import _WORD
from hf_bpe.encoding._cuts.safe import SafeCuts
from hf_bpe.pretokenizers import CHAINS, NAMES, PATTERNS, Pattern, Split, split
from hf_bpe.pretokenizers._named_patterns import KIMI_K2_OF_ITS_CODE
from hf_bpe.pretokenizers._pattern import WHITE_SPACE
from hf_bpe.pretokenizers._regex.newer_characters import hide_newer
from hf_bpe.pretokenizers._regex.properties import _tables, unassigned
from hf_bpe.reference import pre_tokenize
from hf_bpe.reference._splitting import _seconds_for
from support.cases import case, check_refusals
from support.oracles.native_patterns import split_by_tokenizers, splitter
from support.profiles import by_profile, scaled, thorough
from support.project import ROOT, load_script
from support.samples import CODE_POINTS
from support.strategies import any_texts

pytestmark = pytest.mark.usefixtures("native")

# The planes left out hold private and unassigned code points only.
IN_USED_PLANES = [*map(chr, [*range(0xD800), *range(0xE000, 0x40000), *range(0xE0000, 0xE1000)])]
# Texts of up to four characters, of every class that any pattern names, and one that is newer than Unicode 16.0.
SHORT = [
    "".join(text)
    for size in range(by_profile(quick=4, thorough=5))
    for text in itertools.product("aA1!/' s\n\u3000\u0301\ua7cf", repeat=size)
]
# The same with the scripts that kimi-k2 and deepseek-v3 name: letters, a number, a symbol and marks.
HAN_AND_KANA = "a1! \n\x01\u4f60\u3400\u3007\u2e80\U00016ff0\u304b\u30fb\u3099\u3040"
SHORT += [
    "".join(text)
    for size in range(by_profile(quick=4, thorough=5))
    for text in itertools.product(HAN_AND_KANA, repeat=size)
]
DIGITS = {"gpt2-digits": pre_tokenizers.Digits(individual_digits=True), "gpt2-numbers": pre_tokenizers.Digits()}
# Of Unicode 17.0: `Digits` asks Rust, which knows them; our tables, and the expressions of tokenizers, do not.
NEWER_NUMBERS = dict.fromkeys([*range(0x11DE0, 0x11DEA), *range(0x16FF4, 0x16FF7)], "\ufdd0")


@functools.cache
def named_splitter(name):
    if name in DIGITS:
        return pre_tokenizers.Sequence([DIGITS[name], splitter(PATTERNS["gpt2"])])
    if name in CHAINS:
        return splitter(*(stage.expression for stage in CHAINS[name].stages[:-1]))
    return splitter(KIMI_K2_OF_ITS_CODE if name == "kimi-k2" else PATTERNS.get(name))


def split_by_name(text, name):
    spans = named_splitter(name).pre_tokenize_str(text.translate(NEWER_NUMBERS) if name in DIGITS else text)
    return [text[start:stop] for _, (start, stop) in spans]


CUSTOM = [
    (r"\d", ["ab", "1", "2", " c"]),  # gaps
    (r"(\d)|(c)", ["ab", "1", "2", " ", "c"]),  # groups
    (r"\b|\d*", ["a", "b", "12", " ", "c"]),  # empty matches cut
    (r"(?=b)", ["a", "b12 c"]),  # nothing but empty matches
    (r"^|$", ["ab12 c"]),
    (r"(?:ab12 c)*", ["ab12 c"]),  # an empty match at the end
    (None, ["ab12 c"]),
]


def test_custom_patterns_keep_what_they_do_not_match():
    for pattern, pieces in CUSTOM:
        with case(pattern):
            assert split("ab12 c", pattern) == pieces


@scaled
@pytest.mark.parametrize("name", NAMES)
def test_named_patterns_cut_all_short_texts_as_tokenizers_does(name):
    expected = [split_by_name(text, name) for text in SHORT]
    assert [split(text, name) for text in SHORT] == expected


@scaled
@pytest.mark.parametrize("name", NAMES)
def test_code_points_in_context_are_split_as_by_tokenizers(native, name):
    rng = random.Random(name)
    contexts = ["", "a", "A", "1", " ", "\n", "!", "'s", "\x01", "\u4f60", "\u304b", "\u0301"]
    sample = rng.sample(IN_USED_PLANES, by_profile(quick=13_000, thorough=len(IN_USED_PLANES)))
    characters = [*IN_USED_PLANES[:0x800], *sample]
    text = "".join(char + rng.choice(contexts) for char in characters)
    expected = [piece.encode() for piece in split_by_name(text, name)]
    assert all(native.pre_tokenize(text.encode(), name, simd=simd) == expected for simd in native.simd_names())
    assert pre_tokenize(text.encode(), name) == expected


# cl100k, as tiktoken has it today, keeps white space at the end of a text whole; no token of its vocabulary shows it.
@scaled
@pytest.mark.parametrize(
    ("name", "theirs", "end"), [("gpt2", "r50k", ""), ("cl100k", "cl100k", "!"), ("o200k", "o200k", "")]
)
def test_patterns_cut_as_those_of_tiktoken(name, theirs, end, monkeypatch):
    published = pytest.importorskip("tiktoken_ext.openai_public")
    for loader in ("load_tiktoken_bpe", "data_gym_to_mergeable_bpe_ranks"):
        monkeypatch.setattr(published, loader, lambda *args, **kwargs: {})  # they would fetch the ranks
    expression = getattr(published, f"{theirs}_base")()["pat_str"]

    compiled = regex.compile(expression)
    ended = [text + end for text in SHORT]
    expected = [[text[slice(*match.span())] for match in compiled.finditer(hide_newer(text))] for text in ended]
    assert [split(text, name) for text in ended] == expected


def test_patterns_are_those_of_transformers():
    assert PATTERNS["qwen2"] == QWEN2
    assert PATTERNS["llama3"] == TikTokenConverter().pattern


@given(any_texts)
def test_cl100k_and_llama3_cut_alike(text):
    assert split(text, "cl100k") == split(text, "llama3")


def test_white_space_is_what_tokenizers_calls_so():
    assert list(WHITE_SPACE) == split_by_tokenizers(WHITE_SPACE, r"\s")
    assert [char for char in CODE_POINTS if char.isspace() and char not in WHITE_SPACE] == list("\x1c\x1d\x1e\x1f")


def test_characters_unknown_to_unicode_16_have_no_class():
    unknown = "".join(chr(code) for first, last in unassigned() for code in range(first, last + 1))
    assert len(unknown) > 800_000
    assert split(unknown, r"[^\P{Cn}]+") == [unknown]
    assert split("a\ua7cfb 1\U00032e882", "gpt2") == ["a", "\ua7cf", "b", " 1", "\U00032e88", "2"]


@pytest.fixture(scope="module")
def generator():
    pytest.importorskip("unicodedata2")
    return load_script(ROOT / "tools" / "generate_unicode.py")


@thorough
def test_generated_tables_are_current(generator):
    assert dict(line.split(" ", 1) for line in generator.property_tables().splitlines()) == _tables()  # zlibs differ
    assert generator.render_native() == generator.NATIVE.read_text(encoding="utf-8")


@thorough
def test_generated_word_characters_are_those_of_added_tokens(generator):
    generated = generator.is_of_word
    assert [char for char in CODE_POINTS if generated(ord(char)) != bool(_WORD.match(hide_newer(char)))] == []


def test_canonical_pattern_has_one_spelling():
    spellings = [(None, None), ("none", None), (r"\w+", r"\w+"), (KIMI_K2_OF_ITS_CODE, "kimi-k2")]
    spellings += zip(NAMES, NAMES, strict=True)
    for pattern, canonical in spellings + [(expression, name) for name, expression in PATTERNS.items()]:
        with case(pattern):
            assert Pattern.parse(pattern).canonical == canonical
            if canonical not in CHAINS:
                assert Pattern.read(canonical).expression == PATTERNS.get(canonical, canonical)


def test_chains_are_no_single_expression():
    for name in CHAINS:
        with pytest.raises(ValueError, match=f"the pre-tokenizer {name} is a chain of stages"):
            _ = Pattern.read(name).expression


NO_PATTERNS = [
    (5, TypeError, "pattern: expected a name, a regular expression, a PreTokenizer, .*; got int"),
    (b"gpt2", TypeError, "got bytes"),
    ("words", ValueError, "pattern 'words' is not known: expected one of gpt2, .*, none, or a regular expression"),
    ("", ValueError, "pattern '' is not known"),
    ("(", ValueError, r"pattern '\(' cannot be used: column 1: a \( without its \); expected"),
    ("(" * 5000 + ")" * 5000, ValueError, "cannot be used: column 101: more than 100 levels"),
]


def test_canonical_pattern_refuses():
    check_refusals(NO_PATTERNS, Pattern.parse)


def assert_all_cuts_are_safe(text, name):
    pieces, data = split(text, name), text.encode()
    for place in SafeCuts(name, []).find_all(data, 1, len(data)):
        before, after = data[:place].decode(), data[place:].decode()
        assert split(before, name) + split(after, name) == pieces


@scaled
@pytest.mark.parametrize("name", NAMES)
def test_safe_cuts_do_not_change_the_pieces_of_short_texts(name):
    for text in SHORT[:: by_profile(quick=6, thorough=3)]:
        assert_all_cuts_are_safe(text, name)


def test_time_for_an_expression_grows_with_the_text():
    assert 10 <= _seconds_for(0) <= 60
    assert 100 <= _seconds_for(10**7) <= 1000


def test_lone_surrogates_are_repaired():
    assert split("a\ud800\ud83d\ude00", "gpt2") == ["a", "\ufffd😀"]


def test_expression_that_backtracks_without_end_is_stopped(monkeypatch):
    monkeypatch.setattr("hf_bpe.reference._splitting._seconds_for", lambda size: 0.2)
    with pytest.raises(ValueError, match=r"'\(\?:a\|aa\)\+b' took over 0 s for a text of \d+ characters; expected"):
        pre_tokenize(b"a" * 100, "(?:a|aa)+b")
    assert pre_tokenize(b"aab" + b"a" * 10, "(?>aa|a)+b") == [b"aab", b"a" * 10]


def test_pieces_of_a_text_share_its_time(monkeypatch):
    monkeypatch.setattr("hf_bpe.reference._splitting._seconds_for", lambda size: 0.5)
    pattern = Pattern.parse([Split(" "), Split("(?:a|aa)+b")]).canonical
    start = time.monotonic()
    pre_tokenize(b"a" * 22, pattern)  # one of the pieces below, which takes a part of the limit
    of_one = time.monotonic() - start
    with pytest.raises(ValueError, match=r"'\(\?:a\|aa\)\+b' took over 0 s for a text of \d+ characters; expected"):
        # Ten times as many as take the rest, because on a busy machine the first was slow.
        pre_tokenize(b" ".join([b"a" * 22] * (2 + int(0.5 / of_one)) * 10), pattern)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="sets a timer")
def test_timeout_of_the_caller_is_not_that_of_an_expression():
    def stop(*_):
        raise TimeoutError("by the caller")

    previous = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(TimeoutError, match="by the caller"):
            pre_tokenize(b"a" * 100, "(?:a|aa)+b")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
