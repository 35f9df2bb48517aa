"""Selection of the engine in this process, and encoders of either engine."""

import contextlib

import pytest

from hf_bpe._native_core import native_core
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.pretokenizers._native_splitting import native_pattern


@contextlib.contextmanager
def use_engine(name):
    """Run the body with "native" or "reference", as `HF_BPE_ENGINE` selects it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_BPE_ENGINE", name)
        native_core.cache_clear()
        try:
            yield name
        finally:
            native_core.cache_clear()


def reference_encoder(model, tokens=()):
    """Return the encoder of a model, with added tokens, where there is no core."""
    with use_engine("reference"):
        return make_encoder(model, tuple(tokens))


def native_encoder(model, tokens=(), **instructions):
    """Return the core's encoder of a model of bytes, with added tokens; no result depends on the instructions."""
    native = native_core()
    options = {
        "excluded_tokens": [special.encode() for special in model.special_tokens] if model.ignore_merges else None,
        "drop_missing_bytes": model.drop_missing_bytes,
        **instructions,
    }
    pattern = native_pattern(native, model.pre_tokenizer)
    encoder = native.Encoder(model, make_encoder, model.token_arrays, model.merge_ids, pattern, **options)
    return encoder.with_added_tokens(tuple(tokens))
