"""Expressions split as in `tokenizers`, or are refused with the construct and its column."""

import itertools
import random
import re
import sys

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from hf_bpe.pretokenizers import PATTERNS, Pattern, Split, split
from hf_bpe.pretokenizers._native_splitting import splits_natively
from hf_bpe.pretokenizers._regex import parser
from hf_bpe.pretokenizers._regex.properties import POSIX, PROPERTIES, case_variants, cased_characters
from hf_bpe.pretokenizers._regex.translate import write
from hf_bpe.reference import pre_tokenize
from support.cases import case
from support.models.model_families import FAMILIES
from support.oracles.native_patterns import native_pieces, split_by_tokenizers
from support.profiles import by_profile, scaled, thorough
from support.project import ROOT
from support.samples import CODE_POINTS
from support.strategies import texts

pytestmark = pytest.mark.usefixtures("native")

# Beyond these planes there are private and unassigned code points only.
EVERYTHING = "".join(
    map(chr, [*range(0xD800), *range(0xE000, 0x34000), *range(0xE0000, 0xE1000), *range(0x10FFF0, 0x110000)])
)
# Texts of up to four characters, with all that matters to an anchor, a class or a folding.
SHORT = ["".join(text) for size in range(4) for text in itertools.product("ab1 \n'.é\u00b2", repeat=size)]
CASED = ["s", "S", "\u017f", "k", "\u212a", "\u00df", "ss", "sS", "st", "\ufb06", "i", "I", "\u0130", "\u0131", "'S"]
CASED += ["\u00b5", "\u03bc"]
NASTY = [
    "Hello, you're HERE  42",
    "a  1\t\n\n  b\r\n \r\n",
    "'S'\u017f'LL'll'\u212a \u2019s",
    "I've 1234567 12.345.678,90 x\u00b2 \u2167\u0663\u3007",
    "\u4f60\u597d\u3001\u4e16\u754c\uff01\u3042\u30a2\u30fc \ud55c\uad6d\uc5b4 \u0e33 \u0928\u092e\u0938\u094d",
    "e\u0301 \u00e9\u00c9 \u01c5 \u02b0 \u0295\u0252 \ua7cf\U00032e88\u0378\ue000\ufdd0",
    "(\u0964|\u3002,\u060c\u06d4)[x].,!?\u2026",
    "   \u3000\u00a0 \u2028\u2029\x85\x0b\x0c x",
    "$x^2 + <y>= `z` | ~w\\ {1}\n#\n",
    "\U0001f44b\U0001f3fd\u200d\ufe0f_a_b\u200c",
    "\n",
    "",
]


def assert_equal_pieces(expression, samples, suffix=""):
    """Check the pieces of the reference and of the core, which get the expression with the suffix."""
    expected = [split_by_tokenizers(text, expression) for text in samples]
    pattern = Pattern(expression + suffix)
    assert [[piece.decode() for piece in pre_tokenize(text.encode(), pattern)] for text in samples] == expected
    if r"\G" not in expression:  # the only construct that the core refuses
        assert [native_pieces(text, pattern) for text in samples] == expected


# One of each construct, two spaces apart.
CONSTRUCTS = r"""
a  \.  \x{61}  \x61  \u0061  \n  \r|\t|\f|\v|\a|\e|\0|\012  \'  \é  a{  a{,}  ab|a  (?#c\))a  a(?#c)+  a||b  a|
[ab]  [^ab]  [a-c1-2]  [-a]  [a-]  [a-c-1]  [a\-c]  [\x{61}-\x{7a}]  [\b\n]  [ -']  [!--]  [a-&&b]
[a[b1]]  [^a[b1]]  [a-z&&[^b]]  [a-z&&a-b&&b]  [^(\s|[.,])]  [\s\S]  [^\s\S]  [a&&]  [\w&&[^\d]]  [^\p{L}\P{L}]
[[:alpha:]]  [[:^alpha:]]  [[:alpha]]  [^[:space:]1]  [[:digit:][:punct:]]
\s  \S  \d  \D  \w  \W  \h  \H  \R  .  \p{L}  \P{L}  \p{^L}  \P{^L}  \p{Word}  \P{Word}  \p{ l-l }
(a)  (?:a|b)  (?>a|ab)b  (?<name>a)b  (?'name'a)  ()  (?:)  (a|)  (?:^|a)  ((a)b)+
a*  a+  a?  a*?b  a+?b  a??b  a*+a  a++b  a?+a  a**  a+?+  (?:a+?)*b  (?:|a)+  (?:a|)*b  ()*  ab+  (?:ab)+
a{2}  a{1,2}  a{,2}  a{2,}  a{1,2}?b  a{2}?  a{2}+  a{1,2}+b  a{2,1}  a{2,1}a  a{0}  a{1}  a{0}b  ab{2}  a{2}{1,2}
(?i)A|B  a(?i)B|É  (?i:B)b  (?-i:B)  (?i:a(?-i:B))  (?m:.)  (?m).  (?x) a b # c  (?x:a +)  (?mi-x:.)  b|a(?m).|b
^  $  ^a  a$  \A  \z  \Z  \Aa  a\z  a\Z  \b  \B  \ba  a\B  \G  \Ga  \Ga|(?=b)  ^$  \n^  $\n
(?=a)  (?!a)  (?<=a)  (?<!a)  (?<=a|1b)b  (?<!^)a  (?<=a{2})  (?<=\ba)  a(?=b$)  (?=a(?!b))  (?<=(a))b  (?<=a(?m:.))b
(?<=1(a|ab))b  (?<!1(?:a|bb))b  (?<=(a|b1){2})a  (?<=(?:(?:a|b1)a|b){2})1  (?<=(?:^|aa)b)1
x?  (?=a)|b  \b|a  a*|b  (?:a|b?)*  (a?)*?1  (?:a*)*  \s+(?!\S)|\s+  \s+$  (?=(\d{3})+(?!\d))
"""


