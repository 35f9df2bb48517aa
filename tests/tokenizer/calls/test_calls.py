"""Calls give what transformers' Python tokenizers give, and what fast ones have besides: both are asked at random."""

import random

import numpy as np
import pytest
from transformers import AddedToken, PreTrainedTokenizerFast
from transformers.tokenization_python import PreTrainedTokenizer
from transformers.tokenization_utils_base import PreTrainedTokenizerBase

from hf_bpe import BPETokenizer, accelerate
from hf_bpe._utils.processes import default_threads, usable_cores
from hf_bpe.formats import _template
from support.cases import case
from support.profiles import by_profile, scaled

CORPUS = [
    "low low lower widest newest newest 你好 你好 42!\n\n the lowest of the low don't é e\u0301 \U0001f44b\U0001f3fd"
]
SPECIALS = ["<|endoftext|>", "<pad>", "<|user|>"]
PIECES = [
    *("low", " lowest", " the", "newest", "don't", " ", "   ", "\n\n", "\t", "42", " 1234", "你好", "é", "e\u0301"),
    *("\U0001f44b\U0001f3fd", "\u3000", "!?", "<|endoftext|>", "<|user|>", "<pad>", " word", "<strip>", "<|", "\x00"),
]
SETTINGS = {
    "none": {},
    "bos": {"add_bos_token": True},
    "eos": {"add_eos_token": True},
    "bos_eos": {"add_bos_token": True, "add_eos_token": True},
    "prefix space": {"add_prefix_space": True},
    "NFC": {"pattern": "qwen2", "normalizer": "NFC"},
    "left": {"padding_side": "left", "truncation_side": "left", "add_bos_token": True},
    "qwen2": {"pattern": "qwen2"},
    "regular expression": {"pattern": r"\w+|\s+|[^\w\s]"},
    "model_max_length": {"model_max_length": 7, "add_eos_token": True},
    "bert": {"token_type_ids_pattern": "bert_style", "model_input_names": ["input_ids", "token_type_ids"]},
    "short": {"model_max_length": 2, "split_special_tokens": True},
}
CALLS = by_profile(quick=60, thorough=200)
"""The number of random calls that are compared with each settings."""


class Inherited(BPETokenizer):
    """A tokenizer whose calls are transformers' own, but that ids are cut as ours are."""

    _encode_plus = PreTrainedTokenizer._encode_plus


def make(kind, cls=BPETokenizer):
    tokenizer = cls.train(CORPUS, num_merges=25, special_tokens=SPECIALS, pad_token="<pad>", **SETTINGS[kind])
    tokenizer.add_tokens([AddedToken("<strip>", lstrip=True, rstrip=True), "word"])
    return tokenizer


def fast_of(tokenizer):
    """Make the fast tokenizer that someone without hf_bpe loads."""
    names = ("model_max_length", "padding_side", "truncation_side", "split_special_tokens", "model_input_names")
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer.backend_tokenizer,
        **{name: getattr(tokenizer, name) for name in names},
        **tokenizer.special_tokens_map,
    )


def draw_text(rng):
    return "".join(rng.choices(PIECES, k=rng.choice([0, 1, 3, 8, 20])))


def draw_input(rng, in_words, word_counts=(1, 2, 5)):
    """Draw the texts of a call: one, a pair, many, pairs in the two forms; as text or as lists of words."""

    def one():
        return [draw_text(rng) for _ in range(rng.choice(word_counts))] if in_words else draw_text(rng)

    form = rng.choice(["one", "pair", "many", "pairs", "tuples"])
    if form == "one":
        return (one(),)
    if form == "pair":
        return one(), one()
    count = rng.choice([1, 2, 4])
    if form == "many":
        return ([one() for _ in range(count)],)
    if form == "pairs":
        return [one() for _ in range(count)], [one() for _ in range(count)]
    return ([(one(), one()) for _ in range(count)],)


