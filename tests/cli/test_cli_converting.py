"""`hf-bpe convert`, `inspect` and `verify`."""

import base64
import json
import re

import pytest
from tokenizers import Tokenizer

from hf_bpe import BPETokenizer
from hf_bpe.conversion import FEATURES, FORMATS
from support.commands import TEXT, error, run


@pytest.fixture(scope="module")
def cl100k_folder(text, tmp_path_factory):
    folder = tmp_path_factory.mktemp("converting") / "cl100k"
    run("train", text, "-o", folder, "--vocab-size", 280, "--pattern", "cl100k")
    return folder


def ranks_file(path, tokens=()):
    """Write a rank file of the bytes and some tokens."""
    ranks = [*(bytes([byte]) for byte in range(256)), *tokens]
    path.write_bytes(b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(ranks)))
    return path


class TestConvert:
    def test_to_gpt2_and_back(self, folder, tmp_path):
        run("convert", folder, tmp_path / "files", "--to", "gpt2")
        assert {path.name for path in (tmp_path / "files").iterdir()} == {"vocab.json", "merges.txt"}
        result = run("convert", tmp_path / "files", tmp_path / "back")
        assert result.stderr.startswith(f"hf-bpe: 280 tokens saved in {tmp_path / 'back' / 'merges.txt'}, ")
        back = BPETokenizer.from_pretrained(tmp_path / "back")
        assert back.definition == BPETokenizer.from_pretrained(folder).definition

    def test_to_gpt2_needs_leave_to_drop_a_pattern(self, cl100k_folder, tmp_path):
        files, back = tmp_path / "files", tmp_path / "back"
        said = error("convert", cl100k_folder, files, "--to", "gpt2")
        assert "cannot carry the split pattern, 'cl100k': readers would split text by another pattern" in said
        assert not files.exists()
        run("convert", cl100k_folder, files, "--to", "gpt2", "--drop", "pattern")
        run("convert", files, back, "--pattern", "cl100k")
        assert BPETokenizer.from_pretrained(back).model == BPETokenizer.from_pretrained(cl100k_folder).model

    def test_to_gpt2_refuses_a_folder_of_another_tokenizer(self, folder, cl100k_folder):
        before = {path.name: path.read_bytes() for path in cl100k_folder.iterdir()}
        assert "already holds a tokenizer" in error("convert", folder, cl100k_folder, "--to", "gpt2")
        assert "holds another tokenizer's" in error("convert", folder, cl100k_folder, "--to", "gpt2", "--force")
        assert {path.name: path.read_bytes() for path in cl100k_folder.iterdir()} == before

    def test_to_gpt2_refuses_added_tokens(self, folder, tmp_path):
        tokenizer = BPETokenizer.from_pretrained(folder)
        tokenizer.add_tokens(["<|new|>"])
        tokenizer.save_pretrained(tmp_path / "more")
        said = error("convert", tmp_path / "more", tmp_path / "files", "--to", "gpt2")
        assert "cannot carry tokens that were added to the model" in said

    def test_to_gpt2_refuses_settings_that_change_ids(self, tmp_path):
        special = {"bos_token": "<|x|>", "eos_token": "<|x|>"}
        for setting in ("add_prefix_space", "add_bos_token", "add_eos_token"):
            tokenizer = BPETokenizer.train(["low"], vocab_size=258, **special, **{setting: True})
            tokenizer.save_pretrained(tmp_path / setting)
            assert setting in error("convert", tmp_path / setting, tmp_path / "files", "--to", "gpt2")

    def test_dropped_features_that_decide_no_ids_give_a_warning(self, tmp_path):
        BPETokenizer.train(["low"], vocab_size=258, pad_token="<|x|>").save_pretrained(tmp_path / "in")
        said = run("convert", tmp_path / "in", tmp_path / "files", "--to", "gpt2").stderr
        assert "hf-bpe: warning: the format gpt2 does not carry which token is bos_token" in said

    def test_to_tokenizer_json(self, folder, tmp_path):
        run("convert", folder, tmp_path / "own.json")
        run("convert", folder, tmp_path / "new", "--to", "tokenizer.json")
        (tmp_path / "folder.json").mkdir()
        run("convert", folder, tmp_path / "folder.json", "--to", "tokenizer.json")
        expected = (folder / "tokenizer.json").read_bytes()
        for name in ("own.json", "new/tokenizer.json", "folder.json/tokenizer.json"):
            assert (tmp_path / name).read_bytes() == expected, name
        ids = Tokenizer.from_file(str(tmp_path / "own.json")).encode(TEXT).ids
        assert run("encode", folder, stdin=TEXT.encode()).stdout == " ".join(map(str, ids)) + "\n"

    @pytest.mark.parametrize("file", ["tokenizer.json", "tokenizer_config.json"])
    def test_either_file_names_the_pattern(self, cl100k_folder, tmp_path, file):
        for name in ("vocab.json", "merges.txt", file):
            (tmp_path / name).write_bytes((cl100k_folder / name).read_bytes())
        run("convert", tmp_path, tmp_path / "out", "--pattern", "cl100k")
        assert BPETokenizer.from_pretrained(tmp_path / "out").pattern == "cl100k"
        said = error("convert", tmp_path, tmp_path / "out", "--pattern", "none", "--force")
        assert said == "its pattern is 'cl100k'; leave the argument out"

    def test_rank_file_needs_pattern_and_special_tokens(self, tmp_path):
        path = ranks_file(tmp_path / "x.tiktoken", [b"lo", b"low", b" low"])
        assert "x.tiktoken does not store the split pattern" in error("convert", path, tmp_path / "out")
        run("convert", path, tmp_path / "out", "--pattern", "cl100k", "--special-token", "<|a=b|>=300")
        tokenizer = BPETokenizer.from_pretrained(tmp_path / "out")
        assert tokenizer.model.special_ids() == {"<|a=b|>": 300}
        assert tokenizer.encode("low low<|a=b|>") == [257, 258, 300]

    def test_special_token_needs_its_id(self, tmp_path):
        path = ranks_file(tmp_path / "x.tiktoken")
        for given in ("<|x|>", "=5", "<|x|>=", "<|x|>=five", "<|x|>=-1"):
            said = run("convert", path, tmp_path / "out", "--special-token", given, code=2).stderr
            assert "expected TEXT=ID" in said, given

    def test_a_file_to_verify_with_is_encoded_by_both_sides(self, folder, text, tmp_path):
        run("convert", folder, tmp_path / "x.tiktoken", "--verify-with", text)
        said = error("convert", folder, tmp_path / "y.tiktoken", "--verify-with", tmp_path / "missing")
        assert said == f"{tmp_path / 'missing'}: No such file or directory"
        assert not (tmp_path / "y.tiktoken").exists()

    def test_help_names_formats_and_features_to_drop(self):
        shown = " ".join(run("convert", "--help").stdout.split())
        assert all(f"{name}" in shown for name in FORMATS)
        can_be_dropped = {name for name, feature in FEATURES.items() if feature.decides_ids} - {"characters"}
        assert all(name in shown for name in can_be_dropped)

    def test_gpt2_files_are_verified_on_text_with_end_of_text(self, folder, tmp_path):
        (tmp_path / "text").write_text("low<|endoftext|>lower", encoding="utf-8")
        run("convert", folder, tmp_path / "files", "--to", "gpt2", "--verify-with", tmp_path / "text")

    def test_unknown_formats_are_named(self, folder, tmp_path):
        for option in ("--to", "--from"):
            said = error("convert", folder, tmp_path / "out", option, "onnx")
            assert said.startswith("unknown format 'onnx': expected one of hf, ")
        assert error("convert", folder, tmp_path / "out", "--to", "llama.cpp").endswith("; for llama.cpp it is gguf")


