"""Translation between vocabularies equals encoding of the decoded text, however the ids arrive."""

from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe import BPETokenizer, accelerate
from hf_bpe.alignment import Translator
from support import strategies
from support.profiles import by_profile

A = BPETokenizer.train(
    ["the lowest 你好 👋🏽 é"] * 3, vocab_size=280, special_tokens=["<s>", "<|end|>", "<|x|>"], bos_token="<s>",
    eos_token="<|end|>", add_bos_token=True,
)  # fmt: skip
B = BPETokenizer.train(
    ["slow 你 👋 newest é"] * 3, vocab_size=275, special_tokens=["<s>", "</s>"], pattern="cl100k", bos_token="<s>",
    eos_token="</s>", add_bos_token=True,
)  # fmt: skip


def encoded(text):
    return B.encode(text, add_special_tokens=False, split_special_tokens=True)


def played(changes, ids=()):
    """Return the ids that changes make of others."""
    ids = [*ids]
    for change in changes:
        assert 0 <= change.removed <= len(ids)
        ids[len(ids) - change.removed :] = change.ids
    return ids


@st.composite
def rows(draw):
    """Draw ids of A for a text, canonical or not, in steps."""
    data = draw(strategies.texts).encode()
    if draw(st.booleans()):
        data += draw(st.sampled_from([b"</s>", b"<s>", b"\xe4\xbd", b"\xff"]))
    ids = A.encode_bytes(data, split_special_tokens=True) if draw(st.booleans()) else [*data]
    steps = []
    while ids:
        size = draw(st.integers(1, 4))
        steps.append(ids[:size])
        ids = ids[size:]
    return steps


@given(rows())
@settings(max_examples=by_profile(quick=60, thorough=2000))
def test_a_translation_is_the_encoding_of_the_text(steps):
    translator, fed, changes = Translator(A, B), [], []
    for step in steps:
        changes.append(translator.step(step))
        fed += step
        text = A.decode_bytes(fed).decode("utf-8", "replace")
        if not text.endswith("\ufffd"):
            assert translator.ids == encoded(text)
    changes.append(translator.finish())
    assert translator.ids == played(changes) == encoded(A.decode(fed)) == translator.to_numpy().tolist()


@given(rows(), rows())
def test_special_tokens_are_translated_as_such(first, second):
    first, second = ([*chain.from_iterable(steps)] for steps in (first, second))
    s, end, _ = A.convert_tokens_to_ids(["<s>", "<|end|>", "<|x|>"])
    translator = Translator(A, B)
    change = translator.step([s, *first, end, *second])
    end_change = translator.finish()
    own = B.convert_tokens_to_ids(["<s>", "</s>"])
    # Text after a special token is encoded by itself, as in a text that has the token.
    expected = [own[0], *encoded(A.decode(first)), own[1], *encoded(A.decode(second))]
    assert translator.ids == played([change, end_change]) == expected


def test_nothing_begins_twice():
    bos = B.bos_token_id
    ids = A.encode("low")
    assert ids[0] == A.bos_token_id
    translator = Translator(A, B, add_special_tokens=True)
    for token_id in ids:
        translator.step(token_id)
    assert translator.ids == B.encode("low") == [bos, *encoded("low")]
    translator = Translator(A, B, add_special_tokens=True)
    translator.step(ids[1:])
    assert translator.ids == B.encode("low")
    translator = Translator(A, B, add_special_tokens=True)
    translator.step([A.bos_token_id, A.bos_token_id])  # the second one is of the text
    assert translator.ids == [bos, bos]


def test_unknown_special_tokens_are_an_error_without_effect():
    translator, x = Translator(A, B), A.convert_tokens_to_ids("<|x|>")
    with pytest.raises(ValueError, match=rf"no token for the special token '<\|x\|>' \({x}\); give special="):
        translator.step([*A.encode("low"), x])
    assert translator.ids == []
    for given_id, expected in ((None, []), (B.eos_token_id, [B.eos_token_id])):
        translator = Translator(A, B, special={x: given_id})
        translator.step([x])
        assert translator.ids == expected
    for special in ({9999: None}, {x: 9999}, {x: "</s>"}, [x]):
        with pytest.raises((TypeError, ValueError), match="special"):
            Translator(A, B, special=special)


def test_all_kinds_of_tokenizers_translate(tmp_path):
    from transformers import PreTrainedTokenizerFast

    A.save_pretrained(tmp_path / "a", portable=True)
    B.save_pretrained(tmp_path / "b", portable=True)
    a, b = (PreTrainedTokenizerFast.from_pretrained(tmp_path / name) for name in "ab")
    ids = A.encode("the slowest 你好 👋🏽")
    expected = Translator(A, B)
    expected.step(ids)
    for one in (a, accelerate(a)):
        translator = Translator(one, accelerate(b), add_special_tokens=False)
        translator.step(ids)
        assert translator.ids == expected.ids
    with pytest.raises(TypeError, match="expected a tokenizer of hf_bpe, got"):
        Translator(a, b)
