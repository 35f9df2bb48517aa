"""GGUF files are written and read with the ids of llama.cpp, or refused by name."""

import struct
from dataclasses import replace
from operator import methodcaller

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tokenizers import AddedToken

from hf_bpe import BPEModel, conversion, train
from hf_bpe.conversion import FORMATS, Definition
from hf_bpe.conversion._gguf_file import read_metadata
from hf_bpe.encoding import unreachable
from hf_bpe.encoding._added_tokens.rules import AddedTokenSplitter
from hf_bpe.formats import Template
from support import strategies
from support.strategies import BYTES

gguf = pytest.importorskip("gguf", reason="writing GGUF files needs the package gguf")
FORMAT = FORMATS["gguf"]
PATTERNS, write = FORMAT.patterns, FORMAT.write
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED = range(1, 6)
LOW = BPEModel({**BYTES, 256: b"lo", 257: b"low", 300: b"<s>", 301: b"</s>"}, [(b"l", b"o"), (b"lo", b"w")],
               ["<s>", "</s>"])  # fmt: skip
ALONE = replace(LOW, vocab={**LOW.vocab, 258: b"new"})
"""Has a token that no merge makes."""


def read(path, **hints):
    return conversion.read(path, format="gguf", **hints)


@st.composite
def written_models(draw):
    """Draw a model that GGUF can carry."""
    model = draw(strategies.models(all_bytes=True))
    assume(model.merges)
    model = replace(model, pattern=draw(st.sampled_from(sorted(PATTERNS))))
    if model.pattern in ("cl100k", "llama3") and unreachable(model):
        model = replace(model, ignore_merges=draw(st.booleans()))
    return model


def write_file(path, arch="gpt2", **values):
    """Write a file of three tokens, with other values for keys, None to leave one out."""
    values = {
        "model": "gpt2",
        "pre": "gpt-2",
        "tokens": ["a", "b", "ab", "<s>"],
        "token_type": [NORMAL, NORMAL, NORMAL, CONTROL],
        "merges": ["a b"],
        **values,
    }
    writer = gguf.GGUFWriter(path, arch)
    for name, value in values.items():
        key = name if "." in name else f"tokenizer.ggml.{name}"
        if isinstance(value, tuple):
            writer.add_key_value(key, *value)
        elif value is not None:
            kind = gguf.GGUFValueType.ARRAY if isinstance(value, list) else gguf.GGUFValueType.get_type(value)
            writer.add_key_value(key, value, kind)
    for step in ("write_header_to_file", "write_kv_data_to_file", "write_ti_data_to_file", "close"):
        methodcaller(step)(writer)
    return path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.gguf"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("gguf")


@pytest.mark.filterwarnings("ignore:llama.cpp's '(gpt-4o|tekken)' differs")
@given(written_models())
def test_any_model_comes_back_equal(folder, model):
    # Not all patterns have a name for both.
    looks_up = model.pattern in ("tekken", "minicpm5") and bool(unreachable(model))
    definition = Definition(replace(model, ignore_merges=looks_up))
    write(definition, folder / "x.gguf")
    assert read(folder / "x.gguf") == definition


def test_special_tokens_and_settings_come_back_equal(path):
    settings = {
        **{"bos_token": "<s>", "eos_token": "</s>", "unk_token": "</s>", "sep_token": "</s>", "pad_token": "<mask>"},
        **{"cls_token": "<s>", "mask_token": "<mask>", "add_bos_token": True, "add_eos_token": True},
        "chat_template": {"default": "{{ a }}", "tool_use": "{{ b }}\n"},
    }
    definition = Definition(LOW, {303: token("<mask>", special=True)}, settings)
    write(FORMAT.reduce(definition), path)
    # Who reads the file cannot see which special tokens were added later.
    model = replace(LOW, vocab={**LOW.vocab, 303: b"<mask>"}, special_tokens=(*LOW.special_tokens, "<mask>"))
    assert read(path) == FORMAT.reduce(definition) == Definition(model, {}, settings)


