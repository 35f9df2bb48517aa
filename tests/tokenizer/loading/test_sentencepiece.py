"""SentencePiece models become tokenizers by transformers' converter, or it is said why not."""

import json

import pytest
import transformers.utils
from transformers import AutoTokenizer

from hf_bpe import BPETokenizer
from support.cases import case
from support.commands import error, run

BEGINNING = b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02\n\x0c\n\x03<s>"
TEXTS = ["Hello world, low  lowest", " leading", "café 12345 \U0001f600\n", "<s> hi", ""]
PLAIN = {"model_type": "bpe", "byte_fallback": True, "normalization_rule_name": "identity"}
LLAMA = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "bos_token": "<s>", "eos_token": "</s>"}


@pytest.fixture
def make_folder(tmp_path):
    """Return a function that trains a model, and makes a folder of it and a configuration."""
    sentencepiece = pytest.importorskip("sentencepiece")
    pytest.importorskip("google.protobuf")

    def make(config=None, **options):
        text = tmp_path / "text.txt"
        text.write_text("Hello world, the lowest low is lower\n café 12345 \n" * 99)
        folder = tmp_path / "model"
        folder.mkdir(exist_ok=True)
        sentencepiece.SentencePieceTrainer.train(
            input=str(text), model_prefix=str(folder / "tokenizer"), vocab_size=320, minloglevel=2,
            hard_vocab_limit=False, **{"remove_extra_whitespaces": False} | options,
        )  # fmt: skip
        if config is not None:
            (folder / "tokenizer_config.json").write_text(json.dumps(config))
        return folder

    return make


@pytest.mark.parametrize("config", [None, LLAMA])
def test_folder_gives_the_ids_of_transformers_in_one_command(make_folder, tmp_path, config):
    folder = make_folder(config, **PLAIN)
    run("convert", folder, tmp_path / "ours")
    theirs = AutoTokenizer.from_pretrained(folder)
    for tokenizer in (BPETokenizer.from_pretrained(tmp_path / "ours"), BPETokenizer.convert_from(folder)):
        assert [tokenizer.encode(text) for text in TEXTS] == [theirs.encode(text) for text in TEXTS]
        assert tokenizer.special_tokens_map == theirs.special_tokens_map


def test_model_that_is_not_loaded_is_refused_with_a_reason(make_folder, tmp_path):
    for options, reason in (
        ({"model_type": "unigram"}, "model: is Unigram, expected BPE with merges"),
        ({"model_type": "bpe"}, "normalizer: 'Precompiled' is not supported"),
    ):
        with case(reason):
            folder = make_folder(**options)
            expected = f"{folder}: a SentencePiece model, which transformers converts; {reason}"
            assert error("convert", folder, tmp_path / "ours").startswith(expected)
            with pytest.raises(ValueError, match=reason):
                BPETokenizer.convert_from(folder)


@pytest.mark.parametrize(
    ("config", "options", "text"),
    [
        (LLAMA, {"normalization_rule_name": "nmt_nfkc"}, r"'tab\\tline"),
        (LLAMA, {"remove_extra_whitespaces": True}, "'a  b'"),
    ],
)
def test_model_that_gets_other_ids_is_refused(make_folder, config, options, text):
    with pytest.raises(ValueError, match=f"converts to other ids for {text}.* than SentencePiece has"):
        BPETokenizer.convert_from(make_folder(config, **PLAIN | options))


def test_missing_package_is_named(tmp_path, monkeypatch):
    (tmp_path / "tokenizer.model").write_bytes(BEGINNING)
    monkeypatch.setattr(transformers.utils, "is_sentencepiece_available", lambda: False)
    monkeypatch.setattr(transformers.utils, "is_protobuf_available", lambda: True)
    assert error("convert", tmp_path, tmp_path / "ours").endswith("; pip install sentencepiece")
    with pytest.raises(ImportError, match="which transformers converts with sentencepiece and protobuf"):
        BPETokenizer.convert_from(tmp_path / "tokenizer.model")
