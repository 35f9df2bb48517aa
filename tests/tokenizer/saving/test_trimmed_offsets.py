"""Offsets that a `tokenizer.json` trims: chosen by the caller, verified, and compared by `hf-bpe verify`."""

import pytest
from tokenizers import processors

from hf_bpe import BPETokenizer
from support import commands
from support.edited_folders import save_as_others

SPECIALS = [("<s>", 256), ("</s>", 257)]
ROBERTA = {"type": "RobertaProcessing", "sep": ["</s>", 257], "cls": ["<s>", 256]}
ROBERTA |= {"trim_offsets": True, "add_prefix_space": False}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}


def write(folder, processor):
    tokenizer = BPETokenizer.train(["low lower  lowest\n"], num_merges=4, special_tokens=["<s>", "</s>"])
    save_as_others(tokenizer, folder, post_processor=processor)


def test_trim_offsets_of_the_caller_replaces_that_of_the_file(tmp_path):
    write(tmp_path, ROBERTA)
    for trim, begin in ((False, 3), (True, 4)):
        tokenizer = BPETokenizer.from_pretrained(tmp_path, trim_offsets=trim)
        assert tokenizer("low low", return_offsets_mapping=True).char_to_token(begin) is not None
        assert (tokenizer("low low").char_to_token(3) is None) == trim


def test_a_file_that_gives_other_offsets_is_never_written(tmp_path, monkeypatch):
    write(tmp_path / "in", ROBERTA)
    tokenizer = BPETokenizer.from_pretrained(tmp_path / "in")
    backend = tokenizer.backend_tokenizer
    backend.post_processor = processors.TemplateProcessing("<s> $A </s>", "<s> $A </s> </s> $B </s>", SPECIALS)
    content = backend.to_str(pretty=True).encode()
    monkeypatch.setattr("hf_bpe.formats._folder.write.render_tokenizer_json", lambda definition: content)
    with pytest.raises(ValueError, match=r"(?s)tokenizers\.Tokenizer\.from_file gives different offsets\. offsets: ' "):
        tokenizer.save_pretrained(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_verify_says_that_offsets_differ(tmp_path):
    for trims in (True, False):
        write(tmp_path / str(trims), {**BYTE_LEVEL, "trim_offsets": trims})
    said = commands.run("verify", tmp_path / "True", tmp_path / "False").stderr
    assert "agree on" in said
    assert "but they give other offsets: " in said
