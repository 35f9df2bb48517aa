"""Folders that are corrupted after they were written: verification finds each."""

import dataclasses
import json
import shutil
from pathlib import Path

import pytest
from tokenizers import AddedToken

from hf_bpe import BPETokenizer, train
from hf_bpe.tokenizer._saving.verify_folder import verify_folder
from support.cases import case

CORPUS = [
    "low low low low low lower lower widest widest widest newest newest newest newest 你好 你好 42 42!\n\n",
    "What is trained on a text of many words learns many merges; the longest of them are whole words. It's\n",
] * 3
JSON, CONFIG, VOCAB, MERGES = "tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt"


@pytest.fixture(scope="module")
def tokenizer():
    model = train(CORPUS, num_merges=74, special_tokens=["<|endoftext|>", "<s>", "<pad>"], pattern="cl100k")
    tokenizer = BPETokenizer(
        model=dataclasses.replace(model, normalizer="NFC"),
        **{"bos_token": "<s>", "add_bos_token": True, "pad_token": "<pad>", "padding_side": "left"},
        **{"truncation_side": "left", "model_max_length": 99, "chat_template": "{{ messages }}"},
    )
    tokenizer.add_tokens([AddedToken("<tool>", lstrip=True, normalized=False), AddedToken("Zqx", single_word=True)])
    return tokenizer


def edit(name, change):
    """Return what changes the JSON of a file in a folder."""

    def corrupt(folder: Path) -> None:
        content = json.loads((folder / name).read_text(encoding="utf-8"))
        change(content)
        (folder / name).write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")

    return corrupt


def rewrite(name, change):
    """Return what changes the text of a file in a folder."""

    def corrupt(folder: Path) -> None:
        text = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(changed := change(text), encoding="utf-8")
        assert changed != text

    return corrupt


def swap(values, one, other):
    values[one], values[other] = values[other], values[one]


def swap_ids(rank):
    """Swap the ids of the results of a merge and the next one."""

    def change(content):
        vocab = content["model"]["vocab"] if "model" in content else content
        tokens = [text for text, token_id in vocab.items() if token_id in (rank, rank + 1)]
        swap(vocab, *tokens)

    return change


def put(*path_and_value):
    *path, last, value = path_and_value

    def change(content):
        for key in path:
            content = content[key]
        assert content[last] != value
        content[last] = value

    return change


def drop(*path):
    def change(content):
        for key in path[:-1]:
            content = content[key]
        del content[path[-1]]

    return change


def flip(number, flag):
    def change(content):
        token = content["added_tokens"][number]
        token[flag] = not token[flag]

    return change


def merges(change):
    return edit(JSON, lambda content: change(content["model"]["merges"]))


def lines(change):
    """Return what changes the lines of merges.txt."""

    def corrupt(text):
        rows = text.split("\n")
        change(rows)
        return "\n".join(rows)

    return rewrite(MERGES, corrupt)


