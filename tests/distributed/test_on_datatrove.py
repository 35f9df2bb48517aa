"""The example of a step of datatrove writes what datatrove's own step writes."""

import json
import subprocess
import sys

import pytest

from support.models.corpora import END, save_tokenizer
from support.project import ROOT

pytest.importorskip("datatrove", reason="datatrove is not installed: pip install datatrove")
pytest.importorskip("orjson", reason="orjson is not installed: pip install orjson")

pytestmark = pytest.mark.filterwarnings("ignore")
EXAMPLE = ROOT / "examples" / "encode_in_datatrove.py"
TASKS = 3


def test_step_writes_the_files_of_its_own_tokenizer(tmp_path, monkeypatch):
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.tokens import DocumentTokenizer

    save_tokenizer(tmp_path / "tok")
    (tmp_path / "in").mkdir()
    for name in range(TASKS):
        lines = [json.dumps({"text": f"widest {name} {number}{END} lower\n"}) for number in range(50)]
        (tmp_path / "in" / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)  # in which executors write their logs
    subprocess.run([sys.executable, EXAMPLE, "tok", "in", "ours", "--tasks", f"{TASKS}"], check=True)
    peer = DocumentTokenizer(str(tmp_path / "theirs"), str(tmp_path / "tok" / "tokenizer.json"), eos_token=END, seed=1)
    LocalPipelineExecutor([JsonlReader(str(tmp_path / "in")), peer], tasks=TASKS, workers=1, logging_dir="peer").run()
    ours, theirs = (sorted((tmp_path / name).iterdir()) for name in ("ours", "theirs"))
    assert [path.name for path in ours] == [path.name for path in theirs]
    assert len([path for path in ours if path.suffix == ".ds"]) == TASKS
    for mine, its in zip(ours, theirs, strict=True):
        if mine.suffix != ".metadata":  # which has the path of the tokenizer
            assert mine.read_bytes() == its.read_bytes()
