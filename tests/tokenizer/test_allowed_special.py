"""`allowed_special` and `disallowed_special` give the ids of tiktoken, or its errors."""

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken

from hf_bpe import BPETokenizer

SPECIALS = ["<|a|>", "<|b|>", "<|ab|>"]
TOKENIZER = BPETokenizer.train(["low lower <lowest> a|b"], vocab_size=266, special_tokens=SPECIALS)
ENCODING = tiktoken.Encoding(
    "test",
    pat_str=r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""",
    mergeable_ranks={token: i for i, token in TOKENIZER.model.vocab.items() if token.decode("latin-1") not in SPECIALS},
    special_tokens=TOKENIZER.model.special_ids(),
)
TEXTS = st.lists(st.sampled_from([*SPECIALS, "<|", "|>", "low", " ", "a", "b", "lowest"])).map("".join)
SETS = st.one_of(st.none(), st.just("all"), st.sets(st.sampled_from(SPECIALS)))


@given(TEXTS, SETS, SETS)
def test_ids_and_errors_are_those_of_tiktoken(text, allowed, disallowed):
    options = {"allowed_special": allowed, "disallowed_special": disallowed}
    given_options = {name: value for name, value in options.items() if value is not None} or {"allowed_special": set()}
    try:
        expected = ENCODING.encode(text, **given_options)
    except ValueError:
        with pytest.raises(ValueError, match="the text holds the special token"):
            TOKENIZER.encode(text, **given_options)
    else:
        assert TOKENIZER.encode(text, **given_options) == expected
        assert TOKENIZER([text], **given_options)["input_ids"] == [expected]


def test_token_that_normalization_makes_is_disallowed():
    tokenizer = BPETokenizer(model=BPETokenizer.train(["x"], vocab_size=256).model)
    definition = tokenizer.backend_tokenizer
    from tokenizers import normalizers

    definition.normalizer = normalizers.Lowercase()
    lowered = BPETokenizer.convert_from(definition)
    lowered.add_special_tokens({"eos_token": AddedToken("<end>", normalized=True, special=True)})
    assert lowered.encode("<END>") == [lowered.eos_token_id]
    with pytest.raises(ValueError, match="'<end>' after normalization"):
        lowered.encode("<END>", disallowed_special="all")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"allowed_special": {"<|c|>"}}, "'<|c|>' is not a special token of this tokenizer"),
        ({"allowed_special": "<|a|>"}, r"allowed_special: expected 'all' or a set of special tokens, got '<\|a\|>'"),
        ({"disallowed_special": 5}, "disallowed_special: expected a list of str, got 5"),
        ({"disallowed_special": (), "split_special_tokens": True}, "split_special_tokens: expected False"),
    ],
)
def test_invalid_value_is_refused(options, message):
    with pytest.raises((TypeError, ValueError), match=message.replace("|c|", r"\|c\|")):
        TOKENIZER.encode("low", **options)


def test_ids_cannot_be_checked():
    with pytest.raises(ValueError, match="expected texts, not ids"):
        TOKENIZER.encode([1, 2], disallowed_special=())
