"""BPETokenizerFast: the fast tokenizer of transformers, with our pipeline for calls, encoding and decoding.

It holds a real `tokenizers.Tokenizer`, so whatever asks for one finds it: structured generation, servers, converters.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from tokenizers import AddedToken, Tokenizer
from transformers.tokenization_utils_base import BatchEncoding, TruncationStrategy
from transformers.utils import PaddingStrategy, TensorType

from hf_bpe._utils.paths import check_output
from hf_bpe.encoding._lazy_encodings import EncodedTexts
from hf_bpe.encoding._randomness import refuse_randomness
from hf_bpe.encoding._sessions.prefix_cache import PrefixCache
from hf_bpe.fast._fast_pipeline import FastPipeline
from hf_bpe.fast._pipeline_slot import PipelineSlot
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.tokenizer._calls.arguments import Call, Inputs
from hf_bpe.tokenizer._calls.direct import DirectMethods
from hf_bpe.tokenizer._calls.encode import encode_call, warn_of_too_long
from hf_bpe.tokenizer._methods.decoding import cleans_up
from hf_bpe.tokenizer._methods.shared import SharedMethods
from hf_bpe.tokenizer._self_types import AnyTokenizer

if TYPE_CHECKING:
    from hf_bpe.tokenizer._transformers_types import PreTrainedTokenizer as PreTrainedTokenizerFast
else:
    from transformers.tokenization_utils_tokenizers import PreTrainedTokenizerFast


_FIRST = ("input_ids", "token_type_ids", "attention_mask")
_TENSORS = (None, "pt", "np", TensorType.PYTORCH, TensorType.NUMPY)


class _BackedMethods(AnyTokenizer):
    """Methods of `BPETokenizerFast` for calls that `DirectMethods` does not answer, and what these need."""

    _accelerates: Any = PreTrainedTokenizerFast  # the class in transformers
    _prefix_cache: PrefixCache | None = None

    # What transformers reads and changes as an attribute. Whoever gets the backend may change it.
    @property
    def _tokenizer(self) -> Tokenizer | None:
        attributes = vars(self)
        if "_pipeline_slot" in attributes:
            attributes["_pipeline_slot"].mark_exposed()
        return attributes.get("_tokenizer")

    @_tokenizer.setter
    def _tokenizer(self, value: Tokenizer | None) -> None:
        vars(self).update(_tokenizer=value, _pipeline_slot=PipelineSlot())
        vars(self)["_pipeline_slot"].add_owner(self)

    @classmethod
    def from_pretrained(cls, *args: object, **kwargs: object) -> Any:
        """Load a folder or a repository, as in transformers."""
        tokenizer = super().from_pretrained(*args, **kwargs)
        vars(tokenizer)["_pipeline_slot"].seal(tokenizer, kwargs.values())
        return tokenizer

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if "_pipeline_slot" in state:  # a copy shares it
            state["_pipeline_slot"].add_owner(self)

    @property
    def _pipeline(self) -> FastPipeline | None:
        return self._encoding_pipeline(as_text=self.split_special_tokens)

    def _encoding_pipeline(self, *, as_text: bool | None) -> FastPipeline | None:
        """Return the pipeline of the backend, for calls that encode special tokens as text or not."""
        attributes = vars(self)
        slot: PipelineSlot = attributes.get("_pipeline_slot") or self._new_slot()
        pipeline = slot.up_to_date_pipeline(attributes, tells_specials=bool(as_text))
        cache = self._prefix_cache
        return pipeline if pipeline is None or cache is None else cache.pipeline(pipeline)

    @property
    def _decoding_pipeline(self) -> FastPipeline | None:
        attributes = vars(self)
        slot: PipelineSlot = attributes.get("_pipeline_slot") or self._new_slot()
        pipeline = slot.up_to_date_pipeline(attributes, only_decodes=True, tells_specials=True)
        return pipeline if pipeline is not None and pipeline.decodes else None

    def _new_slot(self) -> PipelineSlot:
        """Return a slot for an object whose class was set by other code."""
        slot = vars(self)["_pipeline_slot"] = PipelineSlot()
        slot.add_owner(self)
        return slot

    @property
    def prefix_cache(self) -> PrefixCache | None:
        """The cache of beginnings of texts, as in `BPETokenizer`; unused while the tokenizer is not accelerated."""
        return self._prefix_cache

    @prefix_cache.setter
    def prefix_cache(self, value: PrefixCache | int | str | None) -> None:
        cache, pipeline = PrefixCache.of(value), self._pipeline
        if cache is not None and pipeline is not None:
            cache.encoder(pipeline.base)  # or raise an error
        self._prefix_cache = cache

    @property
    def is_accelerated(self) -> bool:
        """True if hf_bpe encodes for this tokenizer, and not its backend."""
        return self._pipeline is not None

    def __repr__(self) -> str:
        slot: PipelineSlot | None = vars(self).get("_pipeline_slot")
        has_pipeline = None if slot is None else slot.has_pipeline  # not made for this
        name, bracket, fields = super().__repr__().partition("(")
        return f"{name}{bracket}accelerated={'when it is used' if has_pipeline is None else has_pipeline!r}, {fields}"

    def _encode_plus(self, text: Any, text_pair: Any = None, **kwargs: Any) -> BatchEncoding:
        refuse_randomness(kwargs)
        has_hooks = not self._overridden.isdisjoint({"_convert_encoding", "set_truncation_and_padding"})
        as_text = kwargs.get("split_special_tokens", self.split_special_tokens)
        is_left = has_hooks or kwargs.get("sanitize_control_tokens")
        pipeline = None if is_left else self._encoding_pipeline(as_text=as_text)
        if pipeline is not None:
            encoded = _encode_call(self, pipeline, text, text_pair, kwargs)
            if encoded is not None:
                return encoded
        return super()._encode_plus(text, text_pair, **kwargs)

    if not TYPE_CHECKING:  # whose types are in _transformers_types

        def tokenize(
            self, text: str, pair: str | None = None, add_special_tokens: bool = False, **kwargs: object
        ) -> list[str]:
            if "_encode_plus" in self._overridden:
                return super().tokenize(text, pair, add_special_tokens, **kwargs)
            kwargs |= {"text": text, "text_pair": pair, "add_special_tokens": add_special_tokens}
            return super()._encode_plus(**kwargs).tokens()

    def _tokens_of_ids(self, pipeline: Pipeline, ids: list[int]) -> list[str] | None:
        if not pipeline.added_tokens.keys().isdisjoint(ids):
            return None  # the text that they match
        warn_of_too_long(self, [len(ids)])
        return [*map(vars(self)["_tokenizer"].id_to_token, ids)]

    def _type_ids_maker(self) -> None:
        return None

    def _cleans_up(self, option: object) -> bool:
        return cleans_up(self, option)

    def save_pretrained(self, save_directory: object, *args: object, **kwargs: object) -> Any:
        """Save the files that `PreTrainedTokenizerFast` saves, which load without hf_bpe."""
        check_output("save_directory", save_directory)
        plain: Any = copy.copy(self)
        plain.__class__ = self._accelerates  # whose name, and code if it is not of transformers, is saved
        return plain.save_pretrained(save_directory, *args, **kwargs)

    # These are called often, and do not let others reach the backend.

    def __len__(self) -> int:
        return int(vars(self)["_tokenizer"].get_vocab_size(with_added_tokens=True))

    @property
    def vocab_size(self) -> int:
        """The number of tokens of the model, without added tokens."""
        return int(vars(self)["_tokenizer"].get_vocab_size(with_added_tokens=False))

    @property
    def added_tokens_decoder(self) -> dict[int, AddedToken]:
        """Id → added token."""
        tokens: dict[int, AddedToken] = vars(self)["_tokenizer"].get_added_tokens_decoder()
        return tokens

    def get_vocab(self) -> dict[str, int]:
        """Return token → id, with added tokens."""
        vocab: dict[str, int] = vars(self)["_tokenizer"].get_vocab(with_added_tokens=True)
        return vocab

    if not TYPE_CHECKING:  # whose types are in _transformers_types

        def convert_ids_to_tokens(self, ids: object, skip_special_tokens: bool = False) -> str | list[str]:
            """Return the token of an id, or the tokens of ids, as in transformers."""
            backend = vars(self)["_tokenizer"]
            if isinstance(ids, int):
                return backend.id_to_token(ids)
            skipped = frozenset(self.all_special_ids) if skip_special_tokens else ()
            return [backend.id_to_token(index) for index in map(int, ids) if index not in skipped]

        def convert_tokens_to_ids(self, tokens: object) -> int | list[int]:
            """Return the id of a token, or the ids of tokens, as in transformers."""
            if type(tokens) is list and "_convert_token_to_id_with_added_voc" not in self._overridden:
                ids = [*map(vars(self)["_tokenizer"].token_to_id, tokens)]
                if None not in ids:
                    return ids
            return super().convert_tokens_to_ids(tokens)

    def _convert_token_to_id_with_added_voc(self, token: str) -> int | None:
        token_id: int | None = vars(self)["_tokenizer"].token_to_id(token)
        return self.unk_token_id if token_id is None else token_id

    def _convert_id_to_token(self, index: int) -> str | None:
        token: str | None = vars(self)["_tokenizer"].id_to_token(int(index))
        return token


def _encode_call(
    tokenizer: AnyTokenizer, pipeline: Pipeline, text: Any, text_pair: Any, kwargs: dict[str, Any]
) -> BatchEncoding | None:
    """Return the result of a call; None for what is left to the backend: rare options, and everything invalid."""
    in_words = bool(kwargs.get("is_split_into_words"))
    is_batched = isinstance(text, (list, tuple)) and not (in_words and (not text or isinstance(text[0], str)))
    if not is_batched and not text_pair:  # tokenizers takes an empty second text for none
        text_pair = None
    inputs = Inputs.from_arguments(text, text_pair, in_words)
    if inputs is None or (is_batched and not text) or inputs.is_batched != is_batched:
        return None
    if inputs.per_row > 1 and kwargs.get("return_overflowing_tokens"):  # differs where a text is empty
        return None
    call = Call.from_options(inputs, kwargs)
    template = pipeline.template_ids(inputs.per_row, call.add_special_tokens)
    if not _is_common(call, sum(map(len, template))):
        return None
    as_text = tokenizer.split_special_tokens if call.split_special_tokens is None else call.split_special_tokens
    source = EncodedTexts(pipeline.encoder, inputs.texts, pipeline.options(as_text), inputs.bounds)
    encoded = encode_call(tokenizer, pipeline, source, template, call)
    # In another order than that of Python tokenizers.
    encoded.data = {name: encoded.data[name] for name in sorted(encoded.data, key=lambda name: name not in _FIRST)}
    return encoded


def _is_common(call: Call, num_special: int) -> bool:
    """Return whether the options of a call are valid, and `encode_call` treats them as `tokenizers` does."""
    if call.return_length or call.return_tensors not in _TENSORS or type(call.add_special_tokens) is not bool:
        return False
    if call.padding_side not in (None, "left", "right"):
        return False
    multiple, length = call.pad_to_multiple_of, call.max_length
    if multiple is not None and not (type(multiple) is int and multiple > 0):
        return False
    if call.padding_strategy == PaddingStrategy.MAX_LENGTH and length is None:
        return False
    if call.truncation_strategy == TruncationStrategy.DO_NOT_TRUNCATE:
        return True
    return type(length) is int and length > num_special + (call.stride or 0)


class BPETokenizerFast(DirectMethods, _BackedMethods, SharedMethods, PreTrainedTokenizerFast, backend="tokenizers"):
    """A `PreTrainedTokenizerFast` for byte-level BPE that encodes and decodes with a `Pipeline` of hf_bpe.

    It is made of a loaded tokenizer by `hf_bpe.accelerate`, or by `from_pretrained` like other fast tokenizers, and has
    all their methods. Ids, offsets and texts are those of the `tokenizers.Tokenizer` in it (`backend_tokenizer`): the
    pipeline is verified with stress texts when it is made. When the backend changes, for instance because tokens are
    added, it is made and verified again. Calls that it does not support, and backends for which it cannot be made, are
    left to the backend; a warning is logged for the latter.

    There are two differences: lone surrogates are repaired instead of refused, and rows of a call are
    `hf_bpe.encoding.Encoding` objects.

    Beyond the methods of fast tokenizers it has those of `BPETokenizer` for the bytes of ids and for text that
    continues ids: `token_bytes`, `spans`, `encode_pair`, `session`, `decode_bytes` and `decode_stream`, and
    for text that may not hold added tokens: `encode_segments` and `chat_segments`.

    It saves the same files as `PreTrainedTokenizerFast`, and under that name.

    >>> from hf_bpe import BPETokenizer
    >>> _ = BPETokenizer.train(["low lower lowest"], vocab_size=258).save_pretrained("low", portable=True)
    >>> tokenizer = BPETokenizerFast.from_pretrained("low")
    >>> tokenizer("low lower")["input_ids"], tokenizer.is_accelerated
    ([257, 32, 257, 101, 114], True)
    """
