"""Saves that are killed at chosen moments: run as a program, it leaves a folder for each, to be loaded by tests.

    PYTHONPATH=tests python -m support.fuzz.killing FOLDER SAVE [SAVE...]

For each save, FOLDER/SAVE/old holds what was there before, FOLDER/SAVE/new what a whole save leaves, and
FOLDER/SAVE/0, 1, ... what is left by a process that was killed before its first, second, ... rename.
"""

import itertools
import os
import pathlib
import shutil
import signal
import sys
from pathlib import Path

from support.samples import CORPUS, SPECIALS

TEXTS = ["lowest of the low<|endoftext|>", " newest 12345 你好<pad>", "widest\r\n\t it's", "<|user|>low<|x|> merges"]


def make_old(**options):
    from hf_bpe import BPETokenizer

    tokenizer = BPETokenizer.train(
        CORPUS, num_merges=25, special_tokens=SPECIALS, pad_token="<pad>", padding_side="left", **options
    )
    tokenizer.chat_template = "old {{ messages }}"
    return tokenizer


def make_new(pattern="llama3", **options):
    """Return a tokenizer whose tokens are those of the old one and more, so that mixtures of the two may well load."""
    from hf_bpe import BPETokenizer

    tokenizer = BPETokenizer.train(
        [*CORPUS, "it's 12345 12345"],
        num_merges=60,
        special_tokens=SPECIALS,
        pattern=pattern,
        bos_token="<|user|>",
        add_bos_token=True,
        **options,
    )
    tokenizer.add_tokens(["<|x|>"])
    tokenizer.chat_template = {"default": "new {{ messages }}", "tool_use": "{{ tools }}"}
    return tokenizer


def save(tokenizer, folder, **options):
    tokenizer.save_pretrained(folder, verify=False, **options)


def convert(tokenizer, path, **options):
    losses = ["added_tokens", "bos_eos", "names", "chat_template", "settings"]  # where the format cannot carry them
    tokenizer.convert_to(path, drop=losses, verify=False, **options)


def save_fast(tokenizer, folder):
    """Save as those do who have never heard of hf_bpe."""
    from transformers import PreTrainedTokenizerFast

    save(tokenizer, folder)
    fast = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), pad_token="<pad>")
    shutil.rmtree(folder)
    fast.save_pretrained(folder)


# Name → how to save in a folder.
SAVES = {
    "plain": save,
    "characters": save,
    "portable": lambda tokenizer, folder: save(tokenizer, folder, portable=True),
    "prefix": lambda tokenizer, folder: save(tokenizer, folder, filename_prefix="my"),
    "over_fast": save,
    "vocabulary": lambda tokenizer, folder: tokenizer.save_vocabulary(str(folder)),
    "hf": convert,
    "gpt2": lambda tokenizer, folder: convert(tokenizer, folder, format="gpt2"),
    "text": lambda tokenizer, folder: convert(tokenizer, folder, format="text"),
    "tiktoken": lambda tokenizer, folder: convert(tokenizer, folder / "x.tiktoken"),
    "tokenizer_json": lambda tokenizer, folder: convert(tokenizer, folder / "x.json"),
}
_GPT2_ONLY = {"vocabulary", "gpt2"}


def forked(function):
    """Call a function in a process of its own; return its exit code, negative for a signal."""
    child = os.fork()
    if child == 0:
        try:
            function()
            os._exit(0)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_before_move(number, calls_of_os=("replace", "unlink")):
    """Have this process killed before a call that renames or deletes a file, or others, the first being number 0."""
    calls = itertools.count()

    def counted(function):
        def call(*args, **kwargs):
            if next(calls) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args, **kwargs)

        return call

    for name in calls_of_os:
        function = counted(getattr(os, name))
        setattr(os, name, function)
        if sys.version_info < (3, 11):  # whose pathlib keeps the functions of `os` as they were when it was imported
            setattr(pathlib._NormalAccessor, name, staticmethod(function))


def kill_at_every_moment(name, root):
    """Save over an old tokenizer again and again, each time killed a moment later, until a save is not killed.

    Args:
        name: of a save.
        root: where the folders go.

    Returns:
        The number of kills.
    """
    if name == "characters":
        from hf_bpe.pretokenizers import Metaspace

        old, new = make_old(pattern=Metaspace()), make_new(Metaspace())
    else:
        old, new = make_old(), make_new("gpt2" if name in _GPT2_ONLY else "llama3")
    make_first = save_fast if name == "over_fast" else SAVES[name]
    (root / "old").mkdir(parents=True)
    make_first(old, root / "old")
    number, code = 0, -signal.SIGKILL
    while code == -signal.SIGKILL:
        folder = root / str(number)
        shutil.copytree(root / "old", folder)

        def save_and_be_killed(folder=folder, number=number):
            kill_before_move(number, ("replace",))
            SAVES[name](new, folder)

        code = forked(save_and_be_killed)
        number += 1
    if code != 0:
        raise RuntimeError(f"{name}: a save that was not killed failed")
    folder.rename(root / "new")
    return number - 1


if __name__ == "__main__":
    os.fsync = lambda descriptor: None  # what was written outlives a process, and disks take their time
    for each in sys.argv[2:]:
        print(each, kill_at_every_moment(each, Path(sys.argv[1], each)))
