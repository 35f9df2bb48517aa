"""Tests of reading vocabularies natively: files give the same models and the same errors as they do without it."""

import dataclasses
import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken

from hf_bpe import BPETokenizer
from hf_bpe._native_core import native_core
from hf_bpe.conversion import Definition
from hf_bpe.core._arrays import TokenArrays
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.formats._files.native_readers import read_model, read_vocab_and_merges
from hf_bpe.formats._files.tokenizer_json import definition_of_json, parse_tokenizer_json
from hf_bpe.formats._files.tokenizer_json_writing import render_tokenizer_json
from hf_bpe.pretokenizers import to_printable
from support.cases import case
from support.models import character_files
from support.profiles import by_profile
from support.strategies import damaged, models

LAYOUTS = [{}, {"indent": 2, "ensure_ascii": False}, {"separators": (",", ":")}, {"indent": "\t"}]


@pytest.fixture(autouse=True)
def _needs_native_core(native):
    pass


def result_of(content):
    """Return the content of a tokenizer.json, or the error; the same with and without reading it natively."""
    read = [_result_of(content)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hf_bpe.formats._files.tokenizer_json.read_model", lambda *_, **__: None)
        read.append(_result_of(content))
    assert read[0] == read[1]
    return read[0]


def _result_of(content):
    try:
        found = definition_of_json(parse_tokenizer_json("t.json", content))
    except ValueError as error:
        return str(error)
    added = {token_id: repr(token) for token_id, token in found.added_tokens.items()}
    return found.model, found.model.printable_vocab(), found.model.special_ids(), added, found.settings


@st.composite
def contents(draw):
    """Draw the text of a tokenizer.json in any layout."""
    model = draw(models())
    free = max(model.vocab, default=-1) + 1
    texts = draw(st.lists(st.sampled_from(["<y>", "lo", "\u0120x", "a"]), unique=True, max_size=3))
    unused = draw(st.lists(st.sampled_from(["中", "a b", "\u200b"]), unique=True, max_size=2))
    later = free + len(unused)
    tokens = {later + i: AddedToken(text, lstrip=draw(st.booleans())) for i, text in enumerate(texts)}
    settings = {"unused_tokens": {text: free + i for i, text in enumerate(unused)}}
    try:
        content = json.loads(render_tokenizer_json(Definition(model, tokens, settings)))
    except ValueError:  # too many gaps
        content = json.loads(render_tokenizer_json(Definition(model)))
    data = content["model"]
    if draw(st.booleans()):
        data["merges"] = [merge.split(" ") for merge in data["merges"]]
    if draw(st.booleans()):
        data["vocab"] = dict(draw(st.permutations([*data["vocab"].items()])))
    if draw(st.booleans()):
        content["model"] = dict(reversed(data.items()))
    return json.dumps(content, **draw(st.sampled_from(LAYOUTS)))


@settings(max_examples=by_profile(quick=60, thorough=180))
@given(contents(), st.booleans(), st.data())
def test_a_tokenizer_json_gives_the_same_read_natively(text, is_damaged, data):
    content = text.encode()
    if is_damaged:
        content = data.draw(damaged(content))
    result_of(content)
    if not is_damaged:
        assert read_model(content) is not None or not json.loads(text)["model"]["vocab"]


@settings(max_examples=by_profile(quick=60, thorough=300))
@given(character_files.files(), st.booleans(), st.sampled_from(LAYOUTS), st.booleans(), st.data())
def test_a_file_of_characters_gives_the_same_read_natively(file, as_lines, layout, is_damaged, data):
    if as_lines:
        file["model"]["merges"] = [" ".join(merge) for merge in file["model"]["merges"]]
    content = json.dumps(file, **layout).encode()
    if is_damaged:
        content = data.draw(damaged(content))
    result_of(content)
    assert is_damaged or read_model(content, as_text=True) is not None


@pytest.mark.parametrize("entry", ['"ByteLevel": 3', '"Byte\\u004cevel": 3'])
@pytest.mark.parametrize("stage", ["null", '{"type": "ByteLevel"}', '{"type": "Byte\\u004cevel"}'])
def test_a_name_in_the_vocabulary_does_not_decide_how_it_is_read(entry, stage):
    text = (
        f'{{"added_tokens": [], "pre_tokenizer": {stage}, "decoder": {{"type": "Fuse"}}, "model": {{"type": "BPE", '
        f'"unk_token": "ByteLevel", "vocab": {{"a": 0, "b": 1, "ab": 2, {entry}}}, "merges": ["a b"]}}}}'
    )
    found = result_of(text.encode())
    if stage == "null":
        assert found[0].vocab[3] == b"ByteLevel"


def test_each_irregularity_gives_the_same_read_natively():
    stage = '{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}'
    text = '{"added_tokens": [], "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}'
    text = text.replace('"model"', f'"decoder": {stage}, "pre_tokenizer": {stage}, "model"')
    for old, new in (
        ('"a": 0', '"a": 0, "a": 7'),
        ('"a": 0', '"a": 1'),
        ('"a": 0', '"a": -1'),
        ('"a": 0', '"a": 4294967296'),
        ('"a": 0', '"a": 0.0'),
        ('"a": 0', '"a": true'),
        ('"a": 0', '"": 0'),
        ('"a": 0', '"\\ud800": 0'),
        ('"a": 0', '"\\ud83d\\ude00": 0'),
        ('"a": 0', '"a b": 0'),
        ('"a b"', '"a  b"'),
        ('"a b"', '"a c"'),
        ('"a b"', '"a b", "a b"'),
        ('"a b"', '["a", "b", "b"]'),
        ('"a b"', '["a", 1]'),
        ('"a b"', '"b a"'),
        ('"a b"', "7"),
        ('"vocab"', '"vocab": {}, "vocab"'),
        ('"merges"', '"merges": [], "merges"'),
        ('"model"', '"mod\\u0065l": 1, "model"'),
        ('"model"', '"model": {"vocab": {}, "merges": []}, "model"'),
        ('"model"', '"x": [}, "model"'),
        ("}}", "}"),
        ("}}", "}} x"),
        ("{", "\ufeff{"),
    ):
        with case(old, new):
            result_of(text.replace(old, new, 1).encode("utf-8", "surrogatepass"))


@given(models())
@settings(max_examples=by_profile(quick=60, thorough=300))
def test_ids_of_merges_are_read(model):
    text = "".join(f"{to_printable(a)} {to_printable(b)}\n" for a, b in model.merges).encode()
    vocab = json.dumps({to_printable(token): token_id for token_id, token in model.vocab.items()})
    read = read_vocab_and_merges(vocab.encode(), text)
    assert (read.tokens, read.merges) == (model.token_arrays, model.merge_ids)
    lazy = dataclasses.replace(model, vocab=read.tokens, merges=read.merges)
    assert lazy == model
    assert (lazy.vocab, lazy.merges, lazy.special_ids()) == (model.vocab, model.merges, model.special_ids())


def test_encoders_of_one_model_are_shared_while_one_is_in_use():
    model = BPETokenizer.train(["low lower"], vocab_size=258).model
    encoder = make_encoder(model)
    assert make_encoder(model) is encoder
    other = model.with_checked(pattern=None)
    assert make_encoder(other) is not encoder
    assert make_encoder(other).model is other


def test_a_pickle_does_not_depend_on_how_a_model_was_read(tmp_path):
    tokenizer = BPETokenizer.train(["low lower" * 3], vocab_size=260, special_tokens=["<x>"])
    tokenizer.save_pretrained(tmp_path)
    loaded = BPETokenizer.convert_from(tmp_path / "tokenizer.json").model
    pickled, again = pickle.dumps(loaded), pickle.loads(pickle.dumps(loaded))
    assert vars(again).keys() == vars(pickle.loads(pickle.dumps(tokenizer.model))).keys()
    assert (again, again.merges) == (loaded, tokenizer.model.merges)
    assert pickle.dumps(again) == pickle.dumps(loaded) == pickled
    assert again.special_ids() == {"<x>": 256}


@given(st.lists(st.binary(min_size=1), unique=True), st.lists(st.text(), unique=True))
def test_tokens_are_written_as_python_and_json_do(tokens, texts):
    def written(tokens, form, text_ids):
        return TokenArrays.of(dict(enumerate(tokens))).write(form, text_ids, ("", ":", "\n")).decode()

    def lines(texts):
        return "".join(f"{text}:{token_id}\n" for token_id, text in enumerate(texts))

    def in_json(texts):
        return (json.dumps(text, ensure_ascii=False)[1:-1] for text in texts)

    printable = [*map(to_printable, tokens)]
    assert written(tokens, "repr", None) == lines(map(repr, tokens))
    assert written(tokens, "plain", ()) == lines(printable)
    assert written(tokens, "json", ()) == lines(in_json(printable))
    assert written(map(str.encode, texts), "json", None) == lines(in_json(texts))


@given(models())
@settings(max_examples=by_profile(quick=60, thorough=300))
def test_a_tokenizer_json_is_written_as_json_dumps_would(model):
    lines = "".join(f"{to_printable(a)} {to_printable(b)}\n" for a, b in model.merges)
    with_ids = dataclasses.replace(model, merges=model.merge_ids)
    assert with_ids.signature == model.signature
    large = TokenArrays.of({2**22: b"a", **model.vocab})
    assert native_core().write_tokens(large, "plain", None, with_ids.merge_ids, ("", "", "")) is None
    try:
        text = render_tokenizer_json(Definition(model))
    except ValueError:  # too many gaps
        return
    assert render_tokenizer_json(Definition(with_ids)) == text
    content = json.loads(text)
    assert text.decode() == json.dumps(content, ensure_ascii=False, indent=2) + "\n"
    assert content["model"]["merges"] == lines.splitlines()
    assert content["model"]["vocab"].items() >= model.printable_vocab().items()
