import importlib
import json
from types import SimpleNamespace

import numpy as np
import pytest
from transformers import GPT2Tokenizer

from support.benchmarking import ROOT, measure, write_gpt2_folder, write_text
from support.profiles import thorough

WRONG_DROP_IN = """
from benchmarks.drop_ins.transformers import *

def finish(result):
    result["attention_mask"] = result["attention_mask"].astype("int32")
    return result
"""


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


@pytest.fixture
def call_job(monkeypatch, tmp_path, text, gpt2):
    """Return a function from a case of `calls` to its job."""
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.job import Job
    from benchmarks.vocabulary import prepare

    folder = tmp_path / "prepared"
    folder.mkdir()
    prepare(folder, "gpt2", gpt2=gpt2)

    def make(case, **options):
        options = {"peer": "recorder", "texts": 3, "size": 500, "rounds": 1, **options}
        return Job("calls", files=(str(text),), vocabulary=str(folder), case=case, **options)

    return make


# Not fastokens, which would change transformers for all other tests.
@pytest.mark.parametrize("peer", ["hf_bpe", "gigatoken"])
@pytest.mark.parametrize(
    "case",
    [
        *("list", "list, padded, numpy", "list, padded, torch", "long text", "20 words", "encode 20 words"),
        *("batch_decode", "from_pretrained", "from_pretrained, tokenizer.json"),
    ],
)
def test_calls_give_what_transformers_gives(call_job, case, peer):
    from benchmarks import calls

    if "torch" in case:
        pytest.importorskip("torch")
    outcomes = []
    for name in (pytest.importorskip(peer).__name__, "transformers"):
        task = calls.make(call_job(case, peer=name), importlib.import_module(f"benchmarks.drop_ins.{name}"))
        task.run()
        outcomes.append(task.outcome())
    assert outcomes[0] == outcomes[1]
    assert len(outcomes[0]) == (1 if "from" in case else 12 if "list" in case or "batch" in case else 4)


class Recorder:
    """A tokenizer that keeps what it is called with."""

    def __init__(self):
        self.calls = []

    def __call__(self, text, **options):
        self.calls.append(text)
        return {"input_ids": [[0]] * len(text) if isinstance(text, list) else [0]}


@pytest.mark.parametrize(
    ("round_number", "is_warm", "expected"),
    [(0, False, [0, 1, 2, 3, 4]), (2, False, [0, 1, 2, 4]), (2, True, [4, 4, 4, 4])],
    ids=["all texts are compared", "texts are fresh", "texts are warm"],
)
def test_calls_are_timed_on_fresh_texts_or_warm_ones(call_job, round_number, is_warm, expected):
    from benchmarks import calls
    from benchmarks.slices import read_batches

    job = call_job("list", rounds=2, round=round_number, warm=is_warm, texts=2, size=20)
    recorder = Recorder()
    task = calls.make(job, SimpleNamespace(entry_point="an entry point", load=lambda job: recorder))
    assert len(recorder.calls) == len(expected) - 1
    task.run()
    batches = read_batches(job.files, 5, 2, 20)
    assert recorder.calls == [batches[number] for number in expected]
    assert task.bytes == sum(len(text.encode()) for text in recorder.calls[-1])
    assert len(task.outcome()) == 2 * len(set(expected))


def test_a_call_on_few_words_is_timed_as_often_as_there_are_texts(call_job):
    from benchmarks import calls

    recorder = Recorder()
    task = calls.make(
        call_job("20 words", round=1), SimpleNamespace(entry_point="an entry point", load=lambda job: recorder)
    )
    recorder.calls.clear()
    task.run()
    assert len(recorder.calls) == 3
    assert len(set(recorder.calls)) == 1
    assert len(recorder.calls[0].split()) == 20
    assert task.bytes == 3 * len(recorder.calls[0].encode())


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


@thorough
def test_calls_are_compared_and_timed(tmp_path, text, gpt2):
    options = ["--texts", 3, "--size", 500, "--cases", "list, padded, numpy", "from_pretrained"]
    peers = ["hf_bpe", "transformers"]
    done, result = measure(tmp_path, "calls", text, "--gpt2", gpt2, "--peers", *peers, *options)
    assert done.returncode == 0, done.stderr
    assert "list, padded, numpy: hf_bpe, transformers give the same for 12 texts." in done.stderr
    assert "speed / hf_bpe's  speed / transformers'  MB/s" in done.stdout
    assert (result["options"]["texts"], result["options"]["size"], result["options"]["warm"]) == (3, 500, False)
    list_rows, loading_rows = result["summary"][:2], result["summary"][2:]
    assert {row["contender"] for row in list_rows} == {row["contender"] for row in loading_rows} == set(peers)
    assert all(row["megabytes_per_second"] > 0 for row in list_rows)
    assert not any(row["megabytes_per_second"] for row in loading_rows)


@thorough
def test_calls_with_another_dtype_are_refused_before_anything_is_timed(tmp_path, text, gpt2):
    (tmp_path / "wrong_drop_in.py").write_text(WRONG_DROP_IN, encoding="utf-8")
    options = [
        "--texts",
        3,
        "--size",
        500,
        "--cases",
        "list, padded, numpy",
        "--peers",
        "transformers",
        "wrong_drop_in",
    ]
    done, result = measure(tmp_path, "calls", text, "--gpt2", gpt2, *options)
    assert done.returncode == 1
    assert (
        "list, padded, numpy: transformers (1 thread) and wrong_drop_in (1 thread) differ, and must not: "
        "text 1 of batch 0 and 11 more of 12" in done.stderr
    )
    assert "round 1 of 1" not in done.stderr
    assert result is None


@pytest.fixture
def interleaved(monkeypatch, text, gpt2):
    """Return the module of interleaved calls, and arguments for a small run."""
    for name in ("gigatoken", "torch"):
        pytest.importorskip(name)
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import interleaved_calls

    monkeypatch.setattr(interleaved_calls.measure, "pin", lambda threads: None)
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    options = ["--rounds", "1", "--documents", "1", "--texts", "3", "--size", "500"]
    return interleaved_calls, [str(text), *options, "--gpt2", str(gpt2)]


def test_interleaved_calls_time_every_case(interleaved, tmp_path, capsys):
    interleaved_calls, arguments = interleaved
    fast, output = tmp_path / "fast", tmp_path / "results.json"
    GPT2Tokenizer.from_pretrained(tmp_path / "gpt2").save_pretrained(fast)
    interleaved_calls.main([*arguments, "--fast", str(fast), "--output", str(output)])
    results = json.loads(output.read_text(encoding="utf-8"))["vocabularies"]
    cases = {name: [row["case"] for row in rows] for name, rows in results.items()}
    assert cases == {name: [*interleaved_calls.CASES] for name in ("gpt2", "fast")}
    assert all(seconds > 0 for rows in results.values() for row in rows for seconds in row["medians"].values())
    assert "hf_bpe.accelerate" in results["fast"][0]["medians"]
    assert capsys.readouterr().out.count("| call, 20 words |") == 2


def test_interleaved_calls_refuse_different_results(interleaved, monkeypatch):
    interleaved_calls, arguments = interleaved
    monkeypatch.setattr(interleaved_calls, "seconds_of", lambda *_: pytest.fail("timed"))
    monkeypatch.setattr(
        interleaved_calls, "finish", lambda contender, result: [*result["input_ids"], contender == "transformers"]
    )
    with pytest.raises(SystemExit, match="transformers and hf_bpe give different results"):
        interleaved_calls.main(arguments)
