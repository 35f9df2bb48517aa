"""BPETokenizerFast: the fast tokenizer of transformers, with our pipeline for calls, encoding and decoding.

It holds a real `tokenizers.Tokenizer`, so whatever asks for one finds it: structured generation, servers, converters.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from tokenizers import AddedToken, Tokenizer
from transformers.tokenization_utils_base import BatchEncoding

from hf_bpe._utils.paths import check_output
from hf_bpe.encoding._randomness import refuse_randomness
from hf_bpe.fast._calls import encode_fast_call
from hf_bpe.fast._fast_pipeline import FastPipeline
from hf_bpe.fast._pipeline_slot import PipelineSlot
from hf_bpe.formats._pipeline import INVALID_ID_ERRORS
from hf_bpe.tokenizer._bulk import are_rows_of_ids, are_several_rows
from hf_bpe.tokenizer._calls import plain_ids
from hf_bpe.tokenizer._transformers_compat import cleans_up

if TYPE_CHECKING:
    from hf_bpe.tokenizer._transformers_types import PreTrainedTokenizer as PreTrainedTokenizerFast
else:
    from transformers.tokenization_utils_tokenizers import PreTrainedTokenizerFast


class BPETokenizerFast(PreTrainedTokenizerFast):
    """A `PreTrainedTokenizerFast` for byte-level BPE that encodes and decodes with a `Pipeline` of hf_bpe.

    It is made of a loaded tokenizer by `hf_bpe.accelerate`, or by `from_pretrained` like other fast tokenizers, and has
    all their methods. Ids, offsets and texts are those of the `tokenizers.Tokenizer` in it (`backend_tokenizer`): the
    pipeline is verified with stress texts when it is made. When the backend changes, for instance because tokens are
    added, it is made and verified again. Calls that it does not support, and backends for which it cannot be made, are
    left to the backend; a warning is logged for the latter.

    There are three differences: lone surrogates are repaired instead of refused, rows of a call are
    `hf_bpe.encoding.Encoding` objects, and their `tokens` have the content of added tokens without white space that
    these strip.

    It saves the same files as `PreTrainedTokenizerFast`, and under that name.

    >>> from hf_bpe import BPETokenizer
    >>> _ = BPETokenizer.train(["low lower lowest"], vocab_size=258).save_pretrained("low", portable=True)
    >>> tokenizer = BPETokenizerFast.from_pretrained("low")
    >>> tokenizer("low lower")["input_ids"], tokenizer.is_accelerated
    ([257, 32, 257, 101, 114], True)
    """

    _accelerates: Any = PreTrainedTokenizerFast  # the class in transformers

    # What transformers reads and changes as an attribute. Whoever gets the backend may change it.
    @property
    def _tokenizer(self) -> Tokenizer | None:
        attributes = vars(self)
        if "_pipeline_slot" in attributes:
            attributes["_pipeline_slot"].is_reached = True
        return attributes.get("_tokenizer")

    @_tokenizer.setter
    def _tokenizer(self, value: Tokenizer | None) -> None:
        vars(self).update(_tokenizer=value, _pipeline_slot=PipelineSlot())
        vars(self)["_pipeline_slot"].add_owner(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if "_pipeline_slot" in state:  # a copy shares it
            state["_pipeline_slot"].add_owner(self)

    @property
    def _pipeline(self) -> FastPipeline | None:
        attributes = vars(self)
        if "_pipeline_slot" not in attributes:  # its class was set by other code
            attributes["_pipeline_slot"] = PipelineSlot()
            attributes["_pipeline_slot"].add_owner(self)
        slot: PipelineSlot = attributes["_pipeline_slot"]
        return slot.current(attributes)

    @property
    def is_accelerated(self) -> bool:
        """Whether hf_bpe encodes for this tokenizer, and not its backend."""
        return self._pipeline is not None

    def _encode_plus(self, text: Any, text_pair: Any = None, **given: Any) -> BatchEncoding:
        refuse_randomness(given)
        is_left = given.get("sanitize_control_tokens") or not self._is_unchanged("_convert_encoding")
        pipeline = None if is_left else self._pipeline
        if pipeline is not None:
            encoded = encode_fast_call(self, pipeline, text, text_pair, given)
            if encoded is not None:
                return encoded
        inherited: BatchEncoding = super()._encode_plus(text, text_pair, **given)
        return inherited

    def encode(
        self, text: Any, text_pair: Any = None, add_special_tokens: bool = True, *args: Any, **kwargs: Any
    ) -> Any:
        """Return the ids of a text, as in transformers."""
        if (
            not args
            and not kwargs
            and text_pair is None
            and isinstance(text, str)
            and self._is_unchanged("_encode_plus")
            and self._is_unchanged("_convert_encoding")
        ):
            # The common case, in which the path through transformers takes longer than encoding.
            pipeline = self._pipeline
            if pipeline is not None:
                options = pipeline.options(self.split_special_tokens)
                ids = plain_ids(pipeline.encoder, text, options, pipeline.template_ids(1, add_special_tokens))
                self._eventual_warn_about_too_long_sequence(ids, None, True)
                return ids
        return super().encode(text, text_pair, add_special_tokens, *args, **kwargs)

    def tokenize(
        self, text: str, pair: str | None = None, add_special_tokens: bool = False, **kwargs: Any
    ) -> list[str]:
        """Return the tokens of a text; those of added tokens are the text that they take, as in `tokenizers`."""
        if not self._is_unchanged("_encode_plus"):
            inherited: Any = super()
            return [*inherited.tokenize(text, pair, add_special_tokens, **kwargs)]
        given = {**kwargs, "text": text, "text_pair": pair, "add_special_tokens": add_special_tokens}
        tokens: list[str] = super()._encode_plus(**given).tokens()
        return tokens

    def _is_unchanged(self, name: str) -> bool:
        """Return whether no subclass has its own method of this name."""
        return getattr(type(self), name) is getattr(BPETokenizerFast, name)

    def decode(self, token_ids: Any, skip_special_tokens: bool = False, **kwargs: Any) -> Any:
        """Return the text of ids, or the texts of rows of ids, as in transformers."""
        if not cleans_up(self, kwargs.get("clean_up_tokenization_spaces")) and self._is_unchanged("_decode"):
            ids = token_ids.tolist() if hasattr(token_ids, "tolist") else token_ids
            are_rows = isinstance(ids, (list, tuple)) and len(ids) > 0 and isinstance(ids[0], (list, tuple))
            texts = self._texts(ids if are_rows else [[ids] if isinstance(ids, int) else ids], skip_special_tokens)
            if texts is not None:
                return texts if are_rows else texts[0]
        return super().decode(token_ids, skip_special_tokens, **kwargs)

    def batch_decode(self, sequences: Any, skip_special_tokens: bool = False, *args: Any, **kwargs: Any) -> list[str]:
        """Return the texts of several rows of ids, as in transformers."""
        cleans = cleans_up(self, kwargs.get("clean_up_tokenization_spaces"))
        if not args and not cleans and are_several_rows(sequences):
            # transformers would first walk through all ids in Python.
            return [*self.decode(sequences, skip_special_tokens, **kwargs)]
        texts: list[str] = super().batch_decode(sequences, skip_special_tokens, *args, **kwargs)
        return texts

    def _texts(self, rows: Any, skip_special_tokens: bool) -> list[str] | None:
        """Return the texts of rows of ids; None if the backend has to decode them."""
        if not are_rows_of_ids(rows):
            return None  # lists of tensors, columns of a batch and others, which transformers interprets
        pipeline = self._pipeline
        if pipeline is None or not pipeline.decodes:
            return None
        try:
            return pipeline.encoder.decode_batch([*rows], pipeline.skipped(skip_special_tokens), pipeline.errors)
        except INVALID_ID_ERRORS:
            return None

    def _decode(self, token_ids: Any, skip_special_tokens: bool = False, *args: Any, **kwargs: Any) -> str:
        text: str = super()._decode(token_ids, skip_special_tokens, *args, **kwargs)
        return text

    def save_pretrained(self, save_directory: Any, *args: Any, **kwargs: Any) -> Any:
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

    def convert_ids_to_tokens(self, ids: Any, skip_special_tokens: bool = False) -> Any:
        """Return the token of an id, or the tokens of ids, as in transformers."""
        backend = vars(self)["_tokenizer"]
        if isinstance(ids, int):
            return backend.id_to_token(ids)
        skipped = frozenset(self.all_special_ids) if skip_special_tokens else ()
        return [backend.id_to_token(index) for index in map(int, ids) if index not in skipped]

    def _convert_token_to_id_with_added_voc(self, token: str) -> int | None:
        token_id: int | None = vars(self)["_tokenizer"].token_to_id(token)
        return self.unk_token_id if token_id is None else token_id

    def _convert_id_to_token(self, index: int) -> str | None:
        token: str | None = vars(self)["_tokenizer"].id_to_token(int(index))
        return token
