"""Fast paths into the native core, each with a fallback through `Encoder`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from hf_bpe._native_core import native_core

if TYPE_CHECKING:
    from typing import TypeGuard

    from typing_extensions import Buffer

    from hf_bpe.encoding._encoder import AnyText, Encoder, Ids, Numbers, Options, TemplateIds
    from hf_bpe.encoding._layout import Layout, RowArrays, RowLists, RowShape
    from hf_bpe.encoding._prepared_encoder import PreparedEncoder

_MAX_TEXTS_WITHOUT_ARRAYS = 8

TextEncoder = Callable[[str | bytes, bool, bool], list[int]]
"""The ids of a text, given whether special tokens are split, and whether those of the template are added."""


def is_native(encoder: Encoder) -> TypeGuard[Any]:
    """Return whether an encoder is one of the native core."""
    native = native_core()
    return native is not None and isinstance(encoder, native.Encoder)


def as_prepared(encoder: Encoder) -> PreparedEncoder | None:
    """Return an encoder that has a step before encoding; None for another."""
    # The class is not imported, because it imports numpy.
    return encoder if hasattr(encoder, "preparation") else None  # type: ignore[return-value]


def call_core(encoder: Encoder, method: str, texts: list[AnyText], options: Options, *arguments: Any) -> Any:
    """Return what a method of the native core returns for texts; None if it does not encode them as they are."""
    if is_native(encoder):
        return getattr(encoder, method)(texts, options, *arguments)
    prepared = as_prepared(encoder)
    return None if prepared is None else prepared.call_core(method, texts, options, *arguments)


def encode_batch(encoder: Encoder, texts: list[AnyText], options: Options, threads: int) -> list[list[int]]:
    """Return the ids of each text; for the benchmark `encode --into lists`."""
    lists: list[list[int]] | None = call_core(encoder, "encode_batch", texts, options, threads)
    if lists is not None:
        return lists
    if len(texts) <= _MAX_TEXTS_WITHOUT_ARRAYS:
        return [encoder.encode(text, options.for_parts([(number, 0)])) for number, text in enumerate(texts)]
    ids, offsets = encoder.encode_to_numpy(texts, options, threads)
    flat = ids.tolist()
    return [flat[begin:end] for begin, end in pairwise(offsets.tolist())]


def count_tokens(encoder: Encoder, texts: list[AnyText], options: Options, threads: int) -> list[int]:
    """Return the number of ids of each text; the core does not store them."""
    counts: list[int] | None = call_core(encoder, "count_tokens", texts, options, threads)
    if counts is not None:
        return counts
    _, offsets = encoder.encode_to_numpy(texts, options, threads)
    return [end - begin for begin, end in pairwise(offsets.tolist())]


def encode_utf8(
    encoder: Encoder, texts: tuple[Buffer, Numbers, Numbers], options: Options, threads: int
) -> tuple[Ids, Numbers]:
    """Return the results of `encode_to_numpy` for texts in one buffer, given with the begin and end of each.

    For arrays of Arrow, of which no text becomes an object.
    """
    if is_native(encoder):
        return encoder.encode_utf8(*texts, options, threads)  # type: ignore[no-any-return]
    from hf_bpe.encoding._prepared_encoder import are_among, encode_each

    data, begins, ends = texts
    prepared = as_prepared(encoder)

    def encode(numbers: list[int], are_changed: int) -> tuple[Ids, Numbers]:
        chosen = options.for_parts((number, 0) for number in numbers)
        if prepared is not None and not are_changed:
            return encode_utf8(prepared.unchanged_encoder, (data, begins[numbers], ends[numbers]), chosen, threads)
        view = memoryview(data).cast("B")
        spans = zip(begins[numbers].tolist(), ends[numbers].tolist(), strict=True)
        return encoder.encode_to_numpy([bytes(view[begin:end]) for begin, end in spans], chosen, threads)

    changed = None if prepared is None else prepared.preparation.changed_spans(data, begins, ends)
    return encode_each(are_among(range(len(begins)) if changed is None else changed, len(begins)), encode)


def text_encoder(
    encoder: Encoder,
    usual: Options,
    as_text: Options,
    template_ids: TemplateIds,
    on_double_start: Callable[[], object] | None,
) -> TextEncoder:
    """Return a function that encodes one text, with options and template bound.

    The options are `as_text` if special tokens are split. If the ids of a text begin with the token that the template
    puts first, `on_double_start` is called. For the benchmarks `latency`, `calls` and `servers`.
    """
    arguments = usual, as_text, template_ids, on_double_start
    if is_native(encoder):
        return encoder.text_encoder(*arguments)  # type: ignore[no-any-return]
    encode, before, after = encoder.encode, *map(list, template_ids)

    def encode_any_text(text: AnyText, split_special_tokens: bool, add_special_tokens: bool) -> list[int]:
        ids = encode(text, as_text if split_special_tokens else usual)
        if not add_special_tokens:
            return ids
        if before and ids and ids[0] == before[0] and on_double_start is not None:
            on_double_start()
        return [*before, *ids, *after]

    prepared = as_prepared(encoder)
    if prepared is None:
        return encode_any_text
    encode_unchanged, is_unchanged = text_encoder(prepared.unchanged_encoder, *arguments), prepared.is_unchanged

    def encode_checked(text: AnyText, split_special_tokens: bool, add_special_tokens: bool) -> list[int]:
        is_same = is_unchanged(text, as_text if split_special_tokens else usual)
        return (encode_unchanged if is_same else encode_any_text)(text, split_special_tokens, add_special_tokens)

    native = native_core()
    if prepared.nfc_checking_encoder is None or native is None:
        return encode_checked
    encode_or_refuse = text_encoder(prepared.nfc_checking_encoder, *arguments)
    refusal: type[ValueError] = native.MayNotBeNfc

    def encode_nfc(text: AnyText, split_special_tokens: bool, add_special_tokens: bool) -> list[int]:
        with suppress(refusal):
            return encode_or_refuse(text, split_special_tokens, add_special_tokens)
        return encode_checked(text, split_special_tokens, add_special_tokens)

    return encode_nfc


def encode_to_rows(encoder: Encoder, texts: list[AnyText], options: Options, threads: int, shape: RowShape) -> RowLists:
    """Return the ids of each text in a row of its own, and masks.

    The benchmark is "lists" of benchmarks/calls.py. For `texts`, `options` and `threads` see `Encoder.encode_to_numpy`.
    """
    rows: RowLists | None = call_core(encoder, "encode_to_rows", texts, options, threads, *shape)
    return _layout(encoder, texts, options, threads, shape).to_lists() if rows is None else rows


def encode_to_row_arrays(
    encoder: Encoder, texts: list[AnyText], options: Options, threads: int, shape: RowShape
) -> RowArrays | None:
    """Return the rows and masks of `encode_to_rows` as arrays; None if they are no rectangle of the wanted length.

    The benchmarks are "call, 20 words, numpy" and "padded" of benchmarks/calls.py.
    """
    arrays: RowArrays | None = call_core(encoder, "encode_to_row_arrays", texts, options, threads, *shape)
    if arrays is not None:
        return arrays
    layout = _layout(encoder, texts, options, threads, shape)
    return None if layout.width is not None and layout.longest > layout.width else layout.to_arrays()


def _layout(encoder: Encoder, texts: list[AnyText], options: Options, threads: int, shape: RowShape) -> Layout:
    from hf_bpe.encoding._layout import Layout  # imports numpy

    template, limit, padding = shape
    return Layout.from_offsets(*encoder.encode_to_numpy(texts, options, threads), 1, template).arranged(limit, padding)


def lacks_bytes(encoder: Encoder) -> bool:
    """Return whether the vocabulary of an encoder is missing tokens for some bytes."""
    core = _core(encoder)
    return bool(core.lacks_bytes if is_native(core) else core.model.lacks_bytes)


def last_merges(encoder: Encoder, words: list[bytes]) -> Numbers | None:
    """Return for each word the rank of its last merge if the merges make one token of it, else -1.

    None if the encoder does not tell, as for models of characters, whose merges join bytes to characters, too.
    """
    core = _core(encoder)
    return core.last_merges(words) if is_native(core) and core.model.alphabet.is_bytes else None


def _core(encoder: Encoder) -> Any:
    prepared = as_prepared(encoder)
    return encoder if prepared is None else prepared.core
