"""Models check what they are given, cannot be changed, and show what they are."""

import copy
import dataclasses
import enum
import pickle
import re
from typing import NamedTuple

import pytest
from hypothesis import given

from hf_bpe import BPEModel, BPETokenizer, count, train
from support.cases import case, check_refusals
from support.samples import make_tokenizer
from support.strategies import models

VOCAB = {97: b"a", 98: b"b", 256: b"ab", 300: b"ba", 257: b"<|x|>", 258: b"<|y|>"}
MERGES = [(b"a", b"b"), (b"b", b"a")]
MODEL = BPEModel(VOCAB, MERGES, ["<|x|>"])


class Bytes(bytes):
    """Equal to bytes, but not bytes."""


class Pair(NamedTuple):
    first: bytes
    second: bytes


Ids = enum.IntEnum("Ids", {"A": 97})


WRONG_VOCABULARIES = [
    ([b"a"], TypeError, "vocab: expected a dict of int to bytes, got list"),
    ({"7": b"a"}, TypeError, "vocab: id '7' is str, expected int"),
    ({True: b"a"}, TypeError, "vocab: id True is bool, expected int"),
    ({7: "a"}, TypeError, "vocab: token 7 is str, expected bytes"),
    ({-1: b"a"}, ValueError, "vocab: id -1 of token b'a' is not between 0 and 2**32 - 1"),
    ({2**32: b"a"}, ValueError, "vocab: id 4294967296 of token b'a' is not between"),
    ({7: b""}, ValueError, "vocab: token 7 is empty"),
    ({7: b"a", 8: bytearray(b"b")}, TypeError, "vocab: token 8 is bytearray, expected bytes"),
    ({9: b"a", 8: b"", -1: b"b", "7": b"c"}, ValueError, "vocab: token 8 is empty"),
    ({7: b"a", 8: b"b", 9: b"a"}, ValueError, "vocab: token b'a' has two ids, 7 and 9"),
]


def literal(rows):
    return [(value, error, re.escape(message)) for value, error, message in rows]


def test_vocab_is_checked():
    check_refusals(literal(WRONG_VOCABULARIES), lambda vocab: BPEModel(vocab, []))


WRONG_MERGES = [
    (b"ab", TypeError, "merge 1: expected a pair of bytes, got b'ab'"),
    (("b", "a"), TypeError, "merge 1: expected a pair of bytes, got ('b', 'a')"),
    ({b"b", b"a"}, TypeError, "merge 1: expected a pair of bytes, got {"),
    (7, TypeError, "merge 1: expected a pair of bytes, got 7"),
    (([b"b"], b"a"), TypeError, "merge 1: expected a pair of bytes, got ([b'b'], b'a')"),
    ((Bytes(b"a"), b"b"), TypeError, "merge 1: expected a pair of bytes"),
    ((b"b",), TypeError, "merge 1: expected a pair of bytes"),
    ((b"b", b"a", b"b"), TypeError, "merge 1: expected a pair of bytes"),
    ((b"c", b"a"), ValueError, "merge 1, (b'c', b'a'): its first part is not a token of the vocabulary"),
    ((b"a", b"c"), ValueError, "merge 1, (b'a', b'c'): its second part is not a token of the vocabulary"),
    ((b"b", b"b"), ValueError, "merge 1, (b'b', b'b'): its result is not a token of the vocabulary"),
    ((b"<|x|>", b"a"), ValueError, "merge 1, (b'<|x|>', b'a'): its first part is a special token"),
    ((b"a", b"<|x|>"), ValueError, "merge 1, (b'a', b'<|x|>'): its second part is a special token"),
    ((b"b", b"a"), ValueError, "merge 1, (b'b', b'a'): its result is a special token"),
    ((b"a", b"b"), ValueError, "merge 1, (b'a', b'b'): merge 0 is the same pair"),
]


def test_merges_are_checked():
    check_refusals(literal(WRONG_MERGES), lambda merge: BPEModel(VOCAB, [(b"a", b"b"), merge], ["<|x|>", "ba"]))


def test_the_first_wrong_merge_is_named():
    with pytest.raises(ValueError, match=r"merge 1, \(b'a', b'c'\): its second part is not a token"):
        BPEModel(VOCAB, [(b"a", b"b"), (b"a", b"c"), (b"a", b"b"), (b"a",), b"ab"])
    with pytest.raises(ValueError, match=r"merge 1, \(b'a', b'b'\): merge 0 is the same pair"):
        BPEModel(VOCAB, [(b"a", b"b"), (b"a", b"b"), (b"a", b"c")])


