"""`hf-bpe inspect` of folders: what AutoTokenizer loads, whether its ids are those of the file, and contradictions."""

import json
import socket

import pytest
import transformers
from packaging.version import Version
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from hf_bpe import BPEModel, train
from hf_bpe._native_core import native_core
from support.commands import error, run
from support.models.model_families import FAMILIES, tokenizer_json
from support.samples import make_tokenizer
from support.upstream.transformers_features import needs_class_of_its_own

# Before that, AutoTokenizer loads LlamaTokenizer for these, which splits in its own way.
CORRECTS_LLAMA = Version(transformers.__version__) >= Version("5.22")
LLAMA_2 = {"tokenizer_class": "LlamaTokenizer"}
AS_LLAMA_2 = ("TokenizersBackend", "same") if CORRECTS_LLAMA else ("LlamaTokenizer", "other")
FAST = {"tokenizer_class": "PreTrainedTokenizerFast"}


@pytest.fixture(scope="module")
def model() -> BPEModel:
    return train(["low lower lowest 123 1234 é e\u0301's\n\n"] * 3, num_merges=12)


@pytest.fixture
def offline(monkeypatch):
    def refuse(*args):
        raise AssertionError("connects to a server")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def folder_of(path, content, config=None, model_config=None):
    path.mkdir(exist_ok=True)
    for name, value in {
        "tokenizer.json": content,
        "tokenizer_config.json": config,
        "config.json": model_config,
    }.items():
        if value is not None:
            (path / name).write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def inspected(path, code=0):
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    found = json.loads(run("inspect", path, "--json", code=code).stdout)
    assert run("inspect", path, code=code).stdout.count("\n") >= 3
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before
    return found


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize(
    ("family", "config", "model_config", "loads", "ids"),
    [
        ("Llama 3", FAST, {"model_type": "llama"}, "TokenizersBackend", "same"),
        pytest.param("Llama 3", LLAMA_2, {"model_type": "llama"}, *AS_LLAMA_2, marks=needs_class_of_its_own("qwen2")),
        ("Qwen2, 2.5, 3", {"tokenizer_class": "Qwen2Tokenizer"}, {"model_type": "qwen2"}, "Qwen2Tokenizer", "same"),
        ("Llama 3", {"tokenizer_class": "Qwen2Tokenizer"}, None, "Qwen2Tokenizer", "other"),
        pytest.param(
            *("Llama 3", FAST, {"model_type": "qwen2"}, "Qwen2Tokenizer", "other"),
            marks=needs_class_of_its_own("qwen2"),
        ),
        ("gpt-oss, Llama 4", {"tokenizer_class": "GPT2Tokenizer"}, None, "GPT2Tokenizer", "other"),
        pytest.param(
            *("DeepSeek V2, LLM", LLAMA_2, {"model_type": "deepseek_v2"}, "TokenizersBackend", "same"),
            marks=needs_class_of_its_own("deepseek_v2"),
        ),
    ],
)
def test_class_and_ids_of_auto_tokenizer_are_reported(tmp_path, model, family, config, model_config, loads, ids):
    path = folder_of(tmp_path / "x", tokenizer_json(FAMILIES[family], model), config, model_config)
    found = inspected(path)
    chosen = found["auto_tokenizer"]
    assert (chosen["loads"], chosen["ids"], chosen["files"]) == (loads, ids, ["tokenizer.json"])
    assert (chosen["mismatch"] is None) == (ids == "same")
    assert found["splits_natively"] == (native_core() is not None)
    is_overruled = model_config == {"model_type": "qwen2"} and config is FAST
    if model_config == {"model_type": "deepseek_v2"}:
        is_overruled = not CORRECTS_LLAMA
    assert chosen["is_overruled"] == is_overruled


def test_special_tokens_that_only_auto_tokenizer_adds_are_named(tmp_path, model):
    content = tokenizer_json(FAMILIES["GPT-2"], model)
    path = folder_of(
        tmp_path / "x", content, {"tokenizer_class": "RobertaTokenizer", "cls_token": "<|bos|>", "sep_token": "<|eos|>"}
    )
    assert inspected(path)["auto_tokenizer"]["ids"] == "same in text, other special tokens added"


def test_truncation_and_padding_of_a_file_change_no_comparison(tmp_path, model):
    content = json.loads(tokenizer_json(FAMILIES["GPT-2"], model))
    content["truncation"] = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
    pad = {"pad_id": 0, "pad_type_id": 0, "pad_token": "!", "pad_to_multiple_of": None, "direction": "Right"}
    content["padding"] = {"strategy": {"Fixed": 8}, **pad}
    path = folder_of(tmp_path / "x", content, FAST)
    assert inspected(path)["auto_tokenizer"]["ids"] == "same"
    run("verify", path, path / "tokenizer.json")


