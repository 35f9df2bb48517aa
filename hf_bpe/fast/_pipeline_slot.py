"""The pipeline of a fast tokenizer, verified when it is made, and made again when the backend has changed."""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from tokenizers import Tokenizer
from transformers.utils import logging

from hf_bpe._native_core import require_core
from hf_bpe._utils.panics import panics_as_errors
from hf_bpe.fast._backend_state import (
    is_held_elsewhere,
    remembered_as_special,
    state_of_components,
    state_of_tokens,
)
from hf_bpe.fast._fast_pipeline import FastPipeline
from hf_bpe.fast._verification import verify_pipeline

logger = logging.get_logger(__name__)

_pipelines: weakref.WeakValueDictionary[str, FastPipeline] = weakref.WeakValueDictionary()
_verified: set[str] = set()
_TRIES = 16  # to verify an pipeline while other threads change the backend


def verified_pipeline(backend: Tokenizer) -> FastPipeline:
    """Return the pipeline of a backend, verified once for each content in a process.

    Raises:
        ValueError: there is none, which the message explains.
        RuntimeError: the native core is not built.
    """
    require_core("accelerated tokenizers")
    with panics_as_errors():
        content = backend.to_str()
        remembered = remembered_as_special(backend, backend.get_added_tokens_decoder())
    if remembered:
        raise ValueError(
            f"the added token {remembered[0]!r} was a special token before, as which tokenizers goes on to treat it "
            "until the tokenizer is saved and loaded again"
        )
    digest = hashlib.sha256(content.encode()).hexdigest()
    pipeline = _pipelines.get(digest)
    if pipeline is None:
        pipeline, definition = FastPipeline.from_backend(backend)
        if digest not in _verified:
            verify_pipeline(pipeline, definition, backend)
            _verified.add(digest)
        _pipelines[digest] = pipeline
    return pipeline


class _Snapshot(NamedTuple):
    """The state of a backend for which an pipeline was made; without a backend, that of one that was copied."""

    backend: Tokenizer | None
    pipeline: FastPipeline | None
    components: tuple[Any, ...]
    tokens: tuple[Any, ...]


class PipelineSlot:
    """The pipeline of a tokenizer, made when it is needed and again when the backend has changed.

    Copies made by `copy.copy` share the slot with the backend. They are known, so that their references to the backend
    are not taken for those of other code, for which added tokens would be compared in every call: vLLM keeps copies.

    Attributes:
        is_reached: whether other code may have reached the backend since it was last compared.

    Pickles are empty, so the fingerprint of a tokenizer does not depend on what was called.
    """

    __slots__ = ("_is_warned", "_owners", "_snapshot", "is_reached")

    def __init__(self) -> None:
        self._owners: tuple[weakref.ref[Any], ...] = ()
        self._snapshot: _Snapshot | None = None
        self._is_warned = False
        self.is_reached = True

    def __reduce__(self) -> tuple[type[PipelineSlot], tuple[()]]:
        return PipelineSlot, ()

    def __deepcopy__(self, memo: dict[int, Any]) -> PipelineSlot:
        other = PipelineSlot()
        if self._snapshot is not None and not self.is_reached:
            other._snapshot = self._snapshot._replace(backend=None)
        return other

    def add_owner(self, tokenizer: Any) -> None:
        """Remember a tokenizer that has this slot."""
        alive = (owner for owner in self._owners if owner() is not None)
        self._owners = (*alive, weakref.ref(tokenizer))  # losing one to another thread costs time only

    def _others(self, attributes: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the attributes of the other tokenizers that have this slot, and notice what reaches the backend."""
        owners = [owner() for owner in self._owners]
        found = {id(vars(owner)): vars(owner) for owner in owners if hasattr(type(owner), "_accelerates")}
        return [each for each in found.values() if each is not attributes and each.get("_pipeline_slot") is self]

    def current(self, attributes: dict[str, Any]) -> FastPipeline | None:
        """Return the pipeline of the backend as it is now; None if the backend has to do the work itself.

        Args:
            attributes: those of the tokenizer.
        """
        backend, snapshot = attributes["_tokenizer"], self._snapshot
        try:
            if snapshot is None or state_of_components(backend) != snapshot.components:
                return self._renewed(backend)
            if self.is_reached or snapshot.backend is not backend:
                # In this order: what is reached from here on is compared in the next call.
                self.is_reached = False
                if snapshot.backend is not backend or is_held_elsewhere(attributes, self._others(attributes)):
                    self.is_reached = True
                if state_of_tokens(backend) != snapshot.tokens:
                    return self._renewed(backend)
        except ValueError as error:  # of a component in Python
            self._warn(error)
            return None
        if snapshot.backend is None:
            self._snapshot = snapshot._replace(backend=backend)
        return snapshot.pipeline

    def require(self, attributes: dict[str, Any]) -> None:
        """Make the pipeline of the backend.

        Raises:
            ValueError: it cannot be made, for the reason in the message.
        """
        self._take(attributes["_tokenizer"], verified_pipeline)

    def _renewed(self, backend: Tokenizer) -> FastPipeline | None:
        try:
            return self._take(backend, verified_pipeline)
        except ValueError as error:
            self._warn(error)
            return self._take(backend, lambda _: None)

    def _take(self, backend: Tokenizer, make: Callable[[Tokenizer], FastPipeline | None]) -> FastPipeline | None:
        """Return what is made of a backend, and keep it unless another thread changes the backend meanwhile.

        Then the result is that of a moment in between, and the next call makes another one. The backend itself would
        not do: transformers sets its padding for each call, which other threads may change before it is used.
        """
        for _ in range(_TRIES):
            self.is_reached = True
            before = state_of_components(backend), state_of_tokens(backend)
            pipeline, error = None, None
            try:
                pipeline = make(backend)
            except ValueError as raised:
                error = raised
            is_unchanged = before == (state_of_components(backend), state_of_tokens(backend))
            if is_unchanged and error is None:
                self._snapshot = _Snapshot(backend, pipeline, *before)
            if error is None:
                return pipeline
            if is_unchanged:
                raise error
        raise ValueError("other threads change the tokenizer while it is read")

    def _warn(self, error: Exception) -> None:
        if not self._is_warned:
            self._is_warned = True
            logger.warning("tokenizers encodes for this tokenizer, because hf_bpe cannot: %s", error)