def test_tokens_of_too_many_bytes_in_all_are_refused():
    half = 1 << 25
    vocab = {97: b"a" * half, 98: b"b" * half}
    assert len(BPEModel(vocab, []).vocab) == 2
    message = f"the tokens have {2 * half + 1} bytes in all, expected at most {2 * half}; the "
    with pytest.raises(ValueError, match=message):
        BPEModel(vocab | {99: b"c"}, [])
    with pytest.raises(ValueError, match=f"longest, token 97, has {half}. Leave out the longest; `max_token_bytes`"):
        BPEModel({Ids.A: vocab[97], 98: Bytes(vocab[98]), 99: b"c"}, [])


def test_subclasses_are_taken_for_what_they_are():
    model = BPEModel({Ids.A: b"a", 98: Bytes(b"b"), 256: b"ab"}, [Pair(b"a", b"b")])
    assert model == BPEModel({97: b"a", 98: b"b", 256: b"ab"}, [(b"a", b"b")])
    assert [*map(type, model.merges)] == [tuple]


WRONG_SPECIAL_TOKENS = [
    ("<|x|>", TypeError, "special_tokens: expected a list of str, got '<|x|>'; write ['<|x|>']"),
    (b"<|x|>", TypeError, "special_tokens: expected a list of str, got b'<|x|>'"),
    (["<|x|>", b"<|y|>"], TypeError, "special token b'<|y|>': expected str, got bytes"),
    (["<|x|>", ""], ValueError, "special token '': expected at least one character"),
    (["<|x|>", "<|x|>"], ValueError, "special token '<|x|>' is given twice"),
    (["\ud83d"], ValueError, "special token '\\ud83d' holds a lone surrogate"),
    (["a"], ValueError, "special token 'a' is how vocab.json writes the byte b'a'"),
    ([" "], ValueError, "special token ' ' is how vocab.json writes the byte b' '"),
    (["Ġ"], ValueError, "special token 'Ġ' is how vocab.json writes the byte b' '"),
    (["é"], ValueError, "special token 'é' is how vocab.json writes the byte b'\\xe9'"),
]


def test_special_tokens_are_checked():
    for make in (lambda specials: count([], special_tokens=specials), lambda specials: BPEModel(VOCAB, [], specials)):
        check_refusals(literal(WRONG_SPECIAL_TOKENS), make)


def test_special_tokens_are_no_printable_form_of_another_token():
    with pytest.raises(ValueError, match="special token '<z>' is not in the vocabulary"):
        BPEModel(VOCAB, [], ["<|x|>", "<z>"])
    with pytest.raises(ValueError, match=r"special token 'Ġa' is how vocab\.json writes token 259, b' a'"):
        BPEModel({**VOCAB, 259: b" a", 260: "Ġa".encode()}, [], ["Ġa"])
    assert BPEModel({**VOCAB, 260: "Ġa".encode()}, [], ["Ġa"]).special_ids() == {"Ġa": 260}


def test_pattern_is_checked_and_canonical():
    with pytest.raises(ValueError, match="pattern 'gpt3' is not known"):
        BPEModel(VOCAB, [], pattern="gpt3")
    with pytest.raises(TypeError, match="got int"):
        BPEModel(VOCAB, [], pattern=3)
    assert BPEModel(VOCAB, [], pattern="none") == BPEModel(VOCAB, [], pattern=None)


@given(models())
def test_model_does_not_depend_on_order_and_type_of_its_fields(model):
    twin = BPEModel(
        dict(reversed(model.vocab.items())),
        (list(merge) for merge in model.merges),
        iter(model.special_tokens[::-1]),
        model.pattern,
        model.ignore_merges,
    )
    assert twin == model
    assert (hash(twin), twin.fingerprint, repr(twin)) == (hash(model), model.fingerprint, repr(model))
    assert list(twin.vocab) == sorted(model.vocab)
    assert twin.merges == model.merges
    assert [twin.special_ids()[special] for special in twin.special_tokens] == sorted(twin.special_ids().values())


@given(models())
def test_pickles_and_copies_are_equal(model):
    for twin in (pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model), dataclasses.replace(model)):
        assert twin == model
        assert hash(twin) == hash(model)
        assert twin.fingerprint == model.fingerprint


@given(models())
def test_equal_models_have_equal_pickles_whatever_was_read(model):
    pickled = pickle.dumps(model)
    for twin in (model, dataclasses.replace(model), pickle.loads(pickled)):
        assert all(hasattr(twin, name) for name in dir(twin))
        assert pickle.dumps(twin) == pickled


@given(models())
def test_printable_vocabulary_tells_all_tokens_apart(model):
    printable = model.printable_vocab()
    assert list(printable.values()) == list(model.vocab)
    assert model.special_ids().items() <= printable.items()
    assert model.vocab_size == len(printable)


