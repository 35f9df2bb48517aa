"""Attributes of BPETokenizer that are kept in its pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

Value = TypeVar("Value")


class PipelineSetting(Generic[Value]):
    """An attribute that is one of the pipeline; setting it gives the tokenizer another pipeline."""

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    if TYPE_CHECKING:  # what type checkers see of an instance

        def __get__(self, tokenizer: Any, owner: type | None = None) -> Value: ...

    else:

        def __get__(self, tokenizer, owner=None):
            return self if tokenizer is None else getattr(tokenizer.pipeline, self._name)

    def __set__(self, tokenizer: Any, value: Value) -> None:
        tokenizer._pipeline = tokenizer.pipeline.with_changes(**{self._name: value})
