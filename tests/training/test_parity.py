"""Parity-aware training: by definition, by the native core, and as `tokenizers` does it."""

import dataclasses
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from hf_bpe import BPETokenizer, Source, count, train
from hf_bpe.pretokenizers import from_printable
from hf_bpe.reference._options import LearningOptions
from hf_bpe.reference._parity import ParityOptions
from hf_bpe.reference._parity import learn_parity_merges as learn_by_definition
from hf_bpe.training import Parity
from support.cases import check_refusals
from support.oracles.learning import learn_parity_merges
from support.profiles import thorough

TEXTS = {"en": ["low lower lowest newest widest " * 9], "fi": ["alempi alin uusin levein "], "el": ["χαμηλά νέο"]}
DEV = {"el": ["χαμηλότερα"], "en": ["lower"], "fi": ["alempi"]}

texts = st.text(st.sampled_from("abcé 中\n"), max_size=60)
# Enough different words that no language runs out of pairs: in a window, the training of `tokenizers` may not end
# then.
long_texts = st.integers().map(lambda seed: "".join(random.Random(seed).choices("abcé 中\n", k=200)))


def corpora(each):
    return st.integers(1, 4).flatmap(
        lambda number: st.tuples(
            st.lists(each, min_size=number, max_size=number),
            st.none() | st.lists(each, min_size=number, max_size=number),
            st.none() | st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=number, max_size=number),
        )
    )


def learned_by_tokenizers(languages, dev, ratios, *, window=0, alpha=2.0, **options):
    if not hasattr(trainers, "ParityBpeTrainer"):
        pytest.skip("tokenizers has ParityBpeTrainer since 0.23")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if window:
        options |= {"variant": "window", "window_size": window, "alpha": alpha}
    trainer = trainers.ParityBpeTrainer(num_merges=options.pop("max_merges"), show_progress=False, **options)
    dev = None if dev is None else [[text] for text in dev]
    trainer.train_from_iterator(tokenizer, [[text] for text in languages], dev_iterators=dev, ratio=ratios)
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return [(from_printable(first), from_printable(second)) for first, second in merges]


def learned_here(languages, dev, ratios, **options):
    names = {field.name for field in dataclasses.fields(LearningOptions)} & options.keys()
    learning = LearningOptions(tie_break="huggingface", **{name: options.pop(name) for name in names})
    options = ParityOptions(ratios=ratios or [], learning=learning, **options)
    return learn_parity_merges(counts_of(languages), counts_of(dev or []), options).merges


def counts_of(corpus):
    return [count([text]) for text in corpus]


@given(corpora(texts), st.data())
def test_engine_learns_by_definition(corpus, data):
    languages, dev, ratios = corpus
    options = {
        "max_merges": data.draw(st.integers(0, 12)),
        "global_merges": data.draw(st.sampled_from([0, 2, 5])),
        "window": data.draw(st.sampled_from([0, 3, 10])),
        "alpha": data.draw(st.sampled_from([0.5, 1.0, 2.0])),
        "ratios": ratios or [],
        "learning": LearningOptions(
            tie_break=data.draw(st.sampled_from(["lexicographic", "huggingface"])),
            min_frequency=data.draw(st.integers(0, 3)),
            max_token_bytes=data.draw(st.sampled_from([None, 2, 4])),
        ),
    }
    options = ParityOptions(**options)
    words, dev_words = counts_of(languages), counts_of(dev or [])
    expected = learn_by_definition(
        [dict(each.items()) for each in words], [dict(each.items()) for each in dev_words], options
    )
    assert learn_parity_merges(words, dev_words, options) == expected


@given(corpora(texts), st.integers(0, 12), st.sampled_from([0, 3]), st.integers(0, 2))
def test_merges_are_those_of_tokenizers(corpus, max_merges, global_merges, min_frequency):
    languages, dev, ratios = corpus
    options = {"max_merges": max_merges, "global_merges": global_merges, "min_frequency": min_frequency}
    ratios = None if dev else ratios  # which of the two `tokenizers` takes is no matter here: Parity takes one
    ours = learned_here(languages, dev, ratios, **options)
    if ratios and "" in languages:  # the training of `tokenizers` does not end then if it runs out of pairs
        options["max_merges"] = len(ours)
    assert ours == learned_by_tokenizers(languages, dev, ratios, **options)


