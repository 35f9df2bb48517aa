"""Normalized texts to train on, because counting does not normalize."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hf_bpe._utils.tables import elements, refuse_tables
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._token_finder import TokenFinder
from hf_bpe.normalizers._apply import get_normalizer
from hf_bpe.normalizers._names import canonical_normalizer


class NormalizedTexts:
    r"""An iterable of texts, or lists of texts, normalized except for their special tokens, to train on.

    Args:
        texts: str, or lists of str; other elements stay unchanged.
        special_tokens: the special tokens at which text will be split.
        normalizer: what `hf_bpe.normalizers.canonical_normalizer` takes; its result is an attribute.

    >>> list(NormalizedTexts(["o\u0308<x>\u0308", ["u\u0308"]], ["<x>"])) == ["\xf6<x>\u0308", ["\xfc"]]
    True
    """

    def __init__(
        self,
        texts: Iterable[Any],
        special_tokens: Iterable[str] = (),
        normalizer: str | Mapping[str, Any] | None = "NFC",
    ) -> None:
        self.normalizer = canonical_normalizer(normalizer)
        refuse_tables("texts", texts)
        self._texts = texts
        self._special_tokens = TokenFinder(special_tokens)

    def __iter__(self) -> Iterator[Any]:
        for text in elements("texts", self._texts):
            yield [*map(self._normalized, text)] if isinstance(text, (list, tuple)) else self._normalized(text)

    def _normalized(self, text: Any) -> Any:
        if not isinstance(text, str):
            return text
        if self.normalizer is None:
            return text
        apply = get_normalizer(self.normalizer).apply
        parts, end = [], 0
        for start, token in self._special_tokens.find_all(text):
            parts += [apply(text[end:start]), token]
            end = start + len(token)
        return "".join([*parts, apply(text[end:])])


def with_normalizer(model: BPEModel, normalizer: str | Mapping[str, Any] | None) -> BPEModel:
    """Return the model with a normalizer."""
    normalizer = canonical_normalizer(normalizer)
    if normalizer == model.normalizer:
        return model
    return model.with_checked(normalizer=normalizer)
