"""Folders are read and written as transformers and BPETokenizer do, and a damaged tokenizer_config.json is an error."""

import json

import pytest
from transformers import AddedToken, PreTrainedTokenizer

from hf_bpe import BPETokenizer, conversion
from hf_bpe.formats._folder.read import Folder
from support.cases import case
from support.folder_snapshots import snapshot
from support.upstream.transformers_features import HAS_FOLDERS_OF_THE_NEWEST, skip_without

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


LISTED = {"content": "<s>", "special": True}
BROKEN = {
    "empty": (b"", "not JSON"),
    "truncated": (b'{"pattern": "gpt2"', "not JSON"),
    "latin-1": ('{"errors": "é"}'.encode("latin-1"), "not UTF-8 at byte 12"),
    "nested": (b"[" * 100_000, "expected a JSON object, got one nested"),
    "array": (b"[]", "expected a JSON object, got an array"),
    "null": (b"null", "expected a JSON object, got null"),
    "number": (b"3", "expected a JSON object, got a number"),
    "string": (b'"fast_tokenizer_files"', "expected a JSON object, got a string"),
}
WRONG = [
    ({"errors": 5}, "errors: expected a string, got 5"),
    ({"errors": None}, "errors: expected a string, got None"),
    ({"pattern": ["a"]}, r"pattern: expected a string or null, got \['a'\]"),
    ({"special_tokens_pattern": ["bos"]}, "special_tokens_pattern: expected a string or null"),
    ({"padding_side": 1}, "padding_side: expected a string, got 1"),
    ({"add_prefix_space": "no"}, "add_prefix_space: expected true or false or null, got 'no'"),
    ({"template": "<s> $A"}, r"template: expected an object or null, got '<s> \$A'"),
    ({"drop_missing_bytes": None}, "drop_missing_bytes: expected true or false, got None"),
    ({"ignore_merges": 1}, "ignore_merges: expected true or false, got 1"),
    ({"model_special_tokens": "<s>"}, "model_special_tokens: expected an array or null, got '<s>'"),
    ({"model_special_tokens": ["<s>", {}]}, "model_special_tokens: expected strings, got {}"),
    ({"split_special_tokens": 1}, "split_special_tokens: expected true or false, got 1"),
    ({"model_max_length": "12"}, "model_max_length: expected a number or null, got '12'"),
    ({"model_max_length": True}, "model_max_length: expected a number or null, got True"),
    ({"bos_token": ["<s>"]}, "bos_token: expected a string or an object or null"),
    ({"extra_special_tokens": "<s>"}, "extra_special_tokens: expected an array or an object or null, got '<s>'"),
    ({"chat_template": 1}, "chat_template: expected"),
    ({"model_input_names": "input_ids"}, "model_input_names: expected an array"),
    ({"init_inputs": {}}, "init_inputs: expected an array"),
    ({"added_tokens_decoder": [LISTED]}, "added_tokens_decoder: expected an object, got"),
    ({"added_tokens_decoder": {"x": LISTED}}, "added_tokens_decoder: expected ids, got 'x'"),
    ({"added_tokens_decoder": {"-1": LISTED}}, "added_tokens_decoder: expected ids, got '-1'"),
    ({"added_tokens_decoder": {"256": "<s>"}}, "token 256: expected an object with a content, got '<s>'"),
    ({"added_tokens_decoder": {"256": {}}}, "token 256: expected an object with a content, got {}"),
    ({"added_tokens_decoder": {"256": {**LISTED, "lstrip": 1}}}, "token 256: lstrip: expected true or false, got 1"),
]


@pytest.fixture
def config(tmp_path):
    BPETokenizer.train(["low lower"], 260, ["<s>"], bos_token="<s>").save_pretrained(tmp_path)
    return tmp_path / "tokenizer_config.json"


def test_files_without_a_json_object_are_refused(config):
    for name, (content, message) in BROKEN.items():
        config.write_bytes(content)
        with case(name), pytest.raises(ValueError, match=rf"tokenizer_config\.json: {message}"):
            BPETokenizer.from_pretrained(config.parent)


def test_values_of_another_type_are_refused(config):
    whole = json.loads(config.read_bytes())
    for entry, message in WRONG:
        config.write_text(json.dumps({**whole, **entry}))
        with case(entry), pytest.raises(ValueError, match=rf"tokenizer_config\.json: .*{message}"):
            BPETokenizer.from_pretrained(config.parent)


def test_a_config_in_a_subfolder_is_checked(tmp_path):
    BPETokenizer.train(["low"], 257).save_pretrained(tmp_path / "inner")
    assert BPETokenizer.from_pretrained(tmp_path, subfolder="inner").encode("low") == [108, 256]
    (tmp_path / "inner" / "tokenizer_config.json").write_text("null")
    with pytest.raises(ValueError, match="expected a JSON object, got null"):
        BPETokenizer.from_pretrained(tmp_path, subfolder="inner")


def test_files_of_other_tools_are_accepted(config):
    token = {"__type": "AddedToken", "content": "<s>", "lstrip": False, "normalized": True}
    others = {"tokenizer_class": "GPT2Tokenizer", "model_max_length": 1e30, "unk_token": None, "bos_token": token}
    config.write_text(json.dumps({**others, "add_bos_token": None, "some_setting": [1], "chat_template": None}))
    assert BPETokenizer.from_pretrained(config.parent).bos_token == "<s>"