def test_unset_settings_stay_unset_when_read(path):
    write(Definition(LOW, settings={"add_bos_token": False}), path)
    assert read(path).settings == {}
    write(Definition(LOW, settings={"chat_template": "{{ a }}"}), path)
    assert read(path).settings == {"chat_template": "{{ a }}"}


def test_what_llama_cpp_would_assume_otherwise_is_always_written(path):
    write(Definition(replace(LOW, pattern="llama3"), settings={"bos_token": "<s>"}), path)
    metadata = read_metadata(path, "tokenizer.ggml.")
    assert metadata["tokenizer.ggml.pre"] == "llama-bpe"
    assert metadata["tokenizer.ggml.add_bos_token"] is False
    assert metadata["tokenizer.ggml.add_space_prefix"] is False
    assert "add_bos_token" not in read(path).settings


def test_sequences_begin_as_the_name_of_a_pattern_implies(path):
    write_file(path, pre="llama-bpe", bos_token_id=3)
    assert read(path).settings == {"bos_token": "<s>", "template": Template.of_bos_eos("<s>", None)}
    write_file(path, pre="gpt-2", bos_token_id=3)
    assert read(path).settings == {"bos_token": "<s>"}


NAMED = [("gpt2", LOW, "gpt-2"), ("qwen2", LOW, "qwen2"), ("o200k", LOW, "gpt-4o"), ("cl100k", LOW, "dbrx")]
NAMED += [("llama3", LOW, "llama-bpe"), ("cl100k", ALONE, "dbrx"), ("llama3", ALONE, "smaug-bpe")]
NAMED += [("cl100k", replace(ALONE, ignore_merges=True), "glm4"), ("minicpm5", LOW, "minicpm5")]
NAMED += [(name, replace(ALONE, ignore_merges=True), as_file) for name, as_file in
          (("llama3", "llama-bpe"), ("minicpm5", "minicpm5"))]  # fmt: skip


@pytest.mark.filterwarnings("ignore:llama.cpp's '(gpt-4o|tekken)' differs")
@pytest.mark.parametrize(("pattern", "model", "name"), NAMED)
def test_a_pattern_gets_the_name_that_treats_whole_words_alike(path, pattern, model, name):
    model = replace(model, pattern=pattern)
    write(Definition(model), path)
    assert read_metadata(path, "tokenizer.ggml.pre") == {"tokenizer.ggml.pre": name}
    assert read(path).model == model


def test_ignore_merges_is_not_read_where_it_changes_nothing(path):
    for model in (replace(LOW, ignore_merges=True), LOW):
        write(Definition(replace(model, pattern="llama3")), path)
        assert read(path).model == replace(LOW, pattern="llama3")


def test_gaps_are_written_as_unused_and_read_as_gaps(path):
    write(Definition(LOW), path)
    metadata = read_metadata(path, "tokenizer.ggml.")
    assert metadata["tokenizer.ggml.tokens"][258:260] == ["[PAD258]", "[PAD259]"]
    assert metadata["tokenizer.ggml.token_type"][255:260] == [NORMAL, NORMAL, NORMAL, UNUSED, UNUSED]
    assert [*read(path).model.vocab] == [*range(258), 300, 301]


def test_unused_tokens_without_placeholders_are_ordinary_ones(path):
    write_file(path, tokens=["a", "b", "ab", "[PAD9]", "[PAD4]"], token_type=[NORMAL, NORMAL, UNUSED, UNUSED, UNUSED])
    assert read(path).model.vocab == {0: b"a", 1: b"b", 2: b"ab", 3: b"[PAD9]"}


