"""The documented differences between a BPETokenizer and its authority: all that may differ in any way to load.

The section "What differs from a fast tokenizer" of docs/how-to/use-with-transformers.md has a sentence for each; a test
looks for it there.
"""

from collections.abc import Callable
from typing import NamedTuple

from contract.authorities import BACKEND, SLOW_FILES
from contract.comparisons import OF_TRANSFORMERS
from contract.own_methods import OF_BPE_TOKENIZER
from contract.run import Mismatch, Raised


class Difference(NamedTuple):
    """A difference that is intended.

    Attributes:
        docs: the beginning of its sentence in the documentation.
        comparisons: names of the comparisons in which it shows.
        is_so: whether a mismatch is one of these.
    """

    docs: str
    comparisons: tuple[str, ...]
    is_so: Callable[[Mismatch], bool]


def is_same_without_spaces(mismatch):
    """Say whether two lists of tokens of a BPETokenizer differ only in the white space that added tokens take."""
    if "accelerate" in mismatch.way or mismatch.way in ("BPETokenizerFast", "patch_transformers"):
        return False
    both = mismatch.expected, mismatch.got
    if not all(isinstance(tokens, list) and all(isinstance(each, str) for each in tokens) for tokens in both):
        return False
    expected, got = ([token.strip() for token in tokens] for tokens in both)
    return expected == got


def is_subset(mismatch):
    """Say whether the loaded tokenizer has all tokens of the authority, but for tokens that have another name there."""
    if mismatch.entry == "extra_special_tokens":
        return isinstance(mismatch.got, set)  # all_special_tokens, which has every name, is compared as well
    if isinstance(mismatch.expected, set):
        return mismatch.expected < mismatch.got
    return mismatch.expected is None


def is_marked_special(mismatch):
    """Say whether a mask has all the marks of the authority, and more."""
    return all(got >= expected for expected, got in zip(mismatch.expected, mismatch.got, strict=True))


def skips_more(mismatch):
    """Say whether the loaded tokenizer's tokens are those of the authority but for some."""
    if mismatch.entry != "of ids, skipping":
        return False
    rest = iter(mismatch.expected)
    return all(token in rest for token in mismatch.got)


def has_placeholders(mismatch):
    """Say whether a vocabulary differs by placeholders, or its size by their number."""
    if mismatch.entry == "get_vocab":
        return {each: mismatch.got[each] for each in mismatch.got if "<|unused_" not in each} == mismatch.expected
    return mismatch.entry in ("len", "vocab_size") and mismatch.artifact in WITH_UNUSED_IDS


UNNAMED_UNK_TOKEN = "unk_token of the model alone"
WITH_UNUSED_IDS = ("unused ids", "gpt35turbo")
SETS = ("all_special_tokens", "all_special_ids", "extra_special_tokens")
LENGTHS = ("model_max_length", "max_len_single_sentence", "max_len_sentences_pair")
DIFFERENCES = (
    Difference(
        "**Lone surrogates** in a `str` are joined to pairs or replaced",
        (*OF_TRANSFORMERS, *OF_BPE_TOKENIZER),
        lambda mismatch: mismatch.has_surrogates and isinstance(mismatch.expected, Raised) and mismatch.got is None,
    ),
    Difference(
        "**Token type ids** are 0",
        ("pair", "masks"),
        lambda mismatch: mismatch.entry.endswith("token_type_ids") and not any(mismatch.got) and any(mismatch.expected),
    ),
    Difference(
        "an empty batch gives no rows, and no error",
        ("empty_batch",),
        lambda mismatch: isinstance(mismatch.expected, Raised) and mismatch.got is None,
    ),
    Difference(
        "**An empty second text** makes a pair",
        ("pair",),
        lambda mismatch: mismatch.case.other == "" and isinstance(mismatch.got, list),
    ),
    Difference(
        "**`tokens()`** returns an added token as it is in the vocabulary",
        ("places", "tokens", "split_words"),
        is_same_without_spaces,
    ),
    Difference(
        "**`convert_ids_to_tokens(…, skip_special_tokens=True)`** leaves out every special token",
        ("tokens",),
        skips_more,
    ),
    Difference(
        "**`convert_from`** names the special tokens",
        ("special_tokens",),
        lambda mismatch: (
            mismatch.way.startswith("convert_from")
            and (
                is_marked_special(mismatch)
                if mismatch.entry == "get_special_tokens_mask"
                else (mismatch.entry in SETS or mismatch.authority == BACKEND) and is_subset(mismatch)
            )
        ),
    ),
    Difference(
        "**`convert_from`** names the special tokens",
        ("after_naming_a_token",),
        lambda mismatch: mismatch.entry == "bos_token_id" and mismatch.authority == BACKEND,
    ),
    Difference(
        "**`convert_from`** names the special tokens",
        ("settings",),
        lambda mismatch: mismatch.authority == BACKEND and mismatch.entry in LENGTHS,
    ),
    Difference(
        "**`unk_token`** is not set for GPT-2's two files",
        ("special_tokens", "after_naming_a_token"),
        lambda mismatch: (
            mismatch.authority == SLOW_FILES
            and mismatch.entry in ("unk_token", "unk_token_id", "bos_token_id")
            and mismatch.got is None
        ),
    ),
    Difference(
        "`unk_token` of a model that lacks the tokens of bytes is named",
        ("special_tokens", "after_naming_a_token"),
        lambda mismatch: (
            mismatch.artifact == UNNAMED_UNK_TOKEN
            and mismatch.entry in ("unk_token", "unk_token_id", "bos_token_id", *SETS)
            and is_subset(mismatch)
        ),
    ),
    Difference(
        "**Unused ids** between those of tokens",
        ("vocabulary", "after_adding_tokens", "after_saving_a_new_name"),
        has_placeholders,
    ),
    Difference(
        "**`vocab_size`** counts special tokens that the model",
        ("vocabulary",),
        lambda mismatch: mismatch.entry == "vocab_size" and mismatch.expected < mismatch.got,
    ),
)


def documented(mismatch):
    """Return the difference that a mismatch is, or None."""
    for difference in DIFFERENCES:
        if mismatch.comparison in difference.comparisons and difference.is_so(mismatch):
            return difference
    return None