@pytest.mark.parametrize("line", ["", *CONSTRUCTS.strip().split("\n")])
def test_constructs_split_as_tokenizers_does(line):
    for expression in line.split("  "):
        with case(expression):
            assert_equal_pieces(expression, SHORT)


def test_look_behind_has_up_to_1000_alternatives_of_lengths():
    expression = "(?<={})c"
    split("ac", expression.format("(?:a|bc)" * 9))
    split("ac", expression.format("(?:a|b)" * 99))  # all of one length
    with pytest.raises(ValueError, match="a look-behind has over 1000 alternatives"):
        split("ac", expression.format("(?:a|bc)" * 10))


def test_what_regex_would_take_long_to_compile_is_refused():
    write(parser.parse("(?:" * 15 + "ab" + ")++" * 15))
    with pytest.raises(ValueError, match="nested repetitions that the package regex expands to over 262144 nodes"):
        write(parser.parse("(?:" * 16 + "ab" + ")++" * 16))
    spelled_out = r"[ʕ\p{N}]"
    assert len(write(parser.parse(spelled_out + r"\p{L}" * 50)).expression) > 450_000
    with pytest.raises(ValueError, match="its classes are over 500000 characters long"):
        write(parser.parse(spelled_out + r"\p{L}" * 60))


UNDER_I = r"""
s  k  i  I  µ  é  \x{73}  \x73  [s]  [a-z]  [^a-r]  [i]  s+  's|'t  (?:s|t)t  s(?-i:s)  [^\0-r]  s(?=k)
(?:'s|'t|'re|'ve|'m|'ll|'d)
"""


def test_characters_under_i_match_as_in_tokenizers():
    for expression in UNDER_I.split():
        with case(expression):
            pairs = map("".join, itertools.product(CASED, repeat=2))
            assert_equal_pieces(f"(?i){expression}", [*pairs, "".join(CASED)])


@scaled
def test_case_variants_are_those_of_tokenizers():
    text = cased_characters()
    characters = [char for char in text if len(char.casefold()) == 1]
    for char in characters[:: by_profile(quick=40, thorough=1)]:
        pieces = pre_tokenizers.Split(Regex(f"(?i){char}"), "removed", invert=True).pre_tokenize_str(text)
        assert sorted(case_variants(char)) == sorted("".join(piece for piece, _ in pieces))


def assert_same_members(one_of):
    expression = f"{one_of}+"
    kept = pre_tokenizers.Split(Regex(expression), "removed", invert=True).pre_tokenize_str(EVERYTHING)
    members = [piece for piece, _ in kept]
    pattern = Pattern.parse([Split(expression, "Removed", invert=True)]).canonical
    assert split(EVERYTHING, pattern) == members
    assert [piece.decode() for piece in pre_tokenize(EVERYTHING.encode(), pattern)] == members


@pytest.mark.parametrize("one_of", [r"\w", r"\s", r"\p{L}", "[[:punct:]]"])
def test_common_class_has_the_members_that_tokenizers_gives_it(one_of):
    assert_same_members(one_of)


