"""Encode datasets on the workers of a Ray cluster."""

from __future__ import annotations

import importlib
import os
from typing import Any

from hf_bpe.distributed._arrow import ArrowEncoder
from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

__all__ = ["encode"]


def encode(
    dataset: Any, tokenizer: str | os.PathLike[str] | BPETokenizer, *, concurrency: Any = None, **options: Any
) -> Any:
    """Return a Ray dataset with a column of ids.

    Ray starts workers that are lost again, and repeats their batches.

    Args:
        dataset: a `ray.data.Dataset`.
        tokenizer: a folder or file of a tokenizer, which all workers see under this name, or its URL; or a
            `BPETokenizer`.
        concurrency: the number of actors, or the fewest and the most, as `map_batches` takes it; None for one per core.
        options: those of `ArrowEncoder`.

    Raises:
        ImportError: Ray or pyarrow is not installed.
        TypeError, ValueError: an option is invalid.
    """
    try:
        ray = importlib.import_module("ray")
    except ImportError as error:
        raise ImportError("work on a cluster needs Ray: pip install 'hf_bpe[ray]'") from error
    encoder = ArrowEncoder(tokenizer, **options)  # wrong options are an error here, not in each actor
    workers = max(int(ray.cluster_resources().get("CPU", 1)), 1) if concurrency is None else concurrency
    return dataset.map_batches(
        ArrowEncoder,
        fn_constructor_args=(encoder.tokenizer,),
        fn_constructor_kwargs=options,
        batch_format="pyarrow",
        concurrency=workers,
    )
