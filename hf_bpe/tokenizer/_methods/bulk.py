"""The bulk API: plain ids in arrays and lists, at the speed of the engine.

No special tokens are added, and nothing is padded or truncated by default; special tokens in the text are found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, overload

from hf_bpe._utils.arguments import (
    Check,
    at_least,
    check_choice,
    check_flag,
    check_int,
    check_sequence,
    checked,
    optional,
    wrong_type,
)
from hf_bpe._utils.processes import threads_of
from hf_bpe._utils.tables import elements, is_arrow, refuse_tables
from hf_bpe.canonical._canonical import CanonicalIds
from hf_bpe.encoding import _randomness
from hf_bpe.encoding._arrow_texts import as_lists, encode_arrow, import_arrow, joined
from hf_bpe.encoding._encoder import AnyText, Ids, Numbers
from hf_bpe.encoding._layout import MAX_IDS, NO_ID, Padding
from hf_bpe.encoding._native_paths import count_tokens, encode_batch, encode_to_row_arrays
from hf_bpe.encoding._randomness import Randomness
from hf_bpe.encoding._sessions.streams import encode_blocks
from hf_bpe.tokenizer._self_types import OwnTokenizer

if TYPE_CHECKING:
    from typing_extensions import Unpack

_ARGUMENTS: dict[str, Check] = {
    **_randomness.ARGUMENTS,
    "split_special_tokens": optional(check_flag),
    "num_workers": optional(at_least(1)),
    "length": optional(lambda name, value: check_int(name, value, 0, MAX_IDS)),
}


class _Keywords(TypedDict, total=False):
    split_special_tokens: bool | None
    num_workers: int | None


class _RandomKeywords(_Keywords, total=False):
    dropout: float | None
    seed: int | None
    first_text: int | Sequence[int] | None


class BulkMethods(OwnTokenizer):
    """The methods that encode many texts."""

    def encode_bytes(self, data: AnyText, *, split_special_tokens: bool | None = None) -> list[int]:
        r"""Encode bytes, UTF-8 or not, so that `decode_bytes` returns them exactly.

        Special tokens are found in the bytes; no special tokens and no prefix space are added. (Added tokens whose
        flags strip white space lose it, as usual; and a tokenizer with a normalizer normalizes valid UTF-8, so that
        `decode_bytes` returns the normalized text.)

        Args:
            data: bytes, or a str; a byte outside valid UTF-8 sequences belongs to no character class.
            split_special_tokens: encode special tokens as ordinary text; None for the tokenizer's own setting.

        Raises:
            ValueError: a byte has no token, and there is no `unk_token`.

        >>> from hf_bpe import BPETokenizer
        >>> tokenizer = BPETokenizer.train(["low"], vocab_size=256)
        >>> tokenizer.encode_bytes(b"\xff low")
        [255, 32, 108, 111, 119]
        """
        pipeline = self.pipeline
        if type(data) is not bytes or split_special_tokens is not None:
            _check_text("data", data)
            as_text = optional(check_flag)("split_special_tokens", split_special_tokens)
            return pipeline.encoder.encode(data, pipeline.options(as_text).for_bytes())
        return pipeline.encoder.encode(data, pipeline.options_of_bytes)

    @checked(**_ARGUMENTS)
    def encode_to_lists(
        self,
        texts: Sequence[AnyText],
        *,
        split_special_tokens: bool | None = None,
        num_workers: int | None = None,
        dropout: float | None = None,
        seed: int | None = None,
        first_text: int | Sequence[int] | None = None,
    ) -> list[list[int]]:
        """Return a list of ids for each text.

        Args:
            texts: str or bytes.
            split_special_tokens: encode special tokens as ordinary text; None for the tokenizer's own setting.
            num_workers: number of threads, None for one per core; no result depends on it. These two arguments are the
                same in all bulk methods.
            dropout: encode at random for training: the probability with which BPE-dropout skips a merge each time it
                could be applied. docs/how-to/advanced.md defines it, and the next two.
            seed: the seed of dropout; the ids depend on it, the text and the number of the text.
            first_text: the number of the first text, by default 0; the others follow. Or a list with that of each.

        Raises:
            TypeError: the argument is a single text, or an element is neither str nor bytes.
            ValueError: a byte has no token, and there is no `unk_token`; also in the methods below.

        >>> from hf_bpe import BPETokenizer
        >>> BPETokenizer.train(["low"], vocab_size=256).encode_to_lists(["lo", "", b"w"])
        [[108, 111], [], [119]]
        """
        pipeline, random = self.pipeline, Randomness.from_arguments(dropout, seed, first_text)
        texts, threads = _check_texts("texts", texts), threads_of(num_workers)
        options = random.options(pipeline.options(split_special_tokens), len(texts))
        return encode_batch(pipeline.encoder, texts, options, threads)

    @overload
    def encode_to_numpy(  # type: ignore[overload-overlap]  # a str is a sequence of str, too
        self, texts: AnyText, **options: Unpack[_RandomKeywords]
    ) -> Ids: ...

    @overload
    def encode_to_numpy(self, texts: Sequence[AnyText], **options: Unpack[_RandomKeywords]) -> tuple[Ids, Numbers]: ...

    @checked(**_ARGUMENTS)
    def encode_to_numpy(
        self,
        texts: AnyText | Sequence[AnyText],
        *,
        split_special_tokens: bool | None = None,
        num_workers: int | None = None,
        dropout: float | None = None,
        seed: int | None = None,
        first_text: int | Sequence[int] | None = None,
    ) -> Ids | tuple[Ids, Numbers]:
        """Return the ids of a text, or of all texts in one array; for the arguments see `encode_to_lists`.

        Arrays of pyarrow are read without a Python object for each text; see `encode_to_arrow`. A null is an error.
        For a single text only the ids are returned.

        Returns:
            ids: uint32, of shape (number of ids).
            offsets: int64, of shape (number of texts + 1): the ids of text i are `ids[offsets[i] : offsets[i + 1]]`.

        >>> from hf_bpe import BPETokenizer
        >>> tokenizer = BPETokenizer.train(["low"], vocab_size=256)
        >>> ids, offsets = tokenizer.encode_to_numpy(["lo", "", b"w"])
        >>> ids.tolist(), offsets.tolist(), tokenizer.encode_to_numpy("lo").tolist()
        ([108, 111, 119], [0, 2, 2, 3], [108, 111])
        """
        pipeline, random = self.pipeline, Randomness.from_arguments(dropout, seed, first_text)
        options, threads = pipeline.options(split_special_tokens), threads_of(num_workers)
        if not is_arrow(texts):
            listed, is_one = _listed(texts)
            ids, offsets = pipeline.encoder.encode_to_numpy(listed, random.options(options, len(listed)), threads)
            return ids if is_one else (ids, offsets)
        parts = encode_arrow(pipeline.encoder, "texts", texts, random.options(options, len(texts)), threads)
        ids, offsets, nulls = joined([*parts])
        if nulls is not None:
            raise ValueError(f"texts[{nulls.argmax()}] is null, for which arrays have no place; use encode_to_arrow")
        return ids, offsets

    @checked(**_ARGUMENTS, large=check_flag)
    def encode_to_arrow(
        self,
        texts: Sequence[AnyText] | Any,
        *,
        split_special_tokens: bool | None = None,
        num_workers: int | None = None,
        dropout: float | None = None,
        seed: int | None = None,
        first_text: int | Sequence[int] | None = None,
        large: bool = False,
    ) -> Any:
        """Return the ids of texts as lists of Arrow; for the arguments see `encode_to_lists`.

        Args:
            texts: an array or chunked array of pyarrow with strings of any type, dictionaries and slices included, or a
                list of texts. Arrow's buffers are read as they are, without a Python object for each text.
            large: return lists with offsets of 64 bits, for more than 2³¹ ids.

        Returns:
            A `pyarrow.ListArray` of uint32 with a list for each text, null for null; of a chunked array a
            `pyarrow.ChunkedArray`, whose chunks are those of the texts or several of these together.

        Raises:
            ImportError: pyarrow is not installed.
            TypeError: the texts are no strings.
            ValueError: offsets or sizes of Arrow point beyond its buffers.

        >>> import pyarrow as pa
        >>> from hf_bpe import BPETokenizer
        >>> tokenizer = BPETokenizer.train(["low"], vocab_size=256)
        >>> tokenizer.encode_to_arrow(pa.array(["lo", None, ""])).to_pylist()
        [[108, 111], None, []]
        """
        pipeline, random = self.pipeline, Randomness.from_arguments(dropout, seed, first_text)
        options, threads = pipeline.options(split_special_tokens), threads_of(num_workers)
        arrow = import_arrow()
        kind = (arrow.large_list if large else arrow.list_)(arrow.uint32())
        if not is_arrow(texts):
            texts = _check_texts("texts", texts)
            ids, offsets = pipeline.encoder.encode_to_numpy(texts, random.options(options, len(texts)), threads)
            return as_lists(ids, offsets, None, kind)
        parts = encode_arrow(pipeline.encoder, "texts", texts, random.options(options, len(texts)), threads)
        lists = [as_lists(*part, kind) for part in parts]
        return lists[0] if isinstance(texts, arrow.Array) else arrow.chunked_array(lists, kind)

    @checked(**_ARGUMENTS)
    def encode_to_padded(
        self,
        texts: Sequence[AnyText],
        *,
        length: int | None = None,
        split_special_tokens: bool | None = None,
        num_workers: int | None = None,
        dropout: float | None = None,
        seed: int | None = None,
        first_text: int | Sequence[int] | None = None,
    ) -> tuple[Numbers, Numbers]:
        """Return the ids of texts as rows of one length, padded with `pad_token` on the `padding_side`.

        Args:
            length: the length of each row; longer rows lose their last ids. None for the length of the longest.
            dropout, seed, first_text: see `encode_to_lists`.

        Returns:
            ids and mask, both int64 of shape (number of texts, length); the mask is 1 for ids and 0 for padding.

        Raises:
            ValueError: rows need padding, but there is no `pad_token`; the length is negative.

        >>> from hf_bpe import BPETokenizer
        >>> tokenizer = BPETokenizer.train(["low"], vocab_size=257, special_tokens=["<|endoftext|>"])
        >>> tokenizer.pad_token = "<|endoftext|>"
        >>> ids, mask = tokenizer.encode_to_padded(["low", "lo"])
        >>> ids.tolist(), mask.tolist()
        ([[108, 111, 119], [108, 111, 256]], [[1, 1, 1], [1, 1, 0]])
        """
        check_choice("padding_side", self.padding_side, ("left", "right"))
        pad_id = self.pad_token_id
        padding = Padding(length, NO_ID if pad_id is None else pad_id, self.padding_side == "left")
        pipeline, random = self.pipeline, Randomness.from_arguments(dropout, seed, first_text)
        texts, threads = _check_texts("texts", texts), threads_of(num_workers)
        options = random.options(pipeline.options(split_special_tokens), len(texts))
        shape = ((), ()), None if length is None else (length, False), padding
        rows = encode_to_row_arrays(pipeline.encoder, texts, options, threads, shape)
        assert rows is not None  # no row is longer
        ids, mask = rows
        if pad_id is None and not mask.all():
            raise ValueError(
                "rows of different length need a pad_token, but there is none; set one of the special tokens, such as "
                "tokenizer.pad_token = tokenizer.eos_token, or train with pad_token='<pad>'"
            )
        return ids, mask

    @overload
    def count_tokens(  # type: ignore[overload-overlap]
        self, texts: AnyText, **options: Unpack[_Keywords]
    ) -> int: ...

    @overload
    def count_tokens(self, texts: Sequence[AnyText], **options: Unpack[_Keywords]) -> list[int]: ...

    @checked(**_ARGUMENTS)
    def count_tokens(
        self,
        texts: AnyText | Sequence[AnyText],
        *,
        split_special_tokens: bool | None = None,
        num_workers: int | None = None,
    ) -> int | list[int]:
        """Return the number of ids of a text, or of each text, without storing the ids.

        >>> from hf_bpe import BPETokenizer
        >>> tokenizer = BPETokenizer.train(["low"], vocab_size=256)
        >>> tokenizer.count_tokens("lo"), tokenizer.count_tokens(["lo", "", b"w"])
        (2, [2, 0, 1])
        """
        options, threads = self.pipeline.options(split_special_tokens), threads_of(num_workers)
        listed, is_one = _listed(texts)
        counts = count_tokens(self.pipeline.encoder, listed, options, threads)
        return counts[0] if is_one else counts

    @checked(**_ARGUMENTS)
    def encode_iterable(
        self, pieces: Iterable[AnyText], *, split_special_tokens: bool | None = None, num_workers: int | None = None
    ) -> Iterator[int]:
        """Yield the ids of the concatenation of pieces, exactly as if it were encoded whole.

        Pieces, str or bytes, may end anywhere: inside a word, a special token or (in bytes) a character. About 16 MB
        are held at a time, or the text up to the next safe cut if that is longer: one word, or everything if the
        pattern is None or a regular expression and there is no special token.

        >>> from hf_bpe import BPETokenizer
        >>> tokenizer = BPETokenizer.train(["low lower lowest"], vocab_size=258)
        >>> list(tokenizer.encode_iterable(["lo", "w lo", "w"])) == tokenizer.encode("low low")
        True
        """
        pipeline = self.pipeline
        options = pipeline.options(split_special_tokens)
        for ids in encode_blocks(pipeline.encoder, pieces, options, threads_of(num_workers)):
            yield from ids.tolist()

    def canonical_ids(self) -> CanonicalIds:
        """Return an object that checks and repairs ids, heals prompts, and masks the tokens that may not follow.

        >>> from hf_bpe import BPETokenizer
        >>> canonical = BPETokenizer.train(["low lower lowest"], vocab_size=260).canonical_ids()
        >>> canonical.is_canonical([108, 111, 119]), canonical.recanonicalize([108, 111, 119])
        (False, [257])
        """
        return CanonicalIds(self.pipeline.encoder, self.pipeline.token_tuples, self.pipeline.options())


def _check_text(name: str, value: Any) -> Any:
    if not isinstance(value, (str, bytes)):
        try:
            memoryview(value)  # a mutable buffer, which the native core would read while another thread changes it
        except TypeError:
            raise wrong_type(name, "str or bytes", value) from None
        raise TypeError(
            f"{name}: expected str or bytes, got {type(value).__name__}, which can change; give bytes(text)"
        )
    return value


def _listed(texts: AnyText | Sequence[AnyText]) -> tuple[list[AnyText], bool]:
    """Return a list of texts, and whether it is a single text that was given."""
    return ([texts], True) if isinstance(texts, (str, bytes)) else (_check_texts("texts", texts), False)


def _check_texts(name: str, value: object) -> list[AnyText]:
    """Return a copy of a list of texts, each str or bytes, because another thread may change the list."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name}: expected a list of texts, got a single {type(value).__name__}; write [text]")
    if isinstance(value, (list, tuple)):
        texts = [*value]
    else:
        refuse_tables(name, value)
        texts = [*elements(name, check_sequence(name, value, "a list of texts"))]
    if not (all(map(str.__instancecheck__, texts)) or {*map(type, texts)} <= {str, bytes}):
        for at, text in enumerate(texts):
            _check_text(f"{name}[{at}]", text)
    return texts
