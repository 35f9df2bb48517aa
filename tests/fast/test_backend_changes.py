"""What others can change in the backend of a fast tokenizer is compared before each call, and nothing else."""

import copy

import pytest
from tokenizers import AddedToken
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from hf_bpe import BPETokenizerFast, accelerate, patch_transformers
from hf_bpe.fast import _pipeline_slot


def handle_of(tokenizer):
    return tokenizer.backend_tokenizer.pre_tokenizer


def reached_after_loading(folder):
    fast = BPETokenizerFast.from_pretrained(folder)
    return fast, handle_of(fast)


def reached_after_a_call(folder):
    fast = BPETokenizerFast.from_pretrained(folder)
    fast.encode("is")
    return fast, handle_of(fast)


def reached_before_acceleration(folder):
    plain = PreTrainedTokenizerFast.from_pretrained(folder)
    handle = handle_of(plain)
    return accelerate(plain), handle


def reached_in_a_copy(folder):
    fast = BPETokenizerFast.from_pretrained(folder)
    return fast, handle_of(copy.copy(fast))


def reached_before_it_was_copied(folder):
    fast = BPETokenizerFast.from_pretrained(folder)
    handle = handle_of(fast)
    return copy.copy(fast), handle


def given_to_the_backend(folder):
    fast = BPETokenizerFast.from_pretrained(folder)
    fast.backend_tokenizer.pre_tokenizer = handle = handle_of(BPETokenizerFast.from_pretrained(folder))
    return fast, handle


WAYS = [reached_after_loading, reached_after_a_call, reached_before_acceleration, reached_in_a_copy]
WAYS += [reached_before_it_was_copied, given_to_the_backend]


@pytest.mark.parametrize("way", WAYS)
def test_changes_of_a_component_that_others_have_are_noticed(folder, way):
    fast, handle = way(folder)
    before = fast.encode("is"), fast("is")["input_ids"], fast.encode("is")
    handle.add_prefix_space = True
    expected = fast.backend_tokenizer.encode("is").ids
    assert fast.encode("is") == fast("is")["input_ids"] == expected != before[0] == before[1]


def test_components_that_nobody_else_has_are_not_compared(folder, monkeypatch):
    monkeypatch.setattr(AutoTokenizer, "from_pretrained", AutoTokenizer.__dict__["from_pretrained"])
    patch_transformers()
    tokenizers = [BPETokenizerFast.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)]
    tokenizers.append(copy.deepcopy(tokenizers[0]))
    for tokenizer in tokenizers:
        tokenizer.add_tokens(["<new>"]), tokenizer("is", padding="max_length", max_length=4, return_length=True)
        for _ in range(3):
            tokenizer.encode("is")
    monkeypatch.setattr(_pipeline_slot.Components, "state", lambda self: pytest.fail("compared"))
    for tokenizer in tokenizers:
        assert tokenizer("<new> is")["input_ids"] == tokenizer.encode("<new> is")
        assert tokenizer.decode(tokenizer.encode("is"), skip_special_tokens=True) == "is"


def test_components_of_a_class_that_others_wrote_are_compared(folder):
    class Keeping(BPETokenizerFast):
        @classmethod
        def _from_pretrained(cls, *args, **kwargs):
            loaded = super()._from_pretrained(*args, **kwargs)
            cls.handle = vars(loaded)["_tokenizer"].pre_tokenizer
            return loaded

    fast = Keeping.from_pretrained(folder)
    fast.encode("is"), fast.encode("is")
    Keeping.handle.add_prefix_space = True
    assert fast.encode("is") == fast.backend_tokenizer.encode("is").ids


def special_for_a_moment(backend):
    """Make a token special and ordinary again, which no attribute tells."""
    backend.add_special_tokens(["<x>"])
    backend.add_tokens([AddedToken("<x>", normalized=False)])


def test_the_token_that_was_special_is_found_among_others(folder):
    backend = PreTrainedTokenizerFast.from_pretrained(folder).backend_tokenizer
    backend.add_tokens(["<a>", "\u00e9", "<x>", "<b>"])
    remembered_as_special = _pipeline_slot.remembered_as_special
    assert remembered_as_special(backend, backend.get_added_tokens_decoder()) == []
    special_for_a_moment(backend)
    assert remembered_as_special(backend, backend.get_added_tokens_decoder()) == ["<x>"]


def test_calls_that_encode_do_not_ask_which_tokens_were_special(folder, monkeypatch):
    plain = PreTrainedTokenizerFast.from_pretrained(folder)
    fast = accelerate(plain)
    ids = fast.encode("this")
    monkeypatch.setattr(_pipeline_slot, "remembered_as_special", lambda *_: pytest.fail("asked"))
    assert fast.encode("this") == ids == fast("this")["input_ids"]
    with pytest.raises(pytest.fail.Exception, match="asked"):
        fast.decode(ids)
