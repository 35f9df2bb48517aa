"""Training with an alphabet of characters: `tokenizers` learns the same, and reads the result with the same ids."""

import json
import re
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers
from tokenizers.trainers import BpeTrainer

from hf_bpe import BPEModel, BPETokenizer, WordCounts, count, train
from hf_bpe.core import CharacterAlphabet
from hf_bpe.formats._files.tokenizer_json_writing import render_tokenizer_json
from hf_bpe.pretokenizers import Metaspace, Pattern
from hf_bpe.pretokenizers._native_splitting import native_pattern
from hf_bpe.reference import pre_tokenize
from hf_bpe.reference._training_alphabet import TrainingAlphabet, count_characters
from support.cases import case, check_refusals
from support.engines import use_engine
from support.oracles import oracle
from support.oracles.learning import learn_merges
from support.profiles import by_profile, scaled
from support.strategies import tie_breaks

LLAMA = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}]}
LLAMA["normalizers"].append({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})
_ALPHABET = ["a", "b", " ", " ", "▁", "\n", "\t", "!", "é", "你", "好", "👋", "<0x0A>"]
texts = st.lists(st.sampled_from(_ALPHABET), max_size=24).map("".join)
corpora = st.lists(texts, min_size=1, max_size=4)
BYTE_TOKENS = [b"<0x%02X>" % byte for byte in range(256)]
patterns = st.builds(Metaspace, st.sampled_from("▁_"), st.sampled_from(["always", "first", "never"]), st.booleans())

pytestmark = pytest.mark.filterwarnings("ignore:the text gives:UserWarning")  # most texts here are small


