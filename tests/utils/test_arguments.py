"""Arguments of calls: wrong numbers and types are refused by name, and whatever makes sense is taken."""

import numpy as np
import pytest
from transformers.tokenization_utils_base import TruncationStrategy
from transformers.utils import PaddingStrategy, TensorType

from hf_bpe import BPETokenizer
from hf_bpe._utils.arguments import check_flag, check_ids, check_int, checked, optional, short_repr
from support.cases import case

TEXT = "low lower lowest newest"


@pytest.fixture(scope="module")
def tokenizer():
    return BPETokenizer.train([TEXT] * 2, vocab_size=262, special_tokens=["<|x|>"], pad_token="<|x|>")


# Exception → options, and a part of the message.
REFUSED = {
    ValueError: [
        ({"stride": -1}, "stride: expected at least 0, got -1"),
        ({"max_length": -1, "truncation": True}, "max_length: expected at least 0, got -1"),
        ({"max_length": -1}, "max_length: expected at least 0, got -1"),
        ({"padding": True, "pad_to_multiple_of": 0}, "pad_to_multiple_of: expected at least 1, got 0"),
        ({"padding": "full"}, r"padding: expected one of 'longest', .*, got 'full'"),
        ({"truncation": "all"}, r"truncation: expected one of .*, got 'all'"),
        ({"padding": True, "padding_side": "up"}, "padding_side: expected one of 'left', 'right'"),
        ({"return_tensors": "tf"}, r"return_tensors: expected one of .*, got 'tf'"),
    ],
    TypeError: [
        ({"max_length": 2.5, "truncation": True}, "max_length: expected an int, got 2.5"),
        ({"max_length": 2.5, "padding": "max_length"}, "max_length: expected an int, got 2.5"),
        ({"return_length": "false"}, "return_length: expected True or False, got 'false'"),
        ({"verbose": np.array([True, False])}, "verbose: expected True or False"),
    ],
}


@pytest.mark.parametrize("error", REFUSED)
def test_wrong_numbers_and_names_are_refused(tokenizer, error):
    for options, message in REFUSED[error]:
        for texts in (TEXT, [TEXT, "low"], [(TEXT, "low")]):
            with case(options, texts), pytest.raises(error, match=message):
                tokenizer(texts, **options)
        with case(options), pytest.raises(error, match=message):
            tokenizer.encode(TEXT, **options)


def test_values_that_are_not_text_are_refused(tokenizer):
    for wrong in (None, 1.5, b"low", ["low"], 7):
        with case(wrong), pytest.raises(TypeError, match=r"text: expected a str, got "):
            tokenizer.tokenize(wrong)
    message = "text: expected lists of str, because is_split_into_words is set"
    for wrong in (["low", 1], [["low"], [None]], "low", [["low", b"er"]], 5):
        with case(wrong), pytest.raises(ValueError, match=message):
            tokenizer(wrong, is_split_into_words=True)
    for wrong in (1.5, [None], ["low", 1], [["low", 1.5]], {"low": 1}, b"low"):
        with case(wrong), pytest.raises(ValueError, match=r"text: expected a str, or a list of str, .* or ids; got"):
            tokenizer(wrong)
        with case(wrong), pytest.raises(ValueError, match="text_pair: expected a str"):
            tokenizer("low", wrong)


def test_whatever_makes_sense_is_taken(tokenizer):
    texts = [TEXT, "low"]
    plain = {"padding": "longest", "truncation": "longest_first", "max_length": 4, "return_tensors": "np"}
    expected = tokenizer(texts, **plain, stride=1)
    for odd in (
        {"padding": PaddingStrategy.LONGEST, "truncation": TruncationStrategy.LONGEST_FIRST},
        {"padding": True, "truncation": np.bool_(True), "max_length": np.int64(4), "stride": np.uint8(1)},
        {"padding": 1, "truncation": 1, "return_tensors": TensorType.NUMPY, "pad_to_multiple_of": np.int32(1)},
    ):
        got = tokenizer(texts, **{**plain, **odd})
        assert got["input_ids"].tolist() == expected["input_ids"].tolist()
        assert got["attention_mask"].tolist() == expected["attention_mask"].tolist()
    assert tokenizer("low", padding=None, truncation=None, max_length=None, verbose=None) == tokenizer("low")
    assert tokenizer([1, 2]).input_ids == [1, 2]
    assert tokenizer([[1, 2], [3]]).input_ids == [[1, 2], [3]]
    assert tokenizer.decode(np.int64(108)) == tokenizer.decode([108]) == tokenizer.decode(iter([108])) == "l"


def test_numbers_of_numpy_are_ints_and_truth_values_are_not():
    assert check_int("n", np.uint16(7)) == check_int("n", np.array(7)) == 7
    assert type(check_int("n", np.int64(7))) is int
    for wrong in (True, np.bool_(True), np.float32(7), np.array([7]), "7", None):
        with pytest.raises(TypeError, match="n: expected an int, got "):
            check_int("n", wrong)
    flags = [check_flag("f", value) for value in (True, np.bool_(False), 1, 0, None)]
    assert flags == [True, False, True, False, False]
    with pytest.raises(TypeError, match=r"ids\[1\]: expected an int, got 'a'"):
        check_ids("ids", [1, "a"])


def test_checked_arguments_may_be_given_by_place_or_by_name():
    @checked(n=optional(check_int), absent=check_int)
    def function(first, n=5, *rest, **others):
        return first, n, rest, others

    assert function("a") == ("a", 5, (), {})
    assert function("a", np.int8(3), 7, 8) == ("a", 3, (7, 8), {})
    assert function(n=None, first="a", other=1) == ("a", None, (), {"other": 1})
    for call in (lambda: function("a", "b"), lambda: function("a", n="b"), lambda: function("a", absent="b")):
        with pytest.raises(TypeError, match="expected an int, got 'b'"):
            call()
    with pytest.raises(TypeError, match=r"function\(first\): first missing$"):
        function(n=3)


def test_values_are_shown_in_short_whatever_their_repr_does():
    class Unprintable:
        def __repr__(self):
            raise RuntimeError

    assert short_repr(Unprintable()) == "a value of type Unprintable"
    assert len(short_repr("a" * 10_000)) < 100
