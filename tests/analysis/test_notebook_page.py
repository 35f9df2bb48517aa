"""Tables in notebooks, measured in Chromium with the style that JupyterLab has for tables."""

import base64

import pytest

from hf_bpe import BPEModel, BPETokenizer, analysis

# Of JupyterLab 4: packages/rendermime/style/base.css. The last rule outweighs a selector of one class.
JUPYTERLAB = """
.jp-RenderedHTMLCommon { font-family: system-ui; font-size: 14px; line-height: 1.5 }
.jp-RenderedHTMLCommon table { border-collapse: collapse; border-spacing: 0; border: none; font-size: 12px;
  table-layout: fixed; margin-left: auto; margin-bottom: 1em; margin-right: auto }
.jp-RenderedHTMLCommon :is(td, th, tr) { vertical-align: middle; padding: 0.5em 0.5em; line-height: normal;
  white-space: normal; max-width: none; border: none }
:not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon :is(td, th, tr) { text-align: right }
"""
TEXTS = ["the lowest of the low, the newest of the new; low lower lowest widest\n"] * 20


def cell(html):
    """Return the address of a page with the output of a cell."""
    style = f"<style>:root {{ color-scheme: light dark }} body {{ margin: 1em }} {JUPYTERLAB}</style>"
    body = f'<div class="jp-RenderedHTMLCommon jp-RenderedHTML jp-OutputArea-output">{html}</div>'
    viewport = '<meta name="viewport" content="width=device-width">'
    page = f"<!DOCTYPE html><meta charset=utf-8>{viewport}<link rel=icon href=data:,>{style}<body>{body}</body>"
    return "data:text/html;base64," + base64.b64encode(page.encode()).decode()


@pytest.fixture(scope="module")
def tokenizer():
    return BPETokenizer.train(TEXTS, 278, ["<|endoftext|>"], pad_token="<pad>", eos_token="<|endoftext|>")


def test_labels_and_values_are_side_by_side(chromium, tokenizer):
    for shown in (tokenizer, tokenizer.model):
        chromium.open(cell(shown._repr_html_()))
        gaps = chromium.evaluate(
            """[...document.querySelectorAll('tr')].map((row) => {
              const text = (cell) => { const range = document.createRange(); range.selectNodeContents(cell);
                return range.getBoundingClientRect() };
              return [text(row.cells[0]).left, text(row.cells[1]).left - row.cells[0].getBoundingClientRect().right]
            })"""
        )
        assert len(gaps) > 6
        assert len({left for left, _ in gaps}) == 1
        assert all(0 <= gap < 32 for _, gap in gaps), gaps


def test_columns_of_reports_stay_aligned(chromium, tokenizer):
    chromium.open(cell(analysis.report(tokenizer, TEXTS)._repr_html_()))
    aligned = chromium.evaluate(
        """[...document.querySelectorAll('td')].map((cell) =>
          [cell.matches(':first-child'), getComputedStyle(cell).textAlign])"""
    )
    assert {(True, "left"), (False, "right")} == {tuple(each) for each in aligned}


def test_phone_shows_tables_without_scrolling_sideways(phone, tokenizer):
    for shown in (tokenizer, BPEModel({0: b"=" * 31}, [])):
        phone.open(cell(shown._repr_html_()))
        assert phone.evaluate("document.documentElement.scrollWidth") <= 360
    assert phone.problems() == []