@thorough
@pytest.mark.parametrize("part", range(12))  # for several processes
def test_each_class_has_the_members_that_tokenizers_gives_it(part):
    names = [*PROPERTIES, *POSIX, "Any", "Uppercase_Letter", "old italic"]
    classes = [r"\S", r"\d", r"\D", r"\W", r"\h", r"\H", r"[\w]", r"[\W]", r"[^\w\s]", "."]
    classes += [rf"\p{{{name}}}" for name in names]
    classes += [f"[[:{sign}{name}:]]" for name in POSIX for sign in ("", "^")]
    for one_of in classes[part::12]:
        with case(one_of):
            assert_same_members(one_of)


@pytest.mark.parametrize(
    "one_of", [r"[\x{20000}-\x{3ffff}\p{Lu}]", r"[ʕ\p{N}]", r"[^\u0250-\u0294\s]", r"[\u1ab0-\u1aff]"]
)
def test_named_characters_newer_than_unicode_16_are_told_apart(one_of):
    assert_same_members(one_of)


CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
ENDING = r"\s*[\r\n]+|\s+(?!\S)|\s+"
CL100K_POSSESSIVE = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+"
CASED_WORDS = r"[^\r\n\p{L}\p{N}]?((?=[\p{L}%s])([^a-z]))%s((?=[\p{L}%s])([^A-Z]))%s"
DEEPSEEK_SYMBOLS = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
IN_USE = {
    **PATTERNS,
    **{
        f"{name}, stage {number}": stage.expression
        for name, family in FAMILIES.items()
        for number, stage in enumerate(family.pre_tokenizer)
        if isinstance(stage, Split) and stage.expression not in PATTERNS.values()
    },
    "cl100k possessive": CL100K_POSSESSIVE + r"+|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "minicpm": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|" + ENDING,
    "deepseek v3": DEEPSEEK_SYMBOLS
    + "|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
    "deepseek llm newlines": "[\r\n]",
    "deepseek llm letters": r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿ𞤀-𞥃]+",
    "laguna": r"[^\n]+|[\n]+",
    "falcon punctuation": r"[\p{P}\$\+<=>\^~\|`]+",
    "seed coder": CONTRACTIONS
    + "|[^\r\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\r\n]+|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
    "jais": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
    r"\s{512}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1}",
    "exaone": CONTRACTIONS
    + r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|"
    + ENDING,
    "youtu": "[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥\u3040-ゟ゠-ヿ]+",
    "chameleon": r"[\p{P}!-/:-@\[-`{-~]",
    # Beyond these, llama.cpp has its own ways to write some of them (src/llama-vocab.cpp).
    "chameleon sentinels": "<sentinel:[0-9]+>",
    "chameleon images": "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
    "chameleon spaces": "([\t\n]|    |  )",
    "llama.cpp default": r"[\p{P}\$\+<=>\^~\|]+",
    "llama.cpp o200k": CASED_WORDS % ("", "*", "", "+")
    + f"{CONTRACTIONS}?|"
    + CASED_WORDS % ("", "+", "", "*")
    + CONTRACTIONS,
    "llama.cpp granite": CASED_WORDS % (r"\p{M}", "*", r"\p{M}", "+")
    + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|"
    + ENDING,
    "afmoe": "[一-鿿㐀-䶿豈-﫿぀-ゟ゠-ヿ･-ﾟ⼀-⿟เ-๿຀-໿ក-៿က-႟ꩠ-ꩿꧠ-꧿가-힯ᄀ-ᇿ]+",
    "whitespace": r"\S+",
    "ufakzeka": rf"[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{ENDING}",
}


# Named ones are translated by the property below, and cut these texts by name in test_pretokenizers.py.
UNNAMED = {expression: name for name, expression in IN_USE.items() if name not in PATTERNS}


@pytest.mark.parametrize("expression", UNNAMED, ids=UNNAMED.values())
def test_expression_in_use_splits_as_tokenizers_does(expression):
    assert_equal_pieces(expression, [*NASTY, *SHORT], "(?#)")  # with which it has no name, so it is compiled


@given(texts, st.sampled_from([*IN_USE.values()]))
def test_expressions_in_use_split_any_text_as_tokenizers_does(text, expression):
    assert_equal_pieces(expression, [text], "(?#)")


def test_expressions_in_use_are_native(native):
    assert Pattern.parse([Split(IN_USE["Kimi K2, stage 0"])]).name == "kimi-k2"
    assert not [name for name, each in IN_USE.items() if not splits_natively(Pattern.parse([Split(each)]))]


