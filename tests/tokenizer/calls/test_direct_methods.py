"""Methods that hf_bpe answers itself give what transformers' own methods give, which are asked through `super()`."""

import copy
import itertools
import pickle
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AddedToken, BatchEncoding, PreTrainedTokenizerFast
from transformers import tokenization_utils_base as base

from hf_bpe import BPETokenizer, BPETokenizerFast, accelerate
from support.cases import case
from support.profiles import by_profile, scaled

CORPUS = ["low lower lowest newest widest 你好 é <|x|> don't", "The lowest of the low, 42!"]
SETTINGS = {
    "plain": {},
    "bos": {"add_bos_token": True},
    "short": {"model_max_length": 5, "add_eos_token": True},
    "left": {"padding_side": "left", "truncation_side": "left", "add_bos_token": True, "model_max_length": 8},
    "types": {"model_input_names": ["input_ids", "token_type_ids", "attention_mask"]},
    "mask first": {"model_input_names": ["attention_mask", "input_ids"]},
    "split": {"split_special_tokens": True},
    "cleaned": {"clean_up_tokenization_spaces": True},
}
CLASSES = ["python", "accelerated", "loaded"]


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("tokenizer")
    tokenizer = BPETokenizer.train(
        CORPUS, num_merges=30, special_tokens=["<|x|>"], pad_token="<pad>", eos_token="<|x|>"
    )
    tokenizer.bos_token = "<|x|>"
    tokenizer.add_tokens(["word", AddedToken("<strip>", lstrip=True, rstrip=True)])
    tokenizer.save_pretrained(path, verify=False)
    make.folder = path
    make.cache_clear()


@cache
def make(kind, setting):
    """Return a tokenizer, and one whose methods are all left to `super()`."""
    both = []
    for _ in range(2):
        if kind == "python":
            tokenizer = BPETokenizer.from_pretrained(make.folder, **SETTINGS[setting])
        elif kind == "loaded":
            tokenizer = BPETokenizerFast.from_pretrained(make.folder, **SETTINGS[setting])
        else:
            tokenizer = accelerate(PreTrainedTokenizerFast.from_pretrained(make.folder, **SETTINGS[setting]))
        both.append(tokenizer)
    for name in dir(both[1]):
        if name.startswith("_answers_"):
            vars(both[1])[name] = False
    return both


def outcome(tokenizer, method, *args, **kwargs):
    """Return all that a user sees of a result, or of an error."""
    try:
        result = getattr(tokenizer, method)(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)
    return seen(result)


def seen(result):
    if not isinstance(result, BatchEncoding):
        return described(result)
    rows = [
        {name: getattr(row, name) for name in ("ids", "tokens", "type_ids", "offsets", "word_ids", "sequence_ids")}
        for row in result.encodings or []
    ]
    columns = [(name, described(value)) for name, value in result.items()]
    return type(result), columns, result.n_sequences, result.is_fast, rows, vars(result).keys()


def described(value):
    if isinstance(value, (list, tuple)):
        return type(value), [described(each) for each in value]
    if hasattr(value, "dtype"):
        return type(value), str(value.dtype), tuple(value.shape), described(value.tolist())
    return type(value), value


