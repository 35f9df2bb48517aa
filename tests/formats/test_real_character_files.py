"""Mistral 7B v0.1, Gemma 3, InternLM 2, and other parts around their vocabularies, compared with `tokenizers`."""

import json
from itertools import islice

import pytest

from support.character_check import check, files
from support.character_files import as_gemma_2
from support.profiles import thorough

NAMES = ("mistral_v0_1", "gemma3", "internlm2")


def pieces(path):
    """Yield the beginning of a file in pieces."""
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        yield from islice(iter(lambda: file.read(4096), ""), 500)


@thorough
@pytest.mark.parametrize("name", [*NAMES, "gemma3 as Gemma 2"])
def test_real_files_give_what_tokenizers_gives(name, test_data):
    folder, _, is_changed = name.partition(" as ")
    content = json.loads((test_data / "tokenizers" / folder / "tokenizer.json").read_text("utf-8"))
    content = as_gemma_2(content) if is_changed else content
    paths = sorted((test_data / "text").glob("*.txt"))
    texts = [piece for path in paths for piece in pieces(path)]
    assert sum(len(text.encode()) for text in texts) > 8_000_000
    assert check(content, texts, 200_000) == {}


@thorough
def test_parts_around_real_vocabularies_are_as_in_tokenizers(test_data):
    refused = {}
    for name, content in files([test_data / "tokenizers" / name for name in NAMES]):
        found = check(content, (), 500)
        if isinstance(found, str):
            refused[name] = found
        else:
            assert found == {}, name
    # The beginning of a text may be what a normalizer removes.
    assert all("expected a normalizer that does not, or another prepend_scheme" in each for each in refused.values())
    assert len(refused) == 4, refused