class TestInspect:
    def test_inspect_describes_a_folder(self, folder):
        rows = dict(line.split(None, 1) for line in run("inspect", folder).stdout.splitlines())
        assert rows["format"] == "hf"
        assert rows["tokens"] == "280: 256 bytes, 1 special token"
        assert (rows["merges"], rows["pattern"], rows["special"]) == ("23", "gpt2", "1: '<|x|>' 256")
        assert (rows["gaps"], rows["unreachable"]) == ("none", "none")
        assert rows["fingerprint"] == BPETokenizer.from_pretrained(folder).model.fingerprint

    def test_inspect_counts_the_tokens_that_embeddings_need(self, tmp_path):
        tokenizer = BPETokenizer.train(["low lower"], 258, special_tokens=["<x>"])
        tokenizer.add_tokens(["<y>", "<z>"])
        tokenizer.save_pretrained(tmp_path)
        rows = dict(line.split(None, 1) for line in run("inspect", tmp_path).stdout.splitlines())
        assert rows["tokens"] == f"{len(tokenizer)}: 256 bytes, 1 special token, 2 added later"
        assert rows["ids"] == "0 to 259"

    def test_inspect_lists_unused_ids_and_unreachable_tokens(self, tmp_path):
        path = ranks_file(tmp_path / "x.tiktoken", [b"lo", b"xyzzy"])
        content = path.read_bytes().replace(b" 257\n", b" 300\n")
        path.write_bytes(content)
        found = json.loads(run("inspect", path, "--json").stdout)
        assert found["gaps"] == [*range(257, 300)]
        assert found["unreachable"] == {"300": "b'xyzzy'"}
        assert found["ignore_merges"] is True
        shown = run("inspect", path).stdout
        assert "gaps            43: 257 to 299\n" in shown
        assert "unreachable     1: 300 b'xyzzy'\n" in shown

    def test_inspect_reports_a_missing_pattern(self, tmp_path):
        path = ranks_file(tmp_path / "x.tiktoken")
        assert "pattern         not in the file\n" in run("inspect", path).stdout
        assert json.loads(run("inspect", path, "--json").stdout)["fingerprint"] is None
        assert "pattern         cl100k\n" in run("inspect", path, "--pattern", "cl100k").stdout


