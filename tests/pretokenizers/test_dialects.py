"""Expressions that `tokenizer.json` and tiktoken read differently: refused where a user gives one, kept in files."""

import pytest
from tokenizers import Tokenizer

from hf_bpe import BPEModel, BPETokenizer, WordCounts, count, train
from hf_bpe.pretokenizers import Pattern, Split, split
from hf_bpe.pretokenizers._regex.dialects import translate
from hf_bpe.training import Superwords
from support.cases import case
from support.edited_folders import save_as_others
from support.oracles.native_patterns import split_by_tokenizers
from support.oracles.tiktoken_matches import matches_of_tiktoken
from support.strategies import BYTES

# An expression, a text that is cut differently, and what each reader means by it.
UNCLEAR = [
    (r"a{1,3}+", "aaaaa", r"(?:a{1,3})+", r"(?>a{1,3})"),
    (r"(?:ab|c{2}){2}+", "abccababab", r"(?:(?:ab|c{2}){2})+", r"(?>(?:ab|c{2}){2})"),
    (r"\p{L}{1,}+b", "ab", r"(?:\p{L}{1,})+b", r"(?>\p{L}{1,})b"),
    (r"[ab]{1,2}?+", "abab", r"(?:[ab]{1,2}?)+", r"(?>[ab]{1,2}?)"),
    (r"a+?+", "aaa", r"(?:a+?)+", r"(?>a+?)"),
    (r"xa{2}?", "xaax", r"x(?:a{2})?", r"xa{2}"),
    (r"xa{,}", "xaaxa{,}", r"xa\{,\}", r"xa*"),
    (r"a+{2}", "aaa{2}", r"(?:a+){2}", r"a+\{2\}"),
    (r"^a", "aa\na", r"(?:\A|(?<=\n)(?!\z))a", r"\Aa"),
    (r"a$", "a\na", r"a(?=\n|\z)", r"a\z"),
    (r"a\Z", "a\n\n", r"a(?=\n?\z)", r"a(?=\n*\z)"),
    (r"\<a", "<a a", r"<a", None),
    (r"(?m:a.)", "a\na", None, r"(?:a.)"),
    (r"a(?i)b|c", "abaBcC", None, None),
    (r"[[:alpha:]]", "aé", r"[\p{Alphabetic}]", r"[A-Za-z]"),
    (r"[a[:^digit:]]", "a1٣", r"[a[^\p{Nd}]]", r"[a[^0-9]]"),
    (r"[a-z--b]", "ab", None, None),
    (r"(?i:\p{Lu})", "aA", None, None),
]
DIGITS = r"\p{L}+|\p{N}{1,3}+|[^\p{L}\p{N}]"
MESSAGE = (
    r"\\p\{N\}\{1,3\}\+ has two meanings.*written as \(\?:\\p\{N\}\{1,3\}\)\+, .*written as \(\?>\\p\{N\}\{1,3\}\)"
)


def matches(text, expression):
    return split(text, Pattern.parse([Split(expression, "Removed", invert=True)]).canonical)


@pytest.mark.parametrize(("expression", "text", "ours", "theirs"), UNCLEAR, ids=[row[0] for row in UNCLEAR])
def test_unclear_expressions_are_refused_with_both_spellings(expression, text, ours, theirs):
    with pytest.raises(ValueError, match=r"has two meanings(?s:.*), or Pattern\.read of it") as refused:
        Pattern.parse(expression)
    clear = Pattern.parse(Pattern.read(expression))
    assert clear == Pattern.parse([Split(expression)])
    assert split(text, clear) == split_by_tokenizers(text, expression)
    assert matches(text, expression) != matches_of_tiktoken(text, expression)
    if ours is not None:
        assert split(text, Pattern.parse(ours).canonical) == split_by_tokenizers(text, expression)
        assert "written as" in str(refused.value)
    if theirs is not None:
        assert translate(expression) == theirs == translate(theirs)
        Pattern.parse(theirs)
        assert matches(text, theirs) == matches_of_tiktoken(text, expression)


CLEAR = [
    *(r"\w+|\W", r"\b.", r"(?i:'s|k)|.", r"(?i)a|b", r"a{2,}?b", r"a++b*+c?+", r"\h\H\R", r"[a[b-z&&[^c]]]"),
    *(r"(?<=a)b(?!c)", r"\A.\z", r"(?>a|b)", r"\x{e9}é\u00e9", r"(?x: a b )", r"{a}", r"a{x}", r"\p{Han}"),
    *(r"[[:ascii:]]", r"a(?#comment)b"),
]


