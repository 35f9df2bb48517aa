"""The look of reports: a page that needs nothing else, tables in the terminal, fragments in notebooks."""

import io
import itertools
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from hf_bpe import BPEModel, BPETokenizer, __version__, train
from hf_bpe.analysis import compare, report
from support.oracles.colors import SEEN_BY, contrast, difference
from support.profiles import by_profile

TEXTS = {"english": ["low lower lowest, newest 42! "] * 9, "other": ["你好 привет\nlow"] * 9}
NASTY = ["<script>alert(1)</script>", 'a"b', "$x_{$", "x&amp;y", "\u202eevil", "你好", "\x00\x1b[31m", "n" * 200, " "]
VOID = {"meta", "br", "link", "img"}


class Page(HTMLParser):
    """A page, read: tags that are closed in order, their attributes, and the text outside of styles."""

    def __init__(self, html):
        super().__init__()
        self.open, self.attributes, self.tags, self.text = [], [], Counter(), []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags[tag] += 1
        self.attributes += [(tag, *attribute) for attribute in attributes]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)


def table_of(found):
    """Return the rows of the table in a notebook, and the (name of the row, column) of each cell that is the best."""
    (table,) = re.findall(r"<tbody>(.*?)</tbody>", found._repr_html_(), re.DOTALL)
    rows = [re.findall(r"<td( class=best)?><bdi>(.*?)</bdi>", row) for row in table.split("</tr>")[:-1]]
    best = {(unescape(row[0][1]), column) for row in rows for column, (mark, _) in enumerate(row) if mark}
    return [tuple(unescape(cell) for _, cell in row) for row in rows], best


def tokens_of(found):
    """Return the lists of tokens in a notebook by their names."""
    listed = "".join(re.findall(r'<dl class="terms tokens">(.*?)</dl>', found._repr_html_()))
    return {name: unescape(tokens) for name, tokens in re.findall("<dt>(.*?)</dt><dd><bdi>(.*?)</bdi>", listed)}


def summary(found):
    return re.findall("<li>(.*?)</li>", found._repr_html_().partition('<ul class="summary">')[2].partition("</ul>")[0])


@pytest.fixture(scope="module")
def models():
    return train([part for group in TEXTS.values() for part in group], [262, 280], ["<|x|>"])


@pytest.fixture(scope="module", params=["report", "comparison"])
def shown(request, models):
    if request.param == "report":
        return report(models[1], TEXTS, name="mine")
    return compare({"small": models[0], "large": models[1]}, TEXTS)


@pytest.fixture(scope="module")
def html(shown):
    return shown.to_html()


