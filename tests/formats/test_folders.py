"""Folders are read and written as definitions, as transformers and BPETokenizer read and write them."""

import json

import pytest
from transformers import AddedToken, PreTrainedTokenizer

from hf_bpe import BPETokenizer, conversion
from hf_bpe.formats._folder.read import Folder
from support.cases import case
from support.transformers_features import HAS_FOLDERS_OF_THE_NEWEST, skip_without
from support.trees import snapshot

PLAIN = {"content": "<s>", "lstrip": True, "normalized": False, "rstrip": False, "single_word": False}
TOKEN = {"__type": "AddedToken", **PLAIN, "special": True}
CONFIGS = [
    *({"bos_token": token} for token in ("<s>", "<new>", TOKEN, None, "")),
    *({"extra_special_tokens": extra} for extra in (["<e>", TOKEN], {"image_token": "<img>"}, [], None)),
    *({"additional_special_tokens": ["<a>"]}, {"additional_special_tokens": ["<a>"], "extra_special_tokens": ["<e>"]}),
    *({"image_token": "<img>"}, {"model_specific_special_tokens": {"image_token": TOKEN}}, {"max_len": 7}),
    *({"add_bos_token": True, "bos_token": "<s>"}, {"padding_side": "left"}, {"model_max_length": 9}, {"other": None}),
    *({"vocab_file": "elsewhere", "tokenizer_file": "elsewhere"}, {"errors": "strict"}, {"image_token": TOKEN}),
    *({"chat_template": "old"}, {"chat_template": [{"name": "default", "template": "a"}]}, {"padding_side": "up"}),
    *({"added_tokens_decoder": tokens} for tokens in ({"1": PLAIN}, {"900": PLAIN}, {"2": {"content": 5}}, [1])),
]
SIDE_FILES = [
    {},
    {"special_tokens_map.json": {"bos_token": PLAIN, "eos_token": "<new>", "additional_special_tokens": ["<a>"]}},
    {"special_tokens_map.json": {"extra_special_tokens": [PLAIN, "<q>"]}, "added_tokens.json": {"<q>": 700, "<n>": 7}},
    {"special_tokens_map.json": {"bos_token": 5}},
    {"added_tokens.json": {"<s>": 1, "<t>": 1}},
    {"chat_template.jinja": "J", "additional_chat_templates/rag.jinja": "R"},
]


class Recorder(PreTrainedTokenizer):
    """Records what transformers makes of the files of a folder."""

    vocab_files_names = BPETokenizer.vocab_files_names

    def __init__(self, is_local, local_files_only, file_digests=None, **kwargs):
        self.recorded = kwargs


def outcome(load):
    try:
        return load()
    except Exception as error:
        return type(error), str(error)


@pytest.fixture(scope="module", params=["bytes", "characters"])
def folder(request, tmp_path_factory):
    options = {} if request.param == "bytes" else {"byte_fallback": False, "unk_token": "<unk>"}
    path = tmp_path_factory.mktemp(request.param)
    BPETokenizer.train(["low lower"], num_merges=2, special_tokens=["<unk>", "<s>"], **options).save_pretrained(path)
    return path


def test_side_files_mean_what_they_mean_to_transformers(folder):
    path = folder / "tokenizer_config.json"
    saved = json.loads(path.read_text("utf-8"))
    legacy = {name: value for name, value in saved.items() if name != "added_tokens_decoder"}
    rows = [(base | row, {}) for row in CONFIGS for base in (saved, legacy)]
    for config, files in [*rows, *((legacy | row, files) for files in SIDE_FILES for row in CONFIGS[::7])]:
        path.write_text(json.dumps(config), encoding="utf-8")
        for name, content in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(content if name.endswith("jinja") else json.dumps(content), "utf-8")
        with case(config, files):
            loaded = outcome(lambda: BPETokenizer.from_pretrained(folder).definition)
            assert outcome(lambda: conversion.read(folder)) == loaded
            # Without a pattern tokenizer.json decides.
            if not isinstance(loaded, tuple) and "pattern" in saved and HAS_FOLDERS_OF_THE_NEWEST:
                read = Folder.local(folder, {}).arguments()
                assert {**read, "pattern": read["pattern"].canonical} == Recorder.from_pretrained(folder).recorded
        for name in files:
            (folder / name).unlink()
    path.write_text(json.dumps(saved), encoding="utf-8")


@skip_without("folders of the newest", HAS_FOLDERS_OF_THE_NEWEST)
def test_written_folder_is_what_the_class_saves(folder, tmp_path):
    tokenizer = BPETokenizer.from_pretrained(folder)
    tokenizer.add_tokens([AddedToken("<later>", lstrip=True)])
    tokenizer.add_special_tokens({"eos_token": "<s>", "extra_special_tokens": ["<e>"]})
    for number, tokenizer.chat_template in enumerate([None, "T", {"default": "D", "rag": "R"}]):
        written, saved = tmp_path / f"written{number}", tmp_path / f"saved{number}"
        conversion.write(tokenizer.definition, written, format="hf", verify=False)
        BPETokenizer.from_definition(tokenizer.definition).save_pretrained(saved, verify=False)
        assert snapshot(written) == snapshot(saved)
        assert conversion.read(written).settings == tokenizer.definition.settings
