"""Calls of the tokenizer: encode all texts at once, and lay out the ids in rows.

transformers routes every `__call__` and `encode` to `_encode_plus`. This implementation returns what transformers'
Python tokenizers return, and also what fast tokenizers return: offsets, words, overflowing windows. Ids given instead
of texts are handled by transformers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

from transformers.tokenization_utils_base import BatchEncoding, TruncationStrategy
from transformers.utils import PaddingStrategy, TensorType, is_torch_available

from hf_bpe._utils.arguments import check_choice, refuse_unknown, short_repr, wrong_type
from hf_bpe.encoding import _randomness
from hf_bpe.encoding._batch_layout import Layout
from hf_bpe.encoding._encoder import AnyText, Encoder, Numbers, Options, Padding, TemplateIds
from hf_bpe.encoding._lazy_encodings import NO_ID, Encodings, Source
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.tokenizer._inherited import ARGUMENTS
from hf_bpe.tokenizer._options import without_others


class Inputs(NamedTuple):
    """The texts of a call in a uniform layout.

    Attributes:
        texts: all texts in order: of each row the first sequence, then the second.
        bounds: the index in `texts` at which each sequence begins, and the end of the last, if sequences are given in
            words; None if each text is a sequence.
        per_row: the number of sequences in a row.
        is_batched: whether the call requests several rows.
    """

    texts: list[AnyText]
    bounds: list[int] | None
    per_row: int
    is_batched: bool

    @classmethod
    def of(cls, text: Any, pair: Any, in_words: bool) -> Inputs | None:
        """Parse the arguments of a call; None if they are not texts, or their numbers differ."""
        is_one = _is_words if in_words else _is_text
        if is_one(text):
            if pair is not None and not is_one(pair):
                return None
            return cls._made([text] if pair is None else [text, pair], 1 if pair is None else 2, False, in_words)
        if not isinstance(text, (list, tuple)):
            return None
        text = [*text]  # brings the texts into the caches, which checking one by one would wait for
        if pair is not None:
            if not isinstance(pair, (list, tuple)) or len(pair) != len(text) or not all(map(is_one, [*text, *pair])):
                return None
            return cls._made([each for row in zip(text, pair, strict=True) for each in row], 2, True, in_words)
        if all(map(is_one, text)):
            return cls._made(text, 1, True, in_words)
        is_pair = (tuple,) if in_words else (tuple, list)
        if all(isinstance(row, is_pair) and len(row) == 2 and all(map(is_one, row)) for row in text):
            return cls._made([each for row in text for each in row], 2, True, in_words)
        return None

    @classmethod
    def _made(cls, sequences: list[Any], per_row: int, is_batched: bool, in_words: bool) -> Inputs:
        if not in_words:
            return cls(sequences, None, per_row, is_batched)
        bounds = [0, *accumulate(map(len, sequences))]
        return cls([word for words in sequences for word in words], bounds, per_row, is_batched)


_is_text: Callable[[Any], bool] = str.__instancecheck__  # `isinstance` without a frame for each text


def _is_words(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(map(_is_text, value))


class Call(NamedTuple):
    """The arguments of `_encode_plus`; see the documentation of `__call__` in transformers."""

    add_special_tokens: bool = True
    padding_strategy: PaddingStrategy = PaddingStrategy.DO_NOT_PAD
    truncation_strategy: TruncationStrategy = TruncationStrategy.DO_NOT_TRUNCATE
    max_length: int | None = None
    stride: int = 0
    is_split_into_words: bool = False
    pad_to_multiple_of: int | None = None
    padding_side: str | None = None
    return_tensors: Any = None
    return_token_type_ids: bool | None = None
    return_attention_mask: bool | None = None
    return_overflowing_tokens: bool = False
    return_special_tokens_mask: bool = False
    return_offsets_mapping: bool = False
    return_length: bool = False
    verbose: bool = True
    split_special_tokens: bool | None = None

    @property
    def limit(self) -> int | None:
        """The number of ids to which rows are truncated; None for no truncation."""
        return None if self.truncation_strategy == TruncationStrategy.DO_NOT_TRUNCATE else self.max_length


_CALL_NAMES = frozenset(Call._fields)
# transformers and its processors pass the others to every tokenizer.
_KNOWN = _CALL_NAMES | {"padding", "truncation", "sanitize_control_tokens", "return_mm_token_type_ids"}
_KNOWN |= {"allowed_special", "disallowed_special", *_randomness.NAMES}
# Arguments that allow the fast path for a single text: those that decide only the ids and the mask.
_PLAIN_NAMES = {"add_special_tokens", "split_special_tokens", "return_attention_mask", "verbose", "max_length"}
_MORE = {name: value for name, value in Call._field_defaults.items() if name not in _PLAIN_NAMES}
_CHECKS = {name: check for name, check in ARGUMENTS.items() if name in _CALL_NAMES}


def _is_plain(inputs: Inputs, given: dict[str, Any]) -> bool:
    if inputs.is_batched or inputs.per_row != 1 or inputs.bounds is not None:
        return False
    return all(given.get(name, plain) == plain for name, plain in _MORE.items())


class WarningsGiven(dict[str, bool]):
    """The warnings that transformers has given; excluded from pickles and fingerprints of the tokenizer."""

    def __reduce__(self) -> tuple[type[WarningsGiven], tuple[()]]:
        return WarningsGiven, ()


def checked_inputs(text: Any, text_pair: Any, given: dict[str, Any]) -> Inputs | None:
    """Return the texts of a call, or None if transformers has to handle it; check the other arguments in place."""
    check_call_options(given)
    if isinstance(given.get("return_tensors"), bool):
        raise wrong_type("return_tensors", "None or the name of a kind of tensors", given["return_tensors"])
    if given.get("sanitize_control_tokens"):
        return None
    return Inputs.of(text, text_pair, given.get("is_split_into_words", False))


def check_call_options(given: dict[str, Any]) -> None:
    """Check the options of a call in place.

    Raises:
        TypeError: there is no such option.
        ValueError: an option has a value that it cannot have.
    """
    for name, value in given.items():
        if value is not None and value is not True and value is not False and name in _CHECKS:
            given[name] = _CHECKS[name](name, value)
    if not given.keys() <= _KNOWN:
        refuse_unknown("BPETokenizer", without_others("BPETokenizer", given), _KNOWN)


def check_inherited_call(text: Any, text_pair: Any, given: dict[str, Any]) -> None:
    """Raise a ValueError for arguments of a call that transformers cannot handle."""
    in_words = given.get("is_split_into_words", False)
    _check_input("text", text, in_words)
    if text_pair is not None:
        _check_input("text_pair", text_pair, in_words)
    for name in ("return_offsets_mapping", "return_overflowing_tokens"):
        if given.get(name) and given.get("sanitize_control_tokens"):
            raise ValueError(
                f"{name}=True: got sanitize_control_tokens=True, with which transformers encodes a text in parts; "
                "expected one of the two (split_special_tokens=True encodes all special tokens as text)"
            )
        if given.get(name):
            raise ValueError(f"{name}=True: expected texts, either all single or all in pairs (text_pair)")


def _check_input(name: str, value: Any, in_words: bool) -> None:
    """Raise a ValueError if the value is neither text nor ids."""
    if not _is_input(value, in_words, depth=3):
        words = "lists of str, because is_split_into_words is set" if in_words else "a str, or a list of str"
        raise ValueError(f"{name}: expected {words}, a list or pair of these, or ids; got {short_repr(value)}")


def _is_input(value: Any, in_words: bool, depth: int) -> bool:
    if isinstance(value, str):
        return not in_words or depth < 3
    if not isinstance(value, (list, tuple)) or depth == 0:
        return False
    return all(type(each) is int for each in value) or all(_is_input(each, in_words, depth - 1) for each in value)


def encode_call(
    tokenizer: Any,
    pipeline: Pipeline,
    source: Source,
    inputs: Inputs,
    template: TemplateIds,
    given: dict[str, Any],
    make_type_ids: Callable[..., list[int]] | None = None,
) -> BatchEncoding:
    """Return the result of a call for texts.

    Args:
        tokenizer: a tokenizer of transformers, which decides on sides, padding and the columns of the result.
        pipeline: that of the tokenizer.
        source, inputs, template: the texts, and the ids that are put around them.
        given: arguments of `Call`.
        make_type_ids: its method for token type ids; None for those of the template.
    """
    names = tokenizer.model_input_names
    type_ids = partial(_type_ids, tokenizer, pipeline, make_type_ids, given.get("add_special_tokens", True))
    to_tokens = tokenizer.convert_ids_to_tokens
    if _is_plain(inputs, given) and "token_type_ids" not in names:
        # A fast path for the ids and mask of one text, with the same result as the general one.
        ids = plain_ids(source.encoder, inputs.texts[0], source.options, template)
        tokenizer._eventual_warn_about_too_long_sequence(ids, given.get("max_length"), given.get("verbose", True))
        data: dict[str, Any] = {"input_ids": ids}
        if _gives("attention_mask", given.get("return_attention_mask"), names):
            data["attention_mask"] = [1] * len(ids)
        lazy = partial(source.layout, 1, template)
        encodings = pipeline.lazy_encodings(source, lazy, NO_ID, type_ids, to_tokens)
        return BatchEncoding(data, encodings, n_sequences=1)
    call = Call(**{name: value for name, value in given.items() if name in _CALL_NAMES})
    layout = source.layout(inputs.per_row, template)
    if call.limit is None:
        tokenizer._eventual_warn_about_too_long_sequence(range(layout.longest), call.max_length, call.verbose)
    layout, samples = _arrange(layout, call, tokenizer.truncation_side, tokenizer.padding_side)
    pad_id: Any = NO_ID if layout.width is None else tokenizer.pad_token_id
    encodings = pipeline.lazy_encodings(source, lambda: layout, pad_id, type_ids, to_tokens)
    data = _columns(layout, source.encoder, pad_id, encodings, type_ids, call, names, inputs.is_batched)
    if call.return_overflowing_tokens:
        data["overflow_to_sample_mapping"] = samples
    if not (inputs.is_batched or call.return_tensors or call.return_overflowing_tokens):
        data = {name: values[0] for name, values in data.items()}
    return BatchEncoding(data, encodings, call.return_tensors, n_sequences=inputs.per_row)


def plain_ids(encoder: Encoder, text: AnyText, options: Options, template: TemplateIds) -> list[int]:
    """Return the ids of one text with the special tokens of a template."""
    ids = encoder.encode(text, options)
    return [*template[0], *ids, *template[1]] if any(template) else ids


def _arrange(layout: Layout, call: Call, truncation_side: str, padding_side: str) -> tuple[Layout, list[int]]:
    """Truncate and pad rows; return them and the index of each row's text, which may overflow into several rows."""
    samples = [*range(len(layout.spans))]
    if call.limit is not None:
        how, from_left = (call.limit, call.truncation_strategy.value), truncation_side == "left"
        if call.return_overflowing_tokens:
            layout, samples = layout.windows(*how, call.stride, from_left=from_left)
        else:
            layout = layout.truncated(*how, from_left=from_left)
    if call.padding_strategy != PaddingStrategy.DO_NOT_PAD:
        length = call.max_length if call.padding_strategy == PaddingStrategy.MAX_LENGTH else None
        side = padding_side if call.padding_side is None else call.padding_side
        check_choice("padding_side", side, ("left", "right"))
        layout = layout.padded(length, call.pad_to_multiple_of, left=side == "left")
    return layout, samples


