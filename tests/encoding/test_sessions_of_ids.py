"""Sessions with ids that were appended as they are, and streams that begin after ids."""

import copy
import pickle
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe import BPETokenizer
from hf_bpe.encoding import Session
from hf_bpe.formats import Pipeline
from hf_bpe.formats._files.tokenizer_json import definition_of_json
from support import strategies
from support.character_files import PREPEND, REPLACE, files, texts
from support.profiles import by_profile

TOKENIZER = BPETokenizer.train(["the lowest 你好 👋🏽 é"] * 3, vocab_size=280, special_tokens=["<s>", "<|x|>"])
parts = st.lists(st.one_of(strategies.any_texts, st.lists(st.integers(0, 279), max_size=4)), max_size=8)


def expected_of(parts, encode=TOKENIZER.encode):
    """Return ids and text of parts: neighboring texts are one, ids stay as they are."""
    ids, text, waiting = [], "", ""
    for part in [*parts, []]:
        if isinstance(part, str):
            waiting += part
        elif part or part is parts:
            ids += encode(waiting)
            text += waiting
            ids, waiting = ids + part, ""
    return ids + encode(waiting), text + waiting


@given(parts, st.data())
@settings(max_examples=by_profile(quick=80, thorough=2000))
def test_ids_stay_and_texts_between_them_are_encoded_as_wholes(parts, data):
    session, ids = TOKENIZER.session(), []
    for part in parts:
        change = session.append(part) if isinstance(part, str) else session.append_ids(part)
        ids[len(ids) - change.removed :] = change.ids
        if isinstance(part, list):
            assert change == (0, part)
    assert ids == session.ids == expected_of(parts)[0]
    assert session.num_ids == len(ids)
    for other in (session.fork(), copy.copy(session), pickle.loads(pickle.dumps(session))):
        assert (other.ids, other.text, other.num_characters) == (ids, session.text, session.num_characters)
    size = data.draw(st.integers(0, session.num_characters))
    kept, at = [], 0
    text = session.text
    for part in parts:
        if isinstance(part, str):
            kept.append(text[at : min(at + len(part), size)]) if "\ud800" not in part else None
            at += len(part)
        elif at <= size:
            kept.append(part)
    if session.num_characters == at and text == "".join(part for part in parts if isinstance(part, str)):
        change = session.truncate(size)
        ids[len(ids) - change.removed :] = change.ids
        assert ids == session.ids == expected_of(kept)[0]
        assert session.text == text[:size]


def test_a_loop_of_sampling_never_changes_what_was_sampled():
    prompt = TOKENIZER.encode("the low<s>")
    session = TOKENIZER.session(ids=prompt)
    sampled = [108, 111, 119, 0xE4, 0xBD]  # not canonical, and it ends inside a character
    session.append_ids(sampled)
    session.append("<|x|>the ")
    session.append("lowest")
    turn = TOKENIZER.encode("<|x|>the lowest")
    assert session.ids == [*prompt, *sampled, *turn]
    assert session.text == "<|x|>the lowest"
    session.update("<|x|>the low")
    assert session.ids == [*prompt, *sampled, *TOKENIZER.encode("<|x|>the low")]


def test_wrong_ids_change_nothing():
    session = TOKENIZER.session("low")
    for ids, error in (([280], ValueError), ([-1], ValueError), (["a"], TypeError), ("low", TypeError)):
        with pytest.raises(error):
            session.append_ids(ids)
    assert session.ids == TOKENIZER.encode("low")
    prefixed = BPETokenizer.train(["low"], vocab_size=256, add_prefix_space=True)
    with pytest.raises(ValueError, match="puts a space before whatever it encodes"):
        prefixed.session(ids=[97])


@given(files(normalizers=(None, REPLACE, {"type": "Sequence", "normalizers": [PREPEND, REPLACE]})), texts, texts)
@settings(max_examples=by_profile(quick=40, thorough=1000))
def test_text_continues_ids_of_characters_as_it_would_text(content, first, second):
    try:
        pipeline = Pipeline.of(definition_of_json(content))
    except ValueError:
        return  # what is refused by name is tested with the files
    session = Session(pipeline.encoder, pipeline.token_tuples, pipeline.options())
    ids = pipeline.encode([first])[0]
    with suppress(ValueError):
        session.append_ids(ids)
    if ids and not session.ids:
        with pytest.raises(ValueError, match="puts a space"):
            session.append_ids(ids)
        return
    session.append(second)
    is_continued = bool(ids) and ids[-1] not in pipeline.added_tokens
    if not ids or is_continued:
        options = pipeline.options()._replace(continued=bool(ids))
        assert session.ids == ids + pipeline.encoder.encode(second, options)
    else:
        # As after the added token in a text, if the two do not become one there.
        token = pipeline.added_tokens[ids[-1]]
        whole = pipeline.encode([token.content + second])[0]
        if whole[:1] == ids[-1:] and not (token.rstrip or token.single_word):
            assert session.ids == ids + whole[1:]


@given(strategies.any_bytes, strategies.any_bytes, st.booleans())
def test_stream_after_a_prompt_gives_each_character_once(prompt, rest, skips):
    prompt, rest = (TOKENIZER.encode_bytes(data) for data in (prompt, rest))
    stream = TOKENIZER.decode_stream(ids=prompt, skip_special_tokens=skips)
    streamed = "".join(map(stream.step, rest)) + stream.finish()
    whole = TOKENIZER.decode(prompt + rest, skip_special_tokens=skips)
    data = TOKENIZER.decode_bytes(prompt, skip_special_tokens=skips)
    # The prompt without an incomplete character at its end.
    before = data[: len(data) - longest_beginning(data)].decode("utf-8", "replace")
    assert before + streamed == whole


def is_beginning(data):
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data" and error.start == 0
    return False


def longest_beginning(data):
    """Return how many bytes at the end begin a character that is not complete."""
    return max((size for size in range(1, 4) if size <= len(data) and is_beginning(data[-size:])), default=0)
