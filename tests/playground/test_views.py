"""The page's views of a text: ids, chunks, turns of chats, tokens and merge trees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken

from hf_bpe import BPEModel, BPETokenizer, train
from hf_bpe.analysis import merge_tree, show
from hf_bpe.conversion import Definition
from hf_bpe.core import CharacterAlphabet
from hf_bpe.formats import Pipeline
from hf_bpe.playground._chats import render_turns
from hf_bpe.playground._views import _MAX_CHUNK, Turn, View
from hf_bpe.pretokenizers import Metaspace
from support.cases import case
from support.samples import make_tokenizer

TEMPLATE = (
    "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('no tools') }}{% endif %}"
    "<|{{ m.role }}|>{% if loop.last and m.role == 'assistant' %}<think></think>{% endif %}"
    "{{ m.content | trim }}<|endoftext|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@pytest.fixture(scope="module")
def tokenizer():
    tokenizer = make_tokenizer()
    tokenizer.chat_template = TEMPLATE
    return tokenizer


@pytest.fixture(scope="module")
def view(tokenizer):
    return View("sample", tokenizer)


def content_of(view, encoded):
    """Return the bytes of all tokens, from what the page gets to know of them."""
    return b"".join(bytes.fromhex(token["bytes"]) for token in view.tokens(encoded.ids.tolist()))


TEXTS = st.text(st.characters(codec="utf-8"), max_size=60) | st.text(
    st.sampled_from("lowest \n<|endoftext|>\u202e\ud800\udc00é"), max_size=60
)


@given(text=TEXTS)
def test_ids_are_those_of_the_tokenizer(view, tokenizer, text):
    encoded = view.encode(text)
    assert encoded.ids.tolist() == tokenizer.encode(text, add_special_tokens=False)
    repaired = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    assert encoded.num_bytes == len(repaired)
    if encoded.is_exact:
        assert content_of(view, encoded) == repaired


def test_special_tokens_are_recognized_or_text(view, tokenizer):
    text = "low<|endoftext|>"
    as_text = view.encode(text, split_special_tokens=True).ids.tolist()
    assert as_text == tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
    assert as_text != view.encode(text).ids.tolist()


def test_special_tokens_of_the_template_are_added():
    tokenizer = BPETokenizer.train(["low lower"], 262, bos_token="<s>", eos_token="</s>", add_bos_token=True)
    view = View("with template", tokenizer)
    assert view.describe()["adds"] is True
    encoded = view.encode("low", add_special_tokens=True)
    assert encoded.ids.tolist() == tokenizer("low")["input_ids"]
    assert encoded.ids[0] == tokenizer.bos_token_id
    assert encoded.is_exact


def test_text_that_is_changed_before_encoding_is_said_to_be():
    view = View("nfc", BPETokenizer.train(["é"], 257, normalizer="NFC"))
    assert view.encode("é").is_exact
    assert not view.encode("e\u0301").is_exact
    assert view.encode("e\u0301").num_bytes == 3


def test_tokens_that_are_added_later_are_found(tokenizer):
    own = make_tokenizer()
    view = View("own", own)
    before = view.encode("low <new>").ids
    own.add_tokens([AddedToken("<new>")])
    assert view.encode("low <new>").ids.tolist() == own.encode("low <new>", add_special_tokens=False)
    assert len(view.encode("low <new>").ids) < len(before)
    (token,) = view.tokens([own.convert_tokens_to_ids("<new>")])
    assert token["added"] is True
    assert token["name"] == "<new>"


@given(
    pieces=st.lists(st.sampled_from(["low ", "\n", "lowest\n", "é", "<|endoftext|>"]), max_size=12),
    times=st.integers(1, 300),
    parts=st.lists(st.integers(0, 500), max_size=5),
)
def test_chunks_divide_the_ids(view, pieces, times, parts):
    text = "".join(pieces) * times
    encoded = view.encode(text, [Turn(str(start), start) for start in sorted({0, *parts})])
    ends = [end for end, _, _ in encoded.chunks]
    assert ends == sorted({*ends})
    assert (ends[-1] if ends else 0) == len(encoded.ids)
    sizes = np.diff([0, *ends]).tolist()
    assert all(size <= _MAX_CHUNK for size in sizes)
    starts = [start for _, start in encoded.parts]
    assert {*starts} <= {0, len(encoded.ids), *ends}
    assert sum(size for _, size, _ in encoded.chunks) == len(content_of(view, encoded))
    tokens = [bytes.fromhex(token["bytes"]) for token in view.tokens(encoded.ids.tolist())]
    assert sum(lines for _, _, lines in encoded.chunks) == sum(token.endswith(b"\n") for token in tokens)


def test_trees_are_those_of_merge_tree(view, tokenizer):
    for token_id in range(len(tokenizer)):
        expected = [*preorder(merge_tree(tokenizer, token_id))]
        found = view.tree(token_id)
        assert [(node["depth"], node["id"], node["kind"]) for node in found["nodes"]] == expected
        assert not found["cut"]
    with pytest.raises(ValueError, match="no token with the id 99999"):
        view.tree(99999)


def preorder(tree, depth=0):
    yield depth, tree.id, tree.kind
    for part in tree.parts:
        yield from preorder(part, depth + 1)


def test_a_long_tree_is_cut():
    view = View("long", train(["a" * 4096], vocab_size=268, pattern=None))
    found = view.tree(267)
    assert len(found["nodes"]) == 1000
    assert found["cut"]


def test_whatever_has_a_pipeline_is_taken_as_a_tokenizer():
    model = train(["low<x>"], vocab_size=258, special_tokens=["<x>"])
    pipeline = Pipeline.from_definition(Definition(model))
    for each in (model, Definition(model), pipeline, type("Piped", (), {"pipeline": pipeline})()):
        with case(type(each).__name__):
            view = View("x", each)
            assert view.encode("low<x>").ids.tolist() == [token.id for token in show(each, "low<x>").tokens]
            assert view.describe() == {"name": "x", "adds": False}
            assert merge_tree(each, "ow").id == 257


def turns(tokenizer, *messages, add_generation_prompt=False):
    """Return heading and text of each turn."""
    given = [{"role": role, "content": content} for role, content in messages]
    text, parts = render_turns(tokenizer, given, add_generation_prompt)
    ends = [part.start for part in parts[1:]] + [len(text)]
    return [(part.name, text[part.start : end]) for part, end in zip(parts, ends, strict=True)]


def test_each_turn_is_what_it_adds(tokenizer):
    assert turns(tokenizer, ("user", " low "), ("assistant", "lower"), ("user", "user")) == [
        ("1 · user", "<|user|>low<|endoftext|>"),
        ("2 · assistant", "<|assistant|>lower<|endoftext|>"),
        ("3 · user", "<|user|>user<|endoftext|>"),
    ]
    assert turns(tokenizer, ("user", "low"), add_generation_prompt=True) == [
        ("1 · user", "<|user|>low<|endoftext|>"),
        ("generation prompt", "<|assistant|>"),
    ]


def test_a_turn_without_an_end_is_joined_with_the_next(tokenizer):
    assert turns(tokenizer, ("assistant", ""), ("user", "low")) == [
        ("1 · assistant, 2 · user", "<|assistant|><|endoftext|><|user|>low<|endoftext|>")
    ]


def test_turns_of_a_chat_are_parts_of_its_ids(tokenizer, view):
    messages = [{"role": "user", "content": "lowest"}, {"role": "assistant", "content": "newest"}]
    text, parts = render_turns(tokenizer, messages, True)
    encoded = view.encode(text, parts)
    ids = encoded.ids.tolist()
    assert ids == tokenizer.apply_chat_template(messages, add_generation_prompt=True)["input_ids"]
    starts = [start for _, start in encoded.parts]
    found = [tokenizer.decode(ids[start:end]) for start, end in zip(starts, [*starts[1:], None], strict=True)]
    assert found == [text for _, text in turns(tokenizer, ("user", "lowest"), ("assistant", "newest"),
                                               add_generation_prompt=True)]  # fmt: skip


def test_what_a_template_refuses_is_said(tokenizer):
    with pytest.raises(ValueError, match="refuses these messages: no tools"):
        turns(tokenizer, ("tool", "low"))
    with pytest.raises(ValueError, match="has no chat template"):
        turns(make_tokenizer(), ("user", "low"))


def test_tokens_of_characters_are_shown_as_their_bytes():
    tokens = [*("a", "▁", "▁a"), *(f"<0x{byte:02X}>" for byte in range(256))]
    vocab = {number: token.encode() for number, token in enumerate(tokens)}
    model = BPEModel(vocab, [("▁".encode(), b"a")], pattern=Metaspace(), alphabet=CharacterAlphabet())
    found = View("characters", model).tokens([2, 3 + 10])
    assert [token["bytes"] for token in found] == ["2061", "0a"]
    assert [token["name"] for token in found] == ["▁a", "<0x0A>"]
    assert [token["pieces"] for token in found] == [[("·", True), ("a", False)], [("↵", True)]]