def _columns(
    layout: Layout,
    encoder: Encoder,
    pad_id: int,
    encodings: Encodings,
    type_ids: Callable[[Layout, int], list[int]],
    call: Call,
    names: Collection[str],
    is_batched: bool,
) -> dict[str, Any]:
    """Return the requested columns by name, each with a value for each row; `names` are those given by default."""
    rows = range(len(layout.spans))
    with_mask = _gives("attention_mask", call.return_attention_mask, names)
    data: dict[str, Any] = {}
    mask: Any
    if call.return_tensors and (layout.padded_lengths == layout.longest_padded).all():
        to_longest = Padding(layout.longest_padded, pad_id, layout.pads_left)
        ids, mask = encoder.rows_to_arrays(layout.ids, layout.spans, layout.template, to_longest)
        data["input_ids"] = _as_tensor(ids, call.return_tensors)
        mask = _as_tensor(mask, call.return_tensors)
    else:
        padding = None if layout.width is None else Padding(layout.width, pad_id, layout.pads_left)
        data["input_ids"], mask = encoder.rows_to_lists(layout.ids, layout.spans, layout.template, padding)
    if _gives("token_type_ids", call.return_token_type_ids, names):
        data["token_type_ids"] = [type_ids(layout, row) for row in rows]
    if call.return_special_tokens_mask:
        sizes = layout.sequence_lengths.tolist()
        data["special_tokens_mask"] = [layout.column(1, [[0] * size for size in row], 1) for row in sizes]
    if call.return_offsets_mapping:
        data["offset_mapping"] = [encodings.offsets(row) for row in rows]
    if call.return_length:
        # As in transformers' Python tokenizers, lengths of rows in a batch exclude padding.
        is_padding_left_out = is_batched and not call.return_overflowing_tokens
        data["length"] = (layout.lengths if is_padding_left_out else layout.padded_lengths).tolist()
    if with_mask:
        data["attention_mask"] = mask
    return data


def _gives(name: str, wanted: bool | None, names: Collection[str]) -> bool:
    return name in names if wanted is None else wanted


def _type_ids(
    tokenizer: Any,
    pipeline: Pipeline,
    make_type_ids: Callable[..., list[int]] | None,
    add_special_tokens: bool,
    layout: Layout,
    row: int,
) -> list[int]:
    is_of_template = pipeline.template is not None and pipeline.template.has_type_ids
    if is_of_template or make_type_ids is None or not add_special_tokens:
        return pipeline.type_ids(add_special_tokens, layout, row, tokenizer.pad_token_type_id)
    values = make_type_ids(*([0] * size for size in layout.sequence_lengths[row].tolist()))
    return layout.filled_up(values, tokenizer.pad_token_type_id)


def _as_tensor(array: Numbers, kind: Any) -> Any:
    """Return a torch tensor that shares the memory of an array, if torch tensors are requested."""
    if TensorType(kind) != TensorType.PYTORCH or not is_torch_available():
        return array  # BatchEncoding makes other tensors of it, or raises an error for a missing library
    import torch

    return torch.from_numpy(array)
