"""Ids to text, bytes and printable tokens."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from transformers.tokenization_utils_base import PreTrainedTokenizerBase
from transformers.utils import logging

from hf_bpe._utils.arguments import as_lists, check_flag, check_ids, check_sequence, check_strs, refuse_unknown
from hf_bpe.encoding._encoder import is_skipped
from hf_bpe.formats._folder.files import CLEAN_UP_ANYWAY
from hf_bpe.tokenizer._calls.direct import PYTHON_DECODE_HOOKS, are_rows_of_ids
from hf_bpe.tokenizer._options import DECODING
from hf_bpe.tokenizer._self_types import AnyTokenizer, OwnTokenizer

logger = logging.get_logger(__name__)

_DECODE_HOOKS = PYTHON_DECODE_HOOKS | {"_decode", "decode_bytes"}
# The replacements of `clean_up_tokenization_spaces`, in this order.
_CLEANED = (
    *((" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'")),
    *((" n't", "n't"), (" 'm", "'m"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re")),
)


class DecodingMethods(OwnTokenizer):
    """The methods that turn ids or tokens into text."""

    if not TYPE_CHECKING:  # whose types are in _transformers_types

        def decode(self, token_ids: object, skip_special_tokens: bool = False, **kwargs: object) -> str | list[str]:
            refuse_unknown("BPETokenizer.decode", kwargs, DECODING)
            token_ids = as_lists("token_ids", token_ids)
            if isinstance(token_ids, (list, tuple)) and len(token_ids) > 0 and isinstance(token_ids[0], (list, tuple)):
                if not self._overridden.isdisjoint(_DECODE_HOOKS):
                    return [self._decode(row, skip_special_tokens, **kwargs) for row in token_ids]
                texts = self.decode_to_texts(token_ids, skip_special_tokens=skip_special_tokens)
                is_cleaned = check_flag("clean_up_tokenization_spaces", kwargs.get("clean_up_tokenization_spaces"))
                return [clean_up_tokenization(self, text) for text in texts] if is_cleaned else texts
            return self._decode(token_ids, skip_special_tokens, **kwargs)

    def _cleans_up(self, option: object) -> bool:
        """Say whether decoding has to clean up spaces, or to refuse an option that is no flag."""
        return option is not None and option is not False

    def _decode(
        self,
        token_ids: int | list[int],
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        **kwargs: object,
    ) -> str:
        is_cleaned = check_flag("clean_up_tokenization_spaces", clean_up_tokenization_spaces)
        if not self._overridden.isdisjoint(PYTHON_DECODE_HOOKS):
            inherited: str = super()._decode(token_ids, skip_special_tokens, is_cleaned, **kwargs)
            return inherited
        skips = check_flag("skip_special_tokens", skip_special_tokens)
        if self.decoding is not None:
            ids = [token_ids] if type(token_ids) is int else token_ids
            [text] = self.pipeline.decode([ids], skips, name="token_ids")
        else:
            text = self.decode_bytes(token_ids, skip_special_tokens=skips).decode("utf-8", self.errors)
        return clean_up_tokenization(self, text) if is_cleaned else text

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """Return the text of printable tokens."""
        return self.pipeline.decoder.string(check_strs("tokens", tokens), self.errors)

    if not TYPE_CHECKING:  # whose types are in _transformers_types

        def convert_ids_to_tokens(self, ids: object, skip_special_tokens: bool = False) -> str | list[str] | None:
            """Return the printable token of an id, or of several; `unk_token` for an id without a token."""
            if "_convert_id_to_token" in self._overridden:
                return super().convert_ids_to_tokens(ids, skip_special_tokens)
            added, tokens = self.pipeline.shown_contents, self.decoder
            if type(ids) is list and skip_special_tokens is False and {*map(type, ids)} <= {int}:
                with suppress(KeyError):
                    return [added[token_id] if token_id in added else tokens[token_id] for token_id in ids]
            unknown = self.unk_token
            ids = as_lists("ids", ids)
            if isinstance(ids, int):
                return added[ids] if ids in added else tokens.get(ids, unknown)
            skipped = self.pipeline.skipped(check_flag("skip_special_tokens", skip_special_tokens))
            return [
                added[token_id] if token_id in added else tokens.get(token_id, unknown)
                for token_id in check_ids("ids", ids)
                if not is_skipped(token_id, skipped)
            ]

    def _convert_id_to_token(self, index: int) -> str | None:
        added = self.pipeline.shown_contents
        return added[index] if index in added else self.decoder.get(index, self.unk_token)

    def decode_to_texts(self, sequences: Sequence[Sequence[int]], *, skip_special_tokens: bool = False) -> list[str]:
        """Return the text of each sequence of ids; invalid UTF-8 is handled according to `errors`.

        >>> from hf_bpe import BPETokenizer
        >>> BPETokenizer.train(["low"], vocab_size=256).decode_to_texts([[108, 111], [], [119]])
        ['lo', '', 'w']
        """
        rows: list[Any] = [*check_sequence("sequences", sequences, "rows of ids", 2)]
        if not are_rows_of_ids(rows):
            rows = [as_lists("sequences", row) for row in rows]
        skips = check_flag("skip_special_tokens", skip_special_tokens)
        return self.pipeline.decode(rows, skips, name="sequences")


def clean_up_tokenization(tokenizer: AnyTokenizer, text: str) -> str:
    """Remove spaces before punctuation as `PreTrainedTokenizerBase.clean_up_tokenization` does, new in 5.3."""
    if hasattr(PreTrainedTokenizerBase, "clean_up_tokenization"):
        cleaned: str = tokenizer.clean_up_tokenization(text)
        return cleaned
    for spaced, plain in _CLEANED:
        text = text.replace(spaced, plain)
    return text


def cleans_up(tokenizer: AnyTokenizer, option: object) -> bool:
    """Return whether decoding by a fast tokenizer with byte-level BPE cleans up spaces.

    Releases of transformers that have a second setting ignore this for BPE, and say so once, unless it insists.
    """
    if not (tokenizer.clean_up_tokenization_spaces if option is None else option):
        return False
    if getattr(tokenizer, CLEAN_UP_ANYWAY, True):
        return True
    logger.warning_once(
        "transformers ignores clean_up_tokenization_spaces=True for BPE, whose texts it would corrupt; set it to "
        f"False, or {CLEAN_UP_ANYWAY} to True"
    )
    return False
