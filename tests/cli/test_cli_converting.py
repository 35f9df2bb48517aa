"""`hf-bpe convert`, `inspect` and `verify`."""

import base64
import json
import re

import pytest

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

    def test_to_gpt2_drops_a_pattern_if_allowed(self, cl100k_folder, tmp_path):
        files, back = tmp_path / "files", tmp_path / "back"
        run("convert", cl100k_folder, files, "--to", "gpt2", "--drop", "pattern")
        run("convert", files, back, "--pattern", "cl100k")
        assert BPETokenizer.from_pretrained(back).model == BPETokenizer.from_pretrained(cl100k_folder).model

    def test_to_tokenizer_json(self, folder, tmp_path):
        run("convert", folder, tmp_path / "own.json")
        run("convert", folder, tmp_path / "new", "--to", "tokenizer.json")
        (tmp_path / "folder.json").mkdir()
        run("convert", folder, tmp_path / "folder.json", "--to", "tokenizer.json")
        expected = (folder / "tokenizer.json").read_bytes()
        for name in ("own.json", "new/tokenizer.json", "folder.json/tokenizer.json"):
            assert (tmp_path / name).read_bytes() == expected, name

    def test_rank_file_needs_pattern_and_special_tokens(self, tmp_path):
        path = ranks_file(tmp_path / "x.tiktoken", [b"lo", b"low", b" low"])
        run("convert", path, tmp_path / "out", "--pattern", "cl100k", "--special-token", "<|a=b|>=300")
        tokenizer = BPETokenizer.from_pretrained(tmp_path / "out")
        assert tokenizer.model.special_ids() == {"<|a=b|>": 300}
        assert tokenizer.encode("low low<|a=b|>") == [257, 258, 300]

    def test_a_file_to_verify_with_is_encoded_by_both_sides(self, folder, text, tmp_path):
        run("convert", folder, tmp_path / "x.tiktoken", "--verify-with", text)
        said = error("convert", folder, tmp_path / "y.tiktoken", "--verify-with", tmp_path / "missing")
        assert said == f"{tmp_path / 'missing'}: No such file or directory"
        assert not (tmp_path / "y.tiktoken").exists()

    def test_help_names_formats_and_features_to_drop(self):
        shown = run("help", "formats").stdout
        assert all(f"{name} " in shown for name in FORMATS)
        can_be_dropped = {name for name, feature in FEATURES.items() if feature.decides_ids} - {"characters"}
        assert all(f"--drop {name} " in shown for name in can_be_dropped)

    def test_gpt2_files_are_verified_on_text_with_end_of_text(self, folder, tmp_path):
        (tmp_path / "text").write_text("low<|endoftext|>lower", encoding="utf-8")
        run("convert", folder, tmp_path / "files", "--to", "gpt2", "--verify-with", tmp_path / "text")


class TestInspect:
    def test_inspect_describes_a_folder(self, tmp_path):
        tokenizer = BPETokenizer.train([TEXT], 280, special_tokens=["<|x|>"])
        tokenizer.add_tokens(["<y>", "<z>"])
        tokenizer.save_pretrained(tmp_path)
        rows = dict(line.split(None, 1) for line in run("inspect", tmp_path).stdout.splitlines())
        assert rows["format"] == "hf"
        assert (rows["tokens"], rows["ids"]) == ("282: 256 bytes, 1 special token, 2 added later", "0 to 281")
        assert (rows["merges"], rows["pattern"], rows["special"]) == ("23", "gpt2", "1: '<|x|>' 256")
        assert (rows["gaps"], rows["unreachable"]) == ("none", "none")
        assert rows["fingerprint"] == tokenizer.model.fingerprint

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
        result = run("verify", folder, tmp_path / "x.tiktoken", text)
        said = result.stderr
        assert result.stdout == ""
        assert "by tokenizers " in said
        assert "by tiktoken " in said
        verified = rf"\d+ texts \([\d.]+ kB\): the tokens of the vocabularies, the stress texts, {text}"
        assert re.search(rf"agree on {verified}\n", said)

    def test_a_mismatch_is_printed_and_is_exit_code_1(self, folder, cl100k_folder):
        result = run("verify", folder, cl100k_folder, code=1)
        lines = result.stdout.splitlines()
        assert lines[0].startswith("tokens of the vocabulary: ")
        assert lines[1].startswith("  bytes: ")
        assert lines[2].startswith(f"  {folder} (hf, by tokenizers ")
        assert result.stderr == ""

    def test_patterns_are_verified_by_their_pre_tokens(self):
        assert "kB): the stress texts" in run("verify", "cl100k", "llama3").stderr
        assert "the pattern 'qwen2': ['1', '2']" in run("verify", "cl100k", "qwen2", code=1).stdout
        assert run("verify", "gpt2", r"pattern:\w+|\W+", code=1).stdout

    def test_models_that_differ_without_a_text_are_reported(self, tmp_path):
        for name in ("cl100k", "llama3"):
            BPETokenizer.train(["low"], vocab_size=257, pattern=name).convert_to(tmp_path / f"{name}.json")
        said = run("verify", tmp_path / "cl100k.json", tmp_path / "llama3.json").stderr
        assert "but they are different models: in the second, pattern is 'llama3', expected 'cl100k'" in said

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
