import json

import numpy as np
import pytest
from transformers import GPT2Tokenizer

from support.benchmarking import ROOT, write_gpt2_folder, write_text


@pytest.fixture
def text(tmp_path):
    path = write_text(tmp_path)
    pages = path.read_text(encoding="utf-8")
    documents = [pages[start : start + 2500] for start in range(0, len(pages), 2500)]
    path.write_text("<|endoftext|>".join(documents), encoding="utf-8")
    return path


@pytest.fixture
def gpt2(tmp_path, text):
    return write_gpt2_folder(tmp_path, text)


def test_batches_have_the_requested_number_of_disjoint_texts(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.slices import read_batches

    path = tmp_path / "text.txt"
    documents = [character * 700 for character in "abcdé你"]
    path.write_text("<|endoftext|>".join(documents), encoding="utf-8")
    batches = read_batches((str(path),), 3, 4, 300)
    assert [[len(text.encode()) for text in batch] for batch in batches] == [[300] * 4] * 3
    assert [set("".join(batch)) for batch in batches] == [{"a", "d"}, {"b", "é"}, {"c", "你"}]
    (whole,) = read_batches((str(path),), 1, 1, 1999)  # in the middle of a character, which is kept whole
    assert whole == ["你" * 667]
    with pytest.raises(ValueError, match=r"too little text for the 3 batches .* each of 9 texts of 300 bytes"):
        read_batches((str(path),), 3, 9, 300)


@pytest.mark.parametrize(
    "other",
    [
        {"input_ids": [[1, 2], [3]], "attention_mask": [[1, 1], [1]]},
        {"input_ids": np.array([[1, 2], [3, 5]]), "attention_mask": np.array([[1, 1], [1, 0]])},
        {"input_ids": np.array([[1, 2], [3, 4]]), "attention_mask": np.array([[1, 1], [1, 1]])},
        {"input_ids": np.array([[1, 2], [3, 4]], np.uint32), "attention_mask": np.array([[1, 1], [1, 0]])},
        {"input_ids": np.array([[1, 2], [3, 4]]), "attention_mask": np.array([[1, 1], [1, 0]], np.int32)},
        {"input_ids": np.array([[1, 2, 4], [3, 4, 4]]), "attention_mask": np.array([[1, 1, 0], [1, 0, 0]])},
        {"input_ids": np.array([[1, 2], [3, 4]])},
        ["text", "other"],
    ],
    ids=["lists", "ids", "mask", "dtype of ids", "dtype of mask", "shape", "no mask", "texts"],
)
def test_results_of_calls_are_equal_only_where_everything_is(monkeypatch, other):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.calls import describe

    result = {"input_ids": np.array([[1, 2], [3, 4]]), "attention_mask": np.array([[1, 1], [1, 0]])}
    copy = {name: array.copy() for name, array in result.items()}
    assert describe(copy) == describe(result) != describe(other)
    assert len(describe(other)) == 2


@pytest.fixture
def small_run(monkeypatch, text, gpt2):
    """Return the module of calls, and arguments for a small run."""
    for name in ("gigatoken", "torch"):
        pytest.importorskip(name)
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import calls

    monkeypatch.setattr(calls.measure, "pin", lambda threads: None)
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    options = ["--rounds", "1", "--documents", "1", "--texts", "3", "--size", "500"]
    return calls, [str(text), *options, "--gpt2", str(gpt2)]


def test_calls_time_every_case(small_run, tmp_path, capsys):
    calls, arguments = small_run
    fast, output = tmp_path / "fast", tmp_path / "results.json"
    GPT2Tokenizer.from_pretrained(tmp_path / "gpt2").save_pretrained(fast)
    calls.main([*arguments, "--fast", str(fast), "--output", str(output)])
    results = json.loads(output.read_text(encoding="utf-8"))["vocabularies"]
    cases = {name: [row["case"] for row in rows] for name, rows in results.items()}
    assert cases == {name: [*calls.CASES] for name in ("gpt2", "fast")}
    assert all(seconds > 0 for rows in results.values() for row in rows for seconds in row["medians"].values())
    assert "hf_bpe.accelerate" in results["fast"][0]["medians"]
    assert capsys.readouterr().out.count("| call, 20 words |") == 2


def test_calls_refuse_different_results(small_run, monkeypatch):
    calls, arguments = small_run
    monkeypatch.setattr(calls, "seconds_of", lambda *_: pytest.fail("timed"))
    monkeypatch.setattr(calls, "finish", lambda contender, result: [*result["input_ids"], contender == "transformers"])
    with pytest.raises(SystemExit, match="transformers and hf_bpe give different results"):
        calls.main(arguments)
