"""Make an artifact, load it in one way, and compare what a user sees of it with its authority."""

import functools
import tempfile
import warnings
from pathlib import Path

from contract.artifacts import ARTIFACTS, DATA
from contract.authorities import AUTHORITIES, TIKTOKEN
from contract.chats import MESSAGES  # noqa: F401 - adds its comparisons
from contract.comparisons import OF_TRANSFORMERS, Case
from contract.differences import documented
from contract.own_methods import OF_BPE_TOKENIZER
from contract.run import Mismatch, compare, is_equal
from contract.texts import FEW, QUICK, TEXTS, samples, with_added_tokens
from contract.tiktoken_views import OF_TIKTOKEN
from contract.ways_to_load import WAYS_TO_LOAD

from hf_bpe import BPETokenizer


@functools.cache
def root():
    """Return the folder of a process, in which all others are; conftest.py deletes it."""
    return Path(tempfile.mkdtemp(prefix="contract-"))


def new_folder():
    return Path(tempfile.mkdtemp(dir=root()))


@functools.lru_cache(maxsize=4)  # tests of one artifact follow each other
def made(artifact):
    return ARTIFACTS[artifact].make(new_folder())


@functools.lru_cache(maxsize=8)
def authority_of(artifact, name):
    """Return the authority, and what has been seen of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of transformers' own classes
        thing = AUTHORITIES[name](made(artifact))
    return thing, {}


def load(artifact, way):
    """Load an artifact in one way; warnings are not compared."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if WAYS_TO_LOAD[way].load is None:
            return ARTIFACTS[artifact].train()
        return WAYS_TO_LOAD[way].load(made(artifact), new_folder())


def texts_of(authority, form):
    """Return name → text: all of them, those of the quick form, or the few that are compared afterwards."""
    added = getattr(authority, "added_tokens_encoder", None) or getattr(authority, "special_tokens_set", ())
    if form == "few":
        return {name: TEXTS[name] for name in FEW}
    if form == "quick":
        return {name: TEXTS[name] for name in QUICK} | with_added_tokens(sorted(added))
    return {**TEXTS, **with_added_tokens(sorted(added)), **samples(DATA, 3)}


def ids_of(authority, text):
    if hasattr(authority, "special_tokens_set"):
        return tuple(authority.encode(text, allowed_special="all"))
    try:
        return tuple(authority.encode(text))
    except TypeError:  # tokenizers takes no lone surrogates
        return ()


def comparisons_for(tokenizer, authority, decides_ids):
    """Return what is compared of a tokenizer with an authority."""
    if authority == TIKTOKEN:
        found = OF_TIKTOKEN
    else:
        own = OF_BPE_TOKENIZER if isinstance(tokenizer, BPETokenizer) else {}
        found = {**OF_TRANSFORMERS, **own}
    return [each for each in found.values() if each.decides_ids or not decides_ids]


def compared_values(artifact, way, tokenizer, form, *, decides_ids=False):
    """Compare a tokenizer with the authority of a way to load.

    Args:
        artifact, way: their names.
        tokenizer: what was loaded, or what became of it.
        form: "all", "quick" or "few" texts.
        decides_ids: compare only what every format carries.

    Yields:
        For each value, the mismatch, or None where it is the same.
    """
    name = WAYS_TO_LOAD[way].authority
    authority, seen = authority_of(artifact, name)
    texts = texts_of(authority, form)
    names = [*texts]
    is_ours = isinstance(tokenizer, BPETokenizer) or name == TIKTOKEN
    ids = {text: ids_of(authority, text) for text in {"", *texts.values()}}
    for each in comparisons_for(tokenizer, name, decides_ids):
        for index, text in enumerate(names if each.is_of_texts else [""]):
            other = texts[names[(index + 1) % len(names)]] if each.is_of_texts else ""
            case = Case(texts.get(text, ""), other, ids[texts.get(text, "")])
            for entry, expected, got in compare(each, tokenizer, authority, case, is_ours, seen):
                is_same = is_equal(each.name, expected, got)
                yield None if is_same else Mismatch(artifact, way, name, each.name, entry, text, case, expected, got)


def mismatches(*args, **kwargs):
    """Return the mismatches among `compared_values` that are not documented."""
    return [each for each in compared_values(*args, **kwargs) if each is not None and documented(each) is None]


def explained(found):
    """Return the text of a failure: the first mismatch of each comparison."""
    first = {(each.comparison, each.entry): each for each in reversed(found)}
    return "\n".join([f"{len(found)} values differ", *map(str, [*first.values()][-12:])])
