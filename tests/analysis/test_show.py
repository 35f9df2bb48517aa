"""Text as its tokens: nothing of it is hidden, lost, or taken for markup or a command to the terminal."""

import io
import re
from dataclasses import replace
from html import escape
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.color import ColorSystem
from rich.console import Console
from transformers import AddedToken, PreTrainedTokenizerFast

from hf_bpe import BPETokenizer, train
from hf_bpe.analysis import MergeTree, show
from hf_bpe.pretokenizers._byte_level import repair_surrogates
from support.oracles.colors import SEEN_BY, blend, contrast, difference
from support.samples import make_tokenizer
from support.strategies import any_bytes, models, texts

SIGNS = {"·": b" ", "→": b"\t", "↵": b"\n", "◌": b""}
# Also those that pieces of text could be mistaken for, if anything were written as it is.
_UNSAFE = [
    *["</bdi>", "<br>", "<i>", "&lt;", "&", '"', "'", "\x1b[31m", "\x9b1m", "\r", "\0", "[bold]x[/]", ":smile:"],
    *["\u202e", "\u2066", "\u200b", "\xa0", "\ufeff", "\u3164", "\u034f", "\u2800", "\u0301"],
    *["·", "↵", "◌", "<e4>", "<U+200B>"],
]
unsafe = st.sampled_from(_UNSAFE).map(str.encode)
any_data = st.lists(any_bytes | unsafe, max_size=4).map(b"".join)
MODEL = train(["low low low lower lowest"], vocab_size=262, special_tokens=["<|endoftext|>"])
# What cannot be seen, or acts on what can.
HIDDEN = re.compile(r"[^\S\n ]|[\x00-\x09\x0b-\x1f\x7f-\xa0\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
COLOR_SYSTEMS = {"truecolor": ColorSystem.TRUECOLOR, "256": ColorSystem.EIGHT_BIT, "standard": ColorSystem.STANDARD}


def data_of(sign):
    """Return the bytes that a sign stands for."""
    if sign in SIGNS:
        return SIGNS[sign]
    byte, number = re.fullmatch(r"<([0-9a-f]{2})>|<U\+([0-9A-F]{4,6})>", sign).groups()
    return bytes([int(byte, 16)]) if byte else chr(int(number, 16)).encode()


class Tokens(HTMLParser):
    """Reads back what HTML shows: the bytes of each token, with its class and title."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tokens, self.attributes, self.ids = [], [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        assert tag in {
            *("html", "head", "meta", "title", "style", "body", "h1", "p", "span"),
            *("div", "bdi", "i", "br", "wbr", "small"),
        }
        if tag not in {"meta", "br", "wbr"}:
            self.open.append(tag)
        if tag == "bdi":
            self.tokens.append(b"")
            self.attributes.append(dict(attributes))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-2:-1] == ["bdi"]:
            if self.open[-1] == "i":
                self.tokens[-1] += data_of(data)
            else:
                assert self.open[-1] == "small"
                self.ids.append(int(data))
        elif self.open[-1:] == ["bdi"]:
            assert not HIDDEN.search(data)
            assert " " not in data
            assert "\n" not in data
            self.tokens[-1] += data.encode()


def visible(data):
    """Return the text that shows a token."""
    return str(MergeTree(0, data, "byte")).removesuffix("  0  byte")


def test_invisible_characters_are_shown_as_code_points():
    for char in "\x00\x7f\x9b\xa0\xad\u034f\u115f\u1680\u200d\u2028\u202e\u2066\u2800\u3164\ufe0f\ue000":
        assert visible(f"a{char}b".encode()) == f"a<U+{ord(char):04X}>b"
        assert f">a<i>&lt;U+{ord(char):04X}&gt;</i>b<" in MergeTree(0, f"a{char}b".encode(), "byte")._repr_html_()


def test_marks_with_nothing_to_join_get_a_circle():
    assert visible("\u0301e\u0301 \u0301".encode()) == "◌\u0301e\u0301·◌\u0301"


@given(models(all_bytes=True), any_data, st.booleans())
def test_html_shows_the_bytes_of_each_token_without_markup(model, data, ids):
    shown = show(model, data, ids=ids)
    for html in (shown.to_html(), shown._repr_html_()):
        read = Tokens(html)
        assert read.tokens == [token.data for token in shown.tokens]
        assert read.ids == ([token.id for token in shown.tokens] if ids else [])
    assert b"".join(read.tokens) == data
    assert shown.is_exact


@given(models(all_bytes=True), any_data, st.booleans(), st.sampled_from(["truecolor", "256", "standard"]))
def test_a_terminal_gets_no_commands_of_the_text(model, data, ids, system):
    console = Console(file=io.StringIO(), force_terminal=True, color_system=system, width=40)
    console.print(show(model, data, ids=ids))
    bare = re.sub(r"\x1b\[[0-9;]*m", "", console.file.getvalue())
    assert not HIDDEN.search(bare)


@given(models(all_bytes=True), any_data, st.booleans(), st.sampled_from(["truecolor", "256", "standard"]))
def test_neighboring_tokens_have_different_colors_in_a_terminal(model, data, ids, system):
    shown = show(model, data, ids=ids)
    text = shown.colored(system)
    colors = [None] * len(text.plain)
    for span in text.spans:
        if span.style.bgcolor is not None:
            named = span.style.bgcolor.downgrade(COLOR_SYSTEMS[system]).number or span.style.bgcolor.name
            colors[span.start : span.end] = [named] * (span.end - span.start)
    end, last = 0, None
    for token in shown.tokens:
        size = len(visible(token.data)) + (0 if ids else token.data.count(b"\n"))
        (color,) = {*colors[end : end + size]} - {None}
        assert color != last
        end, last = end + size + (len(f"{token.id} ") if ids else 0), color
    assert end - len(text.plain) == (ids or data.endswith(b"\n") if data else 0)


@given(models(all_bytes=True), any_data)
def test_plain_text_has_borders_between_tokens_and_its_lines(model, data):
    shown = show(model, data)
    expected = "|".join(visible(token.data) for token in shown.tokens)
    assert shown.marked.replace("\n", "") == expected
    assert shown.marked.count("\n") == data.removesuffix(b"\n").count(b"\n")


def with_added_tokens(normalizer=None, **settings):
    tokenizer = BPETokenizer(model=replace(make_tokenizer().model, normalizer=normalizer), **settings)
    flags = [{"lstrip": True}, {"rstrip": True}, {"single_word": True}, {"normalized": False}, {"special": True}]
    tokenizer.add_tokens([AddedToken(f"<{number}>", **each) for number, each in enumerate(flags)])
    return tokenizer


@pytest.fixture(scope="module", params=[{}, {"normalizer": "NFC"}, {"add_prefix_space": True}], ids=str)
def tokenizer(request):
    return with_added_tokens(**request.param)


_parts = st.sampled_from([" ", "low", "e\u0301", "\ud800", "<|user|>", *(f"<{number}>" for number in range(5))])


@given(st.lists(_parts, max_size=8).map("".join))
def test_tokenizers_show_the_ids_of_their_calls(tokenizer, text):
    shown = show(tokenizer, text)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert [token.id for token in shown.tokens] == ids
    decoded = b"".join(token.data for token in shown.tokens)
    assert decoded == tokenizer.decode_bytes(ids)
    added = tokenizer.added_tokens_decoder
    assert [token.is_added for token in shown.tokens] == [token_id in added for token_id in ids]
    assert shown.is_exact == (decoded == repair_surrogates(text).encode())
    assert ("differs from the given text" in shown.summary) == (not shown.is_exact)


@given(any_bytes)
def test_bytes_are_shown_as_encode_bytes_takes_them(tokenizer, data):
    assert [token.id for token in show(tokenizer, data).tokens] == tokenizer.encode_bytes(data)


def test_special_tokens_have_a_style_of_their_own():
    shown = show(MODEL, "low<|endoftext|><|endoftext|>")
    assert [token.is_added for token in shown.tokens] == [False, True, True]
    assert [" added" in each["class"] for each in Tokens(shown.to_html()).attributes] == [False, True, True]
    assert [bool(span.style.bold) for span in shown.colored().spans] == [False, True, True]


def test_titles_tell_id_bytes_rank_and_character():
    html = show(MODEL, "low\u202e<|endoftext|>").to_html()
    titles = [each["title"] for each in Tokens(html).attributes]
    assert titles == [
        "id 258, 3 bytes 6c 6f 77, merge 1",
        "id 226, 1 byte e2, of <U+202E>",
        "id 128, 1 byte 80, of <U+202E>",
        "id 174, 1 byte ae, of <U+202E>",
        "id 256, 13 bytes 3c 7c 65 6e 64 6f 66 74 65 78 74 7c 3e, added token",
    ]
    assert html.count(", of &lt;U+202E&gt;") == 3
    assert all(each["tabindex"] == "0" for each in Tokens(html).attributes)  # for keyboards and fingers
    assert "bdi[title]:focus::after { content: attr(title)" in html


@given(models(all_bytes=True), any_data)
def test_page_has_heading_summary_and_legend_before_the_text(model, data):
    shown = show(model, data)
    head, _, text = (
        shown.to_html("Tokens of <a>").partition("</style>\n</head>")[2].partition("</style>")[2].partition("<div")
    )
    assert "<h1>Tokens of &lt;a&gt;</h1>" in head
    assert f"<p>{escape(shown.summary)}." in head
    signs = {*re.findall("<i>(.*?)</i>", text)}
    explained = re.findall("<span><i>(.*?)</i>(.*?)</span>", head)
    assert {sign for sign, _ in explained} <= signs
    assert len({meaning for _, meaning in explained}) == len(explained) == len({_class_of(sign) for sign in signs})


def _class_of(sign):
    return re.sub(r"[0-9a-fA-F]", "", sign)


def test_long_text_is_shown_in_part_but_counted_whole():
    shown = show(MODEL, "low" * 400_000, max_tokens=3)
    assert shown.marked == "low|low|low"
    assert shown.summary == "400,000 tokens, 1,200,000 bytes, 3.00 bytes a token; the first 3 tokens are shown"
    assert len(Tokens(shown.to_html()).tokens) == 3
    assert "are shown" not in show(MODEL, "low" * 3, max_tokens=3).summary


def test_ids_follow_tokens_and_end_lines():
    shown = show(MODEL, "low\n\nlow", ids=True)
    assert shown.marked == "low 258|↵ 10|\n↵ 10|\nlow 258"
    assert shown.colored().plain == "low258 ↵10\n↵10\nlow258"


def test_empty_text_shows_nothing():
    assert str(show(MODEL, "")) == "0 tokens, 0 bytes"
    assert Tokens(show(MODEL, "").to_html()).tokens == []


def test_missing_byte_is_an_error_or_unk_token():
    model = train(["low"], num_merges=1, initial_alphabet="observed", special_tokens=["<unk>"])
    with pytest.raises(ValueError, match="0x78"):
        show(model, "x")
    shown = show(BPETokenizer(model=model, unk_token="<unk>"), "lowx")
    assert shown.marked.endswith("|<unk>")
    assert not shown.is_exact


def test_other_objects_and_invalid_numbers_are_refused():
    fast = PreTrainedTokenizerFast(tokenizer_object=make_tokenizer().backend_tokenizer)
    with pytest.raises(TypeError, match=rf"got {type(fast).__name__}; give .* BPETokenizer\.convert_from"):
        show(fast, "low")
    with pytest.raises(TypeError, match="text: expected str or bytes, got 7"):
        show(MODEL, 7)
    for wrong, error in ((0, ValueError), (2.5, TypeError)):
        with pytest.raises(error, match="max_tokens"):
            show(MODEL, "low", max_tokens=wrong)


def test_a_page_needs_nothing_from_elsewhere():
    page = show(MODEL, "low").to_html()
    assert not re.search(r"https?:|url\(|src=|href=|@import|<script", page)


# Colors


def palette(number):
    """Return the colors of tokens on light pages, 0, or on dark ones, 1."""
    rule = r"\.c\d \{ background: #\w+; background: light-dark\((#\w+), (#\w+)\)"
    colors = [pair[number] for pair in re.findall(rule, show(MODEL, "low").to_html())]
    assert len({*colors}) == 4
    return colors


@pytest.mark.parametrize("number", [0, 1], ids=["light", "dark"])
def test_color_blind_people_tell_neighboring_colors_apart(number):
    colors = palette(number)
    for vision in SEEN_BY:
        for one, other in zip(colors, colors[1:] + colors[:1], strict=True):
            assert difference(one, other, vision) > 10, vision


@pytest.mark.parametrize(
    ("number", "text", "faint"), [(0, "#000000", 0x99), (1, "#ffffff", 0xDD)], ids=["light", "dark"]
)
def test_text_and_signs_are_read_on_the_colors(number, text, faint):
    assert "light-dark(#0009, #fffd)" in show(MODEL, "low").to_html()
    for color in palette(number):
        assert contrast(color, text) > 5.5
        assert contrast(color, blend(text, color, faint / 255)) > 4.5  # what WCAG asks for


@given(texts)
def test_pre_tokens_shown_are_the_words_of_a_call(text):
    tokenizer = BPETokenizer.train(["low lower lowest"], vocab_size=262, special_tokens=["<|x|>"])
    found = tokenizer(text, add_special_tokens=False)
    shown = show(tokenizer, text, pre_tokens=True)
    assert (shown.num_tokens, shown.is_exact) == (len({*found.word_ids()}), True)


def test_pre_tokens_are_shown_with_added_tokens_and_normalized():
    tokenizer = BPETokenizer.train(["low"], 258, special_tokens=["<|x|>"], add_prefix_space=True)
    assert str(show(tokenizer, "low<|x|>er\n", pre_tokens=True)).splitlines()[0] == "·low|<|x|>|·er|↵"
    composed = BPETokenizer(model=replace(train(["low"], 256), normalizer="NFC"))
    assert show(composed, "e\u0301 x", pre_tokens=True).marked == "é|·x"
    with pytest.raises(ValueError, match="give one of ids and pre_tokens"):
        show(composed, "x", ids=True, pre_tokens=True)
    composed.add_tokens([AddedToken("yes", normalized=True)])
    with pytest.raises(ValueError, match="pre_tokens: not shown if added tokens are found in normalized text"):
        show(composed, "x", pre_tokens=True)