PIECES = st.sampled_from(
    ["low", " lowest", "你好", "é", "<|x|>", "word", " <strip> ", "<pad>", " n't", "\ud83d", "\n", "42", " .", "xyz"]
)
TEXT = st.lists(PIECES, max_size=8).map("".join)
INPUT = st.one_of(
    *(TEXT, TEXT, st.lists(TEXT, max_size=4), st.lists(TEXT, max_size=4).map(tuple), st.none()),
    *(st.lists(st.tuples(TEXT, TEXT), max_size=3), st.lists(st.integers(0, 290), max_size=3), st.just(3)),
)
CALL_OPTIONS = {
    "add_special_tokens": st.sampled_from([True, False, 1, None]),
    "padding": st.sampled_from([False, True, "longest", "max_length", "do_not_pad", "wrong"]),
    "truncation": st.sampled_from([None, False, True, "longest_first", "only_first", "do_not_truncate"]),
    "max_length": st.sampled_from([None, 1, 3, 6, 20]),
    "stride": st.sampled_from([0, 1]),
    "pad_to_multiple_of": st.sampled_from([None, 4]),
    "padding_side": st.sampled_from([None, "left", "right"]),
    "return_tensors": st.sampled_from([None, None, "np", "pt", "wrong"]),
    "return_token_type_ids": st.sampled_from([None, True, False]),
    "return_attention_mask": st.sampled_from([None, True, False]),
    "return_overflowing_tokens": st.booleans(),
    "return_special_tokens_mask": st.booleans(),
    "return_offsets_mapping": st.booleans(),
    "return_length": st.booleans(),
    "verbose": st.booleans(),
    "split_special_tokens": st.booleans(),
    "is_split_into_words": st.booleans(),
    "text_pair": TEXT,
    "text_target": TEXT,
    "tokenizer_kwargs": st.just({"padding": True}),
    "no_such_option": st.just(1),
}
IDS = st.lists(st.one_of(st.integers(0, 290), st.sampled_from([-1, 5000, True, "a", None])), max_size=6)
ROWS = st.one_of(
    IDS, st.lists(IDS, max_size=4), st.lists(IDS, max_size=4).map(tuple), st.integers(0, 300), st.just("a")
)
ARRAYS = st.lists(st.lists(st.integers(0, 290), min_size=3, max_size=3), max_size=3).map(
    lambda rows: np.array(rows, int)
)
DECODING_OPTIONS = {
    "skip_special_tokens": st.sampled_from([True, False, 1, None]),
    "clean_up_tokenization_spaces": st.sampled_from([None, True, False]),
}
TOKENS = st.lists(st.sampled_from(["low", "Ġlow", "word", "<|x|>", "none", "é"]), max_size=5)


MASKED = st.lists(
    st.lists(st.integers(0, 290), max_size=5).map(lambda row: {"input_ids": row, "attention_mask": [1] * len(row)}),
    min_size=1,
    max_size=4,
)
PADDABLE = st.one_of(
    MASKED,
    MASKED.map(lambda rows: {name: [row[name] for row in rows] for name in rows[0]}),
    MASKED.map(lambda rows: [{"input_ids": row["input_ids"]} for row in rows]),
    MASKED.map(lambda rows: [BatchEncoding({name: row[name] for name in [*row][::-1]}) for row in rows]),
    MASKED.map(lambda rows: [{**row, "labels": 1} for row in rows]),
    MASKED.map(lambda rows: [{**row, "attention_mask": [1]} for row in rows]),
    MASKED.map(lambda rows: [{"input_ids": [float(each) for each in row["input_ids"]]} for row in rows]),
    MASKED.map(lambda rows: rows[0]),
    MASKED.map(lambda rows: [{"input_ids": [2**70]}, *rows]),
    st.sampled_from([[], {}, [{}], "text", [{"input_ids": []}], {"attention_mask": [[1]]}]),
)
PADDING_OPTIONS = {
    "padding": st.sampled_from([True, False, "longest", "max_length"]),
    "max_length": st.sampled_from([None, 2, 8]),
    "pad_to_multiple_of": st.sampled_from([None, 4]),
    "padding_side": st.sampled_from([None, "left", "right"]),
    "return_attention_mask": st.sampled_from([None, True, False]),
    "return_tensors": st.sampled_from([None, "np", "pt", "np", "pt"]),
}


def options(of, *names):
    return st.fixed_dictionaries({}, optional={name: value for name, value in of.items() if not names or name in names})


