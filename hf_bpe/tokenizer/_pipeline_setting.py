"""Attributes of BPETokenizer that are kept in its pipeline."""

from __future__ import annotations

from typing import Any


class PipelineSetting:
    """An attribute that is one of the pipeline; setting it gives the tokenizer another pipeline."""

    def __init__(self, name: str) -> None:
        self.__doc__ = f"The setting {name}; see the arguments of the class."
        self._name = name

    def __get__(self, tokenizer: Any, owner: type | None = None) -> Any:
        return self if tokenizer is None else getattr(tokenizer.pipeline, self._name)

    def __set__(self, tokenizer: Any, value: Any) -> None:
        tokenizer._pipeline = tokenizer.pipeline.with_changes(**{self._name: value})
