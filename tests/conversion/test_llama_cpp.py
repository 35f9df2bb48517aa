"""What we say of llama.cpp, against llama.cpp where it is installed; how what it does follows, without."""

from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken

from hf_bpe import BPEModel, train
from hf_bpe.conversion import Definition, Hints
from hf_bpe.conversion._gguf import read, write
from hf_bpe.conversion._llama_cpp import (
    PATTERNS,
    PRE_TOKENIZERS,
    SPECIAL_BY_TEXT,
    check_found_alike,
    known_difference,
    pre_tokenizer_name,
)
from hf_bpe.conversion._llama_cpp_peer import peer
from hf_bpe.encoding._added_tokens import AddedTokenSplitter
from hf_bpe.encoding._encoder import Options, as_tuples
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.formats._verification.stress_texts import STRESS_TEXTS
from hf_bpe.pretokenizers import to_printable
from support import strategies
from support.real_models import tiktoken_model

gguf = pytest.importorskip("gguf", reason="writing GGUF files needs the package gguf")


def encode_all(definition, texts):
    encoder = make_encoder(definition.model, as_tuples(definition.added_tokens.items()))
    return encoder.encode_batch([*texts], Options(), 1)


@pytest.fixture(scope="module")
def llama_cpp():
    if find_spec("llama_cpp") is None:  # it is not imported here, for it leaves files open
        pytest.skip("llama-cpp-python is not installed")


@pytest.fixture(scope="module")
def merged():
    """Return a model with merges over every place where a pattern may cut, so that ids show where it does."""
    return train([*STRESS_TEXTS, *(f" {text}" for text in STRESS_TEXTS)], num_merges=1200, pattern=None)


def known_texts(texts, pattern):
    return [text for text in texts if known_difference(text, pattern) is None]


def write_named(model, name, path):
    """Write a model with a name for its pattern that the writer would not choose."""
    writer = gguf.GGUFWriter(path, "gpt2")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(name)
    writer.add_token_list([*model.printable_vocab()])
    writer.add_token_types([1] * model.vocab_size)
    writer.add_token_merges([f"{to_printable(first)} {to_printable(second)}" for first, second in model.merges])
    writer.add_add_bos_token(False)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


@pytest.mark.parametrize("name", [name for name, pre in PRE_TOKENIZERS.items() if pre.pattern])
def test_llama_cpp_cuts_by_a_name_as_we_say(tmp_path, llama_cpp, merged, name):
    write_named(merged, name, tmp_path / "x.gguf")
    definition = read(tmp_path / "x.gguf", Hints())
    assert definition.model.pattern == PRE_TOKENIZERS[name].pattern
    texts = known_texts(STRESS_TEXTS, definition.model.pattern)
    assert len(texts) >= len(STRESS_TEXTS) - 4
    assert peer(tmp_path / "x.gguf").encode(texts) == encode_all(definition, texts)


@pytest.mark.parametrize(
    "name", ["gpt-2", "llama-bpe", "dbrx", "qwen2", "gpt-4o", "smollm", "deepseek-v3", "qwen35", "tekken", "minicpm5"]
)
def test_llama_cpp_gives_the_same_ids_for_any_text(tmp_path, llama_cpp, merged, name):
    write_named(merged, name, tmp_path / "x.gguf")
    definition = read(tmp_path / "x.gguf", Hints())
    llama = peer(tmp_path / "x.gguf")

    @given(strategies.texts)
    def check(text):
        if known_difference(text, definition.model.pattern) is None:
            assert llama.encode([text]) == encode_all(definition, [text])

    check()


@pytest.mark.filterwarnings("ignore:llama.cpp's '(gpt-4o|tekken)' differs")
@pytest.mark.parametrize("name", ["r50k", "cl100k", "o200k"])
def test_llama_cpp_gives_the_same_ids_for_real_text(tmp_path, llama_cpp, test_data, name):
    definition = Definition(tiktoken_model(test_data, name), settings={"eos_token": "<|endoftext|>"})
    write(definition, tmp_path / "x.gguf")
    texts = [*STRESS_TEXTS]
    for file in sorted((test_data / "text").glob("*.txt")):
        with file.open(encoding="utf-8") as text:
            texts += [text.read(500) for _ in range(40)]
    texts += ["<|endoftext|>a<|endoftext|><|endoftext|> b", "<|endoftext", "<|endofprompt|>"]
    known = known_texts(texts, definition.model.pattern)
    assert len(known) >= len(texts) * 0.7
    assert peer(tmp_path / "x.gguf").encode(known) == encode_all(definition, known)


def test_llama_cpp_looks_for_whole_words_by_the_names_that_say_so(tmp_path, llama_cpp):
    vocab = {**{byte: bytes([byte]) for byte in range(256)}, 256: b"lo", 257: b"low", 258: b" new"}
    for pattern, ignore_merges in (("llama3", True), ("llama3", False), ("cl100k", True), ("cl100k", False)):
        model = BPEModel(vocab, [(b"l", b"o"), (b"lo", b"w")], (), pattern, ignore_merges)
        write(Definition(model), tmp_path / "x.gguf")
        new = [258] if ignore_merges else [*b" new"]
        assert peer(tmp_path / "x.gguf")("low new news new") == [257, *new, *b" news", *new]