LITERALS = ["a", "b", "s", "k", "A", "K", "1", " ", r"\.", r"\n", "-", "é", "中", r"\x{62}", r"\u0063"]
ESCAPES = [r"\s", r"\S", r"\w", r"\W", r"\d", r"\h", r"\p{L}", r"\P{N}", r"\p{^Lu}", r"\p{Han}", r"\R", "."]
ANCHORS = ["^", "$", r"\b", r"\B", r"\A", r"\z", r"\Z", r"\G", "(?#c)"]
QUANTIFIERS = [
    *("", "", "", "*", "+", "?", "*?", "+?", "??", "*+", "++", "?+"),
    *("{2}", "{,2}", "{1,}", "{1,2}?", "{1,2}+", "{2,1}", "{2}?"),
]
MEMBERS = ["a", "s", "k", "1", "-", "^", "|", "é", "a-c", "A-Z", r"\s", r"\W", r"\p{L}", "[:alpha:]", "&&"]
GROUPS = ["(", "(?:", "(?>", "(?i:", "(?m:", "(?x:", "(?-i:", "(?i)(?:", "(?=", "(?!", "(?<=", "(?<!", "(?<n>"]
CHARACTERS = "aabcsSkKA\u017f\u212a1 \n\r.-é中\u00b2\u0301|^\u0295"
_members = st.lists(st.sampled_from(MEMBERS), min_size=1, max_size=4).map("".join)
_classes = st.recursive(
    st.builds("[{}{}]".format, st.sampled_from(["", "^"]), _members),
    lambda inner: st.builds("[{}{}{}]".format, st.sampled_from(["", "^"]), _members, inner),
    max_leaves=3,
)
_atoms = st.one_of(*map(st.sampled_from, (LITERALS, LITERALS, ESCAPES)), _classes, st.sampled_from(ANCHORS))
expressions = st.recursive(
    st.builds("{}{}".format, _atoms, st.sampled_from(QUANTIFIERS)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map("|".join),
        st.builds("{}{}){}".format, st.sampled_from(GROUPS), inner, st.sampled_from(QUANTIFIERS)),
    ),
    max_leaves=8,
)
_short_texts = st.text(st.sampled_from(CHARACTERS), min_size=1, max_size=10)


@given(expressions, st.lists(_short_texts, min_size=1, max_size=4))
def test_any_expression_splits_as_tokenizers_does_or_is_refused(expression, samples):
    try:
        Pattern.parse(f"{expression}(?#)")
    except ValueError:
        assume(False)
    assert_equal_pieces(f"{expression}(?#)", samples)


def test_long_atomic_repetitions_and_deep_groups_are_split():
    def deep(levels, expression):
        return deep(levels - 1, expression) if levels else native_pieces("ab", Pattern(expression))

    assert native_pieces("a" * 302 + "b", Pattern("(?>a{0,300})b")) == ["aa", "a" * 300 + "b"]
    # Where the calling code has used most of the stack, there is no program.
    assert deep(600, "(?>b?(?:a|" * 48 + "b" + "))" * 48) in (["a", "b"], None)


def test_an_automaton_with_many_states_needs_little_memory():
    resource = pytest.importorskip("resource")
    letters = random.Random(1)
    text = "".join(letters.choice("ab") for _ in range(100_000))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pieces = native_pieces(text, Pattern("[ab]*a[ab]{150}(?#)"))
    assert "".join(pieces) == text
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << (20 if sys.platform == "darwin" else 10)


@given(st.text(st.sampled_from("ab1^$|.*+?{},()[]-&\\spxb:=!<#i \n")))
def test_any_text_is_an_expression_for_tokenizers_or_refused(expression):
    try:
        parser.parse(expression)
    except ValueError:
        assume(False)
    assert_equal_pieces(f"{expression}(?#)", ["ab1 \n"])


