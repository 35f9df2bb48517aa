"""Bars: text on standard error, and widgets in notebooks."""

import re
import sys
import types
import warnings
from functools import partial

import tqdm as library

from hf_bpe import count, train
from hf_bpe._utils.progress import make_bar


def test_bars_are_text_on_standard_error_when_asked_for(tmp_path, capsys):
    path = tmp_path / "a.txt"
    path.write_text("low lower lowest newest widest " * 10, encoding="utf-8")
    counted, merged = "Counting: 100%.* 310/310 ", "Merging: 100%.* 10/10 .*' × "
    for work, shown in ((count, counted), (partial(train, num_merges=10), f"(?s:{counted}.*{merged})")):
        quiet = work(path)
        assert capsys.readouterr() == ("", "")
        assert work(path, show_progress=True) == quiet
        output, errors = capsys.readouterr()
        assert output == ""
        assert re.search(shown, errors)


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
