"""Normalized texts to train on, because counting does not normalize."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hf_bpe._utils.tables import elements, refuse_tables
from hf_bpe.counting._error_policy import Skipped
from hf_bpe.counting._readers import as_bytes, read_documents
from hf_bpe.counting._sources import Shard, Source, TextSource, parts_of_source, plan
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.encoding._added_tokens.finder import TokenFinder
from hf_bpe.encoding._cuts.safe import cut_into_blocks, find_last_cut
from hf_bpe.normalizers._normalizer import AnyNormalizer, Normalizer
from hf_bpe.pretokenizers._pattern import Pattern

_BLOCK_BYTES = 1 << 24
_NO_LIMIT = 1 << 62


class NormalizedTexts:
    r"""An iterable of texts, or lists of texts, normalized except for their special tokens, to train on.

    Args:
        texts: str, or lists of str; other elements stay unchanged.
        special_tokens: the special tokens at which text will be split.
        normalizer: what `hf_bpe.normalizers.Normalizer.parse` takes; its canonical form is an attribute.

    >>> list(NormalizedTexts(["o\u0308<x>\u0308", ["u\u0308"]], ["<x>"])) == ["\xf6<x>\u0308", ["\xfc"]]
    True
    """

    def __init__(
        self, texts: Iterable[object], special_tokens: Iterable[str] = (), normalizer: AnyNormalizer = "NFC"
    ) -> None:
        self._normalizer = Normalizer.parse(normalizer)
        self.normalizer = self._normalizer.canonical
        refuse_tables("texts", texts)
        self._texts = texts
        self._special_tokens = TokenFinder(special_tokens)

    def __iter__(self) -> Iterator[Any]:
        for text in elements("texts", self._texts):
            yield [*map(self._normalized, text)] if isinstance(text, (list, tuple)) else self._normalized(text)

    def _normalized(self, text: object) -> Any:
        if not isinstance(text, str) or self._normalizer.is_identity:
            return text
        apply = self._normalizer.apply
        parts, end = [], 0
        for start, token in self._special_tokens.find_all(text):
            parts += [apply(text[end:start]), token]
            end = start + len(token)
        return "".join([*parts, apply(text[end:])])


def normalized_input(
    input: TextSource | WordCounts, special_tokens: Sequence[str], normalizer: Normalizer, pattern: Pattern
) -> TextSource | WordCounts:
    """Return what a model with a normalizer learns from: texts and files normalized, `NormalizedTexts` as they are.

    Sources keep their weights, and special tokens are not normalized. A file of text is cut where its pre-tokens by the
    pattern cannot change.
    """
    if normalizer.is_identity or (isinstance(input, (list, tuple)) and not input):
        return input
    if isinstance(input, WordCounts):
        raise ValueError(
            f"normalizer={normalizer.canonical!r}: expected text, got counts, of which it is unknown whether the text "
            "was normalized; give the text, or count NormalizedTexts, train a model on the counts, and give it the "
            "normalizer with dataclasses.replace"
        )
    normalized: list[Source | Shard] = []
    for part in parts_of_source(input):
        data = part.source.data if isinstance(part, Shard) else part.data
        if not isinstance(data, NormalizedTexts):
            normalized += [
                Source(_NormalizedShard(shard, special_tokens, normalizer, pattern), weight=shard.weight)
                for shard in plan(part, shard_bytes=_NO_LIMIT)
            ]
        elif data.normalizer == normalizer.canonical:
            normalized.append(part)
        else:
            raise ValueError(
                f"normalizer={normalizer.canonical!r}: the texts are NormalizedTexts of {data.normalizer!r}; give the "
                "same normalizer, or the texts as they are"
            )
    return normalized


class _NormalizedShard(NormalizedTexts):
    """The normalized texts of a shard."""

    def __init__(self, shard: Shard, special_tokens: Sequence[str], normalizer: Normalizer, pattern: Pattern) -> None:
        if shard.source.max_document_bytes is not None:
            raise ValueError("max_document_bytes: expected None with a normalizer, which changes the length of texts")
        if shard.source.errors == "bytes":
            raise ValueError("errors: expected 'strict' or 'replace' with a normalizer, got 'bytes'")
        super().__init__((), special_tokens, normalizer)
        self._shard, self._specials, self._pattern = shard, [*special_tokens], pattern

    def __iter__(self) -> Iterator[str | bytes]:
        documents = read_documents(self._shard, Skipped())
        if not (self._shard.is_file and self._shard.format == "text"):
            for document in documents:
                texts = document if isinstance(document, (list, tuple)) else [document]
                yield from (self._normalized(text if isinstance(text, str) else text.decode()) for text in texts)
        elif self._normalizer.is_local and not any("\n" in token for token in self._specials):
            normalized = (self._normalized(text).encode() for text in _at_line_breaks(documents))
            yield from cut_into_blocks(
                normalized, lambda data: find_last_cut(data, self._pattern, self._specials), _BLOCK_BYTES
            )
        else:
            yield self._normalized(b"".join(map(as_bytes, documents)).decode())


def _at_line_breaks(blocks: Iterator[str | bytes]) -> Iterator[str]:
    held: list[bytes] = []
    for block in map(as_bytes, blocks):
        end = block.rfind(b"\n") + 1
        if end:
            yield b"".join([*held, block[:end]]).decode()
            held = []
        held.append(block[end:])
    yield b"".join(held).decode()