def draw_options(rng, tensors=(None,)):
    padding = rng.choice([False, True, "longest", "max_length"])
    options = {
        "padding": padding,
        "truncation": rng.choice([None, False, True, "longest_first", "only_first", "only_second"]),
        "max_length": rng.choice([None, 1, 4, 8, 16, 40]),
        "add_special_tokens": rng.random() < 0.7,
        "return_tensors": rng.choice(tensors),
        "return_token_type_ids": rng.choice([None, True]),
        "return_attention_mask": rng.choice([None, False, True]),
        "return_special_tokens_mask": rng.random() < 0.5,
        "return_length": rng.random() < 0.3,
        "padding_side": rng.choice([None, "left", "right"]),
        "verbose": False,
    }
    if padding is not False:
        options["pad_to_multiple_of"] = rng.choice([None, 4])
    if rng.random() < 0.3:
        options["split_special_tokens"] = rng.random() < 0.5
    return options


def outcome(tokenizer, *texts, **options):
    """Return what a call gives, as lists; or what kind of error it is."""
    try:
        encoded = tokenizer(*texts, **options)
    except ValueError as error:
        return str(error)
    return {name: plain(value) for name, value in encoded.items()}


def plain(value):
    """Return arrays as lists, those of unequal rows too."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return [plain(each) for each in value] if isinstance(value, list) else value


@scaled
@pytest.mark.parametrize("kind", SETTINGS)
def test_calls_are_those_of_python_tokenizers(kind):
    rng = random.Random(kind)
    ours, inherited = make(kind), make(kind, Inherited)
    # Before 5.16 transformers takes a text of two words in a batch for a pair of texts.
    types = make("bert", Inherited)([["low", "low"]], is_split_into_words=True)["token_type_ids"]
    word_counts = (1, 3, 5) if types == [[0, 1]] else (1, 2, 5)
    equal = 0
    for _ in range(CALLS):
        in_words = rng.random() < 0.2
        texts, options = draw_input(rng, in_words, word_counts), draw_options(rng, (None, None, "np"))
        mine = outcome(ours, *texts, is_split_into_words=in_words, **options)
        theirs = outcome(inherited, *texts, is_split_into_words=in_words, **options)
        if isinstance(theirs, dict) and theirs["input_ids"] in ([], [[]]) and mine["input_ids"] != theirs["input_ids"]:
            # Python tokenizers do not fill up a single text without ids; fast ones do.
            assert options["padding"] == "max_length"
            assert {*np.ravel(mine["input_ids"])} == {ours.pad_token_id}
        else:
            assert mine == theirs, (texts, options)
            equal += isinstance(mine, dict)
    assert equal > CALLS / 2


@scaled
@pytest.mark.parametrize("kind", SETTINGS)
def test_calls_are_those_of_fast_tokenizers(kind):
    rng = random.Random(kind)
    ours = make(kind)
    fast, accelerated = fast_of(ours), accelerate(fast_of(ours))
    equal = 0
    for _ in range(CALLS):
        in_words = rng.random() < 0.3
        texts, options = draw_input(rng, in_words), draw_options(rng)
        options |= {"return_offsets_mapping": rng.random() < 0.7, "stride": rng.choice([0, 0, 1, 2])}
        options["return_overflowing_tokens"] = rng.random() < 0.5
        options["max_length"] = rng.choice([None, 4, 8, 16, 40])  # less than 3 is too little for their special tokens
        if not options["return_overflowing_tokens"]:
            options["return_length"] = False  # which is then what Python tokenizers give
        options["return_attention_mask"] = True
        if not texts[-1]:
            continue  # an empty second text is none to fast tokenizers, when it is the only one
        theirs = call_or_none(fast, *texts, is_split_into_words=in_words, **options)
        got = call_or_none(accelerated, *texts, is_split_into_words=in_words, **options)
        if theirs is None:
            assert got is None or options["max_length"] == 4, (texts, options)  # in which stride leaves no room
            continue
        assert seen(got) == seen(theirs), (texts, options)
        mine = call_or_none(ours, *texts, is_split_into_words=in_words, **options)
        if mine is None:  # no id of a text fits a row; they return a row that is longer then
            assert max(map(sum, theirs["attention_mask"])) > options["max_length"]
            continue
        types = mine.data.pop("token_type_ids", None), theirs.data.pop("token_type_ids", None)
        assert (types[0] is None) == (types[1] is None)
        assert mine.data == theirs.data, (texts, options)
        assert mine.n_sequences == theirs.n_sequences
        for row in range(len(theirs.encodings)):
            assert mine.word_ids(row) == theirs.word_ids(row), (texts, options)
            assert mine.sequence_ids(row) == theirs.sequence_ids(row), (texts, options)
            # They show the white space that an added token has eaten.
            stripped = [token.strip() if "<strip>" in token else token for token in theirs.tokens(row)]
            assert mine.tokens(row) == stripped, (texts, options)
            check_methods(mine[row], theirs[row])
        equal += 1
    assert equal > CALLS / 4


def call_or_none(tokenizer, *texts, **options):
    try:
        return tokenizer(*texts, **options)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a panic of Rust is no Exception
        return None


def seen(encoded):
    """Return the columns and rows of what a call of a fast tokenizer returns."""
    names = ["ids", "tokens", "type_ids", "offsets", "word_ids", "sequence_ids"]
    names += ["attention_mask", "special_tokens_mask"]
    rows = [[getattr(row, name) for name in names] for row in encoded.encodings]
    return {name: plain(value) for name, value in encoded.items()}, rows


def check_methods(mine, theirs):
    assert len(mine) == len(theirs)
    for token in range(len(theirs)):
        assert mine.token_to_chars(token) == theirs.token_to_chars(token)
        assert mine.token_to_word(token) == theirs.token_to_word(token)
        assert mine.token_to_sequence(token) == theirs.token_to_sequence(token)
    for sequence in range(mine.n_sequences):
        for number in range(12):
            assert mine.char_to_token(number, sequence) == theirs.char_to_token(number, sequence)
            assert mine.char_to_word(number, sequence) == theirs.char_to_word(number, sequence)
            assert mine.word_to_tokens(number, sequence) == theirs.word_to_tokens(number, sequence)
            assert mine.word_to_chars(number, sequence) == theirs.word_to_chars(number, sequence)
    for name in ("ids", "offsets", "word_ids", "sequence_ids", "special_tokens_mask", "attention_mask", "n_sequences"):
        assert getattr(mine, name) == getattr(theirs, name), name


@pytest.fixture(scope="module")
def tokenizer():
    return make("bos_eos")


def ids_or_error(tokenizer, texts, **options):
    try:
        return tokenizer(*texts, truncation=options.pop("strategy"), **options)["input_ids"]
    except Exception as error:  # `tokenizers` raises no narrower class
        return "too short" if "too short" in str(error) or "only " in str(error) else "no second text"


@pytest.mark.parametrize("kind", ["none", "bos_eos"])
def test_strategies_refuse_the_lengths_that_fast_ones_do(kind, native):
    tokenizer = make(kind)
    fast, accelerated = fast_of(tokenizer), accelerate(fast_of(tokenizer))
    for texts in [("low low the",), ("low low", "the low low low"), ("the", "low"), ("", "low"), (["low", "the low"],)]:
        num_special = tokenizer.num_special_tokens_to_add(pair=len(texts) == 2)
        for strategy in ("only_first", "only_second", "longest_first"):
            for max_length in range(num_special, num_special + 9):  # with less `tokenizers` cuts nothing
                expected = ids_or_error(fast, texts, strategy=strategy, max_length=max_length)
                for each in (tokenizer, accelerated):
                    with case((texts, strategy, max_length, type(each))):
                        assert ids_or_error(each, texts, strategy=strategy, max_length=max_length) == expected


def test_ids_that_overflow_are_those_of_both_texts(tokenizer):
    cut = tokenizer.truncate_sequences([5, 6], [7], num_tokens_to_remove=3, truncation_strategy="only_first")
    assert cut == ([], [], [5, 6, 7])


def test_batch_of_texts_and_pairs_is_as_in_transformers(tokenizer):
    rows = tokenizer(["low", ("low", "the"), [5, 6]])["input_ids"]
    assert rows == [tokenizer.encode("low"), tokenizer.encode("low", "the"), tokenizer.encode([5, 6])]
    assert rows[2] == [tokenizer.bos_token_id, 5, 6, tokenizer.eos_token_id]


def test_length_without_limit_neither_cuts_nor_pads(tokenizer):
    no_limit = tokenizer.model_max_length
    assert no_limit > 2**64
    for texts in ("low the", ["low", "the low"]):
        expected = tokenizer(texts, return_overflowing_tokens=True)
        options = {"truncation": True, "max_length": no_limit}
        assert tokenizer(texts, return_overflowing_tokens=True, **options) == expected
        assert tokenizer(texts, **options) == tokenizer(texts)
        for tensors in (None, "np"):
            with pytest.raises(ValueError, match="expected a max_length that memory can hold"):
                tokenizer(texts, padding="max_length", max_length=no_limit, return_tensors=tensors)


def test_encode_takes_options_by_place(tokenizer):
    assert tokenizer.encode("low", None, False) == tokenizer.encode("low", add_special_tokens=False)
    padded = tokenizer.encode("low", padding="max_length", max_length=9)
    assert tokenizer.encode("low", None, True, "max_length", None, 9) == padded


def test_arrays_are_int64_and_torch_shares_their_memory(tokenizer):
    arrays = tokenizer(["low", "the low"], padding=True, return_tensors="np")
    assert {array.dtype for array in arrays.values()} == {np.dtype(np.int64)}
    assert tokenizer([], padding=True, return_tensors="np")["input_ids"].shape == (0, 0)
    torch = pytest.importorskip("torch", reason="tensors of torch need torch")
    tensors = tokenizer(["low", "the low"], padding=True, return_tensors="pt")
    assert {tensor.dtype for tensor in tensors.values()} == {torch.int64}
    assert all(tensors[name].tolist() == array.tolist() for name, array in arrays.items())
    tensors["input_ids"][0, 0] = 1  # which torch forbids, or warns of, for memory that is not its to write


def test_encodings_stay_those_of_the_call():
    tokenizer = make("none")
    encoded = tokenizer("low newtoken")
    tokenizer.add_tokens(["newtoken"])
    assert len(encoded.tokens()) == len(encoded["input_ids"]) > len(tokenizer("low newtoken")["input_ids"])


def test_threads_of_a_call_are_as_in_tokenizers(monkeypatch):
    monkeypatch.delenv("TOKENIZERS_PARALLELISM", raising=False)
    monkeypatch.delenv("RAYON_NUM_THREADS", raising=False)
    assert default_threads() == usable_cores()
    monkeypatch.setenv("RAYON_NUM_THREADS", "3")
    assert default_threads() == 3
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "False")
    assert default_threads() == 1
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    monkeypatch.setenv("RAYON_NUM_THREADS", "0")
    assert default_threads() == usable_cores()


def test_call_looks_for_no_attribute_that_is_missing(monkeypatch):
    tokenizer = BPETokenizer.train(CORPUS, vocab_size=300, special_tokens=["<pad>"], pad_token="<pad>")
    missing = []

    def record_missing(self, name):
        try:
            return inherited(self, name)
        except AttributeError:  # after a walk through all base classes in Python
            missing.append(name)
            raise

    inherited = PreTrainedTokenizerBase.__getattr__
    monkeypatch.setattr(PreTrainedTokenizerBase, "__getattr__", record_missing)
    tokenizer("low lower")
    tokenizer(["low lower", "low"], padding=True, return_tensors="np")
    assert missing == []


def test_a_text_that_begins_with_bos_twice_is_warned_of_once(caplog, monkeypatch):
    tokenizer = BPETokenizer.train(["low"], vocab_size=257, bos_token="<s>", add_bos_token=True)
    calls = {
        "encode": lambda: tokenizer.encode("<s>low"),
        "call": lambda: tokenizer("<s>low"),
        "rows": lambda: tokenizer(["<s>low", "low"], padding=False),
        "pairs": lambda: tokenizer("<s>low", "low"),
    }
    for name, call in calls.items():
        with case(name):
            monkeypatch.setattr(_template, "_warned", set())
            caplog.clear()
            call()
            assert [record.message[:29] for record in caplog.records] == ["a text begins with '<s>', and"]
            call()
            assert len(caplog.records) == 1
    monkeypatch.setattr(_template, "_warned", set())
    caplog.clear()
    for harmless in (
        lambda: tokenizer.encode("<s>low", add_special_tokens=False),
        lambda: tokenizer(["<s>low"], add_special_tokens=False),
        lambda: tokenizer.encode("low<s>"),
        lambda: tokenizer(["low<s>"]),
        lambda: tokenizer("<s>low", split_special_tokens=True),
        lambda: tokenizer("", "low"),
    ):
        harmless()
    assert caplog.records == []
