"""BPETokenizerFast gives what the fast tokenizer in it gives, whatever is changed in it."""

import copy
import json
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers
from tokenizers.decoders import DecodeStream
from transformers import AutoTokenizer, GPT2Tokenizer, PreTrainedTokenizerFast

from hf_bpe import BPETokenizerFast, accelerate, patch_transformers, unpatch_transformers
from hf_bpe.fast import _pipeline_slot
from support.cases import case

TEXTS = ["", " ", "This is<|endoftext|> the first", "falsé 生活 12  \n\t x", "<x> <pad> <y><|eot|>é", "👩🏽‍🚀\x00" * 3]


@pytest.fixture
def plain(folder):
    return PreTrainedTokenizerFast.from_pretrained(folder)


@pytest.fixture
def fast(folder):
    return accelerate(PreTrainedTokenizerFast.from_pretrained(folder))


@pytest.fixture(autouse=True)
def _unpatched():
    yield
    unpatch_transformers()


def as_lists(encoded):
    values = {name: np.asarray(value).tolist() if hasattr(value, "shape") else value for name, value in encoded.items()}
    names = ["ids", "type_ids", "offsets", "word_ids", "sequence_ids", "attention_mask", "special_tokens_mask"]
    return values, [[getattr(each, name) for name in names] for each in encoded.encodings]


def check_same(plain, fast):
    for text in TEXTS:
        assert fast.encode(text) == plain.encode(text)
        assert as_lists(fast(text)) == as_lists(plain(text))
        assert fast.tokenize(text) == plain.tokenize(text)
        as_text = {"split_special_tokens": True}
        assert fast.encode(text, **as_text) == plain.encode(text, **as_text) == fast(text, **as_text)["input_ids"]
        ids = plain(text)["input_ids"]
        for skips in (False, True):
            assert fast.decode(ids, skip_special_tokens=skips) == plain.decode(ids, skip_special_tokens=skips)
        assert [*map(fast.convert_ids_to_tokens, ids)] == [*map(plain.convert_ids_to_tokens, ids)]


INSISTS = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"


@pytest.mark.parametrize("insists", [None, False, True])
@pytest.mark.parametrize("setting", [False, True])
def test_spaces_are_cleaned_up_where_transformers_does(folder, monkeypatch, setting, insists):
    """Llama 3's folder has the setting; newer releases ignore it for BPE unless another one insists."""
    given = {"clean_up_tokenization_spaces": setting} | ({} if insists is None else {INSISTS: insists})
    plain = PreTrainedTokenizerFast.from_pretrained(folder, **given)
    fast = accelerate(PreTrainedTokenizerFast.from_pretrained(folder, **given))
    rows = [plain.encode("It is n't , that !", add_special_tokens=False)] * 2
    for options in ({}, {"clean_up_tokenization_spaces": True}, {"clean_up_tokenization_spaces": False}):
        expected = plain.batch_decode(rows, **options)
        assert fast.batch_decode(rows, **options) == expected
        assert fast.decode(rows, **options) == plain.decode(rows, **options)
        assert fast.decode(rows[0], **options) == expected[0]
    monkeypatch.setattr(PreTrainedTokenizerFast, "_decode", lambda *args, **kwargs: pytest.fail("not accelerated"))
    if hasattr(plain, INSISTS) and not insists:
        assert fast.batch_decode(rows) == expected


def change_backend(change):
    return lambda tokenizer: change(tokenizer.backend_tokenizer)


def special_for_a_moment(backend):
    """Make a token special and ordinary again, which no attribute tells."""
    backend.add_special_tokens(["<y>"])
    backend.add_tokens([AddedToken("<y>", normalized=False)])


def change_components(name, value):
    return lambda tokenizer: setattr(tokenizer.backend_tokenizer, name, value)


def replace_backend(tokenizer):
    content = json.loads(tokenizer._tokenizer.to_str())
    tokenizer._tokenizer = Tokenizer.from_str(json.dumps(content | {"normalizer": {"type": "Lowercase"}}))


def replace_merges(tokenizer):
    content = json.loads(tokenizer._tokenizer.to_str())
    content["model"]["merges"].reverse()
    tokenizer.backend_tokenizer.model = Tokenizer.from_str(json.dumps(content)).model