class TestPage:
    def test_page_is_self_contained(self, html):
        page = Page(html)
        assert not {"script", "link", "img", "iframe", "object"} & page.tags.keys()
        for tag, name, value in page.attributes:
            assert name not in ("id", "src", "href", "xlink:href", "data", "srcset"), (tag, name, value)
        assert not re.search(r"url\(|@import|@font-face", html)

    def test_page_colors_are_variables_of_light_and_dark(self, html):
        body = html.partition("</style>")[2]
        assert not re.search(r"#[0-9a-f]{6}\b", body)
        style = html.partition("<style>")[2].partition("</style>")[0]
        light, dark = (set(re.findall(r"(--\w+):", rules)) for rules in style.split("prefers-color-scheme: dark", 1))
        assert set(re.findall(r"var\((--\w+)\)", html)) - {"--c"} <= light & dark

    def test_page_says_what_it_is_and_how_it_was_made(self, shown):
        page = Page(shown.to_html(command="hf-bpe <x>"))
        text = "".join(page.text)
        first = shown.reports[0] if hasattr(shown, "reports") else shown
        assert re.fullmatch(r"Tokenizer (report: mine|comparison: small and large)", shown.title)
        assert text.count(shown.title) == 2  # title and heading
        assert f"hf_bpe {__version__}, {first.date}: hf-bpe <x>" in text
        assert first.citation in text
        assert "What the figures mean" in text

    def test_page_names_the_files_with_their_sizes(self, models, tmp_path):
        for name, size in (("a.txt", 2000), ("b.txt", 4)):
            (tmp_path / name).write_bytes(b"low " * (size // 4))
        found = report(models[0], tmp_path)
        assert found.files == {"a.txt": 2000, "b.txt": 4}
        assert "Files: a.txt (2.0 kB), b.txt (4 bytes)" in "".join(Page(found.to_html()).text)

    def test_page_has_one_legend_with_a_color_for_each_tokenizer(self, models):
        html = compare({f"no. {number}": models[0] for number in range(8)}, TEXTS).to_html()
        [legend] = re.findall(r'<ul class="legend".*?</ul>', html)
        assert [int(color) for color in re.findall(r'<path fill="var\(--c(\d)\)"', legend)] == [*range(8)]

    def test_bars_are_as_long_as_the_figures_at_their_ends(self, shown):
        chart = re.findall(r"<svg (?!class).*?</svg>", shown.to_html(), re.DOTALL)[0]
        bars = [float(x) for x in re.findall(r'd="M130 [\d.]+H([\d.]+)v', chart)]
        figures = [float(text) for text in re.findall(r">(\d+\.\d\d)</text>", chart)]
        assert len(bars) == len(figures) == 2 * len(getattr(shown, "reports", [shown]))
        for bar, figure in zip(bars, figures, strict=True):
            assert (bar - 130) / (max(bars) - 130) == pytest.approx(figure / max(figures), abs=0.01)

    def test_table_of_a_page_scrolls_by_keyboard(self, html):
        assert len(re.findall(r'class="scroll" role="region" aria-label="Figures" tabindex="0"', html)) == 1

    def test_charts_have_names_and_text_elements(self, html):
        svgs = re.findall(r"<svg (?!class).*?</svg>", html, re.DOTALL)
        assert len(svgs) == 6
        for svg in svgs:
            root = ElementTree.fromstring(svg)
            assert root.get("aria-label")
            assert set(root.attrib) == {"viewBox", "role", "aria-label"}
            assert any(element.tag.endswith("text") and element.text for element in root.iter())
        assert re.findall(r">(\d+\+?)</text>", svgs[-1]) == [*map(str, range(1, 12)), "12+"]
        shares = [int(share) for share in re.findall(r">(\d+)%</text>", svgs[-1])]
        assert shares == [*range(0, shares[-1] + 1, shares[1])]

    def test_page_and_notebook_have_the_table_of_the_terminal(self, shown, html):
        fragment = shown._repr_html_()
        assert "html" not in Page(fragment).tags
        for each in (html, fragment):
            assert each.count("<table>") == 1
            assert re.search("<table>.*</table>", html)[0] in each
            assert Page(each).open == []

    def test_page_is_written_atomically(self, shown, html, tmp_path):
        assert shown.to_html(tmp_path / "new" / "page.html") == html
        assert (tmp_path / "new" / "page.html").read_text("utf-8") == html
        with pytest.raises(OSError, match=r"directory|file"):
            shown.to_html(tmp_path / "new" / "page.html" / "x")
        assert [path.name for path in (tmp_path / "new").iterdir()] == ["page.html"]

    @settings(max_examples=by_profile(quick=1, thorough=3))
    @given(st.lists(st.sampled_from(NASTY) | st.text(max_size=8), min_size=2, max_size=3, unique=True))
    def test_names_are_escaped(self, names):
        model = train(["low <script> low <script>"], 264)
        for found in (
            report(model, {name: ["low"] for name in names}, name=names[0]),
            compare(dict.fromkeys(names, model), {name: ["low"] for name in names}),
        ):
            page = Page(found.to_html())
            assert page.tags["script"] == 0
            assert page.tags["main"] == 1
            for svg in re.findall(r"<svg (?!class).*?</svg>", found.to_html(), re.DOTALL):
                ElementTree.fromstring(svg)
            str(found)

    def test_page_of_no_text_or_no_merges_has_a_table(self, models):
        assert Page(report(BPEModel({97: b"a"}, []), ["aab"]).to_html()).tags["table"] == 1
        assert Page(report(models[0], [""]).to_html()).tags["table"] == 1
        assert Page(compare(models, {"a": [""], "b": [""]}).to_html()).tags["table"] == 1


class TestTables:
    def test_plain_text_fits_a_hundred_columns_without_cuts(self, shown):
        lines = str(shown).splitlines()
        citations = {one.citation for one in getattr(shown, "reports", [shown])}
        assert citations <= {*lines}
        assert max(len(line) for line in lines if line not in citations) <= 100
        assert all(line == line.rstrip() for line in lines)
        for row in table_of(shown)[0]:
            assert any(all(cell in line for cell in row) for line in lines), row
        text = " ".join(str(shown).split())
        assert tokens_of(shown)
        for name, tokens in tokens_of(shown).items():
            assert " ".join(f"{name}: {tokens}".split()) in text

    def test_terminal_of_eighty_columns_shows_every_number(self, shown):
        console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system="standard")
        console.print(shown)
        printed = re.sub(r"\x1b\[[\d;]*m", "", console.file.getvalue())
        assert console.file.getvalue() != printed  # it has styles
        assert "…" not in printed
        for row in table_of(shown)[0]:
            assert all(cell in printed for cell in row[1:])

    @given(st.lists(st.text("abcdefgh-", min_size=1, max_size=24), min_size=2, max_size=12, unique=True))
    @settings(max_examples=by_profile(quick=10, thorough=40))
    def test_wide_table_is_printed_in_parts_that_fit(self, names):
        model = train(["low" * 31], num_merges=2)
        found = compare(dict.fromkeys(names, model), ["low" * 3777])
        lines = [line for line in str(found).splitlines() if line not in {one.citation for one in found.reports}]
        assert max(map(len, lines)) <= 100
        printed = [line.split()[1:] for line in lines if re.fullmatch(r"tokens +[\d, ]+", line)]
        assert [*itertools.chain(*printed)] == ["3,777"] * len(names)
        assert len(printed) == sum(line.startswith("vocabulary ") for line in lines)

    @given(st.binary(min_size=1, max_size=60))
    def test_tokens_are_shortened_and_visible(self, token):
        found = report(BPEModel({0: token}, []), [""])
        shown, whole = tokens_of(found)["longest"], found.longest[0].text
        unfolded = re.sub(r"(?:\((.{2,4})\)|(<[^<>]+>|.))×(\d+)", lambda run: (run[1] or run[2]) * int(run[3]), shown)
        assert whole.startswith(unfolded.removesuffix("…")) or "×" in whole
        assert len(shown) <= 24
        assert not set(" \t\n\r\x1b") & {*shown}

    @given(st.text("a <é", min_size=1, max_size=3), st.integers(8, 90))
    def test_long_runs_are_folded(self, unit, times):
        def longest(token):
            return tokens_of(report(BPEModel({0: token}, []), [""]))["longest"]

        assert longest(unit.encode() * times).count("×") == 1
        assert longest(b"\xe4" * times) == f"<e4>×{times}"
        assert longest(b" " * 7) == "·" * 7


class TestBest:
    def test_best_of_each_row_is_marked_everywhere(self, models):
        found = compare({"small": models[0], "large": models[1]}, TEXTS)
        overall = ("bytes per token", "characters per token", "tokens per word", "tokens", "words in one token")
        best = [each for each in sorted(table_of(found)[1]) if each[0] in overall]
        assert best == [(name, 2) for name in sorted(overall)]
        tokens = [f"{one.total.tokens:,}" for one in found.reports]
        assert re.search(rf"^tokens +{tokens[0]} +\*{tokens[1]}$", str(found), re.MULTILINE)
        assert f"<td class=best><bdi>{tokens[1]}</bdi>" in found._repr_html_()

    @given(st.lists(st.sampled_from([0, 1, 2]), min_size=2, max_size=8))
    def test_best_cells_have_the_best_printed_figure(self, sizes):
        chain = train([part for group in TEXTS.values() for part in group], [262, 270, 280], ["<|x|>"])
        found = compare([chain[size] for size in sizes], TEXTS)
        rows, marked = table_of(found)
        for row in rows:
            figure, _, part = row[0].partition(", ")
            if part and "first" not in part:
                better = max if figure == "bytes per token" else min
                values = [float(cell) for cell in row[1:]]
                best = {column for column, value in enumerate(values, start=1) if value == better(values)}
                expected = best if len({*values}) > 1 else set()
                assert {column for name, column in marked if name == row[0]} == expected

    def test_figures_that_are_the_same_for_all_are_said_once(self, models):
        found = compare({"small": models[0], "large": models[1]}, TEXTS)
        rows, total = table_of(found)[0], found.reports[0].total
        assert not {"text", "words"} & {row[0] for row in rows}
        assert f'<p class="note">{total.bytes} bytes of text, {total.words} words; ' in found._repr_html_()
        assert ("vocabulary", "262", "280") in rows
        assert "3 bytes" in str(compare([models[0], models[0].with_checked(normalizer="NFD")], ["ä"]))


class TestSize:
    def test_added_tokens_are_counted_wherever_a_size_is_shown(self):
        tokenizer = BPETokenizer.train(["low lower lowest"] * 3, vocab_size=262, special_tokens=["<|x|>"])
        tokenizer.add_tokens(["lowland"])
        tokenizer.add_special_tokens({"pad_token": "<pad>"})
        found = report(tokenizer, ["low"])
        assert len(tokenizer) == 264
        assert found.size == found.as_json()["vocab_size"] == 264
        assert "264 tokens, pattern" in str(found)
        assert ("vocabulary", "264", "264") in table_of(compare([tokenizer, tokenizer], ["low"]))[0]
        assert "264: 256 bytes, 1 special, 2 added later; ids 0 to 263" in tokenizer._repr_html_()


class TestVerdict:
    def test_scripts_without_tokens_and_costly_ones_are_named(self):
        texts = ["low lower " * 50, "\u05e9\u05dc\u05d5\u05dd" * 60, "\u0561" * 200, "\u4f60\u597d" * 100]
        model = train(["low lower " * 50, "\u4f60" * 50], num_merges=8)
        printed = " ".join(str(report(model, texts)).split())
        assert "Hebrew and Armenian are not in this vocabulary: 1.00 byte per token." in printed
        assert "Han takes more than one token per character." in printed
        assert re.search(r"(Hebrew|Armenian|Han) takes \d+\.\d times as many tokens per character as Latin\.", printed)
        assert "not in this vocabulary" not in str(report(model, ["low", "\u05e9"]))  # too little to say so

    def test_scripts_of_a_small_share_are_no_headline(self):
        model = train(["low lower " * 50], num_merges=5)
        greek, hebrew = "\u03b1\u03b2\u03b3" * 60, "\u05e9\u05dc" * 90
        much = ["low lower " * 4000]
        assert "Greek" not in "".join(summary(report(model, [*much, greek])))
        assert "Greek" in "".join(summary(report(model, ["low lower " * 400, greek])))
        # Together they matter.
        said = summary(report(model, ["low lower " * 3000, greek, hebrew]))
        assert any("Greek and Hebrew" in each or "Hebrew and Greek" in each for each in said)

    def test_half_the_vocabulary_is_compared_if_it_has_every_byte(self, models):
        model = BPEModel({0: b"a", 1: b"aa", 2: b"aaaa"}, [(b"a", b"a"), (b"aa", b"aa")])
        assert "With half the vocabulary, the text would take 300.0 % more tokens." in str(report(model, ["aaaa"]))
        assert "With half the vocabulary" not in str(report(models[0], TEXTS))

    def test_winner_is_named_overall_and_by_text(self, models):
        found = compare({"small": models[0], "large": models[1]}, TEXTS)
        small, large = (one.total.tokens for one in found.reports)
        share = f"{100 * (1 - large / small):.1f} %"
        assert f"large takes the fewest tokens, {large}: {share} fewer than small." in str(found)
        assert "large takes the fewest on every text." in str(found)
        alike = str(compare({"a": models[0], "b": models[0]}, TEXTS))
        assert f"a and b take equally few tokens: {small}." in alike
        assert "takes the fewest" not in alike


class TestSeries:
    @pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
    def test_eight_series_differ_by_color_for_everybody(self, is_dark, html):
        colors = dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", html.split("prefers-color", 1)[is_dark]))
        palette = [colors[f"c{number}"] for number in range(8)]
        for vision in SEEN_BY:
            for number, one in enumerate(palette):
                for other in palette[:number]:
                    assert difference(one, other, vision) > 13, (one, other, vision)
        assert all(contrast(color, colors["page"]) > 3 for color in palette)  # what WCAG asks of graphics

    def test_text_of_pages_has_enough_contrast(self, html):
        light, dark = (dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", part)) for part in html.split("prefers-color", 1))
        for colors in (light, dark):
            assert contrast(colors["ink"], colors["page"]) > 12
            assert contrast(colors["dim"], colors["page"]) > 4.5

    @given(st.lists(st.integers(1, 16), min_size=2, max_size=9))
    @settings(max_examples=by_profile(quick=10, thorough=40))
    def test_names_of_lines_do_not_overlap(self, sizes):
        text = ["low lower lowest newest widest"]
        chain = train(text, num_merges=[*range(17)])
        chart = re.findall("<svg (?!class).*?</svg>", compare([chain[size] for size in sizes], text).to_html())[0]
        placed = [float(y) for y in re.findall(r'<path fill="[^"]+" d="M326 (\S+)h8v8h-8z"/>', chart)]
        assert len(placed) == len(sizes)
        assert all(after >= before + 14 - 0.2 for before, after in itertools.pairwise(placed))
