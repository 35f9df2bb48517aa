"""What transformers calls to encode text: `_encode_plus`, `_tokenize`, `truncate_sequences` and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from transformers.tokenization_utils_base import BatchEncoding, TruncationStrategy

from hf_bpe._utils.arguments import check_flag, check_str, check_strs, checked
from hf_bpe.encoding._added_tokens.rules import AddedTokenSplitter
from hf_bpe.encoding._encoder import Options
from hf_bpe.encoding._layout import truncated_ids
from hf_bpe.encoding._lazy_encodings import EncodedTexts
from hf_bpe.encoding._randomness import options_of_call
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.pretokenizers._byte_level import repair_surrogates
from hf_bpe.tokenizer._calls.arguments import (
    TIKTOKEN_NAMES,
    Call,
    check_call_options,
    check_inherited_call,
    checked_inputs,
    encoder_allowing,
)
from hf_bpe.tokenizer._calls.direct import PYTHON_ENCODE_HOOKS
from hf_bpe.tokenizer._calls.encode import encode_call
from hf_bpe.tokenizer._inherited import ARGUMENTS
from hf_bpe.tokenizer._self_types import OwnTokenizer

_TOKEN_HOOKS = {"_convert_token_to_id", "_convert_token_to_id_with_added_voc"}


class HookMethods(OwnTokenizer):
    """The methods that encode for transformers, which routes every call, and most of `encode`, to `_encode_plus`."""

    def _switch_to_input_mode(self) -> None:
        """Do nothing: there is one mode. Without this method every call would look for it in all base classes."""

    def _encode_plus(self, text: Any, text_pair: Any = None, **kwargs: Any) -> BatchEncoding:
        inputs = checked_inputs(text, text_pair, kwargs)
        if overridden := self._overridden & PYTHON_ENCODE_HOOKS:
            inputs = None
            for name in ("return_offsets_mapping", "return_overflowing_tokens"):
                if kwargs.get(name):
                    raise ValueError(
                        f"{name}=True: {type(self).__name__} overrides {min(overridden)}, so transformers encodes, "
                        "which has neither offsets nor windows; override _encode_plus instead, or leave the option out"
                    )
        pipeline = self.pipeline
        encoder, as_text = pipeline.encoder, kwargs.get("split_special_tokens")
        if not kwargs.keys().isdisjoint(TIKTOKEN_NAMES):
            if inputs is None:
                raise ValueError("allowed_special, disallowed_special: expected texts, not ids")
            encoder, as_text = encoder_allowing(pipeline, inputs.texts, kwargs)
        adds = kwargs.get("add_special_tokens", True)
        template = None if inputs is None else self._template_ids(inputs.per_row, adds)
        if inputs is None or template is None:
            options_of_call(Options(), kwargs, 0)
            check_inherited_call(text, text_pair, kwargs)
            return super()._encode_plus(text, text_pair, **kwargs)
        options = options_of_call(pipeline.options(as_text), kwargs, len(inputs.texts))
        source = EncodedTexts(encoder, inputs.texts, options, inputs.bounds)
        return encode_call(self, pipeline, source, template, Call.from_options(inputs, kwargs))

    def _type_ids_maker(self) -> Callable[..., list[int]] | None:
        """Return what gives the token type ids of sequences; None for the template's."""
        return None if self.token_type_ids_pattern == "all_zeros" else self.create_token_type_ids_from_sequences

    @checked(**ARGUMENTS)
    def truncate_sequences(
        self,
        ids: list[int],
        pair_ids: list[int] | None = None,
        num_tokens_to_remove: int = 0,
        truncation_strategy: str | TruncationStrategy = "longest_first",
        stride: int = 0,
    ) -> tuple[list[int], list[int] | None, list[int]]:
        """Truncate ids as calls truncate texts; transformers calls this for given ids.

        Returns:
            Both truncated sequences, and the overflowing ids, with `stride` ids of overlap.

        Raises:
            ValueError: the sequence to truncate is missing or too short.
        """
        strategy = TruncationStrategy(truncation_strategy)
        if num_tokens_to_remove <= 0 or strategy == TruncationStrategy.DO_NOT_TRUNCATE:
            return ids, pair_ids, []
        from_left, sequences = self.truncation_side == "left", [ids] if pair_ids is None else [ids, pair_ids]
        left, overflowing = truncated_ids(sequences, num_tokens_to_remove, strategy.value, stride, from_left=from_left)
        return left[0], left[1] if pair_ids is not None else None, overflowing

    if not TYPE_CHECKING:  # whose types are in _transformers_types

        def tokenize(
            self, text: str, pair: str | None = None, add_special_tokens: bool = False, **kwargs: object
        ) -> list[str]:
            if (
                pair is not None
                or check_flag("add_special_tokens", add_special_tokens)
                or "is_split_into_words" in kwargs
            ):
                return [*self._encode_plus(text, pair, add_special_tokens=add_special_tokens, **kwargs).tokens()]
            check_call_options(kwargs)  # transformers' own calls pass theirs
            text, _ = self.prepare_for_tokenization(text)
            pipeline = self.pipeline
            encoder, as_text = pipeline.encoder, kwargs.get("split_special_tokens")
            if not kwargs.keys().isdisjoint(TIKTOKEN_NAMES):
                encoder, as_text = encoder_allowing(pipeline, [text], kwargs)
            if "_tokenize" in self._overridden:
                return self._tokenize_between_added_tokens(pipeline, text, as_text)
            ids = encoder.encode(text, options_of_call(pipeline.options(as_text), kwargs, 1))
            return [*self.convert_ids_to_tokens(ids)]

        def convert_tokens_to_ids(self, tokens: object) -> int | list[int] | None:
            """Return the id of a printable token, or the ids of several; unknown tokens give the id of `unk_token`."""
            if isinstance(tokens, str) or not self._overridden.isdisjoint(_TOKEN_HOOKS):
                return super().convert_tokens_to_ids(tokens)
            tokens = check_strs("tokens", tokens)
            added, ids = self._added_tokens_encoder, self.encoder
            return [
                added[token] if token in added else ids[token] if token in ids else self._convert_token_to_id(token)
                for token in tokens
            ]

    def _tokenize_between_added_tokens(self, pipeline: Pipeline, text: str, as_text: bool | None) -> list[str]:
        """Return the added tokens of a text, and what `_tokenize` of a subclass makes of the text between them."""
        splits = pipeline.split_special_tokens if as_text is None else as_text
        parts = AddedTokenSplitter(pipeline.added_tokens).split(text, split_special_tokens=splits)
        return [
            token
            for part in parts
            for token in ([pipeline.added_tokens[part].content] if isinstance(part, int) else self._tokenize(part))
        ]

    def _tokens_of_ids(self, pipeline: Pipeline, ids: list[int]) -> list[str] | None:
        added, tokens = pipeline.shown_contents, self.decoder
        return [added[token_id] if token_id in added else tokens[token_id] for token_id in ids]

    def prepare_for_tokenization(
        self, text: str, is_split_into_words: bool = False, **kwargs: object
    ) -> tuple[str, dict[str, object]]:
        """Repair lone surrogates, as tiktoken does."""
        return repair_surrogates(check_str("text", text)), kwargs

    def _tokenize(self, text: str, **kwargs: object) -> list[str]:
        ids = self.pipeline.base.encode(text, self.pipeline.options_of_bytes)
        return [*map(self.decoder.__getitem__, ids)]

    def _convert_token_to_id(self, token: str) -> int | None:
        token_id = self.encoder.get(token)
        if token_id is None and token != self.unk_token:  # unk_token itself is unknown before it is added
            token_id = self.unk_token_id
        return token_id

    def _encode_without_added_tokens(self, text: str) -> list[int]:
        """Encode text without finding added tokens; called by the sanitizing of chats."""
        return self.pipeline.base.encode(text, self.pipeline.options())