USUAL = ("add_special_tokens", "padding", "truncation", "max_length", "return_tensors", "return_attention_mask")
CALLS = {
    "__call__": [st.tuples(INPUT, options(CALL_OPTIONS)), st.tuples(INPUT, options(CALL_OPTIONS, *USUAL))],
    "encode": [st.tuples(INPUT, options(CALL_OPTIONS, *USUAL, "text_pair"))],
    "tokenize": [st.tuples(TEXT, options(CALL_OPTIONS, "add_special_tokens", "split_special_tokens"))],
    "decode": [st.tuples(st.one_of(ROWS, ARRAYS), options(DECODING_OPTIONS))],
    "batch_decode": [st.tuples(st.one_of(ROWS, ARRAYS), options(DECODING_OPTIONS))],
    "pad": [st.tuples(PADDABLE, options(PADDING_OPTIONS))],
    "convert_tokens_to_ids": [st.tuples(st.one_of(TOKENS, st.just("low")), st.just({}))],
    "convert_ids_to_tokens": [st.tuples(st.one_of(IDS, st.just(3)), options(DECODING_OPTIONS, "skip_special_tokens"))],
}


@scaled
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("method", CALLS)
def test_methods_give_what_is_inherited(method, kind):
    @settings(max_examples=by_profile(quick=60, thorough=1500), deadline=None)
    @given(setting=st.sampled_from([*SETTINGS]), call=st.one_of(CALLS[method]))
    def check(setting, call):
        direct, inherited = make(kind, setting)
        argument, given = call
        if method == "tokenize" and kind != "python":  # tokenizers refuses lone surrogates, which are repaired
            argument = argument.replace("\ud83d", "")
        results = [outcome(each, method, copy.deepcopy(argument), **given) for each in (direct, inherited)]
        assert results[0] == results[1]

    check()


def ids_of(*tokens):
    return BPETokenizer.from_pretrained(make.folder).convert_tokens_to_ids([*tokens])


def nines(tokenizer, *args, **kwargs):
    columns, encodings = PreTrainedTokenizerFast._convert_encoding(tokenizer, *args, **kwargs)
    return {**columns, "input_ids": [[9]]}, encodings


# Name → what a subclass or object does, and the ids of HOOKED_TEXT with it.
HOOKED_TEXT = "low<|x|>你"
HOOKED = {
    "_tokenize": (lambda self, text, **_: ["l", "o"], lambda: ids_of("l", "o", "<|x|>", "l", "o")),
    "prepare_for_tokenization": (
        lambda self, text, *_, **kwargs: (text.replace("low", "é"), kwargs),
        lambda: BPETokenizer.from_pretrained(make.folder).encode("é<|x|>你"),
    ),
    "tokenize": (lambda self, text, *_, **__: ["l", "<|x|>"], lambda: ids_of("l", "<|x|>")),
    "_convert_token_to_id": (
        lambda self, token: 7,
        lambda: [each if each == ids_of("<|x|>")[0] else 7 for each in plain_ids()],
    ),
    "convert_tokens_to_ids": (
        lambda self, tokens: 7 if isinstance(tokens, str) else [7] * len(tokens),
        lambda: [7] * len(plain_ids()),
    ),
    "build_inputs_with_special_tokens": (
        lambda self, one, two=None: [*one[:1], 5, *one[1:], *(two or [])],
        lambda: [*plain_ids()[:1], 5, *plain_ids()[1:]],
    ),
    "_encode_plus": (lambda self, *_, **__: BatchEncoding({"input_ids": [9]}), lambda: [9]),
}
HOOKED_FAST = {"_encode_plus": HOOKED["_encode_plus"], "_convert_encoding": (nines, lambda: [9])}


def plain_ids():
    return BPETokenizer.from_pretrained(make.folder).encode(HOOKED_TEXT)


def overriding(cls, kind, name, function):
    """Return a tokenizer of a subclass that overrides a method, or one object that has its own."""
    if kind == "class":
        return type("Other", (cls,), {name: function}).from_pretrained(make.folder)
    tokenizer = cls.from_pretrained(make.folder)
    setattr(tokenizer, name, lambda *args, **kwargs: function(tokenizer, *args, **kwargs))
    return copy.copy(tokenizer)


