"""GGUF files of models whose alphabet is characters, compared with the algorithm of llama.cpp, literally."""

import json
import re
import warnings
from dataclasses import replace
from itertools import pairwise
from operator import methodcaller

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tokenizers import AddedToken

from hf_bpe import BPETokenizer, train
from hf_bpe.conversion import FORMATS, Definition, Hints
from hf_bpe.conversion import _formats as formats
from hf_bpe.conversion._gguf import FORMAT, read, write
from hf_bpe.conversion._gguf_characters import PREPEND, REPLACE
from hf_bpe.conversion._gguf_file import read_metadata
from hf_bpe.core._characters import BYTE_TOKENS
from hf_bpe.formats._decoding import default_decoding
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.formats._tokenizer_json import definition_of_json
from hf_bpe.pretokenizers import Metaspace
from support.cases import case
from support.character_files import FRAGMENTS, files, texts
from support.profiles import thorough

gguf = pytest.importorskip("gguf", reason="writing GGUF files needs the package gguf")
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
BOTH = {"type": "Sequence", "normalizers": [PREPEND, REPLACE]}
NEVER = Metaspace(prepend_scheme="never")
CORPUS = ["low lower lowest newest é", "widest 你好 newer  lowlands"] * 4
SAMPLES = [" low  lower", "low▁est ñ你", "", "\n\t\0", "<s>low<s> low", "<0x41>", "lowlandslow" * 9]


def encode_literally(path, text):
    """Return what llama.cpp's `llm_tokenizer_spm_session` gives for a text, with special tokens found in it."""
    values = {
        key.removeprefix("tokenizer.ggml."): value for key, value in read_metadata(path, "tokenizer.ggml.").items()
    }
    tokens, types = values["tokens"], values["token_type"]
    scores = dict(zip(tokens, values["scores"], strict=True))
    ids = {token: token_id for token_id, token in enumerate(tokens)}
    fragments = [text] if text else []
    special = [token for token, kind in zip(tokens, types, strict=True) if kind in (UNKNOWN, CONTROL, USER_DEFINED)]
    for token in sorted(special, key=lambda token: -len(token.encode())):
        fragments = [
            piece
            for fragment in fragments
            for piece in (
                [fragment]
                if isinstance(fragment, int)
                else [
                    each
                    for number, part in enumerate(fragment.split(token))
                    for each in ([ids[token]] if number else []) + ([part] if part else [])
                ]
            )
        ]
    found, is_prev_special = [], True
    for fragment in fragments:
        if isinstance(fragment, int):
            found.append(fragment)
            is_prev_special = True
            continue
        raw = " " + fragment if values["add_space_prefix"] and is_prev_special else fragment
        is_prev_special = False
        symbols = [*raw.replace(" ", "▁")]
        while True:
            pairs = [(-scores[a + b], i) for i, (a, b) in enumerate(pairwise(symbols)) if a + b in ids]
            if not pairs:
                break
            _, place = min(pairs)
            symbols[place : place + 2] = [symbols[place] + symbols[place + 1]]
        for symbol in symbols:
            found += [ids[symbol]] if symbol in ids else [ids[f"<0x{byte:02X}>"] for byte in symbol.encode()]
    return found


def trained(normalizer=BOTH, pattern=None, **options):
    settings = {"byte_fallback": True, "unk_token": "<unk>", "bos_token": "<s>", "add_bos_token": True, **options}
    return BPETokenizer.train(CORPUS, num_merges=20, pattern=pattern, normalizer=normalizer, **settings).definition


@pytest.mark.parametrize(
    ("normalizer", "pattern"), [(BOTH, None), (REPLACE, None), (None, NEVER), (PREPEND, NEVER), (BOTH, NEVER)]
)
def test_trained_models_come_back_with_the_same_ids(tmp_path, normalizer, pattern):
    definition = trained(normalizer, pattern)
    path = tmp_path / "x.gguf"
    formats.write(definition, path)
    got = formats.read(path)
    assert got == FORMAT.reduce(definition)
    assert got.model.merges == definition.model.merges
    assert got.setting("decoding") == definition.setting("decoding") == default_decoding(got.model)
    ours, again = Pipeline.of(definition), Pipeline.of(got)
    for text in [*SAMPLES, *FRAGMENTS]:
        with case(text):
            (ids,) = ours.encode([text], False)
            assert [*ids] == [*again.encode([text], False)[0]] == encode_literally(path, text)
            assert ours.decode([ids], True) == again.decode([ids], True)