def test_a_special_token_that_is_an_ordinary_one_too_stays_both(path):
    write_file(path, tokens=["a", "b", "ab", "Ġ"], token_type=[NORMAL, CONTROL, USER_DEFINED, UNKNOWN])
    got = read(path)
    assert got.model == BPEModel({0: b"a", 1: b"b", 2: b"ab", 3: b" "}, [(b"a", b"b")])
    added = [(i, token.content, token.special) for i, token in got.added_tokens.items()]
    assert added == [(1, "b", True), (2, "ab", False), (3, "Ġ", True)]


def test_special_token_with_the_bytes_of_an_ordinary_one_is_kept(path):
    write_file(path, tokens=["a", "Ġ", "aĠ", "a "], merges=["a Ġ"])
    got = read(path)
    assert got.model == BPEModel({0: b"a", 1: b" ", 2: b"a "}, [(b"a", b" ")])
    assert {i: token.content for i, token in got.added_tokens.items()} == {3: "a "}


def test_a_special_token_that_merges_make_comes_back(path):
    definition = Definition(LOW, {257: token("low", special=True)})
    write(FORMAT.reduce(definition), path)
    assert read(path) == definition


def test_a_name_for_an_ordinary_token_is_left_out_with_a_warning(path):
    write_file(path, padding_token_id=2)
    with pytest.warns(UserWarning, match="padding_token_id is 2, which is not a special token: pad_token is dropped"):
        assert read(path).settings == {}


def test_a_model_file_with_tensors_is_read(path):
    numpy = pytest.importorskip("numpy")
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(8)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(["a", "b", "ab"])
    writer.add_token_types([NORMAL] * 3)
    writer.add_token_merges(["a b"])
    writer.add_array("general.tags", ["x", "y"])
    writer.add_tensor("w", numpy.ones((4, 8), numpy.float32))
    for step in ("write_header_to_file", "write_kv_data_to_file", "write_tensors_to_file", "close"):
        methodcaller(step)(writer)
    assert read(path).model == BPEModel({0: b"a", 1: b"b", 2: b"ab"}, [(b"a", b"b")])


def test_a_missing_package_is_named_with_how_to_get_it(path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "gguf", None)
    with pytest.raises(ImportError, match=r"pip install 'hf_bpe\[gguf\]'"):
        write(Definition(LOW), path)


def test_a_pattern_that_llama_cpp_has_but_nearly_is_warned_of(path):
    with pytest.warns(
        UserWarning, match="llama.cpp's 'gpt-4o' differs a little from the pattern 'o200k': it gives other ids"
    ):
        write(Definition(replace(LOW, pattern="o200k")), path)


def test_tokens_that_begin_within_others_are_found_or_refused(path):
    values = {"tokens": ["a", "b", "ab", "<s>", "<s>x"], "token_type": [NORMAL] * 3 + [CONTROL, USER_DEFINED]}
    got = read(write_file(path, **values))
    assert AddedTokenSplitter(got.added_tokens).split("a<s>x<s>") == ["a", 4, 3]
    values["tokens"][4] = "s>x"
    message = f"{path}: added tokens '<s>' and 's>x': in '<s>x' llama.cpp finds the longest"
    with pytest.raises(ValueError, match=message):
        read(write_file(path, **values))


def test_white_space_of_any_length_may_be_added(path):
    runs = [" " * length for length in range(2, 32)]
    got = read(write_file(path, tokens=["a", "b", "ab", *runs], token_type=[NORMAL] * 3 + [USER_DEFINED] * 30))
    assert [each.content for each in got.added_tokens.values()] == runs
    assert AddedTokenSplitter(got.added_tokens).split(" " * 40) == [32, 10]


def test_added_tokens_may_be_many_but_not_endless(path):
    def read_with(contents):
        types = [NORMAL] * 3 + [USER_DEFINED] * len(contents)
        return read(write_file(path, tokens=["a", "b", "ab", *contents], token_type=types))

    assert len(read_with([f"<|reserved_{number}|>" for number in range(5000)]).added_tokens) == 5000
    with pytest.raises(ValueError, match=r"added token 'xxx.*: expected at most 1024 characters, got 5000"):
        read_with(["x" * 5000])
    with pytest.raises(ValueError, match=r"llama\.cpp finds the longest first"):
        read_with([f"<{number}<" for number in range(5000)])


