"""A damaged tokenizer_config.json is an error that names the file and what is wrong in it."""

import json

import pytest

from hf_bpe import BPETokenizer
from support.cases import case

TOKEN = {"content": "<s>", "special": True}
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
    ({"added_tokens_decoder": [TOKEN]}, "added_tokens_decoder: expected an object, got"),
    ({"added_tokens_decoder": {"x": TOKEN}}, "added_tokens_decoder: expected ids, got 'x'"),
    ({"added_tokens_decoder": {"-1": TOKEN}}, "added_tokens_decoder: expected ids, got '-1'"),
    ({"added_tokens_decoder": {"256": "<s>"}}, "token 256: expected an object with a content, got '<s>'"),
    ({"added_tokens_decoder": {"256": {}}}, "token 256: expected an object with a content, got {}"),
    ({"added_tokens_decoder": {"256": {**TOKEN, "lstrip": 1}}}, "token 256: lstrip: expected true or false, got 1"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    BPETokenizer.train(["low lower"], 260, ["<s>"], bos_token="<s>").save_pretrained(folder)
    return folder


@pytest.fixture
def config(folder):
    path = folder / "tokenizer_config.json"
    before = path.read_bytes()
    yield path
    path.write_bytes(before)


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


def test_a_file_that_was_downloaded_is_checked_too(config):
    config.write_text('{"errors": 5}')
    files = {"tokenizer_config_file": str(config)}  # as from_pretrained hands it on, wherever the file is
    with pytest.raises(ValueError, match=r"tokenizer_config\.json: errors: expected a string, got 5"):
        BPETokenizer._from_pretrained(files, "some/repository", {})


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