def test_clear_expressions_are_accepted():
    for expression in CLEAR:
        with case(expression):
            Pattern.parse(expression)


def write_ranks(folder):
    BPETokenizer(model=BPEModel(BYTES, [], (), "gpt2")).convert_to(folder / "x.tiktoken")
    (folder / "x.tiktoken.json").unlink()
    return folder / "x.tiktoken"


def two_files(folder):
    BPETokenizer(model=BPEModel(BYTES, [], (), "gpt2")).save_pretrained(folder)
    return folder / "vocab.json", folder / "merges.txt"


WAYS_IN = {
    "train": lambda folder, pattern: train(["a 1234"], 257, pattern=pattern),
    "BPETokenizer.train": lambda folder, pattern: BPETokenizer.train(["a 1234"], 257, pattern=pattern),
    "count": lambda folder, pattern: count(["a 1234"], pattern=pattern),
    "WordCounts": lambda folder, pattern: WordCounts({"a": 1}, pattern=pattern),
    "Pattern.parse": lambda folder, pattern: Pattern.parse(pattern),
    "BPEModel": lambda folder, pattern: BPEModel(BYTES, [], (), pattern),
    "BPETokenizer": lambda folder, pattern: BPETokenizer(*two_files(folder), pattern=pattern),
    "from_pretrained": lambda folder, pattern: BPETokenizer.from_pretrained(
        two_files(folder)[0].parent, pattern=pattern
    ),
    "rank file": lambda folder, pattern: BPETokenizer.convert_from(write_ranks(folder), pattern=pattern),
    "Superwords": lambda folder, pattern: Superwords(after=1, pattern=pattern),
}


@pytest.mark.parametrize("way", WAYS_IN)
def test_patterns_of_users_are_refused_if_unclear(way, tmp_path):
    with pytest.raises(ValueError, match=MESSAGE):
        WAYS_IN[way](tmp_path, DIGITS)
    WAYS_IN[way](tmp_path, DIGITS.replace(r"\p{N}{1,3}+", r"(?>\p{N}{1,3})"))


@pytest.fixture
def with_unclear_expression(tmp_path):
    """Return a folder whose tokenizer.json has an unclear expression, as other libraries write it."""
    stages = [Split(DIGITS).to_json(), {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}]
    stages = {"type": "Sequence", "pretokenizers": [{**each, "trim_offsets": True} for each in stages]}
    tokenizer = BPETokenizer(model=train(["1234567"] * 9, 262, pattern="none"))
    return save_as_others(tokenizer, tmp_path / "theirs", pre_tokenizer=stages)


def test_files_with_unclear_expressions_keep_their_meaning(with_unclear_expression, tmp_path):
    text = "1234567 12 ab\n"
    expected = Tokenizer.from_file(str(with_unclear_expression / "tokenizer.json")).encode(text).ids
    tokenizer = BPETokenizer.from_pretrained(with_unclear_expression)
    tokenizer.save_pretrained(tmp_path / "saved")
    tokenizer.convert_to(tmp_path / "text", format="text")
    files = tmp_path / "saved/vocab.json", tmp_path / "saved/merges.txt"
    for each in (
        tokenizer,
        BPETokenizer.convert_from(with_unclear_expression / "tokenizer.json"),
        BPETokenizer.convert_from(with_unclear_expression),
        BPETokenizer.convert_from(Tokenizer.from_file(str(with_unclear_expression / "tokenizer.json"))),
        BPETokenizer.from_pretrained(tmp_path / "saved"),
        BPETokenizer.convert_from(tmp_path / "text"),
        BPETokenizer(*files, pattern=tokenizer.model.pre_tokenizer),
    ):
        assert each.encode(text) == expected
        assert each.pattern == DIGITS
        assert each.model.fingerprint == tokenizer.model.fingerprint


def test_loaded_patterns_are_given_back_as_they_are(with_unclear_expression, tmp_path):
    tokenizer = BPETokenizer.from_pretrained(with_unclear_expression)
    counts = count(["1234567"], pattern=tokenizer.model.pre_tokenizer)
    assert counts.pattern == DIGITS
    counts.save(tmp_path / "x.counts")
    assert WordCounts.load(tmp_path / "x.counts").pattern == DIGITS
    assert train(WordCounts.load(tmp_path / "x.counts"), 258).pattern == DIGITS
    assert tokenizer.train_new_from_iterator(["1234567"], 258).pattern == DIGITS
    assert count(["1"], pattern=[Split(DIGITS)]).pattern == tokenizer.model.pre_tokenizer.expression