@pytest.mark.parametrize(
    ("cls", "name"), [*((BPETokenizer, name) for name in HOOKED), *((BPETokenizerFast, name) for name in HOOKED_FAST)]
)
def test_calls_heed_what_a_subclass_overrides(cls, name):
    function, expected = (HOOKED if cls is BPETokenizer else HOOKED_FAST)[name]
    for kind in ("class", "object"):
        tokenizer = overriding(cls, kind, name, function)
        with case(kind):
            assert tokenizer(HOOKED_TEXT)["input_ids"] == tokenizer.encode(HOOKED_TEXT) == expected() != plain_ids()


def test_offsets_are_refused_where_transformers_encodes():
    tokenizer = overriding(BPETokenizer, "class", "_tokenize", HOOKED["_tokenize"][0])
    for name in ("return_offsets_mapping", "return_overflowing_tokens"):
        with pytest.raises(ValueError, match=f"^{name}=True: Other overrides _tokenize"):
            tokenizer("low", **{name: True})


@pytest.mark.parametrize("kind", ["class", "object"])
def test_type_ids_heed_what_a_subclass_overrides(kind):
    tokenizer = overriding(
        BPETokenizer, kind, "create_token_type_ids_from_sequences", lambda self, one, two=None: [3] * len(one)
    )
    tokenizer.token_type_ids_pattern = "bert_style"
    assert set(tokenizer(HOOKED_TEXT).encodings[0].type_ids) == {3}
    tokenizer.model_input_names = ["input_ids", "token_type_ids"]
    assert [*tokenizer(HOOKED_TEXT)] == ["input_ids", "token_type_ids"]
    assert set(tokenizer(HOOKED_TEXT)["token_type_ids"]) == {3}


DECODING = {
    "_decode": lambda self, token_ids, *_, **__: "other",
    "decode": lambda self, token_ids, *_, **__: ["other"] * len(token_ids),
    "convert_ids_to_tokens": lambda self, ids, *_, **__: ["other"],
    "_convert_id_to_token": lambda self, index: "other",
    "convert_tokens_to_string": lambda self, tokens: "other",
}


@pytest.mark.parametrize(
    ("cls", "name"),
    [*((BPETokenizer, name) for name in DECODING), *((BPETokenizerFast, name) for name in ("_decode", "decode"))],
)
def test_decoding_heeds_what_a_subclass_overrides(cls, name):
    ids = ids_of("l")
    for kind in ("class", "object"):
        tokenizer = overriding(cls, kind, name, DECODING[name])
        with case(kind):
            assert tokenizer.batch_decode([ids]) == ["other"]
            if name != "decode":
                assert tokenizer.decode(ids) == tokenizer.decode([ids])[0] == "other"


CHANGES = {
    "tokens": lambda tokenizer: tokenizer.add_tokens(["lo"]),
    "special tokens": lambda tokenizer: tokenizer.add_special_tokens({"cls_token": "ow"}),
    "template": lambda tokenizer: setattr(tokenizer, "add_eos_token", True),
    "splitting": lambda tokenizer: setattr(tokenizer, "split_special_tokens", True),
    "columns": lambda tokenizer: setattr(tokenizer, "model_input_names", ["input_ids"]),
    "columns in place": lambda tokenizer: (
        setattr(tokenizer, "model_input_names", [*tokenizer.model_input_names])
        or tokenizer.model_input_names.remove("attention_mask")
    ),
}
SAME = {
    "itself": lambda tokenizer: tokenizer,
    "copy": copy.copy,
    "deep copy": copy.deepcopy,
    "pickle": lambda tokenizer: pickle.loads(pickle.dumps(tokenizer)),
}


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("change", CHANGES)
def test_changes_are_seen_by_the_next_call(kind, change):
    text, load = "low<|x|>", make.__wrapped__
    for same, copied in SAME.items():
        tokenizer, inherited = load(kind, "plain")
        tokenizer(text), tokenizer.encode(text)
        tokenizer = copied(tokenizer)
        tokenizer(text), tokenizer.encode(text)
        before = seen(tokenizer(text))
        for each in (tokenizer, inherited):
            CHANGES[change](each)
        with case(same):
            assert seen(tokenizer(text)) == seen(inherited(text)) != before
            assert tokenizer.encode(text) == inherited.encode(text)
            assert tokenizer.decode(tokenizer.encode(text)) == inherited.decode(inherited.encode(text))


