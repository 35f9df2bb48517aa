"""The pipeline of a fast tokenizer, made of the `tokenizers.Tokenizer` in it, and compared with that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tokenizers import Tokenizer

from hf_bpe._utils.arguments import short_repr
from hf_bpe._utils.cached_property import cached_property
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._files.post_processor import template_with_type_ids
from hf_bpe.formats._files.tokenizer_json import added_tokens_of_json, definition_of_json, parse_tokenizer_json
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.formats._verification.stress_texts import STRESS_TEXTS, stress_texts, vocabulary_texts
from hf_bpe.normalizers._backend import panics_as_errors
from hf_bpe.pretokenizers._byte_level import from_printable

_NAMES = ("ids", "type_ids", "offsets", "special_tokens_mask", "word_ids", "sequence_ids")
_MAX_ADDED = 4  # texts of `▁` and of added tokens to try with special tokens around them
_MAX_TOKENS = 1 << 11  # of the vocabulary, which the pipeline has from the backend; all of them take seconds


@dataclass(frozen=True, eq=False)
class FastPipeline(Pipeline):
    """A pipeline with the results of a `tokenizers.Tokenizer`, to which only flags make a token special."""

    names_are_special = False
    shows_matched = True

    @classmethod
    def from_json(cls, data: bytes) -> tuple[FastPipeline, Definition]:
        """Return the pipeline of a serialized backend, not verified yet, and its definition, or raise a ValueError."""
        content = parse_tokenizer_json("the tokenizer", data)
        # Calls set these, whatever the last one left in the backend.
        content |= {"padding": None, "truncation": None}
        added = added_tokens_of_json(content)
        definition = definition_of_json(content, added, added)
        pipeline = cls.from_definition(definition)
        return pipeline.with_changes(template=template_with_type_ids(content.get("post_processor"), added)), definition

    @cached_property
    def decodes(self) -> bool:
        """True if decoded text is the same; added tokens may be written in letters that stand for bytes."""
        # The decoder of `tokenizers` takes a token whose characters all stand for bytes for these bytes.
        return self.decoding is not None or all(from_printable(text) in (None, text.encode()) for text in self.ids)


def verify_pipeline(pipeline: FastPipeline, definition: Definition, backend: Tokenizer, content: bytes) -> None:
    """Raise a ValueError unless ids, offsets, words and decoded texts of single texts and pairs are equal."""
    if backend.padding is not None or backend.truncation is not None or backend.encode_special_tokens:  # unlike calls
        backend = Tokenizer.from_str(content.decode())
        backend.no_padding()
        backend.no_truncation()
    texts = [(text,) for text in stress_texts(definition) + vocabulary_texts(definition, _MAX_TOKENS)]
    # What is put around texts depends on their ends alone: white space, special tokens, `▁` or none of these.
    last = len(STRESS_TEXTS) - 1
    few = [texts[0], *(row for row in texts[:last] if row[0] != row[0].strip()), *texts[last : last + _MAX_ADDED]]
    pairs = [(*first, *second) for first, second in pairwise(few)]
    for rows, added in ((texts, False), (few, True), (pairs, False), (pairs, True)):
        _compare(pipeline, backend, rows, added)


def _compare(pipeline: FastPipeline, backend: Tokenizer, rows: Sequence[tuple[str, ...]], added: bool) -> None:
    with panics_as_errors():
        inputs = [row if len(row) > 1 else row[0] for row in rows]
        expected = backend.encode_batch(inputs, add_special_tokens=added)
    for row, one, other in zip(rows, expected, pipeline.encodings(rows, added), strict=True):
        for name in _NAMES:
            if getattr(one, name) != getattr(other, name):
                _refuse(name, row, getattr(one, name), getattr(other, name))
    ids = [one.ids for one in expected]
    for skips in (False, True) if pipeline.decodes else ():
        texts = backend.decode_batch(ids, skip_special_tokens=skips), pipeline.decode(ids, skips)
        for row, text, own in zip(rows, *texts, strict=True):
            if text != own:
                _refuse("decoded text", row, text, own)


def _refuse(name: str, row: tuple[str, ...], expected: Sequence[object], got: Sequence[object]) -> None:
    place = next((at for at, (one, other) in enumerate(zip(expected, got, strict=False)) if one != other), -1)
    raise ValueError(
        f"its {name} of {short_repr(row[0])} differ from those of tokenizers at {place}: "
        f"{short_repr(got[place : place + 4])}, expected {short_repr(expected[place : place + 4])}"
    )
