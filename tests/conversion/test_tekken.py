"""`tekken.json` of Mistral: the ids of mistral-common, and what is not such a file is refused with its place."""

import base64
import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from hf_bpe import BPETokenizer, train
from hf_bpe.conversion import detect
from hf_bpe.formats._verification.stress_texts import STRESS_TEXTS
from hf_bpe.pretokenizers import PATTERNS
from support.commands import error, run
from support.samples import CORPUS
from support.servers.hub import add_to_cache

NUMBER = 40
TEXTS = [*STRESS_TEXTS, *CORPUS, "", "<s>low [INST]lower", "low  12 lowest"]


def tekken(edit=lambda content: None):
    model = train(CORPUS * 2, num_merges=60, pattern="tekken")
    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for rank, token in model.vocab.items()
    ]
    config = {
        "pattern": PATTERNS["tekken"],
        "num_vocab_tokens": len(vocab),
        "default_vocab_size": NUMBER + len(vocab) - 5,
        "default_num_special_tokens": NUMBER,
        "version": "v3",
    }
    content = {"config": config, "vocab": vocab}
    edit(content)
    return content


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(tekken()))
    return path


def peer(path):
    tekkenizer = pytest.importorskip("mistral_common.tokens.tokenizers.tekken")
    return tekkenizer.Tekkenizer.from_file(path)


def check(path, ours):
    theirs = peer(path)
    assert len(ours) == theirs.n_words
    specials = range(theirs.num_special_tokens)
    assert ours.convert_ids_to_tokens([*specials]) == [*map(theirs.id_to_piece, specials)]
    for token_id in range(len(specials), theirs.n_words, 1 + theirs.n_words // 2000):
        assert ours.decode_bytes([token_id]) == theirs.id_to_byte_piece(token_id)
    for text in TEXTS:
        assert ours.encode(text, split_special_tokens=True) == theirs.encode(text, True, False), text


def test_ids_are_those_of_mistral_common(file):
    check(file, BPETokenizer.convert_from(file))


def test_file_of_mistral_common_has_its_ids():
    module = pytest.importorskip("mistral_common")
    path = Path(module.__file__).parent / "data" / "tekken_240911.json"
    if not path.is_file():
        pytest.skip("this version of mistral_common has no such file")
    check(path, BPETokenizer.convert_from(path))


def test_file_is_read_by_every_way_in(file, tmp_path):
    ours = BPETokenizer.convert_from(file)
    assert detect(file).name == detect(tmp_path).name == "tekken"
    (tmp_path / "params.json").write_text("{}")
    assert BPETokenizer.from_pretrained(tmp_path, padding_side="left", local_files_only=True).padding_side == "left"
    add_to_cache(tmp_path, tmp_path / "cache")
    cached = BPETokenizer.from_pretrained("me/it", cache_dir=tmp_path / "cache", local_files_only=True)
    for again in (BPETokenizer.from_pretrained(tmp_path), BPETokenizer.convert_from(tmp_path), cached):
        assert again.definition == ours.definition
    other = file.rename(tmp_path / "other-name.json")
    assert BPETokenizer.convert_from(other).definition == ours.definition
    assert (ours.bos_token, ours.eos_token, ours.pad_token, ours.unk_token) == ("<s>", "</s>", "<pad>", "<unk>")
    assert ours.encode("<s>low [INST]")[:2] == [1, 1]
    assert ours.convert_ids_to_tokens([3, 20, 39]) == ["[INST]", "<SPECIAL_20>", "<SPECIAL_39>"]
    run("convert", other, tmp_path / "saved")
    saved = Tokenizer.from_file(str(tmp_path / "saved" / "tokenizer.json"))
    assert [*map(ours.encode, TEXTS)] == [saved.encode(text).ids for text in TEXTS]
    found = json.loads(run("inspect", other, "--json").stdout)
    assert (found["format"], found["pattern"], found["splits_natively"]) == ("tekken", "tekken", True)


def test_listed_special_tokens_are_taken(file):
    def edit(content):
        content["config"]["version"] = "v13"
        tokens = ["<unk>", "<s>", "</s>", "[THINK]"]
        content["special_tokens"] = [{"rank": i, "token_str": t, "is_control": True} for i, t in enumerate(tokens)]

    file.write_text(json.dumps(tekken(edit)))
    ours = BPETokenizer.convert_from(file)
    assert ours.convert_ids_to_tokens([3, 4]) == ["[THINK]", "<SPECIAL_4>"]
    assert ours.pad_token is None
    check(file, ours)


BROKEN = {
    "no version": (lambda c: c["config"].pop("version"), "special_tokens: expected a list in version None"),
    "version 11": (lambda c: c["config"].update(version="v11"), "special_tokens: expected a list in version 'v11'"),
    "ranks with a gap": (
        lambda c: c.update(special_tokens=[{"rank": 1, "token_str": "<s>"}]),
        "special_tokens: expected ranks from 0",
    ),
    "twice": (
        lambda c: c.update(special_tokens=[{"rank": 0, "token_str": "<SPECIAL_9>"}]),
        "special_tokens: expected distinct tokens",
    ),
    "too many": (
        lambda c: c["config"].update(default_num_special_tokens=5),
        "special_tokens: expected at most 5, got 20",
    ),
    "too large": (lambda c: c["config"].update(default_vocab_size=9999), "vocab: expected 9959 tokens or more"),
    "no base64": (lambda c: c["vocab"][300].update(token_bytes="?"), "vocab: token 300 is not base64"),
    "bytes moved": (lambda c: c["vocab"][0].update(token_bytes="YQ=="), "at rank 0"),
    "no size": (lambda c: c["config"].pop("default_vocab_size"), "not a tekken.json: KeyError"),
    "no vocab": (lambda c: c.update(vocab=None), "not a tekken.json: TypeError"),
    "size of text": (lambda c: c["config"].update(default_vocab_size="9"), "config: expected a vocabulary"),
    "a million special tokens": (lambda c: c["config"].update(default_num_special_tokens=10**9), "config: expected"),
}


@pytest.mark.parametrize(("edit", "message"), BROKEN.values(), ids=BROKEN)
def test_damaged_file_is_refused_with_its_place(file, edit, message):
    file.write_text(json.dumps(tekken(edit)))
    said = error("inspect", file)
    assert said.startswith(f"{file}: ")
    assert message in said
