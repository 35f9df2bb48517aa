"""`hf-bpe truncate`, `extend`, `prune`, `add-special-tokens` and `pad`."""

import numpy as np
import pytest
from transformers import AutoTokenizer

from hf_bpe import BPEModel, BPETokenizer, count, editing
from support.commands import run
from support.folder_snapshots import snapshot


@pytest.fixture(scope="module")
def folder(text):
    """Return a saved tokenizer with settings and tokens that were added later."""
    tokenizer = BPETokenizer.train(text, 280, special_tokens=["<|x|>", "<pad>"], pad_token="<pad>")
    tokenizer.add_tokens(["<|user|>"], special_tokens=True)
    tokenizer.save_pretrained(text.parent / "in")
    return text.parent / "in"


def load(folder):
    return AutoTokenizer.from_pretrained(folder)


def check(folder, output, edited, remap_file):
    """Check that a command has saved an edited tokenizer, and the remap of all its ids."""
    expected, remap = load(folder).with_model(edited)
    saved = load(output)
    assert saved.model == expected.model
    assert saved.get_vocab() == expected.get_vocab()
    assert saved.pad_token == "<pad>"
    assert editing.Remap.load(remap_file) == remap


class TestTruncate:
    def test_truncate_saves_the_result_of_the_library(self, folder, tmp_path):
        shown = run("truncate", folder, "-o", tmp_path / "out", "--vocab-size", 271, "--remap", tmp_path / "remap")
        assert "removed 10 tokens: 281 → 271; saved in" in shown.stderr
        check(folder, tmp_path / "out", editing.truncate(load(folder).model, 270), tmp_path / "remap")

    def test_renumber_closes_gaps(self, tmp_path):
        model = BPEModel({0: b"a", 1: b"b", 2: b"ab", 3: b"abb", 4: b"<|x|>"}, [(b"a", b"b"), (b"ab", b"b")], ["<|x|>"])
        BPETokenizer(model=model, unk_token="<|x|>").save_pretrained(tmp_path / "in")
        for flags, ids in (([], [0, 1, 2, 4]), (["--renumber"], [0, 1, 2, 3])):
            output = ["-o", tmp_path / "out", "--remap", tmp_path / "remap", "--force"]
            run("truncate", tmp_path / "in", "--vocab-size", 4, *flags, *output)
            assert sorted(load(tmp_path / "out").model.vocab)[:3] == ids[:3]
            assert load(tmp_path / "out").convert_tokens_to_ids("<|x|>") == ids[-1]
            assert editing.Remap.load(tmp_path / "remap").new_ids == dict(zip([0, 1, 2, 4], ids, strict=True))


class TestExtend:
    def test_extend_saves_the_result_of_the_library(self, folder, text, tmp_path):
        tokenizer = load(folder)
        count(text, special_tokens=["<|x|>"]).save(tmp_path / "counts")
        edited = editing.extend(tokenizer.model, text, 3, reserved=tokenizer.added_tokens_decoder)
        for source in ([text], ["--counts", tmp_path / "counts"]):
            run("extend", folder, *source, "-o", tmp_path / "out", "--add", 3, "--remap", tmp_path / "remap", "-f")
            check(folder, tmp_path / "out", edited, tmp_path / "remap")

    def test_choices_for_learning_and_reading_are_used(self, folder, tmp_path):
        (tmp_path / "text.jsonl").write_text('{"words": "slow slower"}\n', encoding="utf-8")
        options = ["--column", "words", "--tie-break", "huggingface", "--max-token-bytes", 4, "--weight", 3]
        shown = run("extend", folder, tmp_path / "text.jsonl", "-o", tmp_path / "out", "--add", 9, *options)
        assert "warning: the text gives" in shown.stderr
        new = load(tmp_path / "out").model.merges[22:]
        assert new
        assert all(len(first + second) <= 4 for first, second in new)


