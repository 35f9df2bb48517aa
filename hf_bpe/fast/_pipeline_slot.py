"""The pipeline of a fast tokenizer, verified when it is made, and made again when the backend has changed."""

from __future__ import annotations

import hashlib
import sys
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from tokenizers import Tokenizer
from transformers.utils import logging

from hf_bpe._native_core import require_core
from hf_bpe.fast._backend_state import (
    Components,
    is_held_elsewhere,
    remembered_as_special,
    state_of_tokens,
    vocab_sizes,
)
from hf_bpe.fast._fast_pipeline import FastPipeline, verify_pipeline
from hf_bpe.normalizers._backend import panics_as_errors

logger = logging.get_logger(__name__)

_pipelines: weakref.WeakValueDictionary[str, FastPipeline] = weakref.WeakValueDictionary()
_verified: set[str] = set()
_TRIES = 16  # to verify a pipeline while other threads change the backend


def verified_pipeline(backend: Tokenizer) -> FastPipeline:
    """Return the pipeline of a backend, verified once for each content in a process, or raise a ValueError."""
    require_core("accelerated tokenizers")
    with panics_as_errors():
        content = backend.to_str().encode()
        remembered = remembered_as_special(backend, backend.get_added_tokens_decoder())
    if remembered:
        raise ValueError(
            f"the added token {remembered[0]!r} was a special token before, as which tokenizers goes on to treat it "
            "until the tokenizer is saved and loaded again"
        )
    digest = hashlib.sha256(content).hexdigest()
    pipeline = _pipelines.get(digest)
    if pipeline is None:
        pipeline, definition = FastPipeline.from_json(content)
        if digest not in _verified:
            verify_pipeline(pipeline, definition, backend, content)
            _verified.add(digest)
        _pipelines[digest] = pipeline
    return pipeline


@dataclass
class _Snapshot:
    """The state of a backend for which a pipeline was made."""

    backend: Tokenizer | None  # the backend; None before it is known, in a copy
    pipeline: FastPipeline | None  # what was made of it; None if there can be none
    components: Components  # handles of its components, as they are as long as nothing reaches it
    states: tuple[object, ...]
    tokens: tuple[object, ...]  # the state of its tokens


def _read_state(backend: Tokenizer) -> tuple[Components, tuple[object, ...], tuple[Any, ...]]:
    """Return handles of the components, their state, and the state of the tokens."""
    components = Components(backend)
    return components, components.state(), (vocab_sizes(backend), *state_of_tokens(backend))


# Methods of transformers that read `_tokenizer`, and neither keep nor return it or a part of it. Without this list, and
# the look at the caller's frame, one call of such a method would unseal a tokenizer for good, and calls for five words
# take four times as long where components are compared.
_TRUSTED = {"_add_tokens", "_encode_plus", "_decode", "set_truncation_and_padding", "num_special_tokens_to_add"}
_TRUSTED |= {"__init__", "_post_init", "update_post_processor", "convert_tokens_to_string", "get_added_vocab"}
_TRUSTED |= {"added_tokens_encoder", "vocab", "_encode_without_added_tokens", "save_vocabulary", "_save_pretrained"}