CHANGES = {
    "a new token": lambda tokenizer: tokenizer.add_tokens(["<x>", "生"]),
    "a token of the vocabulary": lambda tokenizer: tokenizer.add_tokens(["is", AddedToken("th", lstrip=True)]),
    "flags of an added token": lambda tokenizer: tokenizer.add_tokens([AddedToken("<pad>", rstrip=True)]),
    "a named token": lambda tokenizer: tokenizer.add_special_tokens({"cls_token": "<x>"}),
    "eos": lambda tokenizer: setattr(tokenizer, "add_eos_token", True),
    "splitting of special tokens": lambda tokenizer: setattr(tokenizer, "split_special_tokens", True),
    "normalizer": change_components("normalizer", normalizers.Lowercase()),
    "pre-tokenizer": change_components("pre_tokenizer", pre_tokenizers.ByteLevel(add_prefix_space=True)),
    "no byte-level pre-tokenizer": change_components("pre_tokenizer", pre_tokenizers.Whitespace()),
    "a part in place": lambda t: setattr(t.backend_tokenizer.pre_tokenizer, "add_prefix_space", True),
    "decoder": change_components("decoder", None),
    "post-processor": change_components("post_processor", None),
    "ignore_merges": lambda tokenizer: setattr(tokenizer.backend_tokenizer.model, "ignore_merges", True),
    "truncation": lambda tokenizer: tokenizer.backend_tokenizer.enable_truncation(3),
    "backend": replace_backend,
    "merges": replace_merges,
    "a new token in the backend": change_backend(lambda backend: backend.add_tokens(["<x>", "th"])),
    "flags in the backend": change_backend(lambda backend: backend.add_tokens([AddedToken("<pad>", lstrip=True)])),
    "special after all": change_backend(lambda backend: backend.add_special_tokens(["<y>"])),
    "special for a moment": change_backend(special_for_a_moment),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changed_tokenizer_gives_what_the_plain_one_gives(plain, fast, change):
    check_same(plain, fast)
    for tokenizer in (plain, fast):
        CHANGES[change](tokenizer)
    check_same(plain, fast)


def test_change_of_a_shared_backend_is_noticed(plain):
    fast = accelerate(plain)
    for change in (lambda backend: backend.add_tokens([AddedToken("<y>", normalized=False)]), special_for_a_moment):
        change(plain.backend_tokenizer)
        check_same(plain, fast)
    assert not fast.is_accelerated  # what was special for a moment, `tokenizers` does not tell
    with pytest.raises(ValueError, match="the added token '<y>' was a special token before, as which tokenizers goes"):
        accelerate(plain)


def cached_as_in_vllm(tokenizer):
    """Return a copy of a subclass that keeps the tokenizer, as vLLM 0.33 makes it."""
    other = copy.copy(tokenizer)

    class Cached(type(tokenizer)):
        def __reduce__(self):
            return cached_as_in_vllm, (tokenizer,)

    other.__class__ = Cached
    return other


COPIES = {
    "copy": copy.copy,
    "cached": cached_as_in_vllm,
    "deep copy": copy.deepcopy,
    "deep copy of a cached one": lambda fast: copy.deepcopy(cached_as_in_vllm(fast)),
    "pickled": lambda fast: pickle.loads(pickle.dumps(fast)),
}


@pytest.mark.parametrize("kind", COPIES)
def test_copies_do_not_make_calls_read_added_tokens(folder, kind, monkeypatch):
    fast = accelerate(PreTrainedTokenizerFast.from_pretrained(folder))
    before = fast.encode("a <pad>")
    other = COPIES[kind](fast)
    assert other.is_accelerated
    assert type(other) is type(fast) or "cached" in kind
    calls, state = [], _pipeline_slot.state_of_tokens
    monkeypatch.setattr(_pipeline_slot, "state_of_tokens", lambda backend: calls.append(1) or state(backend))
    for _ in range(3):  # which compare until nothing reaches the backend
        fast.encode("is"), other.encode("is")
    calls.clear()
    for tokenizer in (fast, other):
        tokenizer.encode("is"), tokenizer("is"), tokenizer.decode([0]), tokenizer.convert_ids_to_tokens([0])
        assert len(tokenizer) > 0
    assert not calls
    backend = other.backend_tokenizer
    backend.add_tokens([AddedToken("<pad>", lstrip=True)])
    assert other.encode("a <pad>") == backend.encode("a <pad>").ids
    shares = kind in ("copy", "cached")
    assert fast.encode("a <pad>") == (backend.encode("a <pad>").ids if shares else before)
    del other
    fast.encode("is")
    backend.add_tokens([AddedToken("<pad>", rstrip=True)])
    assert fast.encode("<pad> a") == fast.backend_tokenizer.encode("<pad> a").ids


def test_accelerated_class_is_named_by_pickles(folder):
    tokenizer = GPT2Tokenizer.from_pretrained(folder)
    fast = accelerate(tokenizer)
    assert isinstance(fast, (GPT2Tokenizer, BPETokenizerFast, PreTrainedTokenizerFast))
    assert isinstance(fast, BPETokenizerFast)
    assert type(fast).__name__ == "GPT2Tokenizer"
    assert type(tokenizer) is GPT2Tokenizer
    assert accelerate(fast) is fast
    assert pickle.loads(pickle.dumps(type(fast))) is type(fast)
    loaded = type(fast).from_pretrained(folder)
    assert loaded.encode(TEXTS[2]) == tokenizer.encode(TEXTS[2])
    with pytest.raises(AttributeError, match="no attribute"):
        getattr(sys.modules[type(fast).__module__], "no_such_class")  # noqa: B009


def test_subclasses_that_servers_make_work(plain, fast):
    class Cached(type(fast)):
        @property
        def all_special_ids(self):
            return [0]

    other = copy.copy(fast)
    other.__class__ = Cached
    assert other.all_special_ids == [0]
    check_same(plain, other)

    class Loud(type(fast)):
        def _encode_plus(self, text, *args, **given):
            return super()._encode_plus(text.upper(), *args, **given)

    other.__class__ = Loud
    assert other.encode("this") == plain.encode("THIS")


def test_plain_tokenizer_may_be_given_the_class_and_back(plain, fast):
    fast.__class__ = PreTrainedTokenizerFast
    check_same(plain, fast)
    fast.__class__ = BPETokenizerFast
    check_same(plain, fast)
    loaded = copy.deepcopy(plain)
    loaded.__class__ = BPETokenizerFast
    assert loaded.is_accelerated
    check_same(plain, loaded)


def test_fingerprints_of_datasets_do_not_depend_on_calls(fast):
    fingerprint = pytest.importorskip("datasets.fingerprint").Hasher.hash
    before = fingerprint(fast)
    check_same(copy.deepcopy(fast), fast)
    assert fingerprint(fast) == before == fingerprint(pickle.loads(pickle.dumps(fast)))
    fast.add_tokens(["<x>"])
    assert fingerprint(fast) != before


def test_settings_of_the_original_stay(plain):
    fast = accelerate(plain)
    fast.pad_token = "<|eot|>"
    fast.padding_side = "left"
    assert (plain.pad_token, plain.padding_side) == ("<pad>", "right")


def test_saved_files_are_those_of_the_plain_tokenizer(plain, fast, tmp_path):
    for name, tokenizer in {"plain": plain, "fast": fast}.items():
        tokenizer.save_pretrained(tmp_path / name)
    BPETokenizerFast.from_pretrained(tmp_path / "plain").save_pretrained(tmp_path / "own")
    written = {path.name: path.read_text() for path in (tmp_path / "plain").iterdir()}
    for name in ("fast", "own"):
        assert {path.name: path.read_text() for path in (tmp_path / name).iterdir()} == written


def test_stream_decoder_of_tokenizers_takes_the_backend(plain, fast):
    ids = plain.encode(TEXTS[3])
    streams = DecodeStream(skip_special_tokens=True), DecodeStream(skip_special_tokens=True)
    steps = [[s.step(t._tokenizer, i) for i in ids] for s, t in zip(streams, (plain, fast), strict=True)]
    assert steps[0] == steps[1]


def test_threads_may_encode_while_another_adds_tokens(fast):
    expected = fast.encode(TEXTS[3])

    def encode(number):
        if number % 50 == 7:
            try:
                fast.add_tokens([f"<new {number}>"])
            except RuntimeError as error:  # of tokenizers before 0.23, which adds no tokens while it encodes
                if "Already borrowed" not in str(error):
                    raise
        return fast.encode(TEXTS[3])

    with ThreadPoolExecutor(4) as pool:
        assert all(ids == expected for ids in pool.map(encode, range(200)))


@pytest.mark.parametrize("times", [1, 5])
@pytest.mark.parametrize("when", ["before", "after"])
def test_change_by_another_thread_leaves_no_call_to_the_backend(folder, monkeypatch, times, when):
    """In the backend, a call of another thread could change the padding of this one."""
    fast = accelerate(PreTrainedTokenizerFast.from_pretrained(folder))
    verified_pipeline = _pipeline_slot.verified_pipeline
    changes = []

    def changed_meanwhile(backend):
        engine = verified_pipeline(backend) if when == "after" else None
        if len(changes) < times:
            changes.append(backend.add_tokens([f"<new {len(changes)}>"]))
            if when == "before":
                raise ValueError("its ids differ, because the backend has changed since it was read")
        return engine or verified_pipeline(backend)

    monkeypatch.setattr(_pipeline_slot, "verified_pipeline", changed_meanwhile)
    monkeypatch.setattr(PreTrainedTokenizerFast, "_encode_plus", lambda *args, **kwargs: pytest.fail("not accelerated"))
    fast.add_tokens(["<x>"])
    for _ in range(times + 1):
        short, long = fast(["is", "is is is <x> <new 0>"], padding=True)["input_ids"]
        assert len(short) == len(long)
        assert short[-1] == fast.pad_token_id
    assert len(changes) == times
    assert fast.encode("<new 0>", add_special_tokens=False) == [fast.convert_tokens_to_ids("<new 0>")]


def added_tokens():
    """Tokens with flags, and ways to add them."""
    contents = st.sampled_from(["<s>", "<t>", " low", "lo", "é", "<s>x", "b", "<pad>"])
    flags = st.fixed_dictionaries(
        dict.fromkeys(("special", "lstrip", "rstrip", "single_word", "normalized"), st.booleans())
    )
    return st.lists(st.tuples(contents, flags, st.sampled_from([*ADDING])), min_size=1, max_size=5)


ADDING = {
    "add_tokens": lambda tokenizer, token: tokenizer.add_tokens([token]),
    "special_tokens": lambda tokenizer, token: tokenizer.add_tokens([token], special_tokens=True),
    "name": lambda tokenizer, token: tokenizer.add_special_tokens({"cls_token": token}),
    "backend": lambda tokenizer, token: tokenizer.backend_tokenizer.add_tokens([token]),
    "special in backend": lambda tokenizer, token: tokenizer.backend_tokenizer.add_special_tokens([token]),
}


@given(added_tokens(), st.booleans())
@example([("é", {"special": False}, "special_tokens"), ("é", {"special": False}, "add_tokens")], False)
def test_tokens_added_again_are_those_of_the_backend(folder, added, is_accelerated_first):
    """`tokenizers` goes on to treat an ordinary token as special if it was so before; then it has to encode itself."""
    plain, other = (PreTrainedTokenizerFast.from_pretrained(folder) for _ in range(2))
    fast = accelerate(other) if is_accelerated_first else None
    for content, flags, way in added:
        for tokenizer in (plain, *([fast] if fast is not None else [])):
            ADDING[way](tokenizer, AddedToken(content, **flags))
    try:
        fast = accelerate(plain) if fast is None else fast
    except ValueError:  # a token was special before
        return
    for text in ("a<s>b", " <s> x <t>low low", "é<t>", "<s>x<s> x", "b lo low <pad> "):
        for splits in (False, True):
            given = {"split_special_tokens": splits, "return_offsets_mapping": True}
            expected = plain(text, **given)
            assert {**fast(text, **given)} == {**expected}
            for skips in (False, True):
                ids = expected["input_ids"]
                assert fast.decode(ids, skip_special_tokens=skips) == plain.decode(ids, skip_special_tokens=skips)


WORD_LEVEL = Tokenizer(models.WordLevel({"a": 0, "<unk>": 1}, unk_token="<unk>"))


def test_other_tokenizers_are_refused_and_stay_as_they_are():
    other = PreTrainedTokenizerFast(tokenizer_object=WORD_LEVEL)
    with pytest.raises(ValueError, match=r"PreTrained|TokenizersBackend.*WordLevel"):
        accelerate(other)
    assert not isinstance(other, BPETokenizerFast)


def test_patched_auto_tokenizer_accelerates_what_it_can(folder, tmp_path):
    PreTrainedTokenizerFast(tokenizer_object=WORD_LEVEL).save_pretrained(tmp_path)
    plain = AutoTokenizer.from_pretrained
    patch_transformers()
    patch_transformers()
    assert isinstance(AutoTokenizer.from_pretrained(folder), BPETokenizerFast)
    assert not isinstance(AutoTokenizer.from_pretrained(tmp_path), BPETokenizerFast)
    unpatch_transformers()
    assert AutoTokenizer.from_pretrained == plain
    assert not isinstance(AutoTokenizer.from_pretrained(folder), BPETokenizerFast)


def test_the_plugin_of_vllm_accelerates_on_request(folder, monkeypatch):
    (entry_point,) = metadata.entry_points(group="vllm.general_plugins", name="hf_bpe")
    register, plain = entry_point.load(), AutoTokenizer.from_pretrained
    register()
    assert AutoTokenizer.from_pretrained == plain
    monkeypatch.setenv("HF_BPE_ACCELERATE", "1")
    register()
    assert AutoTokenizer.from_pretrained != plain
    assert AutoTokenizer.from_pretrained(folder).prefix_cache is None
    monkeypatch.setenv("HF_BPE_PREFIX_CACHE", "2MB")
    register()
    cache = AutoTokenizer.from_pretrained(folder).prefix_cache
    register()
    assert AutoTokenizer.from_pretrained(folder).prefix_cache is cache
    assert cache.max_bytes == 2 * 10**6
    for name, value, message in (
        ("HF_BPE_PREFIX_CACHE", "much", "HF_BPE_PREFIX_CACHE: expected"),
        ("HF_BPE_PREFIX_CACHE", "256", r"HF_BPE_PREFIX_CACHE: expected at least .* such as '256MB'"),
        ("HF_BPE_ACCELERATE", "0", "set HF_BPE_ACCELERATE to 1"),
        ("HF_BPE_ACCELERATE", "yes", "expected 0 or 1, got 'yes'"),
    ):
        monkeypatch.setenv(name, value)
        with case(name, value), pytest.raises(ValueError, match=message):
            register()


def test_plugin_of_sglang_accelerates_on_request(folder, monkeypatch):
    hooks = {}
    registry = ModuleType("sglang.srt.plugins.hook_registry")  # as in SGLang 0.5.23
    registry.HookRegistry = SimpleNamespace(register=lambda name, hook, kind: hooks.update({name: (hook, kind)}))
    registry.HookType = SimpleNamespace(AFTER="after")
    monkeypatch.setitem(sys.modules, registry.__name__, registry)
    (entry_point,) = metadata.entry_points(group="sglang.srt.plugins", name="hf_bpe")
    register = entry_point.load()
    register()
    assert not hooks
    monkeypatch.setenv("HF_BPE_ACCELERATE", "1")
    monkeypatch.setenv("HF_BPE_PREFIX_CACHE", "1MB")
    register()
    ((name, (hook, kind)),) = hooks.items()
    assert (name, kind) == ("sglang.srt.utils.hf_transformers.tokenizer.get_tokenizer", "after")
    loaded = PreTrainedTokenizerFast.from_pretrained(folder)
    accelerated = hook(loaded, "folder", trust_remote_code=False)
    assert accelerated.is_accelerated
    assert accelerated.prefix_cache.max_bytes == 10**6


class Prefixed(PreTrainedTokenizerFast):
    """A class that changes the ids of a call after the backend."""

    def _convert_encoding(self, *args, **kwargs):
        data, encodings = super()._convert_encoding(*args, **kwargs)
        data["input_ids"] = [[0, *ids] for ids in data["input_ids"]]
        return data, encodings


class Lowering(PreTrainedTokenizerFast):
    """A class that changes the text of a call before the backend."""

    def _encode_plus(self, text, *args, **kwargs):
        return super()._encode_plus(text.lower(), *args, **kwargs)


@pytest.mark.parametrize("kind", [Prefixed, Lowering])
def test_methods_of_a_class_rule_when_it_is_accelerated(folder, kind):
    plain = kind.from_pretrained(folder)
    fast = accelerate(kind.from_pretrained(folder))
    unchanged = PreTrainedTokenizerFast.from_pretrained(folder)("LOW low").input_ids
    assert fast("LOW low").input_ids == plain("LOW low").input_ids != unchanged
    assert fast.encode("LOW low") == plain.encode("LOW low")
    assert fast.tokenize("LOW low") == plain.tokenize("LOW low")


def test_accelerated_class_with_code_saves_that_code(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(Lowering, "_auto_class", None)  # what it is again in the end
    Lowering.register_for_auto_class("AutoTokenizer")
    saved = [accelerate(Lowering.from_pretrained(folder)), Lowering.from_pretrained(folder)]
    for number, tokenizer in enumerate(saved):
        tokenizer.save_pretrained(tmp_path / str(number))
    files = [{path.name: path.read_bytes() for path in (tmp_path / str(number)).iterdir()} for number in (0, 1)]
    assert files[0] == files[1]
    assert "test_fast.py" in files[0]


def test_patching_a_replaced_method_of_transformers_works(folder, monkeypatch):
    plain = AutoTokenizer.from_pretrained
    monkeypatch.setattr(AutoTokenizer, "from_pretrained", lambda *args, **kwargs: plain(*args, **kwargs))
    patch_transformers()
    assert AutoTokenizer.from_pretrained(folder).is_accelerated


def test_a_backend_of_another_model_encodes_itself():
    backend = Tokenizer(models.WordPiece({"[UNK]": 0, "low": 1, "##er": 2}, unk_token="[UNK]"))
    tokenizer = BPETokenizerFast(tokenizer_object=backend)
    assert not tokenizer.is_accelerated
    for _ in range(2):
        assert tokenizer("lower")["input_ids"] == [1, 2]
        assert (tokenizer.encode("lower"), tokenizer.tokenize("lower")) == ([1, 2], ["low", "##er"])
        assert tokenizer.decode([1, 2]) == tokenizer.batch_decode([[1, 2]])[0] == "low ##er"


def test_a_backend_with_a_component_in_python_encodes_itself():
    class Halves:
        def pre_tokenize(self, text):
            text.split(lambda _, part: [part[: len(str(part)) // 2], part[len(str(part)) // 2 :]])

    backend = Tokenizer(models.BPE({"l": 0, "o": 1, "lo": 2}, [("l", "o")]))
    tokenizer = BPETokenizerFast(tokenizer_object=backend)
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.PreTokenizer.custom(Halves())
    for _ in range(2):
        assert tokenizer("lolo")["input_ids"] == tokenizer.encode("lolo") == [2, 2]
    assert not tokenizer.is_accelerated


def test_repr_says_whether_it_is_accelerated(plain, fast, folder, monkeypatch):
    name = type(plain).__name__
    assert repr(plain).startswith(f"{name}(name_or_path=")
    assert repr(fast).startswith(f"{name}(accelerated=True, name_or_path=")
    assert f", tokens={len(fast)}, special_tokens=" in repr(fast)
    CHANGES["no byte-level pre-tokenizer"](fast)
    assert not fast.is_accelerated
    assert repr(fast).startswith(f"{name}(accelerated=False, name_or_path=")
    loaded = BPETokenizerFast.from_pretrained(folder)
    loaded.encode("low")
    assert repr(loaded).startswith("BPETokenizerFast(accelerated=True, name_or_path=")
    fresh = pickle.loads(pickle.dumps(loaded))  # which verifies when it is used
    monkeypatch.setattr(_pipeline_slot, "verified_pipeline", lambda backend: pytest.fail("a repr verifies"))
    assert repr(fresh).startswith("BPETokenizerFast(accelerated='when it is used', name_or_path=")
