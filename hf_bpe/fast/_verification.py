"""Verification of a pipeline: does it encode and decode as the `tokenizers.Tokenizer` for which it was made?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tokenizers import Tokenizer

from hf_bpe._utils.arguments import short_repr
from hf_bpe.fast._fast_pipeline import FastPipeline
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._verification.stress_texts import stress_texts, vocabulary_texts
from hf_bpe.normalizers._backend import panics_as_errors

_NAMES = ("ids", "type_ids", "offsets", "special_tokens_mask", "word_ids", "sequence_ids")
_EVERY = 16  # of the texts of the vocabulary; all of them take ten seconds


def verify_pipeline(pipeline: FastPipeline, definition: Definition, backend: Tokenizer) -> None:
    """Compare ids, offsets, words and decoded texts, of single texts and pairs, with special tokens and without.

    Raises:
        ValueError: they differ; the message names what differs, and a text.
    """
    backend = _as_in_calls(backend)
    texts = stress_texts(definition) + vocabulary_texts(definition)[::_EVERY]
    pairs = [*pairwise(stress_texts(definition))]
    for added in (False, True):
        _compare(pipeline, backend, [(text,) for text in texts], added)
        _compare(pipeline, backend, pairs, added)


def _as_in_calls(backend: Tokenizer) -> Tokenizer:
    """Return a backend without padding and truncation, which finds special tokens in text."""
    if backend.padding is None and backend.truncation is None and not backend.encode_special_tokens:
        return backend
    content = json.loads(backend.to_str()) | {"padding": None, "truncation": None}
    return Tokenizer.from_str(json.dumps(content))


def _compare(pipeline: FastPipeline, backend: Tokenizer, rows: Sequence[tuple[str, ...]], added: bool) -> None:
    with panics_as_errors():
        inputs = [row if len(row) > 1 else row[0] for row in rows]
        expected = backend.encode_batch(inputs, add_special_tokens=added)
    for row, one, other in zip(rows, expected, pipeline.encodings(rows, added), strict=True):
        for name in _NAMES:
            if getattr(one, name) != getattr(other, name):
                _refuse(name, row, getattr(one, name), getattr(other, name))
        for skips in (False, True) if pipeline.decodes else ():
            texts = backend.decode(one.ids, skip_special_tokens=skips), pipeline.decode([one.ids], skips)[0]
            if texts[0] != texts[1]:
                _refuse("decoded text", row, *texts)


def _refuse(name: str, row: tuple[str, ...], expected: Any, got: Any) -> None:
    place = next((at for at, (one, other) in enumerate(zip(expected, got, strict=False)) if one != other), -1)
    raise ValueError(
        f"its {name} of {short_repr(row[0])} differ from those of tokenizers at {place}: "
        f"{short_repr(got[place : place + 4])}, expected {short_repr(expected[place : place + 4])}"
    )
