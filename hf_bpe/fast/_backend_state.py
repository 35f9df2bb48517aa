"""The state of a `tokenizers.Tokenizer` that decides ids, read quickly enough to compare it before every call.

Serializing a tokenizer takes a second. So its components are compared by themselves, because a handle of one can change
it in place; added tokens and the model only where other code may have reached the object that owns them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from string import ascii_letters
from typing import Any

from tokenizers import AddedToken, Tokenizer
from tokenizers.decoders import DecodeStream
from tokenizers.models import BPE

from hf_bpe.normalizers._backend import panics_as_errors

_SAMPLES = 9
_LAST_SAMPLES = 4  # the tokens of small models that are learned are the last


class Components:
    """Handles of all components of a backend but the vocabulary. Whoever has one can change the component in place.

    It is a ValueError if the model is not BPE, or a component has no state, because it is written in Python.
    """

    __slots__ = ("_decoder_state", "_model", "_states")

    def __init__(self, backend: Tokenizer) -> None:
        self._model = backend.model
        if not isinstance(self._model, BPE):
            raise ValueError(f"its model is {type(self._model).__name__}, expected BPE")
        parts = backend.normalizer, backend.pre_tokenizer, backend.post_processor
        self._states: list[Callable[[], object]] = [_state_reader(part) for part in parts if part is not None]
        self._decoder_state = _state_reader(backend.decoder)

    def state(self) -> tuple[object, ...]:
        """Return the state as it is now, or raise a ValueError; takes about 1 µs, mostly for the post-processor."""
        try:
            return self._decoder_state(), _model_state(self._model), [state() for state in self._states]
        except Exception as error:  # `tokenizers` raises no narrower class
            raise ValueError(f"a component cannot be read: {error}") from error

    def decodes_as(self, state: tuple[object, ...]) -> bool:
        """Say whether texts are decoded as they were in a state."""
        return bool(self._decoder_state() == state[0])


def _state_reader(part: Any) -> Callable[[], object]:
    return type(None) if part is None else part.__getstate__


_model_state = attrgetter(
    *("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"),
    *("fuse_unk", "byte_fallback", "ignore_merges"),
)


def vocab_sizes(backend: Tokenizer) -> tuple[int, int]:
    """Return the numbers of tokens without added tokens and with them; takes 7 µs for 256 added tokens."""
    return backend.get_vocab_size(with_added_tokens=False), backend.get_vocab_size(with_added_tokens=True)


def remembered_as_special(backend: Tokenizer, added: Mapping[int, AddedToken]) -> list[str]:
    """Return the ordinary added tokens that were special before, as which `tokenizers` goes on to treat them.

    Neither its files nor its attributes tell, but decoding leaves out such a token.
    """
    ordinary = [token_id for token_id, token in added.items() if not token.special]
    if _shows_all(backend, ordinary):  # a sixth of the time of asking for each of the 6,406 of Gemma 3
        return []
    ids = (backend.token_to_id(letter) for letter in ascii_letters)
    letter = next((token_id for token_id in ids if token_id is not None and token_id not in added), None)

    def is_kept(token_id: int) -> bool:
        # Unlike `decode`, this keeps the GIL: `add_tokens` of another thread would raise an error meanwhile.
        streams = [DecodeStream(skip_special_tokens=skips) for skips in (True, False)]
        kept, shown = (stream.step(backend, token_id) for stream in streams)
        if shown is None:  # part of a character, as `é` stands for in a vocabulary of bytes: then a letter follows
            if letter is None:
                return False
            kept, shown = (stream.step(backend, letter) for stream in streams)
        return bool(kept == shown)

    return [added[token_id].content for token_id in ordinary if not is_kept(token_id)]


def _shows_all(backend: Tokenizer, ids: list[int]) -> bool:
    """Return whether `skip_special_tokens` surely skips none of the ids."""
    if not ids:
        return True
    try:
        kept, shown = (DecodeStream(skip_special_tokens=skips).step(backend, ids) for skips in (True, False))
    except Exception:  # `tokenizers` raises no narrower class
        return False
    # Bytes that are no text become U+FFFD together, however many they are.
    return shown is not None and kept == shown and "\ufffd" not in shown


def state_of_tokens(backend: Tokenizer) -> tuple[object, ...]:
    """Return samples of the vocabulary, the tokens that merges make of the samples, and the added tokens.

    It takes about 0.3 µs for each added token, a tenth of `remembered_as_special`, which is not in it. A model of the
    same size that differs elsewhere is not noticed. It is a ValueError if `tokenizers` panics, as it may after it was
    trained in place.
    """
    size = backend.get_vocab_size(with_added_tokens=False)
    numbers = [number * size // _SAMPLES for number in range(_SAMPLES)]
    samples = [*map(backend.id_to_token, [*numbers, *range(max(size - _LAST_SAMPLES, 0), size)])]
    with panics_as_errors():
        canary = [token.id for token in backend.model.tokenize("".join(filter(None, samples)))]
        return samples, canary, backend.get_added_tokens_decoder()


def is_held_elsewhere(attributes: dict[str, object], candidates: Sequence[dict[str, object]]) -> bool:
    """Return whether anything holds the backend besides its tokenizers, a snapshot and the caller.

    Given are the attributes of the tokenizer, and of candidates that may have the same backend.
    """
    references = _references(attributes)
    # In this order: of tokenizers that get or lose the backend meanwhile, too few are counted, never too many.
    return references > _REFERENCES + sum(each.get("_tokenizer") is attributes["_tokenizer"] for each in candidates)


def _references(attributes: dict[str, object]) -> int:
    return sys.getrefcount(attributes["_tokenizer"])


def _references_of_one_tokenizer() -> int:
    backend = object()
    attributes, snapshot = {"_tokenizer": backend}, (backend,)
    return _references(attributes) + len(snapshot) - 1


_REFERENCES = _references_of_one_tokenizer()