def test_a_long_text_is_warned_about_once(caplog):
    calls = {
        "rows": lambda tokenizer, text: tokenizer([text]),
        "offsets": lambda tokenizer, text: tokenizer([text], return_offsets_mapping=True),
        "arrays": lambda tokenizer, text: tokenizer([text], return_tensors="np"),
        "call": lambda tokenizer, text: tokenizer(text),
        "encode": lambda tokenizer, text: tokenizer.encode(text),
    }
    for kind, (name, call) in itertools.product(CLASSES, calls.items()):
        caplog.clear()
        tokenizer, _ = make.__wrapped__(kind, "short")
        state = pickle.dumps(tokenizer)
        with case(kind, name):
            call(tokenizer, "zzzz")  # and <|x|>, so 5 ids, which no merge joins
            assert not caplog.records
            for _ in range(2):
                call(tokenizer, "zzzzz")
            assert kind != "python" or pickle.dumps(tokenizer) == state
            (record,) = caplog.records
            assert "longer than the specified maximum sequence length for this model (6 > 5)" in record.getMessage()


def test_results_pickle_without_their_tokenizer():
    for kind in CLASSES:
        tokenizer, _ = make(kind, "bos")
        encoded = tokenizer(["low <|x|> 你好", "low"], ["low", "lowest"])
        data = pickle.dumps(encoded)
        assert b"BPETokenizer" not in data
        restored = pickle.loads(pickle.dumps(pickle.loads(data)))
        assert restored.data == encoded.data
        assert [row.offsets for row in restored.encodings] == [row.offsets for row in encoded.encodings]
        for row in range(2):
            assert restored.tokens(row) == encoded.tokens(row)
            assert restored.char_to_token(row, 0, 1) == encoded.char_to_token(row, 0, 1) is not None
            assert copy.deepcopy(encoded).word_ids(row) == encoded.word_ids(row)
        arrays = tokenizer(["low", "low"], return_tensors="np")
        assert (pickle.loads(pickle.dumps(arrays))["input_ids"] == arrays["input_ids"]).all()
        with pytest.raises(AttributeError):
            encoded.encodings.no_such_attribute  # noqa: B018


def test_methods_are_answered_directly(monkeypatch):
    """Else they would be as slow as before, without a wrong result."""
    for kind in CLASSES:
        tokenizer, _ = make(kind, "bos")
        cls = type(tokenizer)
        for owner, name in ((cls, "_encode_plus"), (cls, "_decode"), (cls, "_pad"), (base, "to_py_obj")):
            monkeypatch.setattr(owner, name, lambda *_, **__: pytest.fail("not answered directly"))
        with monkeypatch.context() as patched:  # `batch_encoding` has to follow what the constructor does
            patched.setattr(BatchEncoding, "__init__", lambda *_, **__: pytest.fail("constructed"))
            ids = tokenizer("low")["input_ids"]
        assert ids == tokenizer.encode("low") == [*ids[:1], *tokenizer.encode("low", add_special_tokens=False)]
        assert tokenizer.decode(ids) == "<|x|>low"
        tokenizer.pad([{"input_ids": ids}], return_tensors="np")
        for rows in ([ids], [tuple(ids)], np.array([ids])):
            assert tokenizer.batch_decode(rows, skip_special_tokens=False) == ["<|x|>low"]
        assert tokenizer.tokenize("low")
        monkeypatch.undo()