REFUSED = [
    (r"(a)\1", 4, r"\1, a back-reference"),
    (r"(?<n>a)\k<n>", 8, r"\k, a back-reference"),
    (r"a\g<0>", 2, r"\g, a call of a group"),
    (r"(?(1)a|b)", 1, "a condition (?(1)"),
    (r"(?~ab)", 1, "an absent operator (?~ab)"),
    (r"(?{x})", 1, "a callout (?{x})"),
    (r"(*FAIL)", 1, "a callout (*"),
    (r"a\Kb", 2, r"\K"),
    (r"\X", 1, r"\X, a text segment"),
    (r"\y", 1, r"\y, a text segment"),
    (r"\N", 1, r"\N, an escape for any character"),
    (r"\O", 1, r"\O, an escape for any character"),
    (r"\Q", 1, r"\Q"),
    (r"\cA", 1, r"\c"),
    (r"(?r)a", 1, "the group or option (?r)"),
    (r"(?s:.)", 1, "the group or option (?s:.)"),
    (r"(?P<n>a)", 1, "a named group (?P<n>a)"),
    (r"(?i)a\pL", 6, r"\p without braces"),
    (r"\p{Klingon}", 1, "the property 'Klingon'"),
    (r"\p{L", 1, "the property ''"),
    (r"[[:foo:]]", 2, "[:foo:] is not a POSIX class"),
    (r"[a-\d]", 3, "a range whose end"),
    (r"[b-a]", 3, "a range whose end"),
    (r"[\d-a]", 4, "a range that starts with a set"),
    (r"[]a]", 1, "a class that begins with ]"),
    (r"a[b", 2, "a class without its end"),
    (r"[^a[^\P{N}\P{L}]]", 1, "a negated class of ASCII"),
    (r"a\x", 2, r"\x without its digits"),
    (r"\u{61}", 1, r"\u without its digits"),
    (r"\xe9", 1, r"\xe9 is one byte of UTF-8"),
    (r"\x{110000}", 1, "U+110000 is not a character"),
    (r"\ud800", 1, "U+D800 is not a character"),
    ("a\\", 2, "a lone \\"),
    (r"(a", 1, "a ( without its )"),
    (r"a)", 2, "a ) without its ("),
    (r"(?#a", 1, "a comment without its end"),
    (r"*a", 1, "nothing before * to repeat"),
    (r"{1}", 1, "nothing before { to repeat"),
    (r"^*", 2, "a repetition of an anchor"),
    (r"(?:a|$)+", 8, "a repetition of an anchor"),
    (r"(?:ab){1}+", 10, "a repetition after {1}"),
    (r"a{100001}", 2, "a repetition of over 100000"),
    (r"(?:a|b?){2}", 9, "a counted repetition of what may be empty"),
    (r"\b.+", 1, "an anchor or look-ahead before . repeated"),
    (r"(?:(?=a)|b).*", 1, "an anchor or look-ahead before . repeated"),
    (r"(?<=a*)b", 6, "a repetition of varying length in a look-behind"),
    (r"(?<!(a))b", 5, "a capturing group in a negative look-behind"),
    (r"(?<=a(?=b))", 6, "(?= in a look-behind"),
    (r"(?i)ss", 6, "ss under (?i), which is also a single character"),
    (r"(?i)s(?:t)", 9, "st under (?i), which is also a single character"),
    ("(?i)ß", 5, "ß under (?i), which is also several characters"),
    ("(?i)[aß]", 5, "a class with ß under (?i)"),
    (r"(?i)[\p{L}]", 5, "a class with a property under (?i)"),
    ("(" * 200 + ")" * 200, 101, "more than 100 levels"),
]


def test_construct_is_refused_with_its_name_and_column():
    for expression, column, what in REFUSED:
        with case(expression), pytest.raises(ValueError, match=re.escape(f"column {column}: {what}")):
            parser.parse(expression)


def test_refused_expressions_of_the_reference():
    page = (ROOT / "docs/reference/pretokenizers.md").read_text(encoding="utf-8")
    table, _, rest = page.partition("## Expressions that are refused\n")[2].partition("\nNeither ")
    rows = [row.split(" | ")[-1] for row in re.findall(r"^\|.*\|$", table, re.MULTILINE)]
    ours, none = (re.findall(r"`([^`]+)`", text) for text in ("".join(rows), rest.partition("\n## ")[0]))
    for expression in (each.replace(r"\|", "|") for each in ours):
        pre_tokenizers.Split(Regex(expression), "isolated")  # takes it
        with pytest.raises(ValueError, match="cannot be used: column"):
            Pattern.parse(expression)
    for expression in none:
        with pytest.raises(Exception, match="Oniguruma error"):
            Regex(expression)
        with pytest.raises(ValueError, match="cannot be used: column"):
            Pattern.parse(expression)
    missing = {rf"\{char}" for char in parser._UNSUPPORTED_ESCAPES if not char.isdigit()}
    missing |= {f"(?{char}" for char in parser._UNSUPPORTED_GROUPS}
    assert [construct for construct in missing if not any(construct in each for each in (*ours, *none))] == []


@scaled
def test_every_code_point_of_an_expression_survives():
    for char in CODE_POINTS[:: by_profile(quick=997, thorough=31)]:
        if char not in "1_" and not "\ud800" <= char <= "\udfff":
            written = rf"\x{{{ord(char):x}}}"
            assert split(f"1{char}_", written) == split(f"1{char}_", f"[{written}]") == ["1", char, "_"]


def test_text_is_masked_only_for_properties():
    assert write(parser.parse(r"\p{L}+")).needs_mask
    assert not write(parser.parse("[a-z]+")).needs_mask
