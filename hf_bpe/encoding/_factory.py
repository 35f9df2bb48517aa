"""Creation of encoders: of the native core, or of the reference."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from hf_bpe._native_core import native_core
from hf_bpe.encoding._native_paths import is_native
from hf_bpe.pretokenizers._native_splitting import native_pattern

if TYPE_CHECKING:
    from hf_bpe.core._model import BPEModel
    from hf_bpe.encoding._encoder import AddedTokenTuple, Encoder


# Ids and ranks up to which the native encoder packs a merge into 64 bits.
_NATIVE_IDS = 2**21 - 2**10


# The encoders without added tokens that are in use, by the model's `id`, which is taken as long as they hold the model.
_encoders: weakref.WeakValueDictionary[tuple[int, bool], Encoder] = weakref.WeakValueDictionary()


def make_encoder(model: BPEModel, added_tokens: tuple[AddedTokenTuple, ...] = ()) -> Encoder:
    """Return the encoder of a model with some added tokens, which shares the tables of one that is in use."""
    key = id(model), native_core() is None
    base = _encoders.get(key)
    if base is None:
        base = _encoders[key] = _make_encoder(model)
    return base.with_added_tokens(added_tokens) if added_tokens else base


def share_encoder(encoder: Encoder, model: BPEModel) -> Encoder:
    """Return the encoder of a model that gives the ids of another one for every text, whose `make_encoder` is given."""
    if not is_native(encoder):
        return make_encoder(model)
    shared: Encoder = encoder.with_model(model)
    _encoders[id(model), False] = shared
    return shared


def _make_encoder(model: BPEModel) -> Encoder:
    native = native_core()
    if native is not None and not model.alphabet.is_bytes:
        from hf_bpe.encoding._character_encoder import make_character_encoder, reads_spaces_natively

        _check_ids(model)
        if reads_spaces_natively(model):  # other models are left to the reference
            return make_character_encoder(native, model, make_encoder)
    if model.normalizer is None:
        return _make_encoder_of_raw_text(model)
    from hf_bpe.encoding._prepared_encoder import PreparedEncoder

    return PreparedEncoder(_make_encoder_of_raw_text(model), make_encoder)


def _make_encoder_of_raw_text(model: BPEModel) -> Encoder:
    """Return an encoder that ignores the model's normalizer; a ValueError if the core cannot split by the pattern."""
    native = native_core()
    if native is None or not model.alphabet.is_bytes:
        # Imports numpy, which `import hf_bpe` does not need.
        from hf_bpe.encoding._reference_encoder import ReferenceEncoder

        return ReferenceEncoder(model, make_encoder)
    _check_ids(model)
    encoder: Encoder = native.Encoder(
        model,
        make_encoder,
        model.token_arrays,
        model.merge_ids,
        native_pattern(native, model.pre_tokenizer),
        excluded_tokens=[special.encode() for special in model.special_tokens] if model.ignore_merges else None,
        drop_missing_bytes=model.drop_missing_bytes,
    )
    return encoder


def _check_ids(model: BPEModel) -> None:
    ids = memoryview(model.token_arrays.ids).cast("I")
    if (highest := max(*ids[-1:], len(model.merge_ids) // 12, 0)) >= _NATIVE_IDS:
        raise ValueError(f"model: expected ids and numbers of merges below {_NATIVE_IDS}, got {highest}")
