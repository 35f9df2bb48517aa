"""`allowed_special` and `disallowed_special` give the ids of tiktoken, or its errors."""

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, normalizers

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
    backend = tokenizer.backend_tokenizer
    backend.normalizer = normalizers.Lowercase()
    lowered = BPETokenizer.convert_from(backend)
    lowered.add_special_tokens({"eos_token": AddedToken("<end>", normalized=True, special=True)})
    assert lowered.encode("<END>") == [lowered.eos_token_id]
    with pytest.raises(ValueError, match="'<end>' after normalization"):
        lowered.encode("<END>", disallowed_special="all")