@given(
    st.lists(st.text("ab ", min_size=1, max_size=4), min_size=1, max_size=4, unique=True), st.text("ab ", max_size=12)
)
def test_added_tokens_of_any_file_are_found_as_llama_cpp_does(folder, contents, text):
    types = [NORMAL] * 3 + [USER_DEFINED] * len(contents)
    write_file(folder / "x.gguf", tokens=["x", "y", "xy", *contents], token_type=types, merges=["x y"])
    try:
        tokens = read(folder / "x.gguf").added_tokens
    except ValueError as error:
        if "llama.cpp" not in str(error):
            raise
        return
    parts = [text]
    for content in sorted(contents, key=len, reverse=True):  # as llama.cpp goes through them
        parts = [found for part in parts for found in (cut(part, content) if isinstance(part, str) else [part])]
    found = AddedTokenSplitter(tokens).split(text)
    assert [[tokens[part].content] if isinstance(part, int) else part for part in found] == parts


def cut(text, content):
    """Return text with a list of the content in the place of each occurrence."""
    pieces = text.split(content)
    return [*filter(lambda part: part != "", [part for piece in pieces for part in (piece, [content])][:-1])]


# What users say of a file.


def test_given_pattern_is_used_for_files_with_unknown_patterns(path):
    write_file(path, pre="superbpe")
    with pytest.raises(ValueError, match=r"x\.gguf: .*\.pre: unknown pattern 'superbpe'"):
        read(path)
    assert read(path, pattern="qwen2").model.pattern == "qwen2"
    assert read(path, pattern=r"\w+|\W+").model.pattern == r"\w+|\W+"
    write_file(path, pre=None)
    with pytest.raises(ValueError, match="pre: unknown pattern None"):
        read(path)
    assert read(path, pattern=None).model.pattern is None


def test_whole_words_go_first_by_names_of_unknown_patterns(path):
    write_file(path, pre="youtu", tokens=["a", "b", "ab", "bb", "<s>"], token_type=[1, 1, 1, 1, 3], add_bos_token=False)
    assert read(path, pattern="o200k").model.ignore_merges


def test_a_pattern_that_contradicts_the_file_is_refused(path):
    write_file(path, pre="llama-bpe", add_bos_token=False)
    with pytest.raises(ValueError, match="'llama-bpe' is the pattern 'llama3'; leave the argument out"):
        read(path, pattern="gpt2")
    assert read(path, pattern="llama3").model.pattern == "llama3"
    assert read(path, pattern="cl100k").model.pattern == "cl100k"  # which cuts alike


def test_special_tokens_are_taken_for_files_without_types(path):
    write_file(path, token_type=None)
    with pytest.raises(ValueError, match="token_type: the file does not store which tokens are special"):
        read(path)
    assert read(path, special_tokens={"<s>": 3}).model.special_tokens == ("<s>",)
    with pytest.raises(ValueError, match=r"its special tokens are \{'<s>': 3\}; leave the argument out"):
        read(write_file(path), special_tokens={"<s>": 2})


# What llama.cpp would do otherwise.


def with_special(*contents):
    return Definition(LOW, {400 + number: token(content, special=True) for number, content in enumerate(contents)})


def word(*tokens):
    """Return a model with tokens that merges make byte by byte."""
    parts = {token[:end]: None for token in tokens for end in range(2, len(token) + 1)}
    return BPEModel({**BYTES, **dict(enumerate(parts, 256))}, [(part[:-1], part[-1:]) for part in parts])


def token(content, **flags):
    return AddedToken(content, **{"normalized": False, **flags})