def test_llama_cpp_finds_added_tokens_where_we_do(tmp_path, llama_cpp, merged):
    contents = ["<|x|>", "<|x|>y", "  ", "   ", "你好", "lox", "\n\n"]
    added = {2000 + i: AddedToken(content, normalized=False, special=i % 2 == 0) for i, content in enumerate(contents)}
    definition = Definition(BPEModel(merged.vocab, merged.merges, pattern="gpt2"), added)
    write(definition, tmp_path / "x.gguf")
    llama = peer(tmp_path / "x.gguf")

    @given(st.lists(st.sampled_from([*contents, " ", "a", "<|", "x", "\n", "!"])).map("".join))
    def check(text):
        assert llama(text) == encode_all(definition, [text])[0]

    check()


def test_llama_cpp_begins_and_ends_sequences_as_the_file_says(tmp_path, llama_cpp):
    vocab = {**{byte: bytes([byte]) for byte in range(256)}, 256: b"lo", 257: b"<s>", 258: b"</s>"}
    model = BPEModel(vocab, [(b"l", b"o")], ("<s>", "</s>"), "llama3")
    names = {"bos_token": "<s>", "eos_token": "</s>"}
    for bos, eos in ((False, False), (True, False), (False, True), (True, True)):
        write(Definition(model, settings={**names, "add_bos_token": bos, "add_eos_token": eos}), tmp_path / "x.gguf")
        llama = peer(tmp_path / "x.gguf")
        assert llama.encode(["lo<s>"]) == [[256, 257]]
        assert llama.encode(["lo"], added=True) == [[257] * bos + [256] + [258] * eos]


def test_llama_cpp_takes_these_tokens_for_special_whatever_their_type(tmp_path, llama_cpp):
    # One that ends a text, for of those that fill in the middle it takes but the first of each kind.
    token = "</s>"
    assert token in SPECIAL_BY_TEXT
    vocab = {**{byte: bytes([byte]) for byte in range(256)}, 256: b"lo", 257: token.encode()}
    write_named(BPEModel(vocab, [(b"l", b"o")]), "gpt-2", tmp_path / "x.gguf")
    assert peer(tmp_path / "x.gguf")(f"a{token}b") == [97, 257, 98]


def test_text_that_aborts_llama_cpp_is_an_error_and_it_restarts(tmp_path, llama_cpp, merged):
    write_named(merged, "gpt-4o", tmp_path / "x.gguf")
    llama = peer(tmp_path / "x.gguf")
    with pytest.raises(ValueError, match=r"llama.cpp ends with -[0-9]+ at the text 'aaaa.*' of 1000000 characters"):
        llama("a" * 1_000_000)
    assert llama("ab") == encode_all(read(tmp_path / "x.gguf", Hints()), ["ab"])[0]


def test_a_file_that_llama_cpp_cannot_load_is_an_error(tmp_path, llama_cpp):
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    with pytest.raises(ValueError, match=r"llama.cpp cannot load .*x\.gguf"):
        peer(tmp_path / "x.gguf")


def test_without_llama_cpp_there_is_no_peer(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert peer(tmp_path / "x.gguf") is None


# Without llama.cpp.


def test_written_pattern_names_map_back_to_their_patterns():
    for pattern in PATTERNS:
        assert PRE_TOKENIZERS[pre_tokenizer_name(pattern, None)].pattern == pattern
        for ignore_merges in (True, False):
            name = pre_tokenizer_name(pattern, ignore_merges)
            assert name is None or PRE_TOKENIZERS[name][:2] == (pattern, ignore_merges)
    assert pre_tokenizer_name(None, None) is None
    assert pre_tokenizer_name(r"\w+", None) is None


@given(
    st.lists(st.text("ab ", min_size=1, max_size=4), min_size=1, max_size=4, unique=True),
    st.lists(st.booleans(), min_size=4, max_size=4),
    st.text("ab ", max_size=12),
)
def test_added_tokens_that_are_not_refused_are_found_alike_in_any_text(contents, normalized, text):
    tokens = {
        i: AddedToken(content, normalized=flag)
        for i, (content, flag) in enumerate(zip(contents, normalized, strict=False))
    }
    try:
        check_found_alike(tokens)
    except ValueError:
        return
    parts = [text]
    for i in sorted(tokens, key=lambda i: len(contents[i]), reverse=True):  # as llama.cpp goes through them
        parts = [found for part in parts for found in (cut(part, contents[i], i) if isinstance(part, str) else [part])]
    assert AddedTokenSplitter(tokens).split(text) == parts


def cut(text, content, token_id):
    """Return text with an id in the place of each occurrence of a content."""
    pieces = text.split(content)
    return [*filter(lambda part: part != "", [part for piece in pieces for part in (piece, token_id)][:-1])]


@pytest.mark.parametrize(
    ("text", "pattern", "words"),
    [
        ("\U000105c0", "gpt2", "Unicode 16.0"),
        ("नि", "o200k", "marks"),
        ("aÉb", "o200k", "cases"),
        ("'ſa", "llama3", "long s"),
        ("'ſa", "gpt2", None),
        ("aÉb नि", "cl100k", None),
        ("naïve café", "o200k", None),
        ("aÉb", "tekken", "cases of letters beyond ASCII"),
        ("aBc it's 12", "tekken", None),
        ("'ſa", "tekken", None),
        ("'ſa", "deepseek-v3", None),
        ("camelCase", "kimi-k2", "cases of letters,"),
        ("Camel 汉字 123", "kimi-k2", None),
        ("a  123 'LL", "minicpm5", None),
    ],
)
def test_texts_that_llama_cpp_cuts_otherwise_are_known(text, pattern, words):
    reason = known_difference(text, pattern)
    assert reason is None if words is None else words in reason