@given(corpora(long_texts), st.sampled_from([3, 10]), st.sampled_from([1.0, 1.5, 2.0]))
def test_merges_of_a_window_are_those_of_tokenizers(corpus, window, alpha):
    languages, dev, ratios = corpus
    options = {"max_merges": 12, "window": window, "alpha": alpha}
    ratios = None if dev else ratios
    ours = learned_here(languages, dev, ratios, **options)
    assert ours == learned_by_tokenizers(languages, dev, ratios, **options)


def test_parity_gives_merges_to_the_language_of_longest_texts():
    plain = train([*TEXTS["en"], *TEXTS["fi"], *TEXTS["el"]], num_merges=12)
    fair = train(TEXTS, num_merges=12, parity=Parity(dev=DEV))
    longest = [max(len(BPETokenizer(model=model).encode(text)) for (text,) in DEV.values()) for model in (plain, fair)]
    assert longest[1] < longest[0]
    assert "parity" in dict(fair.origin)


@pytest.mark.parametrize("parity", [Parity(), Parity(dev=DEV, window=4), Parity(ratios={"en": 1, "fi": 2, "el": 3.5})])
def test_sources_and_counts_give_the_same_model(parity, tmp_path):
    for name, (text,) in TEXTS.items():
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    files = {name: str(tmp_path / f"{name}.txt") for name in TEXTS}
    counts = {name: count(source) for name, source in TEXTS.items()}
    models = [train(source, 280, parity=parity) for source in (TEXTS, files, counts)]
    assert models[0] == models[1] == models[2]
    assert train(TEXTS, [270, 280], parity=parity)[1].merges == models[0].merges
    assert train(TEXTS, [270, 280], parity=parity)[0].merges == models[0].merges[:14]


WEIGHTED = Source(["low low"], weight=0.5)
WRONG_INPUT = [
    ({"input": TEXTS}, TypeError, "with parity, a mapping of languages to these, got a dict"),
    ({"input": ["low"], "parity": Parity()}, TypeError, "with parity expected a source or counts per language"),
    ({"input": {}, "parity": Parity()}, TypeError, "with parity expected a source or counts per language"),
    ({"input": TEXTS, "parity": {"dev": DEV}}, TypeError, "parity: expected a hf_bpe.training.Parity"),
    ({"input": TEXTS, "parity": Parity(dev={"en": ["a"]})}, ValueError, "parity.dev: expected the languages of"),
    ({"input": TEXTS, "parity": Parity(), "length_penalty": 1}, ValueError, "length_penalty: not supported with"),
    ({"input": {"en": WEIGHTED}, "parity": Parity()}, ValueError, "en: its counts have fractional weights"),
    ({"input": TEXTS, "parity": Parity(), "work_dir": "x"}, ValueError, "work_dir: not supported with parity"),
]

WRONG_OPTIONS = [
    ({"dev": DEV, "ratios": {"en": 1}}, "give dev or ratios, not both"),
    ({"ratios": {"en": 0}}, r"parity.ratios\['en'\]: expected more than 0"),
    ({"alpha": 0}, "parity.alpha: expected more than 0"),
    ({"window": 0}, "parity.window: expected at least 1"),
    ({"global_merges": -1}, "parity.global_merges: expected at least 0"),
]


def test_wrong_input_and_options_are_refused():
    check_refusals(WRONG_INPUT, lambda arguments: train(vocab_size=280, **arguments))
    check_refusals(WRONG_OPTIONS, lambda options: Parity(**options))


@thorough
def test_merges_of_real_text_are_those_of_tokenizers(test_data):
    languages = [
        (test_data / "text" / f"{name}.txt").read_text("utf-8")[:400_000] for name in ("english", "code", "nonlatin")
    ]
    dev = [text[-20_000:] for text in languages]
    ours = learned_here(languages, dev, None, max_merges=500)
    assert ours == learned_by_tokenizers(languages, dev, None, max_merges=500)
