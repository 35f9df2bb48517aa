"""Bars: text on standard error, and widgets in notebooks."""

import sys
import types
import warnings

import tqdm as library

from hf_bpe._utils.progress import make_bar


def test_bars_are_text_outside_of_notebooks(capsys):
    with make_bar(total=3, desc="Counting") as bar:
        bar.update(3)
    assert type(bar) is library.tqdm
    assert "Counting: 100%" in capsys.readouterr().err


def test_bars_are_those_of_tqdm_auto_in_notebooks(monkeypatch):
    class Widget:
        def __init__(self, **given):
            self.given = given

    auto = types.ModuleType("tqdm.auto")
    auto.tqdm = Widget
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", auto)
    assert make_bar(total=3).given == {"total": 3}
    assert type(make_bar(total=3, disable=True)) is library.tqdm  # one that is not shown needs no widget


def test_notebook_without_widgets_is_not_warned(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    for name in [name for name in sys.modules if name.startswith(("tqdm.auto", "tqdm.notebook"))]:
        monkeypatch.delitem(sys.modules, name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_bar(total=3, leave=False).close()
