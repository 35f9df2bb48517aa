"""Encoding in segments: trusted text alone yields added tokens, and all else is as in one text."""

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken

from hf_bpe import BPETokenizer
from hf_bpe.encoding._added_tokens.rules import AddedTokenSplitter
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.formats import Pipeline
from hf_bpe.formats._files.tokenizer_json import definition_of_json
from hf_bpe.formats._segments import checked_segments, encode_segments, special_tokens_of_merges
from support import strategies
from support.commands import run
from support.models.character_files import files, texts
from support.profiles import by_profile

CONTENTS = ["<|end|>", "<|end|>\n", "<think>", "\n\n", " the", "é", "<s>"]
MODEL = BPETokenizer.train(["the lowest\n\nof the low <|end|> é"] * 3, vocab_size=273).model
fragments = st.one_of(
    strategies.texts,
    st.sampled_from(CONTENTS),
    st.sampled_from(CONTENTS).flatmap(lambda token: st.integers(0, len(token)).map(lambda at: token[:at])),
    st.sampled_from(CONTENTS).flatmap(lambda token: st.integers(0, len(token)).map(lambda at: token[at:])),
    st.sampled_from(
        ["<|end|\u200b>", "＜|end|＞", "<|END|>", "e\u0301", "<|en\u00add|>", "<|end|>\u0301", "\\u003c|end|>"]
    ),
)
segments = st.lists(st.tuples(st.lists(fragments, max_size=3).map("".join), st.booleans()), max_size=8)


@st.composite
def pipelines(draw):
    """Draw a pipeline with added tokens of all kinds."""
    flags = st.fixed_dictionaries({name: st.booleans() for name in ("lstrip", "rstrip", "single_word", "special")})
    normalizer = draw(st.sampled_from([None, None, "NFC", '{"type":"Lowercase"}']))
    tokens = {
        1000 + number: AddedToken(content, normalized=normalizer is None and draw(st.booleans()), **draw(flags))
        for number, content in enumerate(draw(st.lists(st.sampled_from(CONTENTS), unique=True)))
    }
    return Pipeline(make_encoder(replace(MODEL, normalizer=normalizer)), tokens)


def joined(parts):
    return "".join(text for text, _ in parts)


def trusted_matches(pipeline, parts, *, kinds):
    """Return the added tokens of trusted text, each run of it by itself."""
    tokens = {i: token for i, token in pipeline.added_tokens.items() if kinds == "all" or token.special}
    splitter = AddedTokenSplitter(tokens)
    runs = [text for text, is_trusted in checked_segments(parts) if is_trusted]
    return [part for run in runs for part in splitter.split(run) if isinstance(part, int)]


@given(pipelines(), segments, st.sampled_from(["all", "special"]))
@settings(max_examples=by_profile(quick=100, thorough=5000))
def test_added_tokens_are_those_of_trusted_text(pipeline, parts, untrusted):
    ids = encode_segments(pipeline, parts, untrusted)
    is_wanted = {i: untrusted == "all" or token.special for i, token in pipeline.added_tokens.items()}
    assert [i for i in ids if is_wanted.get(i)] == trusted_matches(pipeline, parts, kinds=untrusted)


@given(pipelines(), segments, st.sampled_from(["all", "special"]))
@settings(max_examples=by_profile(quick=100, thorough=5000))
def test_text_without_added_tokens_is_encoded_as_one(pipeline, parts, untrusted):
    text, trusted = joined(parts), []
    for part, is_trusted in parts:
        trusted += [is_trusted] * len(part)
    assume(not any(token.single_word for token in pipeline.added_tokens.values()))
    spans = AddedTokenSplitter(pipeline.added_tokens).spans(text)
    kinds = {i for i, token in pipeline.added_tokens.items() if untrusted == "all" or token.special}
    content = {i: token.content for i, token in pipeline.added_tokens.items()}
    for start, stop, token_id in spans:
        if token_id is not None:
            begin = text.find(content[token_id], start)  # after white space that it strips
            assume(begin >= 0)  # or the token before it has stripped the white space with which it begins
            assume(token_id in kinds and all(trusted[begin : begin + len(content[token_id])]))
            assume(text[begin:stop].startswith(content[token_id]))
    assume(trusted_matches(pipeline, parts, kinds=untrusted) == [i for _, _, i in spans if i is not None])
    assert encode_segments(pipeline, parts, untrusted) == pipeline.encode([text])[0]
    assert encode_segments(pipeline, [(text, True)], "all") == pipeline.encode([text])[0]