class PipelineSlot:
    """The pipeline of a tokenizer, made when it is needed and again when the backend has changed.

    Copies made by `copy.copy` share the slot with the backend. They are known, so that their references to the backend
    are not taken for those of other code, for which added tokens would be compared in every call: vLLM keeps copies.

    What is compared before each call depends on who could change the backend. Nothing, as long as it is sealed: it was
    loaded by hf_bpe, and since then nothing but methods of transformers has reached it. Else the components, because
    other code may have a handle of one; and if the backend itself may have been reached, its tokens, too.

    Attributes:
        is_exposed: whether other code may have reached the backend since it was last compared.
        is_sealed: whether no other code has ever had the backend.

    Pickles are empty, so the fingerprint of a tokenizer does not depend on what was called.
    """

    __slots__ = ("_is_warned", "_owners", "_snapshot", "is_exposed", "is_sealed")

    def __init__(self) -> None:
        self._owners: tuple[weakref.ref[object], ...] = ()
        self._snapshot: _Snapshot | None = None
        self._is_warned = False
        self.is_exposed = True
        self.is_sealed = False

    def __reduce__(self) -> tuple[type[PipelineSlot], tuple[()]]:
        return PipelineSlot, ()

    def __deepcopy__(self, memo: dict[int, object]) -> PipelineSlot:
        other = PipelineSlot()
        other.is_sealed = self.is_sealed
        if self._snapshot is not None and not self.is_exposed:
            other._snapshot = replace(self._snapshot, backend=None)
        return other

    def mark_exposed(self) -> None:
        """Remember that the caller's caller, which reads `_tokenizer`, gets the backend."""
        self.is_exposed = True
        if self.is_sealed:
            caller = sys._getframe(2)
            module = caller.f_globals.get("__name__", "")
            self.is_sealed = caller.f_code.co_name in _TRUSTED and module.startswith("transformers.")

    def seal(self, tokenizer: object, arguments: Iterable[object]) -> None:
        """Remember that no other code has the backend of a tokenizer which was just loaded.

        Code has it if a class of the tokenizer is of another package, or if it was loaded with components of a backend.
        """
        classes = {cls.__module__.partition(".")[0] for cls in type(tokenizer).__mro__}
        has_components = any(type(value).__module__.partition(".")[0] == "tokenizers" for value in arguments)
        self.is_sealed = classes <= {"hf_bpe", "transformers", "builtins"} and not has_components

    def add_owner(self, tokenizer: object) -> None:
        """Remember a tokenizer that has this slot."""
        alive = (owner for owner in self._owners if owner() is not None)
        self._owners = (*alive, weakref.ref(tokenizer))  # losing one to another thread costs time only

    def _sibling_attributes(self, attributes: dict[str, object]) -> list[dict[str, object]]:
        """Return the attributes of the other accelerated tokenizers that have this slot."""
        owners = [owner() for owner in self._owners]
        by_id = {id(vars(owner)): vars(owner) for owner in owners if hasattr(type(owner), "_accelerates")}
        return [each for each in by_id.values() if each is not attributes and each.get("_pipeline_slot") is self]

    def up_to_date_pipeline(
        self, attributes: dict[str, Any], only_decodes: bool = False, tells_specials: bool = False
    ) -> FastPipeline | None:
        """Return the pipeline of the backend as it is now; None if the backend has to do the work itself.

        Fewer components decide if it `only_decodes`. Which added tokens are special matters (`tells_specials`) only to
        what decodes, or encodes special tokens as text.
        """
        backend, snapshot = attributes["_tokenizer"], self._snapshot
        if snapshot is None:
            return self._renewed(backend)
        if not self.is_exposed and snapshot.backend is backend:
            if self.is_sealed:  # nobody else has had the backend since it was loaded
                return snapshot.pipeline
            try:
                components, states = snapshot.components, snapshot.states
                if components.decodes_as(states) and (only_decodes or components.state() == states):
                    return snapshot.pipeline
            except ValueError:
                pass  # which is raised again
        try:
            # In this order: what is reached from here on is compared in the next call.
            self.is_exposed = False
            if snapshot.backend is not backend or is_held_elsewhere(attributes, self._sibling_attributes(attributes)):
                self.is_exposed, self.is_sealed = True, False
            components, states, tokens = _read_state(backend)
            if (states, tokens) != (snapshot.states, snapshot.tokens):
                return self._renewed(backend)
            # Not in each call, as it takes 5 µs for each added token, of which Gemma 3 has 6,415.
            if (tells_specials or not self.is_exposed) and remembered_as_special(backend, tokens[-1]):
                return self._renewed(backend)
        except ValueError as error:  # of a component in Python
            self._warn(error)
            return None
        # Not a new snapshot, which could replace that of a thread that has seen a change meanwhile.
        snapshot.backend, snapshot.components = backend, components
        return snapshot.pipeline

    @property
    def has_pipeline(self) -> bool | None:
        """True if the backend had a pipeline when it was last looked at; None if it was not yet."""
        return None if self._snapshot is None else self._snapshot.pipeline is not None

    def _renewed(self, backend: Tokenizer) -> FastPipeline | None:
        try:
            return self.make_pipeline(backend)  # verified, unless this content was before
        except ValueError as error:
            self._warn(error)
        try:
            return self.make_pipeline(backend, has_pipeline=False)
        except ValueError:  # its state cannot be read, so it is asked again in the next call
            return None

    def make_pipeline(self, backend: Tokenizer, has_pipeline: bool = True) -> FastPipeline | None:
        """Return the pipeline of a backend, None if it is known to have none, and keep this for the next calls.

        But if another thread changes the backend meanwhile, the next call makes another one. The backend itself would
        not do: transformers sets its padding for each call, which other threads may change before it is used. A
        ValueError says why it cannot be made.
        """
        for _ in range(_TRIES):
            self.is_exposed = True
            components, states, tokens = _read_state(backend)
            pipeline, error = None, None
            try:
                pipeline = verified_pipeline(backend) if has_pipeline else None
            except ValueError as raised:
                error = raised
            is_unchanged = (states, tokens) == _read_state(backend)[1:]
            if is_unchanged and error is None:
                self._snapshot = _Snapshot(backend, pipeline, components, states, tokens)
            if error is None:
                return pipeline
            if is_unchanged:
                raise error
        raise ValueError("other threads change the tokenizer while it is read")

    def _warn(self, error: Exception) -> None:
        if not self._is_warned:
            self._is_warned = True
            logger.warning("tokenizers encodes for this tokenizer, because hf_bpe cannot: %s", error)
