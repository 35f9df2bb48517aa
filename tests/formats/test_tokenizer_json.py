"""`tokenizer.json`: `tokenizers` gives the ids and texts that BPETokenizer gives."""

import dataclasses
import itertools
import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers import AddedToken

from hf_bpe import BPEModel, BPETokenizer
from hf_bpe.conversion import Definition
from hf_bpe.formats._files.tokenizer_json import definition_of_json, read_tokenizer_json
from hf_bpe.formats._files.tokenizer_json_writing import render_tokenizer_json
from hf_bpe.pretokenizers import NAMES, PATTERNS, PreTokenizer
from support.cases import case
from support.profiles import by_profile
from support.strategies import BYTES, FLAGS, models, of_tokens, texts

CUSTOM = [r"\p{Lu}?\p{Ll}+|\p{N}{1,2}", r"\w+|\s", r"(?:(a)|b)\s*", r"\d(?=\d)"]  # gaps, groups, a look ahead
EVERY_PATTERN = [*NAMES, None, *CUSTOM]
SPECIALS = ["<|x|>", "你好"]  # as `models` has them
# No added token is only white space, for which see test_added_tokens.py, and none but ASCII could be read as the
# printable form of bytes: decoding, `tokenizers` takes it for that.
CONTENTS = ["<t>", "ab", "б", "бб", " б", "—\n", "a\u0301", "low "]


def exported(tokenizer):
    """Return the tokenizer that `tokenizers` makes of a BPETokenizer's tokenizer.json."""
    return Tokenizer.from_buffer(render_tokenizer_json(tokenizer.definition))


def assert_equal(tokenizer, theirs, text):
    ids = tokenizer.encode(text)
    assert ids == theirs.encode(text).ids
    for skip in (False, True):
        assert tokenizer.decode(ids, skip_special_tokens=skip) == theirs.decode(ids, skip_special_tokens=skip)


def texts_of_tokens(model):
    return of_tokens(model).map(lambda data: data.decode(errors="ignore"))


def texts_of(*fragments):
    """Return a strategy of odd texts with fragments, and with the letters that the merges of `models` are of."""
    pieces = st.one_of(texts, st.text("ab é", max_size=12), st.sampled_from([*SPECIALS, *fragments]))
    return st.lists(pieces, max_size=6).map("".join)


# The same ids


@pytest.mark.parametrize("pattern", EVERY_PATTERN)
@settings(max_examples=by_profile(quick=5, thorough=50))
@given(model=models(all_bytes=True), batch=st.lists(texts_of(), min_size=1, max_size=5), data=st.data())
def test_ids_and_decoded_texts_are_equal_with_every_pattern(pattern, model, batch, data):
    tokenizer = BPETokenizer(model=dataclasses.replace(model, pattern=pattern))
    theirs = exported(tokenizer)
    assert theirs.get_vocab() == tokenizer.get_vocab()
    assert model.printable_vocab().items() <= theirs.get_vocab().items()
    for text in [*batch, *data.draw(st.lists(texts_of_tokens(model), max_size=5))]:
        assert_equal(tokenizer, theirs, text)
    ids = data.draw(st.lists(st.sampled_from([*model.vocab]), max_size=20))
    assert tokenizer.decode(ids) == theirs.decode(ids, skip_special_tokens=False)


def added_tokens(contents):
    """Return a strategy of an AddedToken with any flags."""
    flags = st.fixed_dictionaries({flag: st.booleans() for flag in FLAGS})
    return st.builds(lambda content, flags: AddedToken(content, **flags), contents, flags)


@given(
    model=models(all_bytes=True),
    specials=st.tuples(*(added_tokens(st.just(special)) for special in SPECIALS)),
    later=st.lists(added_tokens(st.sampled_from(CONTENTS)), max_size=4, unique_by=lambda token: token.content),
    batch=st.lists(texts_of(*CONTENTS), min_size=1, max_size=5),
)
@example(model=BPEModel(BYTES, []), specials=(), later=[AddedToken("<t>", single_word=True)], batch=["<t>\ua7cf"])
def test_added_tokens_with_any_flags_have_equal_ids(model, specials, later, batch):
    if any(token.single_word for token in specials):
        # Where one is text, it must be no pre-token: `tokenizers` would take it for a token that is a whole word.
        model = dataclasses.replace(model, pattern=model.pattern or "gpt2")
    ids = model.special_ids()
    flagged = {ids[token.content]: token for token in specials if token.content in ids}
    tokenizer = BPETokenizer(model=model, added_tokens_decoder=flagged)
    tokenizer.add_tokens(later)
    theirs = exported(tokenizer)
    assert theirs.get_added_tokens_decoder() == tokenizer.added_tokens_decoder
    assert set(map(str, later)) <= {token.content for token in theirs.get_added_tokens_decoder().values()}
    assert theirs.get_vocab() == tokenizer.get_vocab()
    for text in batch:
        assert_equal(tokenizer, theirs, text)


