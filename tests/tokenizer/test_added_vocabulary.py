"""Adding tokens costs what is added, gives what transformers gives, and changes no copy of the tokenizer."""

import copy
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken
from transformers.tokenization_python import PreTrainedTokenizer

from hf_bpe import BPETokenizer
from hf_bpe.encoding._encoder import as_tuples
from hf_bpe.formats import _pipeline
from support.profiles import by_profile
from support.strategies import FLAGS


def make_tokenizer(**settings):
    return BPETokenizer.train(["low lower lowest"], vocab_size=262, special_tokens=["<|endoftext|>"], **settings)


def state(tokenizer):
    """Return what is known of the added and special tokens."""
    return {
        "tokens": as_tuples(tokenizer.added_tokens_decoder.items()),
        "ids": tokenizer.get_added_vocab(),
        "special": tokenizer.all_special_tokens,
        "extra": [*map(str, tokenizer.extra_special_tokens)],
        "size": len(tokenizer),
        "encoded": tokenizer.encode("low<|endoftext|><x> <y> lowest<z>"),
        "skipped": tokenizer.decode(range(len(tokenizer)), skip_special_tokens=True),
    }


contents = st.sampled_from(["<x>", "<y>", "<z>", "low", "Ġlow", "a", "<|endoftext|>", "你", "", "<xy>"])
tokens = contents | st.builds(lambda content, *flags: AddedToken(content, **dict(zip(FLAGS, flags, strict=True))),
                              contents.filter(bool), *[st.booleans()] * len(FLAGS))  # fmt: skip
changes = st.lists(
    st.tuples(st.just("add_tokens"), st.lists(tokens, max_size=4), st.booleans())
    | st.tuples(st.just("extra"), st.lists(tokens.filter(str), max_size=3), st.booleans())
    | st.tuples(st.sampled_from(["pad_token", "unk_token"]), tokens.filter(str), st.none()),
    max_size=6,
)


def change(tokenizer, how, what, flag):
    if how == "add_tokens":
        return tokenizer.add_tokens(copy.deepcopy(what), special_tokens=flag)
    if how == "extra":
        what = {"extra_special_tokens": copy.deepcopy(what)}
        return tokenizer.add_special_tokens(what, replace_extra_special_tokens=flag)
    return tokenizer.add_special_tokens({how: what})


class AsInTransformers(BPETokenizer):
    """Adds tokens as transformers' Python tokenizers do."""

    def _add_tokens(self, new_tokens, special_tokens=False):
        self._added_tokens_decoder, self._added_tokens_encoder = (
            {**self._added_tokens_decoder},
            {**self._added_tokens_encoder},
        )
        return PreTrainedTokenizer._add_tokens(self, new_tokens, special_tokens)


@settings(max_examples=by_profile(quick=60, thorough=200))
@given(changes)
def test_added_tokens_are_those_of_transformers(changes):
    ours = make_tokenizer()
    theirs = AsInTransformers(model=ours.model)
    for each in changes:
        assert change(ours, *each) == change(theirs, *each)
        assert state(ours) == state(theirs)
        assert ours.total_vocab_size == len(ours.get_vocab())


class Unread(dict):
    """A vocabulary that may be asked for single tokens only."""

    def keys(self):
        raise AssertionError("the whole vocabulary is read")

    __iter__ = items = values = copy = keys


@pytest.mark.parametrize("special", [False, True])
def test_adding_a_token_reads_no_vocabulary_and_makes_no_encoder(monkeypatch, special):
    tokenizer = make_tokenizer()
    tokenizer._vocab.entries = Unread(tokenizer.encoder)
    made = []
    monkeypatch.setattr(_pipeline, "as_tuples", lambda items: made.append(len(items)) or as_tuples(items))
    for number in range(50):
        assert tokenizer.add_tokens(f"<{number}>", special_tokens=special) == 1
    assert len(tokenizer) == 262 + 50
    assert made == []
    assert tokenizer.encode("<7>low<49>") == [262 + 7, *tokenizer.encode("low"), 262 + 49]
    assert tokenizer.decode([262 + 7, 108], skip_special_tokens=True) == ("l" if special else "<7>l")
    assert made == [51]  # once, with <|endoftext|>


