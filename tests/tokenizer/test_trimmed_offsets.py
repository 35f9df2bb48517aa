"""Offsets that a `tokenizer.json` trims: those of the fast tokenizer, on every road from the file and back to one."""

import json

import pytest
from tokenizers import Tokenizer, processors
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from hf_bpe import BPETokenizer
from hf_bpe.formats._verification.stress_texts import STRESS_TEXTS
from hf_bpe.tokenizer._saving import save as saving
from support import commands
from support.profiles import thorough

TEXTS = [*STRESS_TEXTS, "", " ", " x", "  low  lower \n", "low<s> low</s>  "]
ROBERTA = {"type": "RobertaProcessing", "sep": ["</s>", 257], "cls": ["<s>", 256], "trim_offsets": True}
SPECIALS = [("<s>", 256), ("</s>", 257)]
PROCESSORS = {
    "roberta": {**ROBERTA, "add_prefix_space": False},
    "roberta with a prefix space": {**ROBERTA, "add_prefix_space": True},
    "byte level": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    "byte level, not trimmed": {
        "type": "ByteLevel",
        "add_prefix_space": True,
        "trim_offsets": False,
        "use_regex": True,
    },
}


def roads(folder, out):
    """Yield the tokenizers that are made of a folder, by road; what they write is in `out`."""
    yield "from_pretrained", BPETokenizer.from_pretrained(folder)
    yield "convert_from the folder", BPETokenizer.convert_from(folder)
    yield "convert_from the file", BPETokenizer.convert_from(folder / "tokenizer.json")
    BPETokenizer.from_pretrained(folder).save_pretrained(out / "saved")
    for kind in (BPETokenizer, AutoTokenizer, PreTrainedTokenizerFast):
        yield f"saved, by {kind.__name__}", kind.from_pretrained(out / "saved")
    commands.run("convert", folder, out / "hf", "--to", "hf")
    yield "convert --to hf", BPETokenizer.from_pretrained(out / "hf")
    commands.run("convert", folder, out / "tokenizer.json")
    yield "convert --to tokenizer.json", PreTrainedTokenizerFast(tokenizer_file=str(out / "tokenizer.json"))


def assert_same_offsets(folder, out):
    fast = PreTrainedTokenizerFast.from_pretrained(folder)
    options = {"return_offsets_mapping": True, "add_special_tokens": False}
    expected = [fast(*given, **options) for given in ((TEXTS,), (TEXTS, TEXTS[1:] + TEXTS[:1]))]
    for road, tokenizer in roads(folder, out):
        for single_or_pair, given in zip(expected, ((TEXTS,), (TEXTS, TEXTS[1:] + TEXTS[:1])), strict=True):
            got = tokenizer(*given, **options)
            assert got["input_ids"] == single_or_pair["input_ids"], road
            assert got["offset_mapping"] == single_or_pair["offset_mapping"], road
        for row, text in enumerate(TEXTS[:4]):
            places = [encoded.char_to_token(row, at) for encoded in (got, single_or_pair) for at in range(len(text))]
            assert places[: len(text)] == places[len(text) :], road


@pytest.mark.filterwarnings("ignore:padding and truncation are ignored")  # Florence's file has both
@thorough  # the contract suite compares the offsets of these folders, too
@pytest.mark.parametrize("name", ["florence", "gpt_neox", "olmo"])
def test_offsets_of_real_folders_are_those_of_the_fast_class(test_data, tmp_path, name):
    assert_same_offsets(test_data / "tokenizers" / name, tmp_path)


@pytest.mark.parametrize("processor", PROCESSORS)
def test_offsets_of_a_folder_are_those_of_the_fast_class(tmp_path, processor):
    write(tmp_path / "in", PROCESSORS[processor])
    assert_same_offsets(tmp_path / "in", tmp_path)


def write(folder, processor):
    tokenizer = BPETokenizer.train(["low lower  lowest\n"], num_merges=4, special_tokens=["<s>", "</s>"])
    tokenizer.save_pretrained(folder, portable=True)
    for path in folder.glob("*.*"):
        if path.name != "tokenizer.json":
            path.unlink()
    file = folder / "tokenizer.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "post_processor": processor}))


def test_trim_offsets_of_the_caller_replaces_that_of_the_file(tmp_path):
    write(tmp_path, PROCESSORS["roberta"])
    for trim, begin in ((False, 3), (True, 4)):
        tokenizer = BPETokenizer.from_pretrained(tmp_path, trim_offsets=trim)
        assert tokenizer("low low", return_offsets_mapping=True).char_to_token(begin) is not None
        assert (tokenizer("low low").char_to_token(3) is None) == trim


def test_a_file_that_gives_other_offsets_is_never_written(tmp_path, monkeypatch):
    write(tmp_path / "in", PROCESSORS["roberta"])
    tokenizer = BPETokenizer.from_pretrained(tmp_path / "in")

    def without_trimming(definition):
        backend = Tokenizer.from_str(whole(definition))
        backend.post_processor = processors.TemplateProcessing("<s> $A </s>", "<s> $A </s> </s> $B </s>", SPECIALS)
        return backend.to_str(pretty=True)

    whole = saving.render_tokenizer_json
    monkeypatch.setattr(saving, "render_tokenizer_json", without_trimming)
    with pytest.raises(ValueError, match=r"(?s)tokenizers\.Tokenizer\.from_file gives different offsets\. offsets: ' "):
        tokenizer.save_pretrained(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_verify_says_that_offsets_differ(tmp_path):
    for trims in (True, False):
        write(tmp_path / str(trims), {**PROCESSORS["byte level"], "trim_offsets": trims})
    said = commands.run("verify", tmp_path / "True", tmp_path / "False").stderr
    assert "agree on" in said
    assert "but they give other offsets: " in said