@pytest.mark.parametrize("pattern", ["gpt2", None])
@given(model=models(all_bytes=True), batch=st.lists(texts_of(), min_size=1, max_size=5))
@example(model=BPEModel(BYTES, []), batch=["\na"])
@example(model=BPEModel(BYTES | {256: b"<|x|>"}, [], ["<|x|>"]), batch=["<|x|>\u3000a"])
@example(model=BPEModel(BYTES | {256: b" ab", 257: b"ab"}, [], ignore_merges=True), batch=["ab", " ab", "\nab"])
def test_the_prefix_space_gives_equal_ids(pattern, model, batch):
    tokenizer = BPETokenizer(model=dataclasses.replace(model, pattern=pattern), add_prefix_space=True)
    theirs = exported(tokenizer)
    for text in batch:
        assert_equal(tokenizer, theirs, text)


@given(model=models(), batch=st.lists(texts_of(), min_size=1, max_size=5))
def test_bytes_that_are_missing_become_equal_unknown_tokens(model, batch):
    unknown = {1000: b"<unk>"}
    model = dataclasses.replace(model, vocab=model.vocab | unknown, special_tokens=[*model.special_tokens, "<unk>"])
    tokenizer = BPETokenizer(model=model, unk_token="<unk>")
    theirs = exported(tokenizer)
    for text in batch:
        assert_equal(tokenizer, theirs, text)


@given(model=models(), batch=st.lists(texts_of("\x00", "a\x00b", "c", "é!"), min_size=1, max_size=5), data=st.data())
def test_bytes_that_are_missing_are_dropped_as_others_drop_them(model, batch, data):
    tokenizer = BPETokenizer(model=dataclasses.replace(model, drop_missing_bytes=True))
    theirs = exported(tokenizer)
    assert theirs.model.unk_token is None
    for text in [*batch, *data.draw(st.lists(texts_of_tokens(model), max_size=5))]:
        assert_equal(tokenizer, theirs, text)
        got = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        assert got["offset_mapping"] == theirs.encode(text, add_special_tokens=False).offsets
    again = definition_of_json(json.loads(theirs.to_str())).model
    assert again.drop_missing_bytes == tokenizer.drop_missing_bytes == model.lacks_bytes


def test_an_unknown_token_that_the_model_lacks_is_added():
    tokenizer = BPETokenizer(model=BPEModel({0: b"a", 1: b"<s>"}, [], ["<s>"]), unk_token="<unk>")
    assert render_tokenizer_json(tokenizer.definition).count(b'"<s>": ') == 1
    assert tokenizer.encode("abba") == [0, 2, 2, 0]
    assert_equal(tokenizer, exported(tokenizer), "abba")


@pytest.mark.parametrize("pattern", ["gpt2", "llama3", None, CUSTOM[0]])
def test_whole_word_that_no_merge_makes_has_its_id_in_both(pattern):
    for ignore_merges in (False, True):
        model = BPEModel(BYTES | {256: b"xyz", 257: b"<|x|>"}, [], ["<|x|>"], pattern, ignore_merges)
        tokenizer = BPETokenizer(model=model)
        theirs = exported(tokenizer)
        assert theirs.encode("xyz<|x|>xyz").ids == ([256, 257, 256] if ignore_merges else [*b"xyz", 257, *b"xyz"])
        assert_equal(tokenizer, theirs, "xyz<|x|>xyz xyz\nwxyz")


# The same settings


def test_pattern_and_prefix_space_are_read_back(tmp_path):
    path = tmp_path / "tokenizer.json"
    for pattern, add_prefix_space in itertools.product(EVERY_PATTERN, (None, True)):
        definition = Definition(BPEModel(BYTES, [], (), pattern), {}, {"add_prefix_space": add_prefix_space})
        with case(pattern, add_prefix_space):
            if add_prefix_space and pattern not in ("gpt2", None):
                with pytest.raises(ValueError, match=r"add_prefix_space=True with the pattern .*cannot say that"):
                    render_tokenizer_json(definition)
            else:
                path.write_bytes(render_tokenizer_json(definition))
                assert read_tokenizer_json(path) == definition