def test_an_ordinary_unknown_token_is_named_for_llama_cpp_finds_it_in_text(tmp_path):
    tokens = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "a", "▁a"]
    vocab = {token: token_id for token_id, token in enumerate(tokens)}
    model = {"type": "BPE", "vocab": vocab, "merges": [["▁", "a"]], "unk_token": "<unk>", "byte_fallback": True}
    replaced = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    decoders = [replaced, {"type": "ByteFallback"}, {"type": "Fuse"}]
    content = {"normalizer": BOTH, "model": model, "decoder": {"type": "Sequence", "decoders": decoders}}
    definition = definition_of_json(content)
    path = tmp_path / "x.gguf"
    with pytest.warns(UserWarning, match="treats ordinary tokens as special by their text: '<unk>'"):
        write(FORMAT.as_expressed(definition), path)
    assert encode_literally(path, "a<unk>") == [vocab["▁a"], vocab["<unk>"]]
    assert [*Pipeline.of(definition).encode(["a<unk>"], False)[0]][:2] == [vocab["▁a"], vocab["<0x3C>"]]


REFUSALS = (
    "readers of scores would make it of|^pattern:|^normalizer:|^added tokens? |no merges|before '▁'|both written as"
    "|^characters: byte_fallback needs"
)


def is_written(definition, path):
    """Write a file, or see that it is refused by name."""
    try:
        write(FORMAT.as_expressed(definition), path)
    except ValueError as error:
        if not re.search(REFUSALS, str(error)):
            raise
        return False
    return True


@given(files(normalizers=(BOTH, REPLACE, PREPEND, None), falls_back=True), st.lists(texts, max_size=4))
def test_any_model_gives_the_ids_of_llama_cpp_or_is_refused_by_name(tmp_path_factory, content, samples):
    content = {**content, "added_tokens": [{**each, "normalized": False} for each in content["added_tokens"]]}
    try:
        definition = definition_of_json(content)
    except ValueError:
        assume(False)
    path = tmp_path_factory.mktemp("gguf") / "x.gguf"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if not is_written(definition, path):
            return
    said = "".join(str(each.message) for each in caught)
    assert said == "" or said.startswith("llama.cpp treats ordinary tokens as special")
    taken = [token for token in content["model"]["vocab"] if repr(token) in said]
    ours = Pipeline.of(definition)
    for text in [*samples, *content["model"]["vocab"]]:
        if any(token in text for token in taken):
            continue
        assert [*ours.encode([text], False)[0]] == encode_literally(path, text), text
    got = read(path, Hints())
    again = Pipeline.of(got)
    for text in samples:
        assert [*again.encode([text], False)[0]] == encode_literally(path, text), text


def write_file(path, tokens, scores, types, **values):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("llama")
    bytes_ = [token.decode() for token in BYTE_TOKENS]
    writer.add_token_list([*bytes_, *tokens])
    writer.add_token_scores([*([0.0] * 256), *map(float, scores)])
    writer.add_token_types([*([BYTE] * 256), *types])
    for name, value in values.items():
        writer.add_key_value(f"tokenizer.ggml.{name}", value, gguf.GGUFValueType.get_type(value))
    for step in ("write_header_to_file", "write_kv_data_to_file", "write_ti_data_to_file", "close"):
        methodcaller(step)(writer)
    return path


@given(
    st.lists(st.text("▁abc", min_size=2, max_size=5) | st.sampled_from(["▁▁", "▁▁▁"]), unique=True, max_size=8),
    st.booleans(),
    st.lists(st.text(" ▁abcd", max_size=9), max_size=5),
    st.randoms(),
)
def test_files_of_others_are_read_with_the_ids_of_llama_cpp(tmp_path_factory, made, prefix, samples, rng):
    path = tmp_path_factory.mktemp("gguf") / "x.gguf"
    scores = rng.sample(range(-99, 0), len(made))
    tokens = ["<unk>", *"▁abc", *made]
    # Added tokens are searched before spaces are written as ▁, but scores make these, too.
    kinds = [rng.choice((NORMAL, USER_DEFINED)) if {*token} == {"▁"} else NORMAL for token in made]
    types = [UNKNOWN, *[NORMAL] * 4, *kinds]
    write_file(path, tokens, [0.0] * 5 + scores, types, add_space_prefix=prefix, add_bos_token=False)
    pipeline = Pipeline.of(read(path, Hints()))
    for text in [*samples, *made]:
        assert [*pipeline.encode([text], False)[0]] == encode_literally(path, text)


