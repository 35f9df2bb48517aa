"""The pipeline that was made of the attributes of a tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hf_bpe.formats._pipeline import Pipeline


class PipelineCache:
    """The pipeline of a tokenizer, for as long as the tokenizer does not change; each change replaces the cache.

    Attributes:
        pipeline: what was made of the attributes, or None until it is needed. A pipeline made of attributes that
            another thread was changing goes into a cache that is then replaced.
        before: the last pipeline made before the change, which the next one may share parts with.

    Pickles are empty, so the fingerprint that `datasets` takes of a tokenizer does not depend on what was called.
    """

    __slots__ = ("before", "pipeline")

    def __init__(self, before: Pipeline | None = None) -> None:
        self.before = before
        self.pipeline: Pipeline | None = None

    def next(self) -> PipelineCache:
        """Return an empty cache, for the tokenizer after a change or for a copy of it."""
        return PipelineCache(self.pipeline or self.before)

    def __reduce__(self) -> tuple[type[PipelineCache], tuple[()]]:
        return PipelineCache, ()