CHANGES = [
    {"vocab": {**VOCAB, 301: b"abb"}},
    {"vocab": {(99 if token == b"ab" else token_id): token for token_id, token in VOCAB.items()}},
    {"vocab": {(99 if token == b"<|x|>" else token_id): token for token_id, token in VOCAB.items()}},
    {"merges": MERGES[::-1]},
    {"merges": MERGES[:1]},
    {"special_tokens": []},
    {"special_tokens": ["<|x|>", "<|y|>"]},
    {"pattern": "cl100k"},
    {"pattern": None},
]


def test_a_change_of_any_field_is_another_model():
    for change in CHANGES:
        with case(change):
            other = dataclasses.replace(MODEL, **change)
            assert other != MODEL
            assert other.fingerprint != MODEL.fingerprint
            assert len({other, MODEL}) == 2


def test_fingerprint_depends_on_the_version_of_unicode(monkeypatch):
    before = MODEL.fingerprint
    monkeypatch.setattr("hf_bpe.core._model.UNICODE_VERSION", "17.0")
    assert MODEL.fingerprint != before


def test_arguments_are_copied_and_the_model_is_frozen():
    vocab, merges, specials = dict(VOCAB), list(MERGES), ["<|x|>"]
    model = BPEModel(vocab, merges, specials)
    vocab[7] = b"c"
    merges.clear()
    specials.append("<|y|>")
    assert model == MODEL
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.pattern = None


def test_vocabulary_is_listed_before_it_is_made():
    model = object.__new__(BPEModel)
    assert {"vocab", "merges"} <= {*dir(model)}
    with pytest.raises(AttributeError, match="vocab"):
        print(model)


def test_repr_is_short_and_names_the_first_special_tokens():
    fingerprint = MODEL.fingerprint[:12]
    assert repr(MODEL) == (
        f"BPEModel(vocab_size=6, merges=2, special_tokens=['<|x|>'], pattern='gpt2', fingerprint='{fingerprint}')"
    )
    specials = [f"<{number}>" for number in range(100)]
    many = BPEModel({token_id: special.encode() for token_id, special in enumerate(specials)}, [], specials)
    assert "special_tokens=['<0>', '<1>', '<2>', '…']," in repr(many)


def test_model_may_be_empty_or_have_unmerged_tokens():
    assert BPEModel({}, []).vocab_size == 0
    assert BPEModel({5: b"abc"}, []).vocab == {5: b"abc"}


def test_notebooks_show_what_a_model_is_and_escape_what_it_holds():
    special = "<script>&"
    model = train(["low low <b> <b>"], num_merges=4, special_tokens=[special])
    html = model._repr_html_()
    assert "261: 256 bytes, 1 special; ids 0 to 260" in html
    assert "&lt;script&gt;&amp;</bdi>&nbsp;256" in html
    assert f"<code>{model.fingerprint[:12]}</code>" in html
    assert model.signature not in html
    assert special not in html
    assert "<b>" not in html
    first, second = model.merges[0]
    assert f'<bdi class="c0">{first.decode()}</bdi>&nbsp;<bdi class="c1">{second.decode()}</bdi>' in html


@given(models())
def test_notebooks_have_a_table_for_any_model(model):
    html = model._repr_html_()
    assert html.count("<td>") == html.count("</td>") == html.count("<th>") > 4
    assert len(html) < 20_000


def test_long_tokens_are_cut_between_characters_or_folded():
    html = BPEModel({0: b"x" + "é".encode() * 40, 1: b"\x80\x81" * 20}, [])._repr_html_()
    assert f">x{'é' * 15}</bdi>…" in html
    assert f"{'<i>&lt;80&gt;</i><i>&lt;81&gt;</i>' * 14}</bdi>…" in html  # these are no characters
    html = BPEModel({0: b"    x" + b" " * 83, 1: b"\t\t\t", 2: b" "}, [])._repr_html_()
    assert "<i>·×4</i>x<i>·×83</i></bdi>" in html
    assert "<i>→</i><i>→</i><i>→</i></bdi>" in html


def test_notebooks_show_what_a_tokenizer_adds_before_digests():
    tokenizer = make_tokenizer()
    tokenizer.add_tokens(["<later>"])
    html = tokenizer._repr_html_()
    assert f"&lt;later&gt;</bdi>&nbsp;{len(tokenizer) - 1}" in html
    assert "first merges" not in html  # as in the model's table
    assert html.index("<th>pad_token</th><td><bdi") < html.index("<th>tokens") < html.index("<th>fingerprint")
    model = BPEModel({number: number.to_bytes(2, "big") for number in range(1234)}, [])
    assert "1,234: 0 bytes, 0 special; ids 0 to 1,233" in model._repr_html_()
    assert "<b>" not in BPETokenizer(model=model, extra_special_tokens={"<b>": "x"})._repr_html_()