MISSING = replace(LOW, vocab={i: token for i, token in LOW.vocab.items() if i != 0x41})
OTHER_TEXT = replace(LOW, vocab={**LOW.vocab, 256: b" ", 32: b"lo"})
FAR = replace(LOW, vocab={**LOW.vocab, 10**6: b"x!"})
WORDS = replace(ALONE, ignore_merges=True)
CHARACTERS = train(["low lower"] * 4, num_merges=3, byte_fallback=True)
NAMES = {name: Definition(LOW, settings={"pad_token": name}) for name in ("<pad>", "low")}
REFUSED = [
    (Definition(MISSING), "no token for the byte 0x41; llama.cpp would leave it out of texts"),
    (Definition(BPEModel(BYTES, [])), "no merges, which llama.cpp requires"),
    (Definition(WORDS), "token 258, b'new', is made by no merges, so it is only met as a whole word"),
    (Definition(LOW, {400: AddedToken("<x>", special=True, lstrip=True)}), "gguf cannot carry flags of special tokens"),
    (Definition(LOW, {400: AddedToken("<x>")}), "gguf cannot carry tokens that were added to the model"),
    (Definition(LOW, {257: token("low")}), "gguf cannot carry tokens that were added to the model"),
    (with_special("low"), "gguf cannot carry tokens that were added to the model"),
    (with_special("x\0y"), r"added token 400, 'x\\x00y': llama.cpp accepts neither"),
    (with_special("[PAD299]"), r"tokens 299 and 400 are both written as '\[PAD299\]'"),
    (
        Definition(OTHER_TEXT, {256: token(" ", special=True)}),
        "added token 256, ' ', is the token b' ' of the model, written as 'Ġ'",
    ),
    (Definition(LOW, {256: token("zzz", special=True)}), "added token 256, 'zzz', is the token b'lo' of the model"),
    (with_special("<a>", "a>bc"), "added tokens '<a>' and 'a>bc': in '<a>bc' llama.cpp finds the longest"),
    (with_special("<|tool_response>"), "token '</s>': llama.cpp does not find it in text if '<|tool_response>' exists"),
    (
        Definition(replace(WORDS, pattern="llama3"), {400: token("Ġlo", special=True)}),
        "'Ġlo', is the printable form of the word",
    ),
    (Definition(CHARACTERS), "gguf is written for byte-level models only, .*; save it with save_pretrained, and give"),
    (Definition(replace(LOW, pattern="none")), "gguf cannot carry the split pattern, None"),
    (Definition(FAR), "the highest id is 1000000 but there are only 261 tokens; renumber the ids first"),
    (NAMES["<pad>"], "pad_token is '<pad>', which is not a special token"),
    (NAMES["low"], "pad_token is 'low', which is not a special token"),
    (Definition(LOW, settings={"chat_template": {"tool-use": "x"}}), "the chat template 'tool-use': expected a name"),
]