SPLIT = ("pre_tokenizer", "pretokenizers", 0)
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
SEQUENCE = {"Sequence": {"id": "A", "type_id": 0}}
MODEL = {
    **{f"ids {rank} and {rank + 1} of tokenizer.json": edit(JSON, swap_ids(rank)) for rank in (0, 132, 297)},
    **{f"ids {rank} and {rank + 1} of vocab.json": edit(VOCAB, swap_ids(rank)) for rank in (5, 131, 299)},
    **{f"merge {n} of tokenizer.json lost": merges(lambda rows, n=n: rows.pop(n)) for n in (0, 60)},
    **{f"merge {n} of tokenizer.json later": merges(lambda rows, n=n: swap(rows, n, n + 1)) for n in (0, 60)},
    **{f"merge {n} of merges.txt lost": lines(lambda rows, n=n: rows.pop(n)) for n in (1, 61)},
    **{f"merge {n} of merges.txt later": lines(lambda rows, n=n: swap(rows, n, n + 1)) for n in (1, 61)},
    "a merge of tokenizer.json twice": merges(lambda rows: rows.insert(0, rows[-1])),
    "merges of tokenizer.json reversed": merges(lambda rows: rows.reverse()),
    "no merges in tokenizer.json": merges(lambda rows: rows.clear()),
    "a new merge in tokenizer.json": merges(lambda rows: rows.append("Z Q")),
    "a new token in tokenizer.json": edit(JSON, lambda content: content["model"]["vocab"].update({"ZQ": 999})),
    "a token lost from tokenizer.json": edit(JSON, lambda content: content["model"]["vocab"].pop("Z")),
    "a token lost from vocab.json": edit(VOCAB, lambda content: content.pop("Z")),
    "a token renamed in tokenizer.json": rewrite(JSON, lambda text: text.replace('"Z":', '"ZZZ":')),
    "another kind of model": edit(JSON, put("model", "type", "WordPiece")),
    "ignore_merges": edit(JSON, put("model", "ignore_merges", True)),
    "prefix of subwords": edit(JSON, put("model", "continuing_subword_prefix", "##")),
    "end of words": edit(JSON, put("model", "end_of_word_suffix", "</w>")),
}
ADDED_TOKENS = {
    **{
        f"{flag} of added token {number}": edit(JSON, flip(number, flag))
        for number in (0, 3, 4)
        for flag in ("lstrip", "rstrip", "single_word", "special")
    },
    "normalized of an added token": edit(JSON, flip(3, "normalized")),
    "content of an added token": edit(JSON, put("added_tokens", 3, "content", "<tools>")),
    "id of an added token": edit(JSON, put("added_tokens", 3, "id", 777)),
    "an added token lost": edit(JSON, lambda content: content["added_tokens"].pop()),
    "a special token lost": edit(JSON, lambda content: content["added_tokens"].pop(0)),
}
PARTS = {
    "no normalizer": edit(JSON, put("normalizer", None)),
    **{f"normalizer {kind}": edit(JSON, put("normalizer", {"type": kind})) for kind in ("NFD", "NFKC", "Lowercase")},
    "normalizer Strip": edit(JSON, put("normalizer", {"type": "Strip", "strip_left": True, "strip_right": True})),
    "pre-tokenizer of GPT-2": edit(JSON, put("pre_tokenizer", BYTE_LEVEL)),
    "no split": edit(JSON, drop(*SPLIT)),
    "other numbers": rewrite(JSON, lambda text: text.replace("{1,3}", "{1,2}")),
    "other contractions": rewrite(JSON, lambda text: text.replace("'s|", "'x|", 1)),
    "split inverted": edit(JSON, lambda content: put(*SPLIT, "behavior", "MergedWithNext")(content)),
    "prefix space": edit(JSON, put("pre_tokenizer", "pretokenizers", 1, "add_prefix_space", True)),
    "expression of ByteLevel": edit(JSON, put("pre_tokenizer", "pretokenizers", 1, "use_regex", True)),
    "no byte level": edit(JSON, drop("pre_tokenizer", "pretokenizers", 1)),
    "no post-processor": edit(JSON, put("post_processor", None)),
    "template of one sequence": edit(JSON, put("post_processor", "single", [SEQUENCE])),
    "template of two": edit(JSON, lambda content: content["post_processor"]["pair"].pop(0)),
    "ids of the template": edit(JSON, put("post_processor", "special_tokens", "<s>", "ids", [0])),
    "no decoder": edit(JSON, put("decoder", None)),
    "decoder of SentencePiece": edit(
        JSON, put("decoder", {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True})
    ),
    "decoder Fuse": edit(JSON, put("decoder", {"type": "Fuse"})),
}
FILES = {
    **{
        f"{name} cut at {part} %": rewrite(name, lambda text, part=part: text[: len(text) * part // 100])
        for name in (JSON, VOCAB, MERGES, CONFIG)
        for part in (0, 99)
    },
    **{f"no {name}": (lambda folder, name=name: (folder / name).unlink()) for name in (JSON, VOCAB, MERGES)},
    "no settings": lambda folder: (folder / CONFIG).unlink(),
    "no chat template": lambda folder: (folder / "chat_template.jinja").unlink(),
    "another chat template": rewrite("chat_template.jinja", lambda text: text + "!"),
    **{
        f"setting {setting}": edit(CONFIG, put(setting, value))
        for setting, value in {
            "pattern": "gpt2",
            "padding_side": "right",
            "truncation_side": "right",
            "model_max_length": 98,
            "bos_token": "<pad>",
            "pad_token": "<s>",
            "normalizer": "NFD",
        }.items()
    },
}


KINDS = {"model": MODEL, "added tokens": ADDED_TOKENS, "parts": PARTS, "files": FILES}


@pytest.mark.parametrize("corruptions", KINDS.values(), ids=KINDS)
def test_corrupted_folder_is_found(tokenizer, tmp_path, corruptions):
    tokenizer.save_pretrained(tmp_path / "whole", verify=False)
    for number, (name, corrupt) in enumerate(corruptions.items()):
        folder = shutil.copytree(tmp_path / "whole", tmp_path / str(number))
        corrupt(folder)
        with case(name), pytest.raises(ValueError, match="save with verify=False"):
            verify_folder(folder, tokenizer)


def test_the_folder_is_saved_if_nothing_corrupts_it(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path)
    assert BPETokenizer.from_pretrained(tmp_path).definition == tokenizer.definition