def train_theirs(texts, size, pattern, special_tokens, **options):
    tokenizer = Tokenizer(models.BPE(unk_token=special_tokens[0], byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(pattern.replacement, pattern.prepend_scheme, pattern.split)
    specials = [*special_tokens, *map(bytes.decode, BYTE_TOKENS)]
    trainer = BpeTrainer(vocab_size=size, special_tokens=specials, show_progress=False, **options)
    tokenizer.train_from_iterator(texts, trainer)
    return json.loads(tokenizer.to_str())["model"]


AS_THEIRS = {"unk_token": "<unk>", "tie_break": "huggingface", "character_coverage": 1}


def assert_equal(model, theirs):
    assert [(first.decode(), second.decode()) for first, second in model.merges] == [*map(tuple, theirs["merges"])]
    assert model.printable_vocab() == theirs["vocab"]


@given(corpora, patterns, st.integers(0, 40), st.integers(0, 3), st.none() | st.integers(1, 6))
def test_vocabulary_and_merges_equal_tokenizers(documents, pattern, more, least, limit):
    assume(not any("<0x0A>" in document for document in documents))  # theirs learns the token of a byte
    counts = count(documents, pattern=pattern)
    numbers = sorted(count_characters(dict(counts.items())).values(), reverse=True)
    assume(limit is None or limit >= len(numbers) or numbers[limit - 1] > numbers[limit])  # else theirs takes any
    size = 258 + min(len(numbers), limit or len(numbers)) + more
    options = {} if limit is None else {"limit_alphabet": limit}
    theirs = train_theirs(documents, size, pattern, ["<unk>", "</s>"], min_frequency=least, **options)
    options = {**AS_THEIRS, "pattern": pattern, "limit_alphabet": limit, "min_frequency": least}
    assert_equal(train(documents, size, ["<unk>", "</s>"], **options), theirs)


@scaled
@pytest.mark.parametrize("name", ["english", "code", "multilingual", "nonlatin"])
def test_real_text_gives_the_merges_of_tokenizers(test_data, name):
    data = (test_data / "text" / f"{name}.txt").read_bytes()[: by_profile(quick=300_000, thorough=20_000_000)]
    documents = data.decode(errors="ignore").split("<|endoftext|>")
    pattern, size = Metaspace(), by_profile(quick=8000, thorough=32_000)
    for limit in (None, 500):
        with case(limit):
            options = {} if limit is None else {"limit_alphabet": limit}
            theirs = train_theirs(documents, size, pattern, ["<unk>"], **options)
            ours = train(documents, size, pattern=pattern, limit_alphabet=limit, **AS_THEIRS)
            if limit is not None:  # theirs chooses at random among characters of equal counts
                numbers = sorted(count_characters(dict(count(documents, pattern=pattern).items())).values())[::-1]
                if numbers[limit - 1 : limit] == numbers[limit : limit + 1]:
                    continue
            assert_equal(ours, theirs)


@given(corpora, patterns, st.sampled_from([[], ["</s>"], ["</s>", "ab"]]), st.integers(1, 3))
def test_counts_are_those_of_both_engines(documents, pattern, specials, workers):
    documents = [document.replace("!", "</s>") for document in documents]
    expected = Counter()
    for document in documents:
        parts = re.split("|".join(specials), document) if specials else [document]
        for number, part in enumerate(parts):
            if part:
                is_later = number > 0 and pattern.prepend_scheme == "first"
                stage = replace(pattern, prepend_scheme="never") if is_later else pattern
                expected.update(pre_tokenize(part.encode(), stage))
    assert dict(count(documents, pattern=pattern, special_tokens=specials, num_workers=workers).items()) == expected
    if pattern.prepend_scheme != "first" or not specials:
        with use_engine("reference"):
            assert dict(count(documents, pattern=pattern, special_tokens=specials).items()) == expected


def test_parts_of_files_count_like_the_whole(tmp_path, native):
    text = "one two  three</s>four\nfive ▁six </s> seven é你 " * 2000
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    for scheme in ("always", "first", "never"):
        pattern = Metaspace(prepend_scheme=scheme)
        expected = count([text], pattern=pattern, special_tokens=["</s>"])
        how = native_pattern(native, Pattern.parse(pattern))
        counter = native.Counter(how, [b"</s>"], threads=2, chunk_bytes=100)
        counter.add([text.encode()], check_utf8=True, progress=None)
        with case(scheme):
            assert WordCounts.from_run(counter.drain(), expected.settings, 1) == expected
            from_file = count(
                tmp_path / "text.txt", pattern=pattern, special_tokens=["</s>"], work_dir=tmp_path / "work" / scheme
            )
            assert from_file == expected


@settings(max_examples=by_profile(quick=60, thorough=600))
@given(
    st.dictionaries(
        texts.filter(bool).map(str.encode) | st.binary(min_size=1, max_size=5), st.integers(1, 9), max_size=6
    ),
    st.sets(st.sampled_from("ab ▁\n\t!é你👋<0xA>"), max_size=12),
    st.booleans(),
    tie_breaks,
    st.integers(0, 12),
    st.data(),
)
def test_merges_equal_the_literal_algorithm(counts, characters, drops, tie_break, number, data):
    alphabet = TrainingAlphabet("".join(sorted(characters)), drops)
    first = learn_merges(counts, max_merges=number, alphabet=alphabet, tie_break=tie_break)
    assert first == oracle.learn_merges(counts, max_merges=number, alphabet=alphabet, tie_break=tie_break)
    kept = data.draw(st.integers(0, len(first)))
    options = {"max_merges": number - kept, "initial": first[:kept], "alphabet": alphabet, "tie_break": tie_break}
    assert learn_merges(counts, **options) == first[kept:]
    shuffled = data.draw(st.permutations(first))[:kept]
    options["initial"] = shuffled
    with use_engine("reference"):
        expected = learn_merges(counts, **options)
    assert learn_merges(counts, **options) == expected == oracle.learn_merges(counts, **options)


def test_no_merge_makes_the_token_of_a_byte():
    model = train(["<0x41><0x41> <0x42>"] * 9, num_merges=40, byte_fallback=True)
    assert not {first + second for first, second in model.merges} & {*BYTE_TOKENS}
    assert len(model.merges) > 8


def test_coverage_and_limit_choose_the_commonest_characters():
    text = "aaaa bbbb ccc d"  # with the space before it 16 characters
    for options, expected in (
        ({}, "abcd▁"),
        ({"character_coverage": 15 / 16}, "abc▁"),
        ({"character_coverage": 0.9, "limit_alphabet": 2}, "ab"),
        ({"character_coverage": 0}, ""),
    ):
        with case(options):
            model = train([text], num_merges=0, byte_fallback=True, **options)
            assert [token.decode() for token in model.vocab.values()][256:] == [*expected]


IMPOSSIBLE = [
    ({"byte_fallback": False}, "neither"),
    ({"unk_token": "<unk>"}, "unk_token: expected None, because the alphabet is bytes"),
    ({"limit_alphabet": 9}, "limit_alphabet: expected None, because the alphabet is bytes"),
    ({"byte_fallback": True, "pattern": "gpt2"}, "expected None or a Metaspace"),
    ({"byte_fallback": True, "initial_alphabet": "observed"}, "initial_alphabet: not for a model"),
    ({"byte_fallback": True, "character_coverage": 1.5}, "expected a share of 0 to 1"),
    ({"byte_fallback": True, "vocab_size": 255}, "vocab_size 255 is too small: 256 bytes and characters"),
    ({"byte_fallback": True, "vocab_size": 256}, "vocab_size 256 is too small: 259 bytes and characters"),
    ({"pattern": Metaspace(), "initial": BPEModel({0: b"a"}, [])}, "they must be the same"),
]


def test_impossible_options_are_refused_by_name():
    check_refusals(IMPOSSIBLE, lambda options: train(["ab"], **{"vocab_size": 300, **options}))


def test_initial_model_keeps_its_characters_by_default():
    model = train(["low lower"] * 3, num_merges=4, byte_fallback=True)
    longer = train(["low 你好 你好"] * 3, num_merges=3, initial=model)
    assert longer.merges[:4] == model.merges
    assert not any("你".encode() in token for token in longer.vocab.values())
    wider = train(["low 你好 你好"] * 3, num_merges=3, initial=model, character_coverage=1)
    assert [token.decode() for token in wider.vocab.values()][model.vocab_size :] == ["你", "好", "你好", "▁你好"]
    assert wider.alphabet == model.alphabet
    with pytest.raises(ValueError, match="byte_fallback: expected None, because the initial model says it"):
        train(["low"], num_merges=3, initial=model, byte_fallback=False)


def test_training_resumes_from_its_checkpoint(tmp_path):
    documents = ["low lower lowest newest 你好 é"] * 3
    expected = train(documents, num_merges=20, byte_fallback=True)
    for number in (5, 12, 20):
        model = train(documents, num_merges=number, byte_fallback=True, work_dir=tmp_path)
        assert model.merges == expected.merges[:number]
    with pytest.raises(ValueError, match="expected a training with alphabet"):
        train(documents, num_merges=20, byte_fallback=True, work_dir=tmp_path, character_coverage=0.5)


@given(
    corpora,
    patterns,
    st.sampled_from([None, "NFKC", LLAMA]),
    st.booleans(),
    st.lists(texts, min_size=1, max_size=4),
)
@example(["▁"], Metaspace("_", "always", split=False), None, False, ["a b", "▁a", "_"])
def test_saved_tokenizers_give_the_same_ids_and_text(documents, pattern, normalizer, falls_back, samples):
    tokenizer = BPETokenizer.train(
        documents,
        num_merges=8,
        pattern=None if normalizer is LLAMA else pattern,
        normalizer=normalizer,
        byte_fallback=falls_back,
        unk_token="<unk>",
        bos_token="<s>",
        add_bos_token=True,
    )
    theirs = Tokenizer.from_buffer(render_tokenizer_json(tokenizer.definition))
    for text in samples:
        ids = tokenizer.encode(text)
        assert ids == theirs.encode(text).ids
        assert tokenizer.decode(ids, skip_special_tokens=True) == theirs.decode(ids)


def test_training_again_keeps_the_alphabet_and_its_pattern():
    tokenizer = BPETokenizer.train(["low lower lowest ¿"] * 5, vocab_size=280, byte_fallback=True, eos_token="</s>")
    for text in ("¿é你\n", " low", "<0x0A>"):
        assert tokenizer.decode(tokenizer.encode(text)) == text.removeprefix(" ")
    again = tokenizer.train_new_from_iterator(["high higher highest"] * 5, 275)
    assert (again.model.alphabet, again.model.pattern) == (CharacterAlphabet(True), tokenizer.model.pattern)
    assert again.decode(again.encode("higher 你")) == "higher 你"
    with_unknown = BPETokenizer.train(["low lower"] * 5, num_merges=2, byte_fallback=False, unk_token="<unk>")
    renamed = with_unknown.train_new_from_iterator(["high"] * 5, 10, special_tokens_map={"<unk>": "<u>"})
    assert renamed.model.alphabet == CharacterAlphabet(False, "<u>")
    assert renamed.unk_token == "<u>"
