"""The public methods of transformers that hf_bpe answers itself, for `BPETokenizer` and `BPETokenizerFast` alike.

What transformers does around a call takes several times as long as encoding twenty words. So the common case of each
method goes straight to the pipeline, and all else to `super()`, as if the method were not defined here: other
arguments, other types, classes that override what transformers would call, and tokenizers without a pipeline.

| method | what is answered here |
|---|---|
| `__call__` | a str, or a list of str; the options of `rows` |
| `encode` | a str; `add_special_tokens` |
| `decode` | a list of int, or several; `skip_special_tokens` |
| `batch_decode` | lists, arrays or tensors of ids; `skip_special_tokens` |
| `tokenize` | a str |
| `pad` | rows of ids and masks in lists, to tensors; the options of `rows` |

`convert_ids_to_tokens` and `convert_tokens_to_ids` are loops over what each class knows, and so in its own methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from hf_bpe.encoding._lazy_encodings import DeferredEncodings
from hf_bpe.formats._decoder import INVALID_ID_ERRORS
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.tokenizer._calls.encode import batch_encoding, encode_again
from hf_bpe.tokenizer._calls.usual_calls import are_usual, can_pad, encode_rows, pad_encoded
from hf_bpe.tokenizer._self_types import AnyTokenizer

_COLUMNS = ["input_ids", "attention_mask"]
"""The `model_input_names` of decoder models, and so the columns of a call."""

_ENCODE_HOOKS = {"_encode_plus", "_eventual_warn_about_too_long_sequence", "_get_padding_truncation_strategies"}
_TOKENIZE_HOOKS = {"tokenize", "_tokenize", "prepare_for_tokenization"}
_ID_HOOKS = {"convert_tokens_to_ids", "_convert_token_to_id", "_convert_token_to_id_with_added_voc"}
_ROW_HOOKS = {"build_inputs_with_special_tokens", "create_token_type_ids_from_sequences", "prepare_for_model"}
_ROW_HOOKS |= {"get_special_tokens_mask", "num_special_tokens_to_add", "truncate_sequences", "pad", "_pad"}
_DECODE_HOOKS = {"_convert_id_to_token", "convert_ids_to_tokens", "convert_tokens_to_string"}

HOOKS: dict[str, dict[str, set[str]]] = {
    "python": {
        "__call__": _ENCODE_HOOKS | _TOKENIZE_HOOKS | _ID_HOOKS | _ROW_HOOKS | {"_switch_to_input_mode"},
        "encode": _ENCODE_HOOKS | _TOKENIZE_HOOKS | _ID_HOOKS | _ROW_HOOKS,
        "tokenize": {"_tokenize", "prepare_for_tokenization", "_convert_id_to_token", "convert_ids_to_tokens"},
        "decode": {"_decode", "decode_bytes"} | _DECODE_HOOKS,
        "batch_decode": {"decode", "_decode", "decode_bytes"} | _DECODE_HOOKS,
        "pad": {"_pad", "_get_padding_truncation_strategies"},
    },
    "tokenizers": {
        "__call__": _ENCODE_HOOKS | {"_convert_encoding", "set_truncation_and_padding", "_switch_to_input_mode"},
        "encode": _ENCODE_HOOKS | {"_convert_encoding", "set_truncation_and_padding"},
        "tokenize": {"_encode_plus", "_convert_encoding", "set_truncation_and_padding"},
        "decode": {"_decode"},
        "batch_decode": {"decode", "_decode"},
        "pad": {"_pad", "_get_padding_truncation_strategies"},
        "convert_tokens_to_ids": {"_convert_token_to_id_with_added_voc"},
    },
}
"""Backend of transformers → method → what transformers would call for it, which a subclass may override.

