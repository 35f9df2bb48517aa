"""What encodes and decodes for a fast tokenizer, made of the `tokenizers.Tokenizer` in it; immutable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tokenizers import Tokenizer

from hf_bpe.encoding._encoder import Encoder, Options, TemplateIds, tuples_of
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._post_processor import template_with_type_ids
from hf_bpe.formats._template import Template, template_ids
from hf_bpe.formats._tokenizer_json import added_tokens_of_json, definition_of_json, parse_tokenizer_json
from hf_bpe.pretokenizers._byte_level import from_printable


@dataclass(frozen=True, eq=False)
class Engine:
    """The encoder of a `tokenizers.Tokenizer`, and what its calls add to ids.

    Attributes:
        definition: the tokenizer.
        encoder: encodes and decodes.
        template: the special tokens and type ids of its post-processor.
        templates: the ids of the special tokens around one sequence, and around two.
        special: a byte for each id, 1 if decoding can skip it.
        parsed, as_text: the options of encoding, with special tokens found in text and without.
        decodes: whether decoded text is the same; added tokens may be written in letters that stand for bytes.
    """

    definition: Definition
    encoder: Encoder
    template: Template
    templates: tuple[TemplateIds, TemplateIds]
    special: bytes
    parsed: Options
    as_text: Options
    decodes: bool

    def template_ids(self, sequences: int, add_special_tokens: bool) -> TemplateIds:
        """Return the ids of the special tokens before the first of one or two sequences, and after each."""
        return self.templates[sequences - 1] if add_special_tokens else ((),) * (sequences + 1)

    def skipped(self, skip_special_tokens: bool) -> bytes:
        """Return a byte for each id that is 1 if decoding skips it."""
        return self.special if skip_special_tokens else b""

    def decode(self, rows: list[Sequence[int]], skip_special_tokens: bool) -> list[str]:
        """Return the texts of rows of ids.

        Raises:
            KeyError, TypeError, OverflowError, ValueError: an id has no token, or is none.
        """
        return self.encoder.decode_batch(rows, self.skipped(skip_special_tokens), "replace")


def make_engine(backend: Tokenizer) -> Engine:
    """Return the engine of a backend, which is not verified yet.

    Raises:
        ValueError: it is not byte-level BPE, or prepares text in a way that cannot be represented.
    """
    content = parse_tokenizer_json("the tokenizer", backend.to_str().encode())
    # Calls set these, whatever the last one left in the backend.
    content |= {"padding": None, "truncation": None}
    added = added_tokens_of_json(content)
    definition = definition_of_json(content, added, added)
    template = template_with_type_ids(content.get("post_processor"), added)
    one, two = (_ids_around(template, sequences, added.ids) for sequences in (1, 2))
    encoder = make_encoder(definition.model, tuples_of(definition.added_tokens.items()))
    special = bytearray(max(definition.added_tokens, default=-1) + 1)
    for token_id, token in definition.added_tokens.items():
        special[token_id] = token.special
    contents = [token.content for token in definition.added_tokens.values()]
    unknown_id = added.ids.get(definition.setting("unk_token")) if encoder.lacks_bytes else None
    parsed, as_text = (
        Options(flag, bool(definition.setting("add_prefix_space")), unknown_id) for flag in (False, True)
    )
    return Engine(
        definition,
        encoder,
        template,
        (one, two),
        bytes(special),
        parsed,
        as_text,
        # The decoder takes a token whose characters all stand for bytes for these bytes.
        all(from_printable(text) in (None, text.encode()) for text in contents),
    )


def _ids_around(template: Template, sequences: int, ids: dict[str, int]) -> TemplateIds:
    def build(*rows: list[int]) -> list[int]:
        return template.build(rows, ids)

    around = template_ids(build, sequences, True)
    assert around is not None  # a template has its sequences in order
    return around