def test_files_that_merges_cannot_follow_are_refused(tmp_path):
    for number, (tokens, scores, types, message) in enumerate(
        (
            (["<unk>", "a", "b", "ab", "ba"], [0.0, 0, 0, -1, -1], [UNKNOWN, 1, 1, 1, 1], "have the same score"),
            (["<unk>", "b", "ab"], [0.0, 0, -1], [UNKNOWN, 1, 1], "first part is not a token"),
            (["<unk>", "a"], [0.0, 0], [UNKNOWN, BYTE], "expected 6 for <0x00>"),
            (["<unk>", ""], [0.0, 0], [UNKNOWN, 1], "expected text"),
        )
    ):
        path = write_file(tmp_path / f"{number}.gguf", tokens, scores, types, add_bos_token=False)
        with case(message), pytest.raises(ValueError, match=message):
            read(path, Hints())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pattern": Metaspace(), "normalizer": None}, "prepend_scheme 'always' puts no space before a text"),
        ({"pattern": Metaspace("_", "never"), "normalizer": None}, "llama.cpp writes spaces as '▁', got '_'"),
        ({"normalizer": None}, "expected one that writes spaces"),
        ({"normalizer": "NFKC"}, "llama.cpp only puts '▁' before a text"),
        ({"byte_fallback": False}, "byte_fallback is False"),
    ],
)
def test_what_llama_cpp_does_differently_is_refused(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        write(trained(**change), tmp_path / "x.gguf")
    assert not [*tmp_path.iterdir()]


def test_a_token_that_scores_would_make_is_refused(tmp_path):
    definition = trained()
    model = definition.model
    first, second = model.merges[-1]
    vocab = {**model.vocab, 999: second + first, 998: b"lo<0x4" + b"1>"}
    changed = replace(definition, model=replace(model, vocab=vocab))
    with pytest.raises(ValueError, match="readers of scores would make it of"):
        write(changed, tmp_path / "x.gguf")
    normalized = replace(definition, added_tokens={**definition.added_tokens, 999: AddedToken("low", normalized=True)})
    with pytest.raises(ValueError, match="is found in normalized text"):
        write(normalized, tmp_path / "x.gguf")


@pytest.mark.filterwarnings("ignore:llama.cpp treats ordinary tokens as special")
@pytest.mark.parametrize(
    "name", ["mistral_v0_1", *(pytest.param(name, marks=thorough) for name in ("gemma3", "internlm2"))]
)
def test_real_vocabularies_are_written_exactly_or_refused(test_data, tmp_path, name):
    content = json.loads((test_data / "tokenizers" / name / "tokenizer.json").read_text("utf-8"))
    definition = definition_of_json(content)
    path = tmp_path / "x.gguf"
    if not is_written(definition, path):
        return
    text = (test_data / "text" / "multilingual.txt").read_text("utf-8")[:2000]
    ours = Pipeline.of(definition)
    for sample in [*SAMPLES, *text.splitlines()]:
        with case(sample):
            assert [*ours.encode([sample], False)[0]] == encode_literally(path, sample)


@pytest.mark.filterwarnings("ignore:llama.cpp treats ordinary tokens as special")
@pytest.mark.parametrize("name", ["mistral_v0_1", pytest.param("gemma3", marks=thorough)])
def test_real_vocabularies_with_merges_that_no_text_needs_are_converted_both_ways(test_data, tmp_path, name):
    original = BPETokenizer.convert_from(test_data / "tokenizers" / name / "tokenizer.json")
    original.convert_to(tmp_path / "x.gguf")
    again = BPETokenizer.convert_from(tmp_path / "x.gguf")
    assert len(again.model.merges) < len(original.model.merges)
    text = (test_data / "text" / "multilingual.txt").read_text("utf-8")[:200_000]
    rows = [*SAMPLES, *text.splitlines()]
    assert again.encode_to_lists(rows) == original.encode_to_lists(rows)


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("hf", "tokenizer.json", "gguf")])
def test_formats_of_bytes_refuse_characters_by_name(tmp_path, name):
    definition = Definition(train(CORPUS, num_merges=9, byte_fallback=True))
    chosen = FORMATS[name]
    others = {*chosen.missing(definition)} - {"characters", "pattern"}
    path = tmp_path / (f"x{chosen.suffix}" if chosen.is_file else name)
    refusal = "cannot carry (the split pattern|an alphabet of characters)|the alphabet of characters cannot be dropped"
    for drop in ((), others, others | {"characters"}):
        with case(drop), pytest.raises(ValueError, match=refusal):
            formats.write(definition, path, format=name, drop=drop)
    assert "characters" in chosen.missing(definition)
    assert not [*tmp_path.rglob("*.*")]
