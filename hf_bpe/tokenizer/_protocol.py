"""The tokenizer as the modules that BPETokenizer imports need it, for type checkers."""

from __future__ import annotations

from typing import Any, Protocol

from hf_bpe.core._model import BPEModel
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._pipeline import Pipeline


class Tokenizer(Protocol):
    """The attributes of a BPETokenizer that loading, saving and conversion use; see there."""

    SPECIAL_TOKENS_ATTRIBUTES: list[str]
    chat_template: Any
    extra_special_tokens: list[str]
    init_kwargs: dict[str, Any]
    model_max_length: int
    split_special_tokens: bool
    _auto_class: str | None

    @property
    def definition(self) -> Definition: ...

    @property
    def model(self) -> BPEModel: ...

    @property
    def normalizer(self) -> str | None: ...

    @property
    def pipeline(self) -> Pipeline: ...

    def get_vocab(self) -> dict[str, int]: ...

    @classmethod
    def from_pretrained(cls, *args: Any, **kwargs: Any) -> Any: ...
