"""The interface of encoders, which convert texts with added tokens to ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tokenizers import AddedToken

from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._added_tokens.rules import AddedTokenSplitter
from hf_bpe.pretokenizers._byte_level import repair_surrogates
from hf_bpe.reference._dropout import Dropout

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ids = npt.NDArray[np.uint32]
    Numbers = npt.NDArray[np.int64]
else:  # encoding to lists does not import numpy
    Ids = Numbers = Any

AnyText = str | bytes


class AddedTokenTuple(NamedTuple):
    """An added token in the form that is passed to the native core."""

    content: str
    id: int
    special: bool
    normalized: bool
    lstrip: bool
    rstrip: bool
    single_word: bool

    @classmethod
    def from_added_token(cls, token_id: int, token: AddedToken) -> AddedTokenTuple:
        """Return the tuple of an added token."""
        flags = token.special, token.normalized, token.lstrip, token.rstrip, token.single_word
        return cls(token.content, token_id, *flags)


_DIGESTED = ("split_special_tokens", "add_prefix_space", "unknown_id", "dropout")


class Options(NamedTuple):
    """Options of encoding, which the native core takes in this order; some are settings of a tokenizer."""

    split_special_tokens: bool = False  # encode special tokens as ordinary text
    # Put a space before each segment of text between added tokens that does not begin with one
    add_prefix_space: bool = False
    # The id for a byte without a token, unless the model drops such bytes; None to raise a ValueError
    unknown_id: int | None = None
    # BPE-dropout, with as many texts as are encoded; None for none. A position counts bytes of the text, in UTF-8 and
    # after normalization
    dropout: Dropout | None = None
    # Whether texts continue what was encoded before, so that a model with characters puts nothing before their first
    # segment
    continued: bool = False

    def __repr__(self) -> str:
        # Token files hold a digest of this, so the later fields are only shown if they are set.
        defaults = self._field_defaults
        shown = {name: value for name, value in self._asdict().items() if name in _DIGESTED or value != defaults[name]}
        return f"Options({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    @property
    def changes_segments(self) -> bool:
        """True if `segment` may return other bytes."""
        return self != self.for_bytes()

    def segment(self, data: bytes) -> bytes:
        """Prefix the bytes of a segment between added tokens with a space if the options ask for it."""
        return b" " + data if self.add_prefix_space and data and not data.startswith(b" ") else data

    def for_bytes(self) -> Options:
        """Return the options of bytes, whose segments are encoded as they are."""
        return self._replace(add_prefix_space=False)

    def for_texts(self, start: int, stop: int) -> Options:
        """Return the options of some of the texts, given the indices of the first and of the one after the last."""
        if self.dropout is None:
            return self
        places = self.dropout.places and self.dropout.places[start:stop]
        return self._replace(dropout=self.dropout._replace(first_text=self.dropout.first_text + start, places=places))

    def for_parts(self, parts: Iterable[tuple[int, int]]) -> Options:
        """Return the options of parts of texts, each given by the index of its text and where it begins there."""
        if self.dropout is None:
            return self
        starts = [(*self.dropout.place(index), position) for index, position in parts]
        return self._replace(dropout=self.dropout.at(*((number, start + at) for number, start, at in starts)))


TemplateIds = Sequence[Sequence[int]]
"""The special-token ids before the first sequence of a row, and after each sequence."""


class Encoder(Protocol):
    """The interface that encodes with a model; thread-safe, and pickled as its definition.

    A str may have lone surrogates, which are repaired; bytes need not be UTF-8. Results do not depend on `threads`.
    """

    @property
    def model(self) -> BPEModel:
        """The model, without added tokens."""

    def with_added_tokens(self, tokens: tuple[AddedTokenTuple, ...]) -> Encoder:
        """Return an encoder for the same model with other added tokens."""

    def with_prefix_cache(self, store: object) -> Encoder:
        """Return an encoder that keeps beginnings of texts in a native `PrefixCache`, and looks them up there.

        They are not looked up with dropout, for offsets, for texts that a normalizer changes, and if the model joins
        characters that it lacks. Nothing is found where no place is known at which text may be cut.
        """

    def encode(self, text: AnyText, options: Options) -> list[int]:
        """Return the ids of a text."""

    def encode_to_numpy(self, texts: list[AnyText], options: Options, threads: int) -> tuple[Ids, Numbers]:
        """Return the ids of all texts, and the offsets at which each text's ids begin, with the end of the last."""

    def encode_with_offsets(self, texts: list[AnyText], options: Options) -> tuple[Ids, Numbers, Numbers]:
        """Return the results of `encode_to_numpy`, and a row (begin, end, part) for each id.

        Begin and end count characters of a str and bytes of bytes; a token with some bytes of a character covers the
        whole character. The part is the index of the pre-token or added token within the text.
        """

    def find_last_cut(self, data: bytes, options: Options) -> int:
        """Return the last position at which a cut keeps all ids, whatever follows; 0 if none."""

    def merge_words(self, words: list[bytes], unknown_id: int) -> tuple[Ids, Numbers]:
        """Return the ids that the merges make of each word as if it were a pre-token, like `encode_to_numpy`.

        No word is looked up as a whole, and `unknown_id` stands for a byte without a token.
        """


def make_splitter(added_tokens: Iterable[AddedTokenTuple]) -> AddedTokenSplitter:
    """Return a splitter for added tokens."""
    flags = AddedTokenTuple._fields[2:]
    return AddedTokenSplitter(
        {t.id: AddedToken(t.content, **{flag: getattr(t, flag) for flag in flags}) for t in added_tokens}
    )


def is_skipped(token_id: int, skipped: bytes) -> bool:
    """Say whether an id is to be skipped: the byte at its place is not 0. Ids may be negative or too high."""
    return 0 <= token_id < len(skipped) and skipped[token_id] != 0


def as_str(text: AnyText) -> str:
    """Return a text as str, with lone surrogates repaired and bytes that are not UTF-8 as U+DC80 to U+DCFF."""
    if isinstance(text, str):
        return repair_surrogates(text)
    if isinstance(text, bytes):
        return text.decode("utf-8", "surrogateescape")
    try:
        memoryview(text)
    except TypeError:
        raise TypeError(f"expected str or bytes, got {type(text).__name__}") from None
    # The native core would read the buffer while another thread changes it.
    raise TypeError(f"expected str or bytes, got {type(text).__name__}, which can change; give bytes(text)")


def characters_of_bytes(text: str) -> tuple[list[int], list[int]]:
    """Return the begin and end of the character that each byte of the repaired text's UTF-8 belongs to."""
    begins: list[int] = []
    ends: list[int] = []
    at = 0
    while at < len(text):
        is_pair = "\ud800" <= text[at] <= "\udbff" and "\udc00" <= text[at + 1 : at + 2] <= "\udfff"
        end = at + 1 + is_pair
        size = len(repair_surrogates(text[at:end]).encode())
        begins += [at] * size
        ends += [end] * size
        at = end
    return [*begins, at], ends


def as_tuples(added_tokens: Iterable[tuple[int, AddedToken]]) -> tuple[AddedTokenTuple, ...]:
    """Return added tokens as tuples."""
    return tuple(AddedTokenTuple.from_added_token(token_id, token) for token_id, token in added_tokens)
