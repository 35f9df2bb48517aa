"""Other libraries read saved files, which spell patterns as the Hub's own files do; a page says which of them."""

import json

import pytest

from hf_bpe import BPETokenizer
from hf_bpe.pretokenizers import Pattern
from support.cases import case
from support.profiles import thorough
from support.project import ROOT
from support.upstream.other_readers import ROWS, columns, save, table, texts, tokenizer_of
from support.upstream.read_with import READERS, ids_of

PAGE = ROOT / "docs" / "how-to" / "convert.md"
HUB = {
    **{"florence": "gpt2", "gpt35turbo": "cl100k", "gptoss": "o200k", "llama3_1": "llama3", "qwen3": "qwen2"},
    **{"mistral_nemo": "tekken", "command_r_plus": "gpt2-digits", "deepseek_v3": "deepseek-v3"},
}
KIMI_WORD = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"


def page():
    """Return the columns of the table on the page."""
    lines = PAGE.read_text("utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("| saved |"))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[start : start + 2 + len(ROWS)]]
    return {rows[0][place]: [row[place] for row in rows[2:]] for place in range(1, len(rows[0]))}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return save(tmp_path_factory.mktemp("readers"))


@pytest.mark.parametrize("name", HUB)
def test_patterns_are_written_as_in_files_of_the_hub(test_data, name):
    theirs = json.loads((test_data / f"tokenizers/{name}/tokenizer.json").read_text("utf-8"))["pre_tokenizer"]
    assert Pattern.parse(theirs).canonical == HUB[name]
    ours = json.loads(tokenizer_of(HUB[name]).backend_tokenizer.to_str())["pre_tokenizer"]
    assert Pattern.parse(ours).canonical == HUB[name]
    for stages in (theirs, ours):
        for stage in stages.get("pretokenizers", [stages]):
            stage.pop("trim_offsets", None)  # which means nothing here
    assert ours == theirs


def test_spellings_of_the_hub_are_written_into_saved_files(tmp_path):
    expected = {"cl100k": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n", "kimi-k2": KIMI_WORD, "deepseek-v3": "[^\r\n\\p{L}"}
    for pattern, part in expected.items():
        tokenizer = tokenizer_of(pattern)
        tokenizer.save_pretrained(tmp_path / pattern)
        content = json.loads((tmp_path / pattern / "tokenizer.json").read_text("utf-8"))
        stages = content["pre_tokenizer"]["pretokenizers"]
        assert part in stages[-2]["pattern"]["Regex"]
        tokenizer.convert_to(tmp_path / f"{pattern}.json")
        for path in (tmp_path / pattern, tmp_path / f"{pattern}.json", tmp_path / pattern / "tokenizer.json"):
            again = BPETokenizer.convert_from(path)
            assert (again.pattern, again.model.fingerprint) == (pattern, tokenizer.model.fingerprint)


def test_saved_files_have_our_ids_in_tokenizers(saved):
    files, ids = saved
    for row in ROWS:
        with case(row):
            assert ids_of("tokenizers", files[row], texts()) == {"ids": ids[row]}


def test_page_has_a_row_for_each_pattern_and_family():
    shown = page()
    assert table(shown) in PAGE.read_text("utf-8")
    assert {name.split()[0] for name in shown} == {*READERS}


@thorough
@pytest.mark.parametrize("reader", READERS)
def test_page_says_what_a_reader_makes_of_saved_files(saved, reader):
    shown, measured = page(), columns(reader, *saved)
    compared = {name: cells for name, cells in measured.items() if name in shown}
    if not compared:
        pytest.skip(f"no Python of HF_BPE_READERS has one of {[name for name in shown if reader in name]}")
    for name, cells in compared.items():
        assert dict(zip(ROWS, cells, strict=True)) == dict(zip(ROWS, shown[name], strict=True)), name
