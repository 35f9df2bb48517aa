"""The signature: a line that identifies a model and, if `train` made it, the provenance of its merges.

Signatures are for papers, logs and issues. A signature ends with a digest of the merges, so equal signatures mean equal
merges; the rest describes how the merges were learned. A model stores that as its `origin`, which is valid for those
merges only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from typing import Any

from hf_bpe.pretokenizers._pattern import UNICODE_VERSION, Pattern

Model = Any  # a BPEModel, whose module imports this one

Origin = tuple[tuple[str, str], ...]
"""Names and values, in the order of a signature. The last is the digest of the merges that the others describe."""

_VERSION = "hf_bpe"
_MERGES = "merges"
_MODEL_PARTS = ("unicode", "pattern", "vocab", "specials", "characters")


def make_signature(model: Model) -> str:
    """Return the signature of a model; see `BPEModel.signature`."""
    origin = _origin_if_true(model) or (
        (_VERSION, version()),
        (_MERGES, _model_digest(model)),
    )
    values = dict(origin)
    parts = {
        "unicode": UNICODE_VERSION,
        "pattern": name_of_pattern(model.pre_tokenizer),
        "vocab": str(model.vocab_size),
        **{name: value for name, value in origin if name not in (_VERSION, "counts", _MERGES)},
        "specials": str(len(model.special_tokens)),
        **{name: _name_of_option(value) for name, value in model.options.items() if value},
        **({} if model.alphabet.is_bytes else {"characters": "bytes" if model.alphabet.byte_fallback else "unk"}),
        **{name: values[name] for name in ("counts", _MERGES) if name in values},
    }
    return "|".join([f"{_VERSION} {values[_VERSION]}", *(f"{name}={value}" for name, value in parts.items())])


def name_of_pattern(pattern: Pattern) -> str:
    """Return the name of a pattern in a signature: a digest of what has none."""
    if pattern.canonical is None or pattern.name is not None:
        return pattern.canonical or "none"
    return f"{'chain' if pattern.is_chain else 'regex'}:{short_digest(pattern.canonical.encode())}"


def _name_of_option(value: bool | str) -> str:
    if isinstance(value, bool):
        return "yes"
    return value if value.isalnum() else f"json:{short_digest(value.encode())}"


def parse_origin(signature: str, options: Collection[str]) -> Origin:
    """Return the origin of merges in a signature, without `options` of the model; empty if the text is no signature.

    >>> parse_origin("hf_bpe 0.1|pattern=gpt2|vocab=300|ties=lexicographic|specials=0|merges=sha256:00", ())
    (('hf_bpe', '0.1'), ('ties', 'lexicographic'), ('merges', 'sha256:00'))
    """
    if not (signature.isascii() and signature.isprintable()):  # because it will be printed
        return ()
    first, *fields = signature.split("|")
    pairs = [first.partition(" ")[::2], *(part.partition("=")[::2] for part in fields)]
    origin = tuple(pair for pair in pairs if pair[0] not in (*_MODEL_PARTS, *options))
    return origin if pairs[0][0] == _VERSION and origin[-1][0] == _MERGES else ()


def learned(options: Origin, merges: Sequence[tuple[bytes, bytes]]) -> Origin:
    """Return the origin of learned merges: the options with which they were learned, and their digest."""
    return ((_VERSION, version()), *options, (_MERGES, merges_digest(merges)))


def origin_of_first(merges: Sequence[tuple[bytes, bytes]], model: Model) -> Origin:
    """Return the origin of the first merges of a model: a smaller target gives them by the same training.

    There is none if the training may have started with more merges than these.
    """
    origin = _origin_if_true(model)
    return () if not origin or "initial" in dict(origin) else (*origin[:-1], (_MERGES, merges_digest(merges)))


def merges_digest(merges: Sequence[tuple[bytes, bytes]]) -> str:
    """Return the digest of merges in a signature."""
    return short_digest(repr([*merges]).encode())


def short_digest(data: bytes) -> str:
    """Return the digest of data in a signature."""
    return shortened(hashlib.sha256(data).hexdigest())


def shortened(sha256: str) -> str:
    """Return the first 64 bits of a SHA-256 that is given in hex."""
    return f"sha256:{sha256[:16]}"


def version() -> str:
    """Return the version of hf_bpe that decides merges: without the patch number."""
    from hf_bpe._version import __version__

    return ".".join(__version__.split(".")[:2])


def _origin_if_true(model: Model) -> Origin:
    """Return the origin of a model if it describes the merges that the model has, else an empty origin."""
    if not model.origin:
        return ()
    return model.origin if model.origin[-1] == (_MERGES, _model_digest(model)) else ()


def _model_digest(model: Model) -> str:
    # As `merges_digest`, but `repr` takes as many waits for memory as there are merges.
    shown = model.token_arrays.write("repr", None, ("(", ", ", "), "), model.merge_ids)
    return short_digest(b"[%s]" % shown.removesuffix(b", "))