def test_code_of_the_folder_is_not_run(tmp_path, model):
    marker = tmp_path / "ran"
    path = folder_of(
        tmp_path / "x",
        tokenizer_json(FAMILIES["GPT-2"], model),
        {"tokenizer_class": "Mine", "auto_map": {"AutoTokenizer": ["mine.Mine", None]}},
        {"model_type": "mine", "auto_map": {"AutoConfig": "mine.MyConfig"}},
    )
    (path / "mine.py").write_text(f"open({str(marker)!r}, 'w')\nclass Mine: pass\nclass MyConfig: pass\n")
    chosen = inspected(path)["auto_tokenizer"]
    assert chosen["has_code"]
    assert not marker.exists()
    assert chosen["loads"] is None
    assert "custom code" in chosen["error"]


def test_contradictions_between_files_are_listed(tmp_path, model):
    content = json.loads(tokenizer_json(FAMILIES["GPT-2"], model))
    bos = next(token for token in content["added_tokens"] if token["content"] == "<|bos|>")
    path = folder_of(
        tmp_path / "x",
        content,
        {
            **FAST,
            "bos_token": "<|bos|>",
            "added_tokens_decoder": {"0": {**bos, "id": 0}, "999": {"content": "<new>"}},
        },
        {"vocab_size": 10, "bos_token_id": 7},
    )
    (path / "vocab.json").write_text(json.dumps({**content["model"]["vocab"], "a": 0, "extra": 5000}))
    (path / "merges.txt").write_text("#version: 0.2\nb a\n")
    (path / "special_tokens_map.json").write_text('{"bos_token": "<other>"}')
    found = "; ".join(inspected(path)["contradictions"])
    for expected in (
        "vocab.json has other ids than tokenizer.json for 'a'",
        "vocab.json has tokens that the vocabulary of tokenizer.json lacks: 'extra'",
        "merges.txt has 1 merges and tokenizer.json 12; merge 0 is 'b a', there ",
        f"tokenizer_config.json has other ids than tokenizer.json: '<|bos|>' 0 (there {bos['id']})",
        "tokenizer_config.json adds tokens that tokenizer.json lacks: '<new>'",
        "bos_token is '<|bos|>' in tokenizer_config.json and '<other>' in special_tokens_map.json",
        f"config.json: bos_token_id is 7, and '<|bos|>' of tokenizer_config.json has the id {bos['id']}",
        "config.json: vocab_size is 10, and the highest id",
    ):
        assert expected in found


def test_own_folder_has_no_contradictions(tmp_path):
    make_tokenizer().save_pretrained(tmp_path)
    found = inspected(tmp_path)
    assert found["contradictions"] == []
    assert (found["auto_tokenizer"]["loads"], found["auto_tokenizer"]["ids"]) == ("BPETokenizer", "same")
    assert found["missing_bytes"] == []


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (models.WordPiece({"[UNK]": 0, "low": 1}, unk_token="[UNK]"), "WordPiece"),
        (models.Unigram([("<unk>", 0.0), ("▁low", -1.0)], 0, False), "Unigram"),
        (models.BPE({"▁": 0, "l": 1, "o": 2, "lo": 3}, [("l", "o")]), "expected tokens of bytes or an unk_token"),
        (
            models.BPE({"l": 0, "o</w>": 1, "lo</w>": 2}, [("l", "o</w>")], end_of_word_suffix="</w>"),
            "end_of_word_suffix",
        ),
    ],
)
def test_other_models_are_refused_with_what_to_use(tmp_path, other, what):
    tokenizer = Tokenizer(other)
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    path = folder_of(tmp_path / "x", tokenizer.to_str(), FAST)
    said = error("inspect", path / "tokenizer.json")
    assert what in said
    assert said.endswith("load it with PreTrainedTokenizerFast of transformers")
    assert said.count("load it") == 1
    found = inspected(path, code=1)
    assert what in found["refused"]
    assert (found["auto_tokenizer"]["loads"], found["auto_tokenizer"]["ids"]) == ("TokenizersBackend", "same")


def test_rank_file_and_vocabulary_files_are_inspected_alone(tmp_path):
    tokenizer = make_tokenizer()
    for name in ("x.tiktoken", "gpt2"):
        tokenizer.convert_to(tmp_path / name, format=None if "." in name else "gpt2", drop=["names"])
        found = json.loads(run("inspect", tmp_path / name, "--json").stdout)
        assert (found["pattern"], found["splits_natively"], found["auto_tokenizer"]) == ("gpt2", True, None)


def test_long_settings_are_shortened_within_their_quotes(tmp_path):
    tokenizer = make_tokenizer()
    tokenizer.chat_template = "{{ messages }}" * 9
    tokenizer.save_pretrained(tmp_path)
    assert f"chat_template='{'{{ messages }}' * 4}{{…'" in run("inspect", tmp_path).stdout