@given(files(), st.lists(st.tuples(texts, st.booleans()), max_size=6))
def test_models_of_characters_begin_segments_as_in_one_text(content, parts):
    try:
        pipeline = Pipeline.from_definition(definition_of_json(content))
    except ValueError:
        return  # what is refused by name is tested with the files
    assume(not any(token.normalized or token.single_word for token in pipeline.added_tokens.values()))
    assume(not special_tokens_of_merges(pipeline))  # which are refused in text
    text = joined(parts)
    assert encode_segments(pipeline, [(text, True)]) == pipeline.encode([text])[0]
    plain = pipeline.with_changes(added_tokens={})
    assert encode_segments(pipeline, [(part, False) for part, _ in parts]) == plain.encode([text])[0]


def test_segments_are_checked():
    pipeline = BPETokenizer(model=MODEL).pipeline
    assert encode_segments(pipeline, []) == encode_segments(pipeline, [("", True)]) == []
    for given_segments in (["low"], [("low",)], [("low", "x")], [(b"low", True)], "low"):
        with pytest.raises(TypeError, match="segments"):
            encode_segments(pipeline, given_segments)
    with pytest.raises(ValueError, match="untrusted: expected one of"):
        encode_segments(pipeline, [], "none")


def test_normalized_tokens_are_searched_in_trusted_text_only():
    tokens = {1000: AddedToken("  ", normalized=True), 1001: AddedToken("<s>", special=True, normalized=False)}
    pipeline = Pipeline(make_encoder(replace(MODEL, normalizer="NFC")), tokens)
    parts = [("  <s>", True), ("e\u0301  <s>", False)]
    assert [i for i in encode_segments(pipeline, parts) if i >= 1000] == [1000, 1001]
    with pytest.raises(ValueError, match="its normalizer changes the trusted segment"):
        encode_segments(pipeline, [("e\u0301", True)])


def test_a_tokenizer_adds_its_template_if_asked():
    special = {"special_tokens": ["<s>"], "bos_token": "<s>", "add_bos_token": True}
    tokenizer = BPETokenizer.train(["low"], vocab_size=257, **special)
    assert tokenizer.encode_segments([("<s>", False)]) == [*b"<s>"]
    assert tokenizer.encode_segments([("<s>", False)], add_special_tokens=True) == [256, *b"<s>"]


def test_special_tokens_that_merges_make_are_refused_in_text():
    tokenizer = BPETokenizer.train(["low low"], vocab_size=258)
    tokenizer.add_special_tokens({"cls_token": "low"})
    assert tokenizer.cls_token_id == 257
    assert tokenizer.encode_segments([("low", True), ("lo", False)]) == [257, *b"lo"]
    with pytest.raises(ValueError, match="merges make the special token 'low'"):
        tokenizer.encode_segments([("low", False)])


@pytest.mark.filterwarnings("ignore:.*added tokens have other ids")
def test_ordinary_text_may_give_ids_of_special_tokens(test_data, tmp_path):
    of_file = BPETokenizer.from_pretrained(test_data / "tokenizers" / "internlm2")  # merges make its <s>
    of_pad = BPETokenizer.train(["low low low"], num_merges=3)
    of_pad.add_special_tokens({"pad_token": "Ġlow"})
    for tokenizer, text, token_id in ((of_file, "<s>", of_file.bos_token_id), (of_pad, "low low", of_pad.pad_token_id)):
        backend = tokenizer.backend_tokenizer
        backend.encode_special_tokens = True
        ids = tokenizer.encode(text, split_special_tokens=True, add_special_tokens=False)
        assert ids == backend.encode(text, add_special_tokens=False).ids
        assert token_id in ids
        with pytest.raises(ValueError, match="encode_segments: merges make the special token"):
            tokenizer.encode_segments([(text, False)])
        tokenizer.save_pretrained(tmp_path / str(token_id))
        listed = f"{tokenizer.convert_ids_to_tokens(token_id)!r} {token_id}; use encode_segments"
        assert listed in run("inspect", tmp_path / str(token_id)).stdout
