"""GGUF files whose alphabet is characters, compared with the algorithm of llama.cpp, literally."""

import json
import re
from functools import cache
from itertools import pairwise
from operator import methodcaller

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from hf_bpe import conversion, train
from hf_bpe.conversion import FORMATS, Definition
from hf_bpe.conversion._gguf_file import read_metadata
from hf_bpe.formats import Pipeline
from support.cases import case

gguf = pytest.importorskip("gguf", reason="writing GGUF files needs the package gguf")
CORPUS = ["low lower lowest newest é", "widest 你好 newer  lowlands"] * 4
SAMPLES = [" low  lower", "low▁est ñ你", "", "\n\t\0", "<s>low<s> low", "<0x41>", "lowlandslow" * 9]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, _, BYTE = range(1, 7)

metadata_of = cache(read_metadata)


def encode_literally(path, text):
    """Return what llama.cpp's `llm_tokenizer_spm_session` gives for a text, with special tokens found in it."""
    values = {key.removeprefix("tokenizer.ggml."): value for key, value in metadata_of(path, "tokenizer.ggml.").items()}
    tokens, types = values["tokens"], values["token_type"]
    scores = dict(zip(tokens, values["scores"], strict=True))
    ids = {token: token_id for token_id, token in enumerate(tokens)}
    fragments = [text] if text else []
    special = [token for token, kind in zip(tokens, types, strict=True) if kind in (UNKNOWN, CONTROL, USER_DEFINED)]
    for token in sorted(special, key=lambda token: -len(token.encode())):
        cut = re.compile(f"({re.escape(token)})")
        parts = ([fragment] if isinstance(fragment, int) else cut.split(fragment) for fragment in fragments)
        fragments = [ids[token] if part == token else part for each in parts for part in each if part != ""]
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


def write_file(path, tokens, scores, types, **values):
    """Write a vocabulary; tokens of bytes get their own type."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([*map(float, scores)])
    writer.add_token_types([BYTE if token in BYTES else kind for token, kind in zip(tokens, types, strict=True)])
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
    tokens, types = BYTES + tokens, [BYTE] * 256 + types
    write_file(path, tokens, [0.0] * 261 + scores, types, add_space_prefix=prefix, add_bos_token=False)
    pipeline = Pipeline.from_definition(conversion.read(path))
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
        scores, types = [0.0] * 256 + scores, [BYTE] * 256 + types
        path = write_file(tmp_path / f"{number}.gguf", BYTES + tokens, scores, types, add_bos_token=False)
        with case(message), pytest.raises(ValueError, match=message):
            conversion.read(path)


@pytest.mark.parametrize("normalizers", [1, 2])
def test_a_real_vocabulary_is_read_with_the_ids_of_llama_cpp(test_data, tmp_path, normalizers):
    content = json.loads((test_data / "tokenizers" / "mistral_v0_1" / "tokenizer.json").read_text("utf-8"))
    content["normalizer"]["normalizers"] = content["normalizer"]["normalizers"][-normalizers:]
    original = conversion.definition_of(Tokenizer.from_str(json.dumps(content)))
    tokens, merges = [*content["model"]["vocab"]], original.model.merges
    scores = {b"".join(merge).decode(): -float(rank) for rank, merge in reversed([*enumerate(merges)])}
    types = [UNKNOWN, CONTROL, CONTROL, *[NORMAL] * (len(tokens) - 3)]
    path = write_file(
        tmp_path / "x.gguf",
        tokens,
        [scores.get(token, 0.0) for token in tokens],
        types,
        **{"bos_token_id": 1, "add_space_prefix": normalizers == 2},
    )
    got = conversion.read(path)
    assert got.bos_eos == (True, False)
    kinds = [decoder["type"] for decoder in json.loads(got.setting("decoding"))["decoders"]]
    assert kinds == ["Replace", "ByteFallback", "Fuse", "Strip"][: 2 + normalizers]
    assert len(got.model.merges) < len(merges)  # of the merges that make a token one is ever made
    ours, theirs = Pipeline.from_definition(got), Pipeline.from_definition(original)
    text = (test_data / "text" / "multilingual.txt").read_text("utf-8")
    for sample in [*SAMPLES, *text[:2000].splitlines()]:
        with case(sample):
            assert [*ours.encode([sample], False)[0]] == encode_literally(path, sample)
    rows = text[:200_000].splitlines()
    assert [*map(list, ours.encode(rows, False))] == [*map(list, theirs.encode(rows, False))]


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("hf", "tokenizer.json")])
def test_formats_of_bytes_refuse_characters_by_name(tmp_path, name):
    definition = Definition(train(CORPUS, num_merges=9, byte_fallback=True))
    chosen = FORMATS[name]
    others = {*chosen.missing(definition)} - {"characters", "pattern"}
    path = tmp_path / (f"x{chosen.suffix}" if chosen.is_file else name)
    refusal = "cannot carry (the split pattern|an alphabet of characters)|characters cannot be dropped|for byte-level"
    for drop in ((), others, others | {"characters"}):
        with case(drop), pytest.raises(ValueError, match=refusal):
            conversion.write(definition, path, format=name, drop=drop)
    assert "characters" in chosen.missing(definition)
    assert not [*tmp_path.rglob("*.*")]
