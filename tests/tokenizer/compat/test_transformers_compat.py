"""Differences of older releases of transformers 5, imitated where a newer one is installed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers.tokenization_python import PreTrainedTokenizer
from transformers.tokenization_utils_base import PreTrainedTokenizerBase

from support.samples import make_tokenizer
from support.upstream.transformers_features import skip_without

HAS_CLEANING = hasattr(PreTrainedTokenizerBase, "clean_up_tokenization")
TOKENIZER = make_tokenizer()


def test_special_tokens_pattern_of_bert_as_default_is_ignored(monkeypatch):
    make = PreTrainedTokenizer.__init__

    def make_with_default_of_5_0(self, **kwargs):
        make(self, **{"special_tokens_pattern": "cls_sep", **kwargs})

    monkeypatch.setattr(PreTrainedTokenizer, "__init__", make_with_default_of_5_0)
    tokenizer = make_tokenizer()
    assert (tokenizer.add_bos_token, tokenizer.add_eos_token) == (False, False)
    assert make_tokenizer().encode("low") == tokenizer.encode("low")


@skip_without("clean_up_tokenization", HAS_CLEANING)
@given(st.lists(st.sampled_from([*" .?!,'ntmsvrex", " 've", " n't"])).map("".join))
def test_spaces_are_cleaned_as_by_transformers(text):
    expected, ids = PreTrainedTokenizerBase.clean_up_tokenization(None, text), TOKENIZER.encode(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(PreTrainedTokenizerBase, "clean_up_tokenization")
        assert TOKENIZER.decode(ids, clean_up_tokenization_spaces=True) == expected
