"""The special tokens that are put around sequences: the template, and settings that replace it."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping

from hf_bpe._utils.arguments import check_flag, check_ids, checked, optional
from hf_bpe.encoding._encoder import TemplateIds
from hf_bpe.formats._template import (
    BOS_EOS_OF_PATTERN,
    PATTERN_OF_BOS_EOS,
    Template,
    as_template,
    check_tokens,
    template_ids,
)
from hf_bpe.tokenizer._self_types import OwnTokenizer


class TemplateMethods(OwnTokenizer):
    """The template of special tokens, and what it adds to given ids."""

    @property
    def template(self) -> Template | None:
        """The template of special tokens added to sequences, or None; set it to a Template or its JSON form."""
        return self._template

    @template.setter
    def template(self, value: Template | Mapping[str, object] | None) -> None:
        template = as_template(value)
        check_tokens(template, ChainMap(self._added_tokens_encoder, self.encoder))
        self._template = template

    @property
    def add_bos_token(self) -> bool:
        """True if `bos_token` begins each sequence; setting it replaces the template."""
        return self._template is not None and self.bos_token in self._template.special_tokens(1)[0]

    @add_bos_token.setter
    def add_bos_token(self, value: bool) -> None:
        self._set_bos_eos(value, None)

    @property
    def add_eos_token(self) -> bool:
        """True if `eos_token` ends each sequence; setting it replaces the template."""
        return self._template is not None and self.eos_token in self._template.special_tokens(1)[1]

    @add_eos_token.setter
    def add_eos_token(self, value: bool) -> None:
        self._set_bos_eos(None, value)

    @property
    def special_tokens_pattern(self) -> str:
        """The choice of `bos_token` and `eos_token`, as in transformers: "none", "bos", "eos" or "bos_eos"."""
        return PATTERN_OF_BOS_EOS[self.add_bos_token, self.add_eos_token]

    @special_tokens_pattern.setter
    def special_tokens_pattern(self, value: str | None) -> None:
        if value is None:  # set by transformers, which does not know the template
            return
        if value not in BOS_EOS_OF_PATTERN:
            raise ValueError(f"special_tokens_pattern: expected one of {[*BOS_EOS_OF_PATTERN]}, got {value!r}")
        self._set_bos_eos(*BOS_EOS_OF_PATTERN[value])

    def _set_bos_eos(self, add_bos: bool | None, add_eos: bool | None) -> None:
        """Replace the template by one of `bos_token` and `eos_token`; None keeps the current value."""
        if add_bos is None and add_eos is None:
            return
        bos = self.add_bos_token if add_bos is None else check_flag("add_bos_token", add_bos)
        eos = self.add_eos_token if add_eos is None else check_flag("add_eos_token", add_eos)
        self.template = Template.of_names({"bos_token": self.bos_token, "eos_token": self.eos_token}, bos, eos)

    @checked(token_ids_0=check_ids, token_ids_1=optional(check_ids))
    def build_inputs_with_special_tokens(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None
    ) -> list[int]:
        """Return the ids of a sequence or of a pair with the special tokens that the template adds."""
        if token_ids_1 is None:
            return token_ids_0 if self._template is None else self.pipeline.build(token_ids_0)
        return self.pipeline.build(token_ids_0, token_ids_1)

    def _template_ids(self, sequences: int, add_special_tokens: bool) -> TemplateIds | None:
        """Return the special-token ids around sequences; None if a subclass adds tokens elsewhere."""
        if "build_inputs_with_special_tokens" in self._overridden:
            return template_ids(self.build_inputs_with_special_tokens, sequences, add_special_tokens)
        return self.pipeline.template_ids(sequences, add_special_tokens)

    @checked(token_ids_0=check_ids, token_ids_1=optional(check_ids), already_has_special_tokens=check_flag)
    def get_special_tokens_mask(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None, already_has_special_tokens: bool = False
    ) -> list[int]:
        """Return 1 for each special token of a sequence or a pair, and 0 for each other id."""
        if already_has_special_tokens:
            mask: list[int] = super().get_special_tokens_mask(token_ids_0, token_ids_1, True)
            return mask
        marks = [[-1] * len(ids) for ids in (token_ids_0, token_ids_1) if ids is not None]
        return [int(token_id >= 0) for token_id in self.build_inputs_with_special_tokens(*marks)]
