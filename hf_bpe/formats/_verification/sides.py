"""The sides of a verification: tokenizers and patterns, each with the library that encodes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from hf_bpe.encoding._splitting import pre_tokenize
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._format import Format, Hints, Peer
from hf_bpe.formats._pipeline import Pipeline, without_idle_ignore_merges
from hf_bpe.normalizers._backend import panics_as_errors
from hf_bpe.pretokenizers import Pattern
from hf_bpe.pretokenizers._byte_level import repair_surrogates

_SHOWN = 12


@dataclass(frozen=True)
class Side:
    """One of two tokenizers or patterns that are to give the same ids."""

    name: str  # of the tokenizer, and of the library that encodes
    peer: Peer  # for a pattern it returns pre-tokens instead of ids
    definition: Definition | None = None  # None for a pattern, or if it is unknown

    def shown(self, row: Sequence[Hashable]) -> str:
        """Return a printable form of ids with the bytes of each, or of pre-tokens."""
        vocab = {} if self.definition is None else self.definition.model.vocab
        parts = [f"{each} {vocab[each]!r}" if each in vocab else repr(each) for each in row[:_SHOWN]]
        more = "" if len(row) <= _SHOWN else f", … ({len(row)} in all)"
        return f"[{', '.join(parts)}{more}]"


def side_of(definition: Definition, name: str, pipeline: Pipeline | None = None) -> Side:
    """Return the side that encodes a definition with hf_bpe, by its pipeline, which is made if it is not given."""
    pipeline = Pipeline.from_definition(definition) if pipeline is None else pipeline

    def offsets(texts: list[str]) -> list[list[tuple[int, int]]]:
        encodings = pipeline.encodings([[text] for text in texts])
        return [*map(encodings.offsets, range(len(texts)))]

    peer = Peer(
        "hf_bpe",
        pipeline.encode,
        True,
        lambda text, second: pipeline.build(*pipeline.encode([text, second])),
        lambda data: pipeline.encoder.encode(data, pipeline.options()),
        offsets,
    )
    return Side(name, peer, replace(definition, model=pipeline.model))


def side_of_file(path: Path, format: Format, definition: Definition | None = None, name: str | None = None) -> Side:
    """Return the side that encodes with the library of a file's format, or with hf_bpe if it is not installed.

    Its definition is read if it is not given. `name` is for messages, instead of the path.
    """
    name = str(path) if name is None else name
    definition = format.read(path, Hints()) if definition is None else definition
    try:
        with panics_as_errors():
            peer = format.peer(path, definition) if format.peer is not None else None
    except ImportError:
        peer = None
    if peer is None:
        return side_of(definition, f"{name} ({format.name}, by hf_bpe)")
    return Side(f"{name} ({format.name}, by {peer.name})", peer, without_idle_ignore_merges(definition))


def side_of_loaded(tokenizer: Any, name: str) -> Side:
    """Return the side of a tokenizer that was loaded by transformers or by `tokenizers`."""
    if isinstance(tokenizer, Tokenizer):
        backend = _without_limits(tokenizer)
        peer = Peer(
            name,
            lambda texts, added: [each.ids for each in backend.encode_batch_fast(texts, add_special_tokens=added)],
            True,
            lambda text, second: list(backend.encode(text, second).ids),
            offsets=lambda texts: [each.offsets for each in backend.encode_batch(texts, add_special_tokens=False)],
        )
        return Side(name, peer)

    def encode(texts: list[str], added: bool) -> list[list[int]]:
        if not added and hasattr(tokenizer, "encode_to_lists"):  # several times as fast
            return list(tokenizer.encode_to_lists(texts))
        # verbose=False: the warning about texts longer than model_max_length is for the user's own calls.
        return list(tokenizer(texts, add_special_tokens=added, verbose=False)["input_ids"])

    def encode_pair(text: str, second: str) -> list[int]:
        return list(tokenizer(text, second, verbose=False)["input_ids"])

    def offsets(texts: list[str]) -> list[list[tuple[int, int]]]:
        encoded = tokenizer(texts, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return list(encoded["offset_mapping"])

    peer = Peer(name, encode, True, encode_pair, getattr(tokenizer, "encode_bytes", None), offsets)
    if not getattr(tokenizer, "is_fast", True):  # Python tokenizers of transformers have none
        peer = peer._replace(offsets=None)
    return Side(name, peer, getattr(tokenizer, "definition", None))


def _without_limits(tokenizer: Tokenizer) -> Tokenizer:
    """Return a `tokenizers.Tokenizer` that neither truncates nor pads, as files may tell it to."""
    if tokenizer.truncation is None and tokenizer.padding is None:
        return tokenizer
    unlimited = Tokenizer.from_str(tokenizer.to_str())
    unlimited.no_truncation()
    unlimited.no_padding()
    return unlimited


def side_of_pattern(pattern: str | None) -> Side:
    """Return the side that splits text by a pattern, with pre-tokens instead of ids."""
    parsed = Pattern.parse(pattern)

    def cut(text: str) -> list[Any]:
        pieces = pre_tokenize(repair_surrogates(text).encode(), parsed)
        return [piece.decode("utf-8", "surrogateescape") for piece in pieces]

    name = f"the pattern {parsed.canonical or 'none'!r}"
    return Side(name, Peer(name, lambda texts, added: [*map(cut, texts)]))
