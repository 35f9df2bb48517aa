"""`hf-bpe encode` of files of every format, and rank files that are recognized."""

import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe import BPETokenizer
from support.commands import error, run
from support.profiles import by_profile, thorough
from support.strategies import texts

zstandard = pytest.importorskip("zstandard")
PACKED = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}


@settings(max_examples=by_profile(quick=4, thorough=15))
@given(st.lists(texts, min_size=1, max_size=4))
def test_packed_texts_and_json_lines_are_encoded_as_the_texts(tmp_path_factory, folder, documents):
    path = tmp_path_factory.mktemp("encode")
    tokenizer = BPETokenizer.from_pretrained(folder)
    rows = [tokenizer.encode_bytes(document, split_special_tokens=True) for document in documents]
    lines = "\n".join(json.dumps({"body": document}) for document in documents)
    for end, pack in PACKED.items():
        (path / f"rows.jsonl{end}").write_bytes(pack(lines.encode()))
        names = [path / f"{number}.txt{end}" for number in range(len(documents))]
        for name, document in zip(names, documents, strict=True):
            name.write_bytes(pack(document.encode()))
        for sources in ([path / f"rows.jsonl{end}", "--column", "body"], names):
            printed = run("encode", folder, *sources, "--split-special-tokens").stdout
            assert [[*map(int, line.split())] for line in printed.splitlines()] == rows


@pytest.mark.parametrize(
    ("name", "pattern", "special_tokens"),
    [
        ("r50k_base", "gpt2", {"<|endoftext|>": 50256}),
        pytest.param(
            "cl100k_base",
            "cl100k",
            {"<|endoftext|>": 100257, "<|fim_prefix|>": 100258, "<|endofprompt|>": 100276},
            marks=thorough,
        ),
        pytest.param("o200k_base", "o200k", {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}, marks=thorough),
    ],
)
def test_rank_files_of_openai_are_recognized(test_data, tmp_path, name, pattern, special_tokens):
    ranks = test_data / "tiktoken" / f"{name}.tiktoken"
    found = json.loads(run("inspect", ranks, "--json").stdout)
    assert found["pattern"] == pattern
    assert found["special_tokens"].items() >= special_tokens.items()
    changed = tmp_path / f"{name}.tiktoken"
    changed.write_bytes(b"".join(ranks.read_bytes().splitlines(keepends=True)[:-1]))
    assert "does not store the split pattern; give it" in error("encode", changed, stdin=b"low")
