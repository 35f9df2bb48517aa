"""Compare a tokenizer with its authority, and say what differs."""

import importlib.util
import os
from typing import NamedTuple

from contract.comparisons import Case

HAS_CORE = importlib.util.find_spec("hf_bpe._native") is not None and os.environ.get("HF_BPE_ENGINE") != "reference"


class Mismatch(NamedTuple):
    """A value in which a loaded tokenizer and its authority differ.

    Attributes:
        artifact, way, authority: their names.
        comparison, entry: what differs.
        name: the name of the text.
        case: the arguments of the comparison.
        expected, got: what the authority and the loaded tokenizer have.
    """

    artifact: str
    way: str
    authority: str
    comparison: str
    entry: str
    name: str
    case: Case
    expected: object
    got: object

    def __str__(self):
        place = first_difference(self.expected, self.got)
        return f"{self.artifact} | {self.way} | {self.comparison}: {self.entry} | {self.name}{place}"

    @property
    def has_surrogates(self):
        """True if one of the texts holds half a surrogate pair."""
        return any("\ud800" <= character <= "\udfff" for character in self.case.text + self.case.other)


class Raised(NamedTuple):
    """The outcome of a comparison that raises."""

    error: BaseException

    def __repr__(self):
        return f"{type(self.error).__name__}: {str(self.error)[:200]}"


def seen(function, tokenizer, case):
    try:
        return function(tokenizer, case)
    except Exception as error:
        return {"error": Raised(error)}


def compare(comparison, ours, theirs, case, is_ours, cache):
    """Yield each entry of a comparison with what the authority and the loaded tokenizer have there."""
    key = (comparison.name, case)
    if key not in cache:
        cache[key] = seen(comparison.see, theirs, case)
    expected = cache[key]
    got = seen(comparison.see_ours if is_ours else comparison.see, ours, case)
    if not HAS_CORE and "need the native core of hf_bpe" in str(got.get("error")):  # said in one sentence
        return
    if "error" in got or "error" in expected:
        yield "error", expected.get("error"), got.get("error")
        return
    for entry in {**expected, **got}:
        yield entry, expected.get(entry), got.get(entry)


# What transformers and hf_bpe refuse alike: padding without a token for it, half a surrogate pair where Rust reads the
# text, and an empty batch. Any other error of both is one of the comparison, which then compares nothing.
_REFUSALS = (
    "Asking to pad but the tokenizer does not have a padding token",
    "TextEncodeInput must be",
    "TextInputSequence must be",
    "PreTokenizedInputSequence must be",
    "'utf-8' codec can't encode",
)


def is_equal(comparison, expected, got):
    """Return whether both have the same value, or refuse the same for a reason that is known."""
    if isinstance(expected, Raised) and isinstance(got, Raised):
        known = (*_REFUSALS, *(["list index out of range"] if comparison == "empty_batch" else []))
        return type(expected.error) is type(got.error) and all(
            str(each.error).startswith(known) for each in (expected, got)
        )
    return expected == got


def first_difference(expected, got):
    """Return where two values begin to differ, and both values there."""
    path = ""
    while True:
        if isinstance(expected, dict) and isinstance(got, dict):
            key = next(key for key in [*expected, *got] if expected.get(key, KeyError) != got.get(key, KeyError))
            path, expected, got = f"{path}[{key!r}]", expected.get(key), got.get(key)
        elif isinstance(expected, (list, tuple)) and type(expected) is type(got) and len(expected) == len(got) > 4:
            index = next(index for index, pair in enumerate(zip(expected, got, strict=True)) if pair[0] != pair[1])
            path, expected, got = f"{path}[{index}]", expected[index], got[index]
        else:
            return f"{path}\n    expected {shortened(expected)}\n    got      {shortened(got)}"


def shortened(value):
    shown = repr(value)
    return shown if len(shown) <= 300 else f"{shown[:300]}…"
