"""Tables given for texts: refused by every entry point, where their columns are taken."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

from hf_bpe import BPETokenizer, Source, count, plan, train
from hf_bpe.analysis import report
from hf_bpe.counting import NormalizedTexts
from support.cases import case

TEXTS = ["low lower lowest", "newest", "low"]
COLUMNS = {"text": TEXTS, "url": ["a", "b", "c"]}


class Table(dict):
    """A table as polars has it: no mapping, and an iterable of its columns."""

    columns = ("text", "url")


def imported(library, make):
    return lambda: make(pytest.importorskip(library))


TABLES = {
    "dict": lambda: dict(COLUMNS),
    "structured array": lambda: np.array([*zip(*COLUMNS.values(), strict=True)], [("text", "U30"), ("url", "U3")]),
    "array of two dimensions": lambda: np.array([TEXTS, TEXTS]),
    "array of numbers": lambda: np.arange(3),
    "pandas": imported("pandas", lambda pandas: pandas.DataFrame(COLUMNS)),
    "pandas numbers": imported("pandas", lambda pandas: pandas.Series([1, 2])),
    "polars": imported("polars", lambda polars: polars.DataFrame(COLUMNS)),
    "polars lazy": imported("polars", lambda polars: polars.LazyFrame(COLUMNS)),
    "pyarrow table": imported("pyarrow", lambda pyarrow: pyarrow.table(COLUMNS)),
    "pyarrow batch": imported("pyarrow", lambda pyarrow: pyarrow.RecordBatch.from_pydict(COLUMNS)),
    "datasets": imported("datasets", lambda datasets: datasets.Dataset.from_dict(COLUMNS)),
    "datasets splits": imported(
        "datasets", lambda datasets: datasets.DatasetDict(train=datasets.Dataset.from_dict(COLUMNS))
    ),
}
COLUMNS_OF_TEXT = {
    "array": lambda: np.array(TEXTS),
    "array of objects": lambda: np.array(TEXTS, object),
    "pandas": imported("pandas", lambda pandas: pandas.DataFrame(COLUMNS)["text"]),
    "pandas category": imported("pandas", lambda pandas: pandas.Series(TEXTS, dtype="category")),
    "pandas index": imported("pandas", lambda pandas: pandas.Index(TEXTS)),
    "polars": imported("polars", lambda polars: polars.DataFrame(COLUMNS)["text"]),
    "pyarrow": imported("pyarrow", lambda pyarrow: pyarrow.array(TEXTS)),
    "pyarrow dictionary": imported("pyarrow", lambda pyarrow: pyarrow.array(TEXTS).dictionary_encode()),
    "pyarrow chunks": imported("pyarrow", lambda pyarrow: pyarrow.chunked_array([TEXTS[:1], [], TEXTS[1:]])),
    "datasets": imported("datasets", lambda datasets: datasets.Dataset.from_dict(COLUMNS)["text"]),
    "datasets streaming": imported(
        "datasets", lambda datasets: datasets.Dataset.from_dict(COLUMNS).to_iterable_dataset()["text"]
    ),
}
TOKENIZER = BPETokenizer.train(TEXTS, num_merges=3, pad_token="<pad>")
TRAINING = {
    "train": lambda texts: train(texts, num_merges=3),
    "BPETokenizer.train": lambda texts: BPETokenizer.train(texts, num_merges=3).model,
    "train_new_from_iterator": lambda texts: TOKENIZER.train_new_from_iterator(texts, 259).model.merges,
    "count": lambda texts: dict(count(texts).items()),
    "Source": lambda texts: dict(count([Source(texts)]).items()),
    "plan": lambda texts: dict(count(plan(texts)).items()),
    "report": lambda texts: report(TOKENIZER, {"all": texts}).as_json(),
}
ENCODING = {
    "NormalizedTexts": lambda texts: [*NormalizedTexts(texts)],
    "encode_to_numpy": lambda texts: TOKENIZER.encode_to_numpy(texts)[0].tolist(),
    "encode_to_lists": lambda texts: TOKENIZER.encode_to_lists(texts),
    "encode_to_padded": lambda texts: TOKENIZER.encode_to_padded(texts)[0].tolist(),
    "count_tokens": lambda texts: TOKENIZER.count_tokens(texts),
    "encode_iterable": lambda texts: [*TOKENIZER.encode_iterable(texts)],
}
FILES = {"encode_files": lambda texts: TOKENIZER.encode_files(texts, "x.npy")}


@pytest.mark.parametrize("table", TABLES)
def test_tables_are_refused_by_every_entry_point(table):
    for name, call in {**TRAINING, **ENCODING, **FILES}.items():
        value = TABLES[table]()
        with case(name):
            if table == "datasets" and name in TRAINING:
                assert call(value) == call(TEXTS)  # these read a column of it
                continue
            with pytest.raises(TypeError, match=r"expected .*, got an? \w+, which .*; give "):
                call(value)


@pytest.mark.parametrize("column", COLUMNS_OF_TEXT)
def test_columns_of_text_are_texts_for_every_entry_point(column):
    for call in {**TRAINING, **ENCODING}.values():
        assert call(COLUMNS_OF_TEXT[column]()) == call(TEXTS)


@pytest.mark.parametrize("value", [Table(COLUMNS), SimpleNamespace(dtype=np.dtype("f4"), ndim=1)], ids=repr)
def test_tables_of_unknown_libraries_are_refused(value):
    with pytest.raises(TypeError, match="; give "):
        count(value)


def test_missing_values_of_a_column_are_an_error():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match="text 1: expected str or bytes, got"):
        count(pandas.Series(["low", None]))
    assert pickle.loads(pickle.dumps(count(pandas.Series(["low"])))) == count(["low"])