def pre_tokenizer(*parts):
    return {
        "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []},
        "normalizer": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "pre_tokenizer": parts[0] if len(parts) == 1 else {"type": "Sequence", "pretokenizers": parts},
    }


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
SPLIT = {"type": "Split", "pattern": {"Regex": r"\d"}, "behavior": "Isolated", "invert": False}
READ = {
    "a sequence of one": ([{"type": "Sequence", "pretokenizers": [BYTE_LEVEL]}], (None, False)),
    "use_regex left out, as old files do": ([{"type": "ByteLevel", "add_prefix_space": True}], ("gpt2", True)),
    "the expression of a named pattern": (
        [{**SPLIT, "pattern": {"Regex": PATTERNS["gpt2"]}}, BYTE_LEVEL],
        ("gpt2", False),
    ),
}
CHAINS = {
    "digits before": [{"type": "Digits", "individual_digits": True}, BYTE_LEVEL],
    "two splits": [SPLIT, SPLIT, BYTE_LEVEL],
    "bytes before the split": [BYTE_LEVEL, SPLIT],
    "split twice": [SPLIT, {**BYTE_LEVEL, "use_regex": True}],
    "prefix space after a split": [SPLIT, {**BYTE_LEVEL, "add_prefix_space": True}],
    "split at a string": [{**SPLIT, "pattern": {"String": " "}}, BYTE_LEVEL],
    "matches removed": [{**SPLIT, "behavior": "Removed"}, BYTE_LEVEL],
    "inverted": [{**SPLIT, "invert": True}, BYTE_LEVEL],
    "an expression that looks like a name": [{**SPLIT, "pattern": {"Regex": "gpt2"}}, BYTE_LEVEL],
}
NOT_BYTE_LEVEL = "it.* pre-tokenizer.*(expected|not byte-level)"
REFUSED = {
    "none": None,
    "bert": [{"type": "BertPreTokenizer"}],
    "metaspace": [{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}],
    "split without bytes": [SPLIT],
    "bytes twice": [BYTE_LEVEL, BYTE_LEVEL],
}
CRASHING = {
    "a name": pre_tokenizer("ByteLevel"),
    "no type": pre_tokenizer({"use_regex": True}),
    "empty sequence": pre_tokenizer({"type": "Sequence", "pretokenizers": []}),
    "sequence without parts": pre_tokenizer({"type": "Sequence"}),
    "no prefix space": pre_tokenizer({"type": "ByteLevel"}),
    "no behavior": pre_tokenizer({"type": "Split", "pattern": {"Regex": "a+"}}, BYTE_LEVEL),
    "no expression": pre_tokenizer({**SPLIT, "pattern": {"Regex": "("}}, BYTE_LEVEL),
}


def read(folder, content):
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(content), "utf-8")
    definition = read_tokenizer_json(path)
    return definition.model.pattern, bool(definition.setting("add_prefix_space"))


def test_other_spellings_of_the_same_are_read(tmp_path):
    for name, (parts, expected) in READ.items():
        with case(name):
            assert read(tmp_path, pre_tokenizer(*parts)) == expected


def test_chains_are_read_and_written_as_they_are(tmp_path):
    for name, parts in CHAINS.items():
        content = pre_tokenizer(*parts)
        content["pre_tokenizer"]["pretokenizers"] = parts
        with case(name):
            pattern, add_prefix_space = read(tmp_path, content)
            assert PreTokenizer.from_json(json.loads(pattern)).to_json() == content["pre_tokenizer"]
            assert not add_prefix_space
            written = json.loads(render_tokenizer_json(Definition(BPEModel({0: b"a"}, [], pattern=pattern), {}, {})))
            assert written["pre_tokenizer"] == content["pre_tokenizer"]


def test_other_files_are_refused_by_name(tmp_path):
    plain = pre_tokenizer(BYTE_LEVEL)
    contents = {
        **{name: (pre_tokenizer(*parts or [None]), NOT_BYTE_LEVEL) for name, parts in REFUSED.items()},
        **{name: (content, "") for name, content in CRASHING.items()},
        "normalizer": (
            {**plain, "normalizer": {"type": "ByteLevel"}},
            "normalizer: 'ByteLevel' is not supported, expected NFC",
        ),
        **{
            f"decoder {number}": ({**plain, "decoder": decoder}, "its decoder .* is not ByteLevel")
            for number, decoder in enumerate([None, {"type": "Sequence", "decoders": []}, {"type": "Fuse"}])
        },
    }
    for name, (content, message) in contents.items():
        with case(name), pytest.raises(ValueError, match=rf"tokenizer\.json: ({message})"):
            read(tmp_path, content)


# Odd patterns and odd tokens


def test_token_named_like_a_byte_does_not_spoil_other_texts():
    tokenizer = BPETokenizer(model=BPEModel(BYTES, []))
    tokenizer.add_tokens(["é"])  # how vocab.json writes the byte 0xE9
    assert_equal(tokenizer, exported(tokenizer), "髙")


def test_a_token_named_like_a_placeholder_keeps_its_id():
    tokenizer = BPETokenizer(model=BPEModel({0: b"a", 2: b"<|unused_1|>"}, [], ["<|unused_1|>"]))
    assert tokenizer.encode("a<|unused_1|>") == [0, 2]