@pytest.mark.parametrize(("definition", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_llama_cpp_would_run_differently_is_refused(path, definition, message):
    with pytest.raises(ValueError, match=message):
        write(FORMAT.reduce(definition), path)
    assert not path.exists()


def test_an_ordinary_token_that_looks_special_is_warned_of(path):
    with pytest.warns(UserWarning, match=r"llama\.cpp treats ordinary tokens as special by their text: '</s>'; it"):
        write(Definition(word(b"</s>")), path)
    assert read(path).model == word(b"</s>")


def test_models_that_llama_cpp_runs_alike_come_back_equal(path):
    few = replace(LOW, vocab={i: token for i, token in LOW.vocab.items() if token not in (b"\xc0", b"\xff")})
    for model in (few, word(b"<b>")):
        write(Definition(model), path)
        assert read(path).model == model


# What is wrong in files.


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model": "gemma4"}, "tokenizer.ggml.model: 'gemma4', a SentencePiece model; expected 'gpt2' or 'llama'"),
        ({"model": "bert"}, "tokenizer.ggml.model: 'bert', a WordPiece model"),
        ({"model": "t5"}, "tokenizer.ggml.model: 't5', a Unigram model"),
        ({"model": "rwkv"}, "tokenizer.ggml.model: 'rwkv', a World tokenizer"),
        ({"model": "new"}, "tokenizer.ggml.model: 'new', another kind of tokenizer"),
        ({"model": None}, "tokenizer.ggml.model: no vocabulary; expected 'gpt2'"),
        ({"model": 3}, "tokenizer.ggml.model: expected a string, got 3"),
        ({"pre": "default"}, "tokenizer.ggml.pre: unknown pattern 'default'"),
        ({"pre": "gemma4"}, "tokenizer.ggml.pre: 'gemma4', whose tokens are characters; expected a byte-level BPE"),
        ({"pre": [1]}, r"tokenizer.ggml.pre: expected a string, got \[1\]"),
        ({"tokens": None}, "tokenizer.ggml.tokens: expected an array of strings, got none"),
        ({"tokens": [1, 2]}, r"tokenizer.ggml.tokens: expected an array of strings, got \[1, 2\]"),
        ({"tokens": ["a", "b", "ab"]}, "tokenizer.ggml.token_type: 4 types for 3 tokens"),
        ({"tokens": ["a", "b", "ab", "a"]}, "tokens 0 and 3 are the same, 'a'"),
        ({"tokens": ["a", "b", "c", "<s>"]}, r"merge 0, \(b'a', b'b'\): its result is not a token"),
        ({"tokens": ["a", "b", "ab", ""], "token_type": [1] * 4}, "token 3, '': expected GPT-2's characters for"),
        ({"tokens": ["a", "b", "ab", "x y"], "token_type": [1] * 4}, "token 3, 'x y': expected GPT-2's characters"),
        ({"token_type": ["a"] * 4}, "tokenizer.ggml.token_type: expected an array of integers"),
        ({"token_type": [1, 1, 1, 6]}, "token 3, '<s>': type 6, expected one of 1 to 5"),
        ({"merges": None}, "tokenizer.ggml.merges: expected an array of strings, got none"),
        ({"merges": ["ab"]}, "merge 0: expected two tokens separated by a space, got 'ab'"),
        ({"merges": ["a b", "a c"]}, "merge 1: expected two tokens separated by a space, got 'a c'"),
        ({"merges": ["a b b"]}, "merge 0: expected two tokens separated by a space, got 'a b b'"),
        ({"merges": ["a b", "a b"]}, r"merge 1, \(b'a', b'b'\): merge 0 is the same pair"),
        ({"bos_token_id": 4}, "tokenizer.ggml.bos_token_id: expected one of the 4 ids, got 4"),
        ({"bos_token_id": "<s>"}, "tokenizer.ggml.bos_token_id: expected one of the 4 ids, got '<s>'"),
        ({"add_bos_token": 1}, "tokenizer.ggml.add_bos_token: expected true or false, got 1"),
        ({"add_bos_token": True}, "tokenizer.ggml.add_bos_token: no special token has bos_token_id"),
        ({"add_eos_token": True}, "tokenizer.ggml.add_eos_token: no special token has eos_token_id"),
        ({"tokenizer.chat_template": 3}, "tokenizer.chat_template: expected a string, got 3"),
    ],
)
def test_errors_of_a_file_name_the_key(path, values, message):
    write_file(path, **values)
    with pytest.raises(ValueError, match=rf"^{path}: {message}"):
        read(path)


