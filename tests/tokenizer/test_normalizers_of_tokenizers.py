"""Tokenizers with any supported normalizer are saved, loaded, trained and converted with it."""

import json

import numpy as np
import pytest

from hf_bpe import BPETokenizer, Source, train
from hf_bpe.counting import NormalizedTexts
from hf_bpe.editing import extend
from hf_bpe.normalizers import Normalizer
from hf_bpe.training import Parity, Superwords
from support.samples import CORPUS, SPECIALS

LOWERCASE = Normalizer.parse("Lowercase").canonical
CHAIN = Normalizer.parse(
    {
        "type": "Sequence",
        "normalizers": [
            {"type": "NFKC"},
            {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "},
            {"type": "Strip", "strip_left": True, "strip_right": True},
            {"type": "Prepend", "prepend": "▁\t|"},
        ],
    }
).canonical


@pytest.fixture(params=[LOWERCASE, CHAIN])
def tokenizer(request):
    texts = NormalizedTexts(CORPUS, SPECIALS, request.param)
    return BPETokenizer.train(texts, num_merges=40, special_tokens=SPECIALS, normalizer=json.loads(request.param))


def test_new_tokenizer_learns_from_normalized_text(tokenizer):
    new = tokenizer.train_new_from_iterator(["LOW low ﬁ", ["Low ﬁ"]], 262)
    assert new.normalizer == tokenizer.normalizer
    texts = NormalizedTexts(["LOW low ﬁ", "Low ﬁ"], SPECIALS, tokenizer.normalizer)
    assert new.model.merges == train([*texts], 262, SPECIALS).merges


def source_of(kind, texts, folder):
    """Return texts as one kind of source, and the same texts as a list."""
    if kind == "files":
        for number, text in enumerate(texts):
            (folder / f"{number}.txt").write_text(text, encoding="utf-8", newline="")
        return folder, texts
    if kind == "json lines":
        lines = [json.dumps({"content": text}) for text in texts]
        (folder / "x.jsonl").write_text("\n".join(lines), encoding="utf-8")
        return Source(folder / "x.jsonl", column="content", weight=2), texts * 2
    if kind == "sources":
        (folder / "x.txt").write_text(texts[0], encoding="utf-8", newline="")
        return [folder / "x.txt", Source(texts[1:], weight=3)], [texts[0], *texts[1:] * 3]
    if kind == "normalized":
        return NormalizedTexts(texts, SPECIALS, "Lowercase"), texts
    return {"list": texts, "generator": iter(texts), "array": np.array(texts)}[kind], texts


@pytest.mark.parametrize("kind", ["list", "generator", "array", "files", "json lines", "sources", "normalized"])
def test_training_normalizes_every_kind_of_source(kind, tmp_path):
    texts = ["LOW Low low <|USER|> lower", "A\u0301<|user|>LOWER", "\u00e1 Newest NEWEST newest"]
    source, same = source_of(kind, texts, tmp_path)
    trained = BPETokenizer.train(source, num_merges=9, special_tokens=SPECIALS, normalizer="Lowercase")
    expected = train([*NormalizedTexts(same, SPECIALS, "Lowercase")], num_merges=9, special_tokens=SPECIALS)
    assert trained.model.merges == expected.merges
    assert trained.normalizer == '{"type":"Lowercase"}'
    source, _ = source_of(kind, texts, tmp_path)
    longer, _ = extend(trained.model.truncate(trained.model.vocab_size - 9), source, 9)
    assert longer.merges == expected.merges
    assert longer.normalizer == trained.normalizer


def test_training_normalizes_texts_of_all_stages_and_languages():
    languages = {"en": ["LOW Low low", "lower LOWER"], "de": ["ALT Alt alt"]}
    lowered = {name: [text.lower() for text in texts] for name, texts in languages.items()}
    trained = BPETokenizer.train(languages, num_merges=5, normalizer="Lowercase", parity=Parity(dev=languages))
    assert trained.model.merges == train(lowered, num_merges=5, parity=Parity(dev=lowered)).merges
    texts = ["of the Low tower OF The low Tower"] * 3
    superwords = Superwords(after=10)
    trained = BPETokenizer.train(texts, num_merges=12, normalizer="Lowercase", superwords=superwords)
    assert trained.model.merges == train([text.lower() for text in texts], num_merges=12, superwords=superwords).merges
    with pytest.raises(ValueError, match="can be read only once"):
        BPETokenizer.train(iter(["low"]), num_merges=9, normalizer="Lowercase", superwords=superwords)


def test_normalizer_given_with_a_model_may_have_any_spelling(tokenizer):
    given = json.loads(tokenizer.normalizer)
    assert BPETokenizer(model=tokenizer.model, normalizer=given).normalizer == tokenizer.normalizer
    with pytest.raises(ValueError, match="takes either a model, or files"):
        BPETokenizer(model=tokenizer.model, normalizer="NFD")
