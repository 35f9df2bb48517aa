"""Tokens are found where a naive search finds them, and every character is read a few times at most."""

import mmap
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe.encoding._added_tokens.finder import TokenFinder, _Automaton
from hf_bpe.encoding._cuts.safe import SafeCuts
from support.profiles import by_profile
from support.strategies import overlapping_contents

pieces = st.sampled_from(["a", "ab", "b", " ", "<", "é", "\U0001f44b", "\ud800"])


@st.composite
def cases(draw):
    """Draw tokens that share much, and a text in which they and parts of them are frequent."""
    contents = draw(overlapping_contents() | st.lists(pieces | st.text("ab<", max_size=4), max_size=6))
    parts = st.sampled_from([*contents, *contents, "a"]) | pieces
    text = "".join(draw(st.lists(parts | parts.map(lambda part: part[:-1]), max_size=12)))
    return contents, text


def longest_at(contents, text, at):
    return max((content for content in contents if content and text.startswith(content, at)), key=len, default=None)


@settings(max_examples=by_profile(quick=80, thorough=160))
@given(cases(), st.data(), st.sampled_from([1, 16]), st.sampled_from([0, 1024]))
def test_tokens_are_found_where_a_naive_search_finds_them(case, data, block, max_read):
    contents, text = case
    if data.draw(st.booleans(), "bytes"):
        contents, text = (
            [content.encode(errors="surrogatepass") for content in contents],
            text.encode(errors="surrogatepass"),
        )
    start = data.draw(st.integers(0, len(text)), "start")
    stop = data.draw(st.integers(start, len(text)), "stop")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hf_bpe.encoding._added_tokens.finder._BLOCK", block)
        patch.setattr("hf_bpe.encoding._added_tokens.finder._MAX_READ", max_read)
        finder = TokenFinder(contents)
        begins = [*finder.find_begins(text, start, stop)]
        found = [*finder.find_all(text, start, stop)]
    longest = [(at, longest_at(contents, text, at)) for at in range(start, stop)]
    assert begins == [(at, token) for at, token in longest if token is not None]

    expected, at = [], start
    while at < stop:
        token = longest_at(contents, text[:stop], at)
        if token is not None:
            expected.append((at, token))
        at += len(token or "x")
    assert found == expected


A = "a" * 20_000
# Tokens and texts for which looking at each place alone takes as long as the tokens are.
WORST = [
    (["a" * 2000 + "b"], A),
    (["a", "a" * 2000 + "b"], A),  # one is found at every place
    (["a" * 2000], A + "b"),
    (["a" * k + "b" for k in range(1, 300)], A),
    (["a" * k for k in range(1, 300)], A),
    (["ab" * 1000 + "c", "ba"], "ab" * 10_000),
    ([" a" * 1000 + "b", " "], " a" * 10_000),
]


@pytest.fixture
def sizes_read(monkeypatch):
    """A list that gets the number of characters whenever the automaton reads some."""
    sizes = []
    find = _Automaton.find

    def counted(self, text, stop):
        sizes.append(len(text))
        return find(self, text, stop)

    monkeypatch.setattr(_Automaton, "find", counted)
    return sizes


@pytest.mark.parametrize(("contents", "text"), WORST, ids=range(len(WORST)))
def test_token_finder_reads_a_character_at_most_a_few_times(contents, text, sizes_read):
    longest = max(map(len, contents))
    for find in (TokenFinder(contents).find_all, TokenFinder(contents).find_begins):
        sizes_read.clear()
        for _ in find(text, 0, len(text)):
            pass
        assert sum(sizes_read) < 3 * len(text) + longest

    sizes_read.clear()
    limit = 8 * (len(text) + longest)
    cuts = SafeCuts("gpt2", contents)
    assert cuts.find_last(text.encode()) >= 0
    assert sum(sizes_read) < limit

    sizes_read.clear()
    cuts.find_first(text.encode(), 1)
    assert sum(sizes_read) < limit


def test_memory_of_long_tokens_is_a_few_bytes_a_character():
    automaton = TokenFinder(["x" + "ab" * 10_000 + str(number) for number in range(5)])._automaton
    nodes = [automaton._codes, automaton._tokens, automaton._fallbacks]
    assert sum(len(each) * each.itemsize for each in nodes) < 13 * 5 * 20_000
    assert len(automaton._more_children) < 10


def test_mapped_files_are_searched(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"a<x>b<x><x")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        assert [*TokenFinder([b"<x>"]).find_all(data)] == [(1, b"<x>"), (5, b"<x>")]


def test_pickles_hold_the_tokens_only():
    finder = TokenFinder(["<x>", "<xy>"])
    before = pickle.dumps(finder)
    assert [*finder.find_all("a<xy>")] == [(1, "<xy>")]
    assert pickle.dumps(finder) == before
    assert [*pickle.loads(before).find_all("a<xy>")] == [(1, "<xy>")]
