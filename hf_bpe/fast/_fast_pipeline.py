"""The pipeline of a fast tokenizer, made of the `tokenizers.Tokenizer` in it."""

from __future__ import annotations

from dataclasses import dataclass

from tokenizers import Tokenizer

from hf_bpe._utils.cached_property import cached_property
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._files.post_processor import template_with_type_ids
from hf_bpe.formats._files.tokenizer_json import added_tokens_of_json, definition_of_json, parse_tokenizer_json
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.pretokenizers._byte_level import from_printable


@dataclass(frozen=True, eq=False)
class FastPipeline(Pipeline):
    """A pipeline with the results of a `tokenizers.Tokenizer`, to which only flags make a token special."""

    names_are_special = False
    shows_matched = True

    @classmethod
    def from_backend(cls, backend: Tokenizer) -> tuple[FastPipeline, Definition]:
        """Return the pipeline of a backend, which is not verified yet, and its definition.

        Raises:
            ValueError: it is not byte-level BPE, or prepares text in a way that cannot be represented.
        """
        content = parse_tokenizer_json("the tokenizer", backend.to_str().encode())
        # Calls set these, whatever the last one left in the backend.
        content |= {"padding": None, "truncation": None}
        added = added_tokens_of_json(content)
        definition = definition_of_json(content, added, added)
        pipeline = cls.of(definition)
        return pipeline.with_changes(template=template_with_type_ids(content.get("post_processor"), added)), definition

    @cached_property
    def decodes(self) -> bool:
        """True if decoded text is the same; added tokens may be written in letters that stand for bytes."""
        # The decoder of `tokenizers` takes a token whose characters all stand for bytes for these bytes.
        return self.decoding is not None or all(from_printable(text) in (None, text.encode()) for text in self.ids)