def test_loading_with_added_tokens_makes_one_encoder(monkeypatch, tmp_path):
    tokenizer = make_tokenizer()
    tokenizer.add_tokens([f"<{number}>" for number in range(50)])
    tokenizer.save_pretrained(tmp_path)
    made = []
    monkeypatch.setattr(_pipeline, "as_tuples", lambda items: made.append(1) or as_tuples(items))
    loaded = BPETokenizer.from_pretrained(tmp_path)
    loaded.encode("<7>low")
    loaded.encode("<8>low")
    assert made == [1]


def test_a_token_that_is_refused_leaves_the_others_out_too():
    tokenizer = make_tokenizer()
    before = state(tokenizer)
    with pytest.raises(TypeError, match=r"new_tokens\[1\]: expected a str or an AddedToken, got 7"):
        tokenizer.add_tokens(["<x>", 7])
    with pytest.raises(TypeError, match="added_tokens_decoder: expected a str or an AddedToken, got 7"):
        tokenizer.added_tokens_decoder = {300: "<y>", 301: 7}
    assert state(tokenizer) == before


def test_new_tokens_never_get_the_id_of_another():
    model = make_tokenizer().model
    tokenizer = BPETokenizer(model=model, added_tokens_decoder={270: AddedToken("<far>")})
    tokenizer.add_tokens([f"<{number}>" for number in range(5)])
    for number in range(5, 20):
        tokenizer.add_tokens(f"<{number}>")
    ids = tokenizer.get_added_vocab()
    assert len({*ids.values()}) == len(ids) == 22
    assert ids["<far>"] == 270
    assert tokenizer.encode("<far><19>") == [270, ids["<19>"]]


def test_tokens_given_by_id_replace_those_of_that_id():
    tokenizer = make_tokenizer()
    tokenizer.add_tokens(["<x>", "<y>"])
    tokenizer.added_tokens_decoder = {262: "<z>", 264: AddedToken("<w>", special=True)}
    assert tokenizer.get_added_vocab() == {"<|endoftext|>": 256, "<z>": 262, "<y>": 263, "<w>": 264}
    assert tokenizer.encode("<z><w>") == [262, 264]
    assert tokenizer.decode([262, 264], skip_special_tokens=True) == "<z>"
    assert len(tokenizer) == 265


# Copies


@settings(max_examples=by_profile(quick=40, thorough=100))
@given(st.sampled_from([copy.copy, copy.deepcopy]), changes, changes, st.booleans())
def test_copy_and_its_original_do_not_change_each_other(make_copy, before, after, is_copy_changed):
    original = make_tokenizer()
    for each in before:
        change(original, *each)
    twin = make_copy(original)
    changed, other = (twin, original) if is_copy_changed else (original, twin)
    expected = state(other)
    assert state(changed) == expected
    for each in after:
        change(changed, *each)
    assert state(other) == expected


def test_settings_of_a_shallow_copy_are_its_own():
    original = make_tokenizer()
    twin = copy.copy(original)
    twin.pad_token, twin.padding_side = "<|endoftext|>", "left"
    twin.init_kwargs["errors"] = "strict"
    twin.model_input_names.append("token_type_ids")
    assert type(twin) is BPETokenizer
    assert twin.model is original.model
    assert original.pad_token is None
    assert original.padding_side == "right"
    assert original.init_kwargs["errors"] == "replace"
    assert "token_type_ids" not in original.model_input_names


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda tokenizer: pickle.loads(pickle.dumps(tokenizer))])
def test_a_tokenizer_with_a_very_long_token_can_be_copied(copied):
    tokenizer = make_tokenizer()
    tokenizer.add_tokens(["a" * 20_000])
    assert copied(tokenizer).encode("a" * 20_001) == [262, 97]