class TestVerify:
    def test_agreement_says_who_encoded(self, folder, text, tmp_path):
        run("convert", folder, tmp_path / "x.tiktoken")
        said = run("verify", folder, tmp_path / "x.tiktoken", text).stderr
        assert "PreTrainedTokenizerFast of transformers" in said
        assert "by tiktoken " in said
        assert re.search(
            rf"agree on \d+ texts \([\d.]+ kB\): the tokens of the vocabularies, the stress texts, {text}\n", said
        )

    def test_a_mismatch_is_printed_and_is_exit_code_1(self, folder, cl100k_folder):
        result = run("verify", folder, cl100k_folder, code=1)
        lines = result.stdout.splitlines()
        assert lines[0].startswith("tokens of the vocabulary: ")
        assert lines[1].startswith("  bytes: ")
        assert lines[2].startswith(f"  {folder} (hf, by ")
        assert result.stderr == ""

    def test_patterns_are_verified_by_their_pre_tokens(self):
        assert "kB): the stress texts" in run("verify", "cl100k", "llama3").stderr
        assert "the pattern 'qwen2': ['1', '2']" in run("verify", "cl100k", "qwen2", code=1).stdout
        assert run("verify", "gpt2", r"pattern:\w+|\W+", code=1).stdout
        assert "cannot be used: column 1" in error("verify", "gpt2", "pattern:(")

    def test_models_that_differ_without_a_text_are_reported(self, tmp_path):
        for name in ("cl100k", "llama3"):
            BPETokenizer.train(["low"], vocab_size=257, pattern=name).convert_to(tmp_path / f"{name}.json")
        said = run("verify", tmp_path / "cl100k.json", tmp_path / "llama3.json").stderr
        assert "but they are different models: in the second, pattern is 'llama3', expected 'cl100k'" in said

    def test_a_rank_file_needs_its_pattern(self, folder, tmp_path):
        path = ranks_file(tmp_path / "x.tiktoken")
        assert "does not store the split pattern" in error("verify", folder, path)

    def test_options_for_one_side_do_not_contradict_the_other(self, folder, tmp_path):
        path = ranks_file(tmp_path / "x.tiktoken")
        assert run("verify", folder, path, "--pattern", "o200k", "--special-token", "<|y|>=300", code=1).stdout
        run("convert", folder, tmp_path / "files", "--to", "gpt2")
        assert "agree on" in run("verify", tmp_path / "files", folder).stderr
        assert run("verify", tmp_path / "files", folder, "--pattern", "none", code=1).stdout


def test_any_format_serves_where_a_tokenizer_is_asked_for(folder, tmp_path):
    run("convert", folder, tmp_path / "x.json")
    run("convert", folder, tmp_path / "x.tiktoken")
    expected = run("encode", folder, stdin=b"low lowest<|x|>").stdout
    for name in ("x.json", "x.tiktoken"):
        assert run("encode", tmp_path / name, stdin=b"low lowest<|x|>").stdout == expected