If a subclass overrides `_tokenize`, for example, its `encode` is left to `super()`, which calls `_tokenize`.
"""

PYTHON_ENCODE_HOOKS = frozenset(_TOKENIZE_HOOKS | _ID_HOOKS)
"""Hooks of a Python tokenizer with which only transformers can encode a text: it tokenizes, and then looks up ids."""

PYTHON_DECODE_HOOKS = frozenset(_DECODE_HOOKS)
"""Hooks of a Python tokenizer with which only transformers can decode: it looks up tokens, and then joins them."""

_DECODING_OPTIONS = {"clean_up_tokenization_spaces"}

ALL_HOOKS = frozenset(name for methods in HOOKS.values() for hooks in methods.values() for name in hooks)


class DirectMethods(AnyTokenizer):
    """The methods, as the first base of a class whose other bases say what `super()` is.

    A class states its backend, `class Tokenizer(DirectMethods, …, backend="python")`, and has:

        _pipeline: the `Pipeline` of the tokenizer as it is now; None if there is none.
        _decoding_pipeline: the same, for decoding.
        _cleans_up(option): whether decoding cleans up spaces, by the option of the call.
        _tokens_of_ids(pipeline, ids): the tokens of ids, in the form of `tokenize`; None if the text decides on them.
        _type_ids_maker(): the function that gives the token type ids of sequences; None for those of the template.

    `split_special_tokens` is read of the pipeline, or of the tokenizer if the backend is "tokenizers".
    """

    _direct_base: ClassVar[tuple[type, str]]  # the class with which subclasses are compared, and its backend
    _overridden: frozenset[str] = frozenset()  # names of ALL_HOOKS
    _is_split_of_pipeline: ClassVar[bool]
    _answers_call = _answers_encode = _answers_tokenize = _answers_decode = _answers_batch_decode = True
    _answers_pad = True

    def __init_subclass__(cls, backend: str | None = None, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if backend is not None:
            cls._direct_base, cls._is_split_of_pipeline = (cls, backend), backend == "python"
        base = cls._direct_base[0]
        cls._overridden = frozenset(
            name for name in ALL_HOOKS if getattr(cls, name, None) is not getattr(base, name, None)
        )
        for name, answers in _answers(cls).items():
            setattr(cls, name, answers)

    if not TYPE_CHECKING:  # which sees the methods of transformers

        def __setattr__(self, key, value):
            super().__setattr__(key, value)
            if key in ALL_HOOKS and key in self.__dict__:  # a method of this object alone
                self.__dict__["_overridden"] = self._overridden | {key}
                self.__dict__.update(_answers(self))

        def __call__(self, text=None, text_pair=None, *args, **kwargs):
            if text_pair is None and not args and self._answers_call and self.model_input_names == _COLUMNS:
                if type(text) is str and (not kwargs or _only_adds(kwargs)):
                    pipeline = self._pipeline
                    if pipeline is not None:
                        split_special_tokens = (pipeline if self._is_split_of_pipeline else self).split_special_tokens
                        add_special_tokens = not kwargs or kwargs["add_special_tokens"]
                        ids = pipeline.encode_text(text, split_special_tokens, add_special_tokens)
                        if len(ids) > self.model_max_length:
                            self._eventual_warn_about_too_long_sequence(ids, None, True)
                        encodings = DeferredEncodings(
                            partial(encode_again, self, pipeline, [text], split_special_tokens, add_special_tokens)
                        )
                        return batch_encoding({"input_ids": ids, "attention_mask": [1] * len(ids)}, encodings)
                elif (type(text) is str or type(text) is list) and text and are_usual(kwargs):
                    text = text if type(text) is str else [*text]
                    pipeline = self._pipeline if type(text) is str or {*map(type, text)} == {str} else None
                    if pipeline is not None:
                        split_special_tokens = (pipeline if self._is_split_of_pipeline else self).split_special_tokens
                        encoded = encode_rows(self, pipeline, text, split_special_tokens, kwargs)
                        if encoded is not None:
                            return encoded
            return super().__call__(text, text_pair, *args, **kwargs)

        def encode(self, text, text_pair=None, add_special_tokens=True, *args, **kwargs):
            """Return the ids of a text; the arguments are those of transformers' `encode`, and two of tiktoken's.

            Args:
                text, text_pair: the text, and the second of a pair.
                add_special_tokens: add the special tokens of the template.
                args, kwargs: as in transformers. As in tiktoken, and in calls of the tokenizer, too, `BPETokenizer`
                    takes `allowed_special`, a set of the special tokens that are encoded as such, or "all", and
                    `disallowed_special`, those that raise a ValueError, "all" for all that are not allowed. Other
                    special tokens in the text are encoded as ordinary text. If one of the two is given, the default
                    of the other is tiktoken's: no allowed tokens, all disallowed.

            >>> from hf_bpe import BPETokenizer
            >>> tokenizer = BPETokenizer.train(["low"], vocab_size=257, special_tokens=["<|x|>"])
            >>> tokenizer.encode("l<|x|>"), len(tokenizer.encode("l<|x|>", disallowed_special=()))
            ([108, 256], 6)
            """
            if (
                type(text) is str
                and text_pair is None
                and (add_special_tokens is True or add_special_tokens is False)
                and not args
                and not kwargs
                and self._answers_encode
            ):
                pipeline = self._pipeline
                if pipeline is not None:
                    split_special_tokens = (pipeline if self._is_split_of_pipeline else self).split_special_tokens
                    ids = pipeline.encode_text(text, split_special_tokens, add_special_tokens)
                    if len(ids) > self.model_max_length:
                        self._eventual_warn_about_too_long_sequence(ids, None, True)
                    return ids
            return super().encode(text, text_pair, add_special_tokens, *args, **kwargs)

        def tokenize(self, text, pair=None, add_special_tokens=False, **kwargs):
            """Return the tokens of a text, or of a pair, in printable form.

            `kwargs` are other options of calls, as in transformers, which does not truncate here. Tokens of added
            tokens are their content; those of `BPETokenizerFast` are the text that they take, as in `tokenizers`.
            """
            if type(text) is str and pair is None and add_special_tokens is False and not kwargs:
                pipeline = self._pipeline if self._answers_tokenize else None
                if pipeline is not None:
                    split_special_tokens = (pipeline if self._is_split_of_pipeline else self).split_special_tokens
                    tokens = self._tokens_of_ids(pipeline, pipeline.encode_text(text, split_special_tokens, False))
                    if tokens is not None:
                        return tokens
            return super().tokenize(text, pair, add_special_tokens, **kwargs)

        def decode(self, token_ids, skip_special_tokens=False, **kwargs):
            """Return the text of ids, or a list of texts of several rows of ids.

            Args:
                token_ids: an id, a sequence of ids, or several sequences of ids; lists, arrays or tensors.
                skip_special_tokens: leave special tokens out.
                kwargs: `clean_up_tokenization_spaces`, as in transformers; it damages the text of byte-level BPE.
                    `BPETokenizer` takes it only per call and ignores the setting of that name.
            """
            if (
                (skip_special_tokens is False or skip_special_tokens is True)
                and self._answers_decode
                and (not kwargs or kwargs.keys() == _DECODING_OPTIONS)
                and not self._cleans_up(kwargs.get("clean_up_tokenization_spaces"))
            ):
                pipeline = self._decoding_pipeline
                if pipeline is not None:
                    texts = _texts(pipeline, token_ids, pipeline.skipped(skip_special_tokens))
                    if texts is not None:
                        return texts
            return super().decode(token_ids, skip_special_tokens, **kwargs)

        def batch_decode(self, sequences, skip_special_tokens=False, *args, **kwargs):
            """Return the texts of several rows of ids, as in transformers."""
            if (
                not args
                and self._answers_batch_decode
                and _are_several_rows(sequences)
                and not self._cleans_up(kwargs.get("clean_up_tokenization_spaces"))
            ):
                # transformers would first walk through all ids in Python.
                return [*self.decode(sequences, skip_special_tokens, **kwargs)]
            return super().batch_decode(sequences, skip_special_tokens, *args, **kwargs)

        def pad(self, encoded_inputs, *args, **kwargs):
            """Pad encoded rows, as in transformers."""
            if not args and self._answers_pad and can_pad(kwargs) and self.model_input_names == _COLUMNS:
                padded = pad_encoded(self, encoded_inputs, kwargs)
                if padded is not None:
                    return padded
            return super().pad(encoded_inputs, *args, **kwargs)


def _texts(pipeline: Pipeline, ids: Any, skipped: bytes) -> str | list[str] | None:
    """Return the text of ids, or the texts of rows of ids; None for what the pipeline cannot decode."""
    if type(ids) is not list:
        ids = ids.tolist() if hasattr(ids, "tolist") else ids
        if type(ids) is int:
            ids = [ids]
        elif type(ids) not in (list, tuple):
            return None
    if not ids:
        return None
    try:
        if type(ids[0]) is int:
            return pipeline.decoder.text(ids, skipped, pipeline.errors)
        if getattr(ids[0], "ndim", 0) == 1:
            ids = [row.tolist() if hasattr(row, "tolist") else row for row in ids]
        if are_rows_of_ids(ids):
            return pipeline.decoder.texts(ids, skipped, pipeline.errors)
    except INVALID_ID_ERRORS:
        pass  # what is inherited says what is wrong, or decodes them in another way
    return None


def are_rows_of_ids(rows: Sequence[Any]) -> bool:
    """Say whether all rows are lists or tuples that begin with an int, as nearly always, without a call for each."""
    return {*map(type, rows)} <= {list, tuple} and {type(row[0]) for row in rows if row} <= {int}


def _are_several_rows(sequences: Any) -> bool:
    """Say whether sequences are surely rows of ids: lists or arrays of ids, or an array of two dimensions."""
    if isinstance(sequences, (list, tuple)):
        if are_rows_of_ids(sequences):
            return len(sequences) > 0
        return all(getattr(row, "ndim", 0) == 1 for row in sequences)
    return getattr(sequences, "ndim", 0) == 2 and len(sequences) > 0


def _answers(tokenizer: DirectMethods | type[DirectMethods]) -> dict[str, bool]:
    """Return whether each method is answered directly by a class or object, by the name of the attribute."""
    hooks = HOOKS[tokenizer._direct_base[1]]
    return {f"_answers_{name.strip('_')}": tokenizer._overridden.isdisjoint(hooks[name]) for name in hooks}


def _only_adds(kwargs: dict[str, object]) -> bool:
    """Say whether the only option of a call is `add_special_tokens`, True or False."""
    return len(kwargs) == 1 and type(kwargs.get("add_special_tokens")) is bool
