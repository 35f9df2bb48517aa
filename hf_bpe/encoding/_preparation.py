"""The step before encoding: added tokens are found in the raw text, and the text between them is normalized."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from hf_bpe._native_core import native_core
from hf_bpe._utils.cached_property import cached_property
from hf_bpe.encoding._added_tokens.rules import AddedTokenSplitter
from hf_bpe.encoding._encoder import AddedTokenTuple, AnyText, Numbers, Options, as_str, make_splitter
from hf_bpe.normalizers._backend import utf8
from hf_bpe.normalizers._normalizer import Normalizer
from hf_bpe.normalizers._steps import SPACE

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from hf_bpe.core._model import BPEModel

_SPACE_BYTES = SPACE.encode()


class PreparedSegment(NamedTuple):
    """An added token in the raw text, or the normalized text between two of them."""

    data: bytes  # the normalized text, or that of the added token, in UTF-8
    token_id: int | None  # the id of the added token; None for text between them
    # Its characters in the raw text
    start: int
    stop: int
    position: int  # the number of bytes before it in the normalized text
    # The original bytes of each byte of `data`, counted from the segment; empty if not asked for
    begins: Sequence[int] = ()
    ends: Sequence[int] = ()


@dataclass(frozen=True, eq=False)
class Preparation:
    """What is done to text before it is encoded."""

    normalizer: Normalizer  # what normalizes the text between added tokens of the raw text
    added_tokens: tuple[AddedTokenTuple, ...]
    # Whether all of them are searched in the raw text, and not only those with normalized=False
    searches_raw_text: bool = False
    reads_spaces: bool = False  # whether the normalizer reads `▁` as a space, and so does `merge_words`
    prepends: bool = False  # whether the normalizer puts a space before text, also before text that continues another
    replaces_prefix: bool = False  # whether the core does not put a space before text, because the normalizer does
    tells_starts: bool = False  # whether the beginning of a text is encoded unlike that of other segments
    raw_tokens: tuple[AddedTokenTuple, ...] = field(init=False)  # the tokens that are searched in the raw text
    later_tokens: tuple[AddedTokenTuple, ...] = field(init=False)  # the others, with normalized contents
    # Whether all that normalization does is what the native core can check
    is_checked_natively: bool = field(init=False)
    _is_clear: bool = field(init=False)
    _only_reads_spaces: bool = field(init=False)

    def __post_init__(self) -> None:
        raw = tuple(token for token in self.added_tokens if self.searches_raw_text or not token.normalized)
        later = {} if self.searches_raw_text else normalized_tokens(self.added_tokens, self.normalizer)
        # An encoder has one token for each content. If tokens of both kinds share one, all text is encoded in segments.
        is_clear = later.keys().isdisjoint(token.content for token in raw)
        vars(self).update(
            raw_tokens=raw,
            later_tokens=tuple(later.values()),
            is_checked_natively=is_clear and self.normalizer.is_nfc and native_core() is not None,
            _is_clear=is_clear,
            _only_reads_spaces=is_clear and self.reads_spaces and len(self.normalizer.steps) == 1,
        )

    @classmethod
    def from_model(cls, model: BPEModel, added_tokens: tuple[AddedTokenTuple, ...]) -> Preparation:
        """Return the step that applies a model's normalizer before an encoder that ignores it."""
        return cls(model.normalization, added_tokens, tells_starts=tells_starts(model))

    @cached_property
    def splitter(self) -> AddedTokenSplitter:
        """The splitter of raw text."""
        return make_splitter(self.raw_tokens)

    def is_unchanged(self, text: AnyText) -> bool:
        """True if a text gives the same ids without this step: if it is normalized, so is each segment."""
        if not self._is_clear or not isinstance(text, (str, bytes)):
            return self._is_clear  # the encoder refuses anything that is not text
        if self._only_reads_spaces:
            if isinstance(text, str):
                return text.isascii() or SPACE not in text
            return _SPACE_BYTES not in text
        return self.normalizer.is_unchanged(as_str(text))

    def changed_texts(self, texts: Sequence[AnyText]) -> Sequence[int]:
        """Return the numbers of the texts that may change."""
        if self._only_reads_spaces:  # `is_unchanged` of usual texts without a call for each
            return [number for number, text in enumerate(texts) if type(text) is not str or not text.isascii()]
        if not self.is_checked_natively:
            return range(len(texts))
        numbers: list[int] = native_core().texts_beyond_nfc(texts).tolist()  # type: ignore[union-attr]
        return numbers

    def changed_spans(self, data: Buffer, begins: Numbers, ends: Numbers) -> Numbers | None:
        """Return the numbers of the texts in a buffer that may change; None if only `is_unchanged` tells."""
        if self.is_checked_natively:
            numbers: Numbers = native_core().spans_beyond_nfc(data, begins, ends)  # type: ignore[union-attr]
            return numbers
        if not self._only_reads_spaces or len(begins) == 0 or (begins[1:] < ends[:-1]).any():
            return None  # also for texts that overlap, as those of Arrow do not
        import numpy as np

        first = int(begins[0])
        text = bytes(memoryview(data).cast("B")[first : int(ends.max())])
        places = []
        at = text.find(_SPACE_BYTES)
        while at >= 0:
            places.append(first + at)
            at = text.find(_SPACE_BYTES, at + 1)
        return np.unique(np.searchsorted(begins, places, "right") - 1)

    def segments(self, text: str, options: Options, *, aligned: bool = False) -> Iterator[PreparedSegment]:
        """Yield the segments of a text without lone surrogates, see `as_str`."""
        position = 0
        for start, stop, token_id in self.splitter.spans(text, split_special_tokens=options.split_special_tokens):
            raw = text[start:stop]
            alignment: Sequence[Sequence[int]] = ()
            if token_id is not None:
                data = utf8(raw)
            elif aligned:
                data, *alignment = self.normalizer.align(raw)
            else:
                data = utf8(self.normalizer.apply(raw))
            yield PreparedSegment(data, token_id, start, stop, position, *alignment)
            position += len(data)


def tells_starts(model: BPEModel) -> bool:
    """Return whether a model encodes the beginning of a text unlike the beginning of a later segment."""
    metaspace = model.pre_tokenizer.metaspace
    return metaspace is not None and metaspace.prepend_scheme == "first"


def normalized_tokens(tokens: tuple[AddedTokenTuple, ...], normalizer: Normalizer) -> dict[str, AddedTokenTuple]:
    """Return the tokens that are searched in normalized text, which `tokenizers` normalizes, too, by their content.

    Of tokens that become equal it finds an arbitrary one. With NFC that is the one with the lowest id here; with
    another normalizer this is a ValueError, as is a token that becomes empty.
    """
    normalized: dict[str, AddedTokenTuple] = {}
    originals = {token.id: token.content for token in tokens}
    for token in sorted(tokens, key=lambda token: token.id):
        if not token.normalized:
            continue
        content = normalizer.apply(token.content)
        first = normalized.setdefault(content, token._replace(content=content)).id
        if not content:
            raise ValueError(
                f"added token {token.content!r:.80} becomes empty by the normalizer {normalizer}, and tokenizers "
                "panics on that; expected another one, or normalized=False"
            )
        if first != token.id and not normalizer.is_nfc:
            raise ValueError(
                f"added tokens {originals[first]!r:.80} and {token.content!r:.80} become equal by "
                f"the normalizer {normalizer}, and tokenizers finds either of them by chance; expected different "
                "ones, or normalized=False"
            )
    return normalized
