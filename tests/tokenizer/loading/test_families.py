"""The tokenizers the world uses: each family's chain, flags and template give what `tokenizers` gives."""

import pytest

from hf_bpe import BPEModel, train
from support.cases import case
from support.models.model_families import FAMILIES, TRAPS, load, nasty_strings, table
from support.profiles import by_profile, scaled
from support.project import ROOT
from support.samples import CORPUS
from support.strategies import CONTRACTIONS, NUMBERS, WORDS


@pytest.fixture(scope="module")
def model() -> BPEModel:
    return train([*CORPUS, *map(" ".join, (WORDS, NUMBERS, CONTRACTIONS, TRAPS))] * 3, num_merges=150)


PAGE = ROOT / "docs" / "explanation" / "which-tokenizers-load.md"


def test_page_shows_every_family():
    assert table() in PAGE.read_text("utf-8"), f"the table in {PAGE.name} should be:\n{table()}"


@scaled
@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_nasty_texts_are_encoded_as_by_tokenizers(family, model):
    theirs, ours = load(family, model)
    texts = [*nasty_strings(by_profile(quick=60, thorough=300), 0)]
    for text, other in zip(texts, [*texts[1:], "low"], strict=True):
        for added in (False, True):
            expected, got = theirs.encode(text, add_special_tokens=added), ours(text, add_special_tokens=added)
            assert got["input_ids"] == expected.ids, text
            if family.normalizer is None:  # ours of characters that NFC joins are documented to be wider
                assert got.encodings[0].offsets == expected.offsets, text
                assert got.word_ids() == expected.word_ids, text
            two = theirs.encode(text, other or "x", add_special_tokens=added).ids
            assert ours(text, other or "x", add_special_tokens=added)["input_ids"] == two, (text, other)
        assert ours.decode(got["input_ids"]) == theirs.decode(got["input_ids"], skip_special_tokens=False)


def test_families_are_split_natively(model, native):
    for name, family in FAMILIES.items():
        _, ours = load(family, model)
        encoder = ours.pipeline.encoder
        raw = getattr(encoder, "core", encoder)  # of one that normalizes
        with case(name):
            assert type(raw).__module__.endswith("_native")
