"""Sessions: the ids are always those of the whole text, wherever it was cut, shortened or replaced."""

import copy
import gc
import pickle
import threading
import weakref
from contextlib import suppress
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken

from hf_bpe import BPEModel, BPETokenizer
from hf_bpe.encoding import Session
from hf_bpe.formats import Pipeline
from hf_bpe.formats._files.tokenizer_json import definition_of_json
from hf_bpe.pretokenizers._named_patterns import WITH_SCANNER
from support import strategies
from support.cases import case
from support.models.character_files import PREPEND, REPLACE, files, texts
from support.models.small_tokenizers import LONG, TEXTS, pieces, tokenizer_of, tokenizers
from support.profiles import by_profile, scaled


def ids_of(tokenizer, text):
    return tokenizer.encode(text, add_special_tokens=False)


def check(session, tokenizer, ids, change):
    """Compare a session with the whole text; return its ids."""
    assert 0 <= change.removed <= len(ids)
    ids = ids[: len(ids) - change.removed] + change.ids
    assert ids == session.ids == ids_of(tokenizer, session.text)
    assert (session.num_ids, session.num_characters) == (len(ids), len(session.text))
    return ids


@given(tokenizers(), st.lists(pieces, max_size=6), st.data())
@settings(max_examples=by_profile(quick=60, thorough=240))
def test_changed_text_of_a_session_has_the_ids_of_the_whole(tokenizer, parts, data):
    session, ids = tokenizer.session(), []
    for part in parts:
        ids = check(session, tokenizer, ids, session.append(part))
    assert session.text == tokenizer.prepare_for_tokenization("".join(parts))[0]
    fork, before = session.fork(), session.text
    size = data.draw(st.integers(0, session.num_characters))
    ids = check(session, tokenizer, ids, session.truncate(size))
    ids = check(session, tokenizer, ids, session.append(data.draw(pieces)))
    ids = check(session, tokenizer, ids, session.update(before[: size // 2] + data.draw(pieces)))
    assert fork.text == before
    assert fork.ids == ids_of(tokenizer, before)


@scaled
@pytest.mark.parametrize("pattern", sorted(WITH_SCANNER))
def test_text_without_safe_cuts_is_cut_elsewhere(pattern):
    for normalizer in (None, "NFC"):
        for seed in range(by_profile(quick=2, thorough=15)):
            with case(normalizer, seed):
                check_text_without_safe_cuts(pattern, normalizer, Random(seed))


def check_text_without_safe_cuts(pattern, normalizer, random):
    tokens = [AddedToken("\u4f60\u597d", lstrip=True), AddedToken("\u300a", rstrip=True, single_word=True)]
    tokenizer = tokenizer_of(pattern, normalizer, tokens[: random.randrange(3)])
    few = random.sample(LONG, 12)
    text = "".join(random.choice(few) for _ in range(random.randrange(3000, 6000)))
    start = random.randrange(len(text))
    session = tokenizer.session(text[:start])
    assert session.ids == ids_of(tokenizer, text[:start])
    for stop in [*sorted(random.sample(range(start, len(text)), 5)), len(text)]:
        session.append(text[session.num_characters : stop])
        assert session.ids == ids_of(tokenizer, text[:stop])
    session.truncate(start)
    assert session.ids == ids_of(tokenizer, text[:start])


@scaled
@pytest.mark.parametrize("normalizer", ["NFC", '{"type":"NFKC"}', '{"type":"NFD"}'])
def test_text_that_a_normalizer_changes_is_cut_elsewhere(normalizer, monkeypatch):
    monkeypatch.setattr("hf_bpe.encoding._sessions.session._MIN_UNCUT", 16)
    monkeypatch.setattr("hf_bpe.encoding._cuts.settled._WINDOW", 64)
    for seed in range(by_profile(quick=2, thorough=60)):
        with case(seed):
            check_text_that_changes_in_places(normalizer, Random(seed))


def check_text_that_changes_in_places(normalizer, random):
    tokens = [AddedToken("\u4f60\u597d", lstrip=True), AddedToken("\u300a", normalized=True)]
    tokenizer = tokenizer_of(random.choice(sorted(WITH_SCANNER)), normalizer, tokens[: random.randrange(3)])
    few = random.sample("\u4f60\u597d\u3002\uff0c\u300aAb1!-'/\u30ab\u3042", 8)
    rare = ["e\u0301", "\u30ab\u3099", "\u1112\u1161\u11ab", "\u212b", "=\u0338", "\u0301", "\uff76\uff9e", "\ufa0a"]
    parts = ["".join(random.choice(rare if random.random() < 0.03 else few) for _ in range(30)) for _ in range(30)]
    session = tokenizer.session()
    for number, part in enumerate(parts):
        session.append(part)
        assert session.ids == ids_of(tokenizer, "".join(parts[: number + 1]))


def test_tail_of_chinese_text_stays_short():
    for pattern in sorted(WITH_SCANNER):
        session = tokenizer_of(pattern).session("\u4ed6\u8bf4\uff0c\u597d\u3002" * 20_000)
        assert len(session._state.tail) < 1 << 12, pattern


@pytest.mark.parametrize("changed", ["e\u0301", "\u212b", "\u30ab\u3099"])
def test_tail_stays_short_after_text_that_the_normalizer_changes(changed):
    tokenizer = tokenizer_of("qwen2", "NFC", [AddedToken("\u597d", normalized=True)])
    text = ("\u4ed6\u8bf4\uff0c\u597d\u3002" * 400 + changed) * 4
    session = tokenizer.session()
    for start in range(0, len(text), 700):
        session.append(text[start : start + 700])
        assert len(session._state.tail) < 1 << 12
    assert session.ids == ids_of(tokenizer, text)


def test_long_first_text_is_held_in_blocks_that_a_fork_shares():
    tokenizer = tokenizer_of("o200k")
    session = tokenizer.session(TEXTS[0] * 5000)
    fork = session.fork()
    assert fork._state.last is session._state.last
    session.append(" lowest")
    fork.truncate(100_000)
    assert session.ids == ids_of(tokenizer, TEXTS[0] * 5000 + " lowest")
    assert fork.ids == ids_of(tokenizer, (TEXTS[0] * 5000)[:100_000])


def test_appending_character_by_character_keeps_few_blocks():
    tokenizer, text = tokenizer_of("gpt2"), TEXTS[0] * 300
    session = tokenizer.session()
    for char in text:
        session.append(char)
    assert session.ids == ids_of(tokenizer, text)
    blocks, block = 0, session._state.last
    while block is not None:
        blocks, block = blocks + 1, block.before
    assert blocks < 10


def test_copy_and_pickle_keep_text_and_half_of_a_surrogate_pair():
    session = tokenizer_of("gpt2").session("low \ud83d")
    for other in (copy.copy(session), pickle.loads(pickle.dumps(session)), session.fork()):
        assert other.text == "low \ufffd"
        other.append("\ude00")
        assert other.text == "low \U0001f600"
    assert session.text == "low \ufffd"


def test_special_tokens_are_found_or_not_as_the_session_is_given():
    tokenizer = tokenizer_of("gpt2", tokens=[AddedToken("<|x|>", special=True)])
    as_text = tokenizer.session(split_special_tokens=True)
    parsed = tokenizer.session()
    for piece in ("low<|", "x|>", "low"):
        as_text.append(piece)
        parsed.append(piece)
    assert parsed.ids == tokenizer.encode("low<|x|>low")
    assert as_text.ids == tokenizer.encode("low<|x|>low", split_special_tokens=True)


def test_a_second_thread_is_refused_while_a_session_changes():
    session = tokenizer_of("gpt2").session("low")
    errors = []

    def append():
        try:
            session.append("er")
        except RuntimeError as error:
            errors.append(str(error))

    with session._lock:
        thread = threading.Thread(target=append)
        thread.start()
        thread.join()
    assert "fork()" in errors[0]
    assert session.text == "low"


def test_failed_append_leaves_the_session_as_it_was():
    tokenizer = BPETokenizer(model=BPEModel({97: b"a", 98: b"b"}, []))
    session = tokenizer.session("ab")
    with pytest.raises(ValueError, match="0x63"):
        session.append("c")
    session.append("a")
    assert (session.text, session.ids) == ("aba", [97, 98, 97])


WRONG = [("append", b"low"), ("update", None), ("truncate", True), ("truncate", -1), ("truncate", 4)]


@pytest.mark.parametrize(("method", "value"), WRONG)
def test_wrong_arguments_are_refused(method, value):
    session = tokenizer_of("gpt2").session("low")
    with pytest.raises((TypeError, ValueError), match="expected"):
        getattr(session, method)(value)
    assert session.text == "low"


def test_session_can_be_referenced_weakly():
    session = tokenizer_of("gpt2").session("low")
    sessions = weakref.WeakSet([session])
    assert session in sessions
    del session
    gc.collect()
    assert not sessions


# Ids that are appended as they are, and streams that begin after ids

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
        pipeline = Pipeline.from_definition(definition_of_json(content))
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
