"""What reports look like: a page that needs nothing else, tables in the terminal, fragments in notebooks."""

import io
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from support.profiles import by_profile

from hf_bpe import BPEModel, train
from hf_bpe._utils.visible import plain
from hf_bpe.analysis import compare, report
from hf_bpe.analysis._report.tables import as_html

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

    def handle_startendtag(self, tag, attributes):
        self.tags[tag] += 1
        self.attributes += [(tag, *attribute) for attribute in attributes]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)


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
    pytest.importorskip("matplotlib", reason="pages have pictures, which matplotlib draws")
    return shown.to_html()


class TestPage:
    def test_page_is_self_contained(self, html):
        page = Page(html)
        assert not {"script", "link", "img", "iframe", "object"} & page.tags.keys()
        for tag, name, value in page.attributes:
            if name in ("src", "href", "xlink:href", "data", "srcset"):
                assert value.startswith("#"), (tag, name, value)
        assert not re.search(r"url\((?!#)|@import|@font-face", html)

    def test_page_has_unique_ids_and_all_referenced_ones(self, html):
        ids = Counter(value for _, name, value in Page(html).attributes if name == "id")
        assert set(ids.values()) <= {1}
        used = re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', html)
        assert {name for pair in used for name in pair if name} == ids.keys()

    def test_page_colours_are_variables_of_light_and_dark(self, html):
        body = html.partition("</style>")[2]
        assert not re.search(r"#[0-9a-f]{6}\b", body)
        style = html.partition("<style>")[2].partition("</style>")[0]
        light, dark = (set(re.findall(r"(--\w+):", rules)) for rules in style.split("prefers-color-scheme: dark", 1))
        assert set(re.findall(r"var\((--\w+)\)", html)) - {"--c"} <= light & dark

    def test_pictures_have_names_and_text_elements(self, html):
        svgs = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
        assert len(svgs) == 6
        for svg in svgs:
            root = ElementTree.fromstring(svg.replace("<svg", '<svg xmlns:xlink="x"', 1))
            assert root.get("aria-label")
            assert set(root.attrib) == {"viewBox", "role", "aria-label"}
            assert "DejaVu" not in svg
            assert any(element.tag.endswith("text") and element.text for element in root.iter())

    def test_page_has_every_table_of_the_report(self, shown, html):
        text = "".join(Page(html).text)
        for table in shown.tables()[1:]:
            assert table.title in text
            assert as_html(table) in html

    def test_page_is_reproducible(self, shown, html):
        assert shown.to_html() == html

    def test_page_is_written_atomically(self, shown, html, tmp_path):
        assert shown.to_html(tmp_path / "new" / "page.html") == html
        assert (tmp_path / "new" / "page.html").read_text("utf-8") == html
        with pytest.raises(OSError, match=r"directory|file"):
            shown.to_html(tmp_path / "new" / "page.html" / "x")
        assert [path.name for path in (tmp_path / "new").iterdir()] == ["page.html"]

    @settings(max_examples=by_profile(quick=1, thorough=5))
    @given(st.lists(st.sampled_from(NASTY) | st.text(max_size=8), min_size=2, max_size=3, unique=True))
    def test_names_are_escaped(self, names):
        pytest.importorskip("matplotlib", reason="pages have pictures, which matplotlib draws")
        model = train(["low <script> low <script>"], 264)
        for found in (
            report(model, {name: ["low"] for name in names}, name=names[0]),
            compare(dict.fromkeys(names, model), {name: ["low"] for name in names}),
        ):
            page = Page(found.to_html())
            assert page.tags["script"] == 0
            assert page.tags["main"] == 1
            for svg in re.findall(r"<svg.*?</svg>", found.to_html(), re.DOTALL):
                ElementTree.fromstring(svg.replace("<svg", '<svg xmlns:xlink="x"', 1))
            str(found)

    def test_page_of_an_empty_text_has_tables(self, models):
        pytest.importorskip("matplotlib", reason="pages have pictures, which matplotlib draws")
        assert Page(report(models[0], [""]).to_html()).tags["table"] > 3
        assert Page(compare(models, {"a": [""], "b": [""]}).to_html()).tags["table"] > 3

    def test_page_of_a_model_without_merges_has_tables(self):
        pytest.importorskip("matplotlib", reason="pages have pictures, which matplotlib draws")
        model = BPEModel({97: b"a"}, [])
        assert Page(report(model, ["aab"]).to_html()).tags["table"] > 3

    def test_missing_matplotlib_is_an_error_with_advice(self, shown, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(ImportError, match=r"pip install 'hf_bpe\[report\]'"):
            shown.to_html()
        assert "<table>" in shown._repr_html_()


class TestTables:
    def test_notebook_shows_all_tables_with_titles(self, shown):
        fragment = shown._repr_html_()
        page = Page(fragment)
        assert "html" not in page.tags
        for table in shown.tables():
            assert as_html(table) in fragment
            assert table.title in page.text

    def test_plain_text_tables_fit_a_hundred_columns_without_cuts(self, shown):
        lines = str(shown).splitlines()
        assert max(map(len, lines)) <= 100
        assert all(line == line.rstrip() for line in lines)
        for table in shown.tables():
            assert table.title in lines
            for row in table.rows:
                assert any(all(cell in line for cell in row if len(cell) < 30) for line in lines), row

    def test_terminal_of_eighty_columns_shows_every_number(self, shown):
        console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system="standard")
        console.print(shown)
        printed = re.sub(r"\x1b\[[\d;]*m", "", console.file.getvalue())
        assert console.file.getvalue() != printed  # it has styles
        assert "…" not in printed
        for table in shown.tables():
            for row in table.rows:
                assert all(cell in printed for cell in row[1:] if len(cell) < 30)

    @given(st.binary(min_size=1, max_size=60))
    def test_tables_show_tokens_shortened_and_visible(self, token):
        found = report(BPEModel({0: token}, []), [""])
        [cells] = [table.rows[0] for table in found.tables() if table.title == "Longest tokens"]
        assert plain(token).startswith(cells[0].removesuffix("…"))
        assert len(cells[0]) <= 24
        assert not set(" \t\n\r\x1b") & {*cells[0]}
