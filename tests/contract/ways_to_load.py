"""The ways to load a tokenizer, and what happens to a tokenizer afterwards."""

import copy
import pickle
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from contract import api
from contract.authorities import BACKEND, FAST, OBJECT, SAVED, SLOW_FILES, TIKTOKEN
from tokenizers import Tokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from hf_bpe import BPETokenizer, BPETokenizerFast, accelerate, patch_transformers, unpatch_transformers


@dataclass(frozen=True)
class Way:
    """A way to load a tokenizer.

    Attributes:
        name: what the tables and failures call it.
        kinds: the kinds of artifacts that it takes.
        authority: what it is compared with, a name of `authorities`.
        load: makes the tokenizer of an artifact that was made in a folder; the second folder is empty.
        is_quick: whether the quick form tries it with real files, too.
    """

    name: str
    kinds: tuple[str, ...]
    authority: str
    load: Callable
    is_quick: bool = False


def saved(tokenizer, folder, **options):
    tokenizer.save_pretrained(folder, **options)
    return folder


def patched(made, empty):
    patch_transformers()
    try:
        return AutoTokenizer.from_pretrained(made)
    finally:
        unpatch_transformers()


def by_command(made, empty):
    api.command("convert", made, empty / "out")
    return BPETokenizer.from_pretrained(empty / "out")


def by_constructor(made, empty):
    return BPETokenizer(made / "vocab.json", made / "merges.txt")


def rank_file(made, empty):
    """Write the ranks of an encoding as tiktoken stores them, and read them."""
    import base64

    lines = (f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in made._mergeable_ranks.items())
    (empty / "ranks.tiktoken").write_text("".join(lines))
    return empty / "ranks.tiktoken"


PATTERN_OF = {"cl100k_base": "cl100k", "small": "cl100k", "o200k_base": "o200k", "o200k_harmony": "o200k"}


def by_rank_file(made, empty):
    options = {"pattern": PATTERN_OF.get(made.name, "gpt2"), "special_tokens": made._special_tokens}
    return BPETokenizer.convert_from(rank_file(made, empty), **options)


def by_command_from_ranks(made, empty):
    specials = [f"--special-token={token}={number}" for token, number in made._special_tokens.items()]
    pattern = PATTERN_OF.get(made.name, "gpt2")
    api.command("convert", rank_file(made, empty), empty / "out", "--pattern", pattern, *specials)
    return BPETokenizer.from_pretrained(empty / "out")


def fast(made, *_):
    return PreTrainedTokenizerFast.from_pretrained(made)


FOLDERS, GPT2, ENCODINGS = ("folder", "refused"), ("gpt2",), ("encoding", "refused encoding")
WAYS_TO_LOAD = {
    way.name: way
    for way in (
        Way("from_pretrained", FOLDERS, FAST, lambda made, _: BPETokenizer.from_pretrained(made), True),
        Way("convert_from(folder)", FOLDERS, FAST, lambda made, _: BPETokenizer.convert_from(made)),
        Way("convert_from(file)", FOLDERS, BACKEND, lambda made, _: BPETokenizer.convert_from(
            made / "tokenizer.json")),
        Way("convert_from(Tokenizer)", FOLDERS, BACKEND, lambda made, _: BPETokenizer.convert_from(
            Tokenizer.from_file(str(made / "tokenizer.json")))),
        Way("convert_from(fast)", FOLDERS, FAST, lambda made, _: BPETokenizer.convert_from(fast(made))),
        Way("hf-bpe convert", FOLDERS, FAST, by_command),
        Way("AutoTokenizer", FOLDERS, FAST, lambda made, empty: AutoTokenizer.from_pretrained(
            saved(BPETokenizer.from_pretrained(made), empty))),
        Way("accelerate", FOLDERS, FAST, lambda made, _: accelerate(fast(made)), True),
        Way("accelerate(any class)", FOLDERS, OBJECT, lambda made, _: accelerate(AutoTokenizer.from_pretrained(made))),
        Way("BPETokenizerFast", FOLDERS, FAST, lambda made, _: BPETokenizerFast.from_pretrained(made)),
        Way("patch_transformers", FOLDERS, OBJECT, patched),
        Way("from_pretrained(two files)", GPT2, SLOW_FILES, lambda made, _: BPETokenizer.from_pretrained(made)),
        Way("BPETokenizer(two files)", GPT2, SLOW_FILES, by_constructor),
        Way("convert_from(two files)", GPT2, SLOW_FILES, lambda made, _: BPETokenizer.convert_from(made)),
        Way("hf-bpe convert of two files", GPT2, SLOW_FILES, by_command),
        Way("convert_from(Encoding)", ENCODINGS, TIKTOKEN, lambda made, _: BPETokenizer.convert_from(made), True),
        Way("convert_from(ranks)", ENCODINGS, TIKTOKEN, by_rank_file),
        Way("hf-bpe convert of ranks", ENCODINGS, TIKTOKEN, by_command_from_ranks),
        Way("train", ("folder",), SAVED, None),
    )
}  # fmt: skip
"""Name → way to load."""


def converted(name):
    """Return a function that writes a tokenizer in a format and reads it again."""
    suffix = api.FORMATS[name].suffix or ""

    def convert_and_read(tokenizer, folder):
        path = folder / f"tokenizer{suffix}"
        tokenizer.convert_to(path, format=name)
        return BPETokenizer.convert_from(path, format=name)

    return convert_and_read


AFTERWARDS = {
    "saved, loaded again": lambda tokenizer, folder: type(tokenizer).from_pretrained(saved(tokenizer, folder)),
    "saved, loaded by AutoTokenizer": lambda tokenizer, folder: AutoTokenizer.from_pretrained(saved(tokenizer, folder)),
    "saved, loaded as a fast tokenizer": lambda tokenizer, folder: fast(saved(tokenizer, folder)),
    "saved portable": lambda tokenizer, folder: AutoTokenizer.from_pretrained(saved(tokenizer, folder, portable=True)),
    "pickled": lambda tokenizer, _: pickle.loads(pickle.dumps(tokenizer)),
    "copied": lambda tokenizer, _: copy.copy(tokenizer),
    "deep-copied": lambda tokenizer, _: copy.deepcopy(tokenizer),
    **{f"converted to {name} and back": converted(name) for name in api.FORMATS},
}
"""Name → what is done with a tokenizer and an empty folder, giving another one."""

FOR_OURS = ("saved portable", *(name for name in AFTERWARDS if name.startswith("converted")))
"""Features that fast tokenizers lack."""


def afterwards(name, tokenizer, folder):
    """Return a tokenizer after something was done with it, and the warnings; or None and the refusal."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            done = AFTERWARDS[name](tokenizer, folder)
        except (ValueError, ImportError) as error:  # a refusal, or a format whose library is not installed
            return None, [str(error)]
    return done, [str(each.message) for each in caught if each.category is UserWarning]
