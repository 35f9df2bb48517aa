"""Sources whose texts are normalized before they are counted, for models with a normalizer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from hf_bpe.counting._normalized_texts import NormalizedTexts
from hf_bpe.counting._readers import Skipped, as_bytes, read_documents
from hf_bpe.counting._sources import Shard, Source, TextSource, parts_of_source, plan
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.encoding._factory import find_last_cut
from hf_bpe.encoding._safe_cuts import cut_into_blocks
from hf_bpe.normalizers._names import canonical_normalizer
from hf_bpe.pretokenizers._pattern import Pattern

# What these make of a text does not change if they are applied to its lines.
_BY_LINES = frozenset(("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents"))
_BLOCK_BYTES = 1 << 24
_WHOLE = 1 << 62


def normalized_input(
    input: TextSource | WordCounts, special_tokens: Sequence[str], normalizer: str | None, pattern: Pattern
) -> TextSource | WordCounts:
    """Return what a model with a normalizer learns from: texts and files normalized, `NormalizedTexts` as they are.

    Raises:
        ValueError: these are counts, or `NormalizedTexts` of another normalizer, or a source has an option that a
            normalizer rules out.
        OSError, TypeError, ValueError: see `plan`.
    """
    if normalizer is None or (isinstance(input, (list, tuple)) and not input):
        return input
    if isinstance(input, WordCounts):
        raise ValueError(
            f"normalizer={normalizer!r}: expected text, got counts, of which it is unknown whether the text was "
            "normalized; give the text, or count NormalizedTexts, train a model on the counts, and give it the "
            "normalizer with dataclasses.replace"
        )
    found: list[Source | Shard] = []
    for part in parts_of_source(input):
        data = part.source.data if isinstance(part, Shard) else part.data
        if not isinstance(data, NormalizedTexts):
            found += normalized_sources(part, special_tokens, normalizer, pattern)
        elif data.normalizer == normalizer:
            found.append(part)
        else:
            raise ValueError(
                f"normalizer={normalizer!r}: the texts are NormalizedTexts of {data.normalizer!r}; give the same "
                "normalizer, or the texts as they are"
            )
    return found


def normalized_sources(
    source: TextSource, special_tokens: Sequence[str], normalizer: str, pattern: Pattern
) -> list[Source]:
    """Return sources with the same weights that yield normalized texts.

    Args:
        source: any source of text.
        special_tokens: tokens that are not normalized, at which text will be split.
        normalizer: a normalizer, as `canonical_normalizer` takes it.
        pattern: how text will be split; a file of text is cut where its pre-tokens cannot change.

    Raises:
        OSError, TypeError, ValueError: see `plan`.
    """
    return [
        Source(_NormalizedShard(shard, special_tokens, normalizer, pattern), weight=shard.weight)
        for shard in plan(source, shard_bytes=_WHOLE)
    ]


class _NormalizedShard(NormalizedTexts):
    """The normalized texts of a shard."""

    def __init__(self, shard: Shard, special_tokens: Sequence[str], normalizer: str, pattern: Pattern) -> None:
        if shard.source.max_document_bytes is not None:
            raise ValueError("max_document_bytes: expected None with a normalizer, which changes the length of texts")
        if shard.source.errors == "bytes":
            raise ValueError("errors: expected 'strict' or 'replace' with a normalizer, got 'bytes'")
        super().__init__((), special_tokens, normalizer)
        self._shard, self._specials, self._pattern = shard, [*special_tokens], pattern
        is_in_line = not any("\n" in token for token in special_tokens)
        self._is_by_lines = is_in_line and _kinds(canonical_normalizer(normalizer)) <= _BY_LINES

    def __iter__(self) -> Iterator[str | bytes]:
        documents = read_documents(self._shard, Skipped())
        if not (self._shard.is_file and self._shard.format == "text"):
            for document in documents:
                texts = document if isinstance(document, (list, tuple)) else [document]
                yield from (self._normalized(text if isinstance(text, str) else text.decode()) for text in texts)
        elif self._is_by_lines:
            normalized = (self._normalized(text).encode() for text in _at_line_breaks(documents))
            yield from cut_into_blocks(
                normalized, lambda data: find_last_cut(data, self._pattern, self._specials), _BLOCK_BYTES
            )
        else:
            yield self._normalized(b"".join(map(as_bytes, documents)).decode())


def _kinds(normalizer: str | None) -> set[str]:
    content = json.loads(normalizer) if normalizer is not None and normalizer.startswith("{") else {"type": normalizer}
    return {str(part.get("type")) for part in content.get("normalizers", [content])}


def _at_line_breaks(blocks: Iterator[str | bytes]) -> Iterator[str]:
    held: list[bytes] = []
    for block in map(as_bytes, blocks):
        end = block.rfind(b"\n") + 1
        if end:
            yield b"".join([*held, block[:end]]).decode()
            held = []
        held.append(block[end:])
    yield b"".join(held).decode()
