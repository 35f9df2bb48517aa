"""The special tokens of BPETokenizer: the template, and the tokens that decoding can skip."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tokenizers import AddedToken

from hf_bpe._utils.arguments import check_flag, check_ids, checked, optional
from hf_bpe.tokenizer._template import Template, as_template

# transformers' special_tokens_pattern → (add_bos_token, add_eos_token).
_BOS_EOS_OF_PATTERN = {"none": (False, False), "bos": (True, False), "eos": (False, True), "bos_eos": (True, True)}
_PATTERN_OF_BOS_EOS = {flags: name for name, flags in _BOS_EOS_OF_PATTERN.items()}


class SpecialTokens:
    """The part of BPETokenizer for the template."""

    # Attributes of BPETokenizer.
    _template: Template | None
    _added_tokens_encoder: dict[str, int]
    _added_tokens_decoder: dict[int, AddedToken]
    SPECIAL_TOKENS_ATTRIBUTES: list[str]
    special_tokens_map: dict[str, str]
    convert_tokens_to_ids: Callable[[str], int | None]
    bos_token: Any
    eos_token: Any

    @property
    def template(self) -> Template | None:
        """The template of special tokens added to sequences, or None; set it to a Template or its JSON form."""
        return self._template

    @template.setter
    def template(self, value: Template | Mapping[str, Any] | None) -> None:
        template = as_template(value)
        if missing := [
            token for token in (template.tokens if template else []) if token not in self._added_tokens_encoder
        ]:
            raise ValueError(
                f"template: {missing[0]!r} is not a special or added token of this tokenizer; add it first"
            )
        self._template = template

    @property
    def add_bos_token(self) -> bool:
        """Whether `bos_token` begins each sequence; setting it replaces the template."""
        return self._template is not None and self.bos_token in self._template.special_tokens(1)[0]

    @add_bos_token.setter
    def add_bos_token(self, value: bool) -> None:
        self._set_bos_eos(value, None)

    @property
    def add_eos_token(self) -> bool:
        """Whether `eos_token` ends each sequence; setting it replaces the template."""
        return self._template is not None and self.eos_token in self._template.special_tokens(1)[1]

    @add_eos_token.setter
    def add_eos_token(self, value: bool) -> None:
        self._set_bos_eos(None, value)

    @property
    def special_tokens_pattern(self) -> str:
        """Which of `bos_token` and `eos_token` are added, as in transformers: "none", "bos", "eos" or "bos_eos"."""
        return _PATTERN_OF_BOS_EOS[self.add_bos_token, self.add_eos_token]

    @special_tokens_pattern.setter
    def special_tokens_pattern(self, value: str | None) -> None:
        if value is None:  # set by transformers, which does not know the template
            return
        if value not in _BOS_EOS_OF_PATTERN:
            raise ValueError(f"special_tokens_pattern: expected one of {[*_BOS_EOS_OF_PATTERN]}, got {value!r}")
        self._set_bos_eos(*_BOS_EOS_OF_PATTERN[value])

    @checked(token_ids_0=check_ids, token_ids_1=optional(check_ids))
    def build_inputs_with_special_tokens(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None
    ) -> list[int]:
        """Return the ids of a sequence or of a pair with the special tokens that the template adds."""
        if self._template is None:
            return token_ids_0 if token_ids_1 is None else token_ids_0 + token_ids_1
        ids = self._added_tokens_encoder
        sequences = [token_ids_0] if token_ids_1 is None else [token_ids_0, token_ids_1]
        before, *after = ([ids[token] for token in tokens] for tokens in self._template.special_tokens(len(sequences)))
        row = before
        for sequence, tokens in zip(sequences, after, strict=True):
            row += [*sequence, *tokens]
        return row

    @checked(token_ids_0=check_ids, token_ids_1=optional(check_ids), already_has_special_tokens=check_flag)
    def get_special_tokens_mask(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None, already_has_special_tokens: bool = False
    ) -> list[int]:
        """Return 1 for each special token of a sequence or a pair, and 0 for each other id."""
        if already_has_special_tokens:
            mask: list[int] = super().get_special_tokens_mask(token_ids_0, token_ids_1, True)  # type: ignore[misc]
            return mask
        marks = [[-1] * len(ids) for ids in (token_ids_0, token_ids_1) if ids is not None]
        return [int(token_id >= 0) for token_id in self.build_inputs_with_special_tokens(*marks)]

    def _set_bos_eos(self, add_bos: bool | None, add_eos: bool | None) -> None:
        """Replace the template by one of `bos_token` and `eos_token`; None keeps the current value."""
        if add_bos is None and add_eos is None:
            return
        bos = self.add_bos_token if add_bos is None else check_flag("add_bos_token", add_bos)
        eos = self.add_eos_token if add_eos is None else check_flag("add_eos_token", add_eos)
        for wanted, name in ((bos, "bos_token"), (eos, "eos_token")):
            if wanted and getattr(self, name) is None:
                raise ValueError(f"add_{name}=True needs a {name}; none is set")
        self.template = Template.of_bos_eos(self.bos_token if bos else None, self.eos_token if eos else None)