class TestPrune:
    def test_prune_by_counts_saves_the_result_of_the_library(self, folder, text, tmp_path):
        counts = count(text, special_tokens=["<|x|>"])
        counts.save(tmp_path / "counts")
        for flag, keyword, value in (("--vocab-size", "vocab_size", 265), ("--min-count", "min_count", 21)):
            output = ["-o", tmp_path / "out", "--remap", tmp_path / "remap", "--force"]
            run("prune", folder, "--counts", tmp_path / "counts", flag, value, *output)
            reserved = load(folder).added_tokens_decoder
            edited = editing.prune(load(folder).model, counts=counts, **{keyword: value}, reserved=reserved)
            assert flag == "--min-count" or len(load(tmp_path / "out")) == value
            check(folder, tmp_path / "out", edited, tmp_path / "remap")

    @pytest.mark.parametrize("name", ["ids.npy", "ids.txt"])
    def test_prune_keeps_the_ids_in_a_file(self, folder, tmp_path, name):
        tokenizer = load(folder)
        ids = tokenizer.encode("low lowest<|user|>")
        if name == "ids.npy":
            np.save(tmp_path / name, np.array(ids))
        else:
            (tmp_path / name).write_text("\n".join(map(str, ids)), encoding="utf-8")
        run("prune", folder, "-o", tmp_path / "out", "--keep", tmp_path / name, "--remap", tmp_path / "remap")
        edited = editing.prune(tokenizer.model, keep=[i for i in ids if i in tokenizer.model.vocab])
        check(folder, tmp_path / "out", edited, tmp_path / "remap")


def test_special_tokens_and_padding_take_ids_that_nothing_has(folder, tmp_path):
    model, reserved = load(folder).model, load(folder).added_tokens_decoder
    output = ["-o", tmp_path / "out", "--remap", tmp_path / "remap", "--force"]
    run("add-special-tokens", folder, "<|y|>", "<|z|>", *output)
    edited = editing.add_special_tokens(model, ["<|y|>", "<|z|>"], reserved=reserved)
    check(folder, tmp_path / "out", edited, tmp_path / "remap")
    assert load(tmp_path / "out").encode("<|user|><|y|><|z|>") == [280, 281, 282]
    run("pad", folder, "--multiple", 64, *output)
    check(folder, tmp_path / "out", editing.pad_to_multiple_of(model, 64, reserved=reserved), tmp_path / "remap")
    assert len(load(tmp_path / "out")) == 320


def test_added_special_tokens_get_roles(folder, tmp_path):
    run("add-special-tokens", folder, "<|y|>", "--pad-token", "<|p|>", "--eos-token", "<|x|>", "-o", tmp_path / "out")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    assert (tokenizer.pad_token, tokenizer.eos_token, tokenizer.bos_token) == ("<|p|>", "<|x|>", None)
    assert tokenizer.encode("<|x|><|y|><|p|>") == [256, 281, 282]
    run("add-special-tokens", folder, "--pad-token", "<|x|>", "-o", tmp_path / "none")
    assert load(tmp_path / "none").vocab_size == load(folder).vocab_size


def test_a_tokenizer_can_be_saved_over(folder, tmp_path):
    load(folder).save_pretrained(tmp_path)
    run("add-special-tokens", tmp_path, "<|y|>", "-o", tmp_path, "--force")
    run("truncate", tmp_path, "-o", tmp_path, "--vocab-size", 260, "--force")
    assert load(tmp_path).model.special_tokens == ("<|x|>", "<pad>", "<|y|>")


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("truncate", ["--vocab-size", 270]),
        ("extend", ["--add", 1]),
        ("prune", ["--keep", "ids"]),
        ("add-special-tokens", ["<|y|>"]),
        ("pad", ["--multiple", 64]),
    ],
)
def test_what_is_there_is_only_replaced_on_request(folder, text, tmp_path, monkeypatch, command, options):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ids").write_text("97", encoding="utf-8")
    load(folder).save_pretrained(tmp_path / "out")
    before = snapshot(tmp_path)
    call = [command, folder, *([text] if command == "extend" else []), *options, "-o", "out"]
    assert "give --force to replace" in run(*call, code=1).stderr
    assert snapshot(tmp_path) == before
    run(*call, "--force")
    assert snapshot(tmp_path) != before


def test_extend_adds_characters_if_asked(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("low lower lowest " * 9, encoding="utf-8")
    run("train", text, "-o", tmp_path / "old", "--num-merges", "4", "--byte-fallback")
    text.write_text("ñandú ñu " * 9, encoding="utf-8")
    options = ["--add", "12", "--character-coverage", "1"]
    run("extend", tmp_path / "old", text, "-o", tmp_path / "new", *options)
    assert "ñ" in BPETokenizer.from_pretrained(tmp_path / "new").get_vocab()
    assert "ñ" not in BPETokenizer.from_pretrained(tmp_path / "old").get_vocab()
