"""A save that is killed at any moment leaves the old tokenizer, the new one, or an error: never a mixture."""

import os
import shutil
import subprocess
import sys

import pytest
from tokenizers import Tokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from hf_bpe import BPETokenizer
from support.fuzz.killing import TEXTS
from support.profiles import thorough
from support.project import ROOT

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked and killed")


def seen_of(tokenizer):
    """Return what users of a tokenizer see of it."""
    if isinstance(tokenizer, Tokenizer):
        return tokenizer.get_vocab(), [tokenizer.encode(text).ids for text in TEXTS]
    return (
        *(tokenizer.get_vocab(), [tokenizer.encode(text) for text in TEXTS], tokenizer.special_tokens_map),
        *(tokenizer.chat_template, tokenizer.padding_side),
    )


def loader(load, **options):
    return lambda folder: seen_of(load(folder, **options))


ours, fast, auto = (
    loader(cls.from_pretrained, local_files_only=True) for cls in (BPETokenizer, PreTrainedTokenizerFast, AutoTokenizer)
)
gpt2, text = (loader(BPETokenizer.convert_from, format=name) for name in ("gpt2", "text"))


def rust(folder):
    return seen_of(Tokenizer.from_file(str(folder / "tokenizer.json")))


def without_prefix(folder):
    """Load what has a prefix, as those do who take it away."""
    other = folder.with_name(f"{folder.name}-renamed")
    shutil.copytree(folder, other)
    for path in other.glob("my-*"):
        path.rename(path.with_name(path.name.removeprefix("my-")))
    return ours(other)


def file(name):
    return lambda folder: seen_of(BPETokenizer.convert_from(folder / name))


LOADERS = {
    "plain": [ours, fast, auto, rust, gpt2],
    "characters": [ours, fast, auto, rust],
    "portable": [ours, fast, auto, rust, gpt2],
    "over_fast": [ours, fast, auto, rust],
    "prefix": [without_prefix],
    "hf": [ours, fast],
    "vocabulary": [gpt2],
    "gpt2": [gpt2, ours],
    "text": [text],
    "tiktoken": [file("x.tiktoken")],
    "tokenizer_json": [file("x.json")],
}


def outcome_of(load, folder, wholes):
    """Say what a loader makes of a folder: "old", "new", "mixture", or the error."""
    try:
        loaded = load(folder)
    except Exception as error:  # `tokenizers` raises nothing narrower
        return error
    return next((name for name, whole in wholes.items() if loaded == whole), "mixture")


def outcomes(root, load):
    """Return what a loader makes of the folders of all kills."""
    wholes = {name: load(root / name) for name in ("old", "new")}
    assert wholes["old"] != wholes["new"]
    number = sum(path.name.isdigit() for path in root.iterdir())
    return [outcome_of(load, root / str(kill), wholes) for kill in range(number)]


@pytest.mark.parametrize(
    "saves",
    [["plain", "characters"], pytest.param([*LOADERS][2:], marks=thorough)],
    ids=" ".join,
)
def test_killed_save_leaves_an_old_or_new_tokenizer_or_an_error(tmp_path, saves):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    subprocess.run([sys.executable, "-m", "support.fuzz.killing", tmp_path, *saves], check=True, env=environment)
    for name in saves:
        for load in LOADERS[name]:
            found = outcomes(tmp_path / name, load)
            shown = [each if isinstance(each, str) else "error" for each in found]
            assert "mixture" not in shown, (name, load, shown)
            assert shown[0] == "old", (name, load, shown)
            assert sorted(shown, key=["old", "error", "new"].index) == shown  # no old one comes back
            if name == "plain" and load is ours:
                errors = [error for error in found if not isinstance(error, str)]
                assert errors
                assert all("a save into this folder was interrupted" in str(error) for error in errors)