SMALL = struct.pack("<4sIQQ", b"GGUF", 3, 0, 1)
KEY = struct.pack("<Q11s", 11, b"tokenizer.x")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "byte 0: the magic: expected 4 bytes, the file ends after 0"),
        (b"PK\3\4" + bytes(99), r"not a GGUF file: it begins with b'PK\\x03\\x04', expected b'GGUF'"),
        (struct.pack("<4sIII", b"GGUF", 1, 0, 1) + KEY, "version 1 of GGUF; expected 2 or 3"),
        (struct.pack(">4sIQQ", b"GGUF", 3, 0, 1) + KEY, "a big-endian GGUF file; expected a little-endian one"),
        (struct.pack("<4sIQQ", b"GGUF", 3, 0, 2**62) + KEY, f"byte 16: {2**62} keys cannot be in the 19 bytes"),
        (
            SMALL + struct.pack("<Q", 2**60) + bytes(8),
            f"byte 32: key 1 of 1: expected at most .* bytes, got a length of {2**60}",
        ),
        (SMALL + struct.pack("<Q", 60) + bytes(8), "byte 32: key 1 of 1: expected 60 bytes, the file ends after 8"),
        (SMALL + struct.pack("<Q5s", 5, b"a\xffbcd"), "byte 33: key 1 of 1: not UTF-8"),
        (SMALL + KEY + struct.pack("<I", 13), "byte 47: tokenizer.x: type 13, expected one of 0 to 12"),
        (SMALL + KEY + struct.pack("<IQ", 8, 2**63), f"byte 55: tokenizer.x: expected {2**63} bytes"),
        (SMALL + KEY + struct.pack("<IIQ", 9, 4, 2**60), f"byte 59: tokenizer.x: {2**60} entries cannot be in the 0"),
        (SMALL + KEY + struct.pack("<IIQ", 9, 8, 2**60), f"byte 59: tokenizer.x: {2**60} entries cannot be in the 0"),
        (SMALL + KEY + struct.pack("<IIQ", 9, 9, 1), "byte 59: tokenizer.x: an array of arrays"),
        (
            struct.pack("<4sIQQ", b"GGUF", 3, 0, 2) + 2 * (KEY + struct.pack("<IB", 0, 7)),
            "byte 48: the key 'tokenizer.x' occurs twice",
        ),
    ],
)
def test_other_files_are_refused_with_the_byte(path, data, message):
    path.write_bytes(data)
    with pytest.raises(ValueError, match=f"^{path}: {message}"):
        read(path)


def test_a_file_cut_off_at_any_byte_is_refused(path):
    write_file(path, bos_token_id=3)
    data = path.read_bytes()
    for size in range(len(data)):
        path.write_bytes(data[:size])
        with pytest.raises(ValueError, match=f"^{path}: .*"):
            read(path)


_VALUES = (
    st.integers(-(2**31), 2**31 - 1)
    | st.text(min_size=1, max_size=5)
    | st.booleans()
    | st.lists(st.integers(-9, 9), min_size=1, max_size=5)
    | st.lists(st.text(max_size=5), min_size=1, max_size=5)
)


@given(st.dictionaries(st.text("ab.", min_size=1, max_size=5), _VALUES, max_size=5))
def test_the_container_is_read_as_the_package_reads_it(folder, values):
    path = folder / "container.gguf"
    write_file(path, **{f"tokenizer.{key}": value for key, value in values.items()})
    expected = {
        name: field.contents()
        for name, field in gguf.GGUFReader(path).fields.items()
        if name.startswith(("tokenizer.", "general."))
    }
    assert {**read_metadata(path, "tokenizer."), **read_metadata(path, "general.")} == expected


def test_numbers_of_all_types_are_read_and_passed_over(path):
    for kind in (each for each in gguf.GGUFValueType if each.name not in ("STRING", "ARRAY")):
        value = {"FLOAT32": 0.5, "BOOL": True, "FLOAT64": 1e300}.get(kind.name, 7)
        values = {"a.x": (value, kind), "a.y": ([value, value], gguf.GGUFValueType.ARRAY, kind), "b.z": "end"}
        write_file(path, **values)
        assert read_metadata(path, "a.") == {"a.x": value, "a.y": [value, value]}, kind
        assert read_metadata(path, "b.") == {"b.z": "end"}, kind
