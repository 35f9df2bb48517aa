"""Encode datasets and token files on the workers of a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from hf_bpe.distributed._arrow import ArrowEncoder
from hf_bpe.distributed._parts import Parts
from hf_bpe.distributed._ray import connected, import_ray
from hf_bpe.token_files import EncodedFiles

__all__ = ["encode", "encode_files"]


def encode(dataset: Any, tokenizer: str | os.PathLike[str], *, concurrency: Any = None, **options: Any) -> Any:
    """Return a Ray dataset with a column of ids.

    Args:
        dataset: a `ray.data.Dataset`.
        tokenizer: a folder or file of a tokenizer, which all workers see under this name.
        concurrency: the number of actors, or the fewest and the most, as `map_batches` takes it; None for one per core.
        options: those of `ArrowEncoder`.

    Raises:
        ImportError: Ray or pyarrow is not installed.
    """
    ray = import_ray()
    ArrowEncoder(tokenizer, **options)  # wrong options are an error here, not in each actor
    workers = max(int(ray.cluster_resources().get("CPU", 1)), 1) if concurrency is None else concurrency
    return dataset.map_batches(
        ArrowEncoder,
        fn_constructor_args=(os.fspath(tokenizer),),
        fn_constructor_kwargs=options,
        batch_format="pyarrow",
        concurrency=workers,
    )


def encode_files(
    tokenizer: str | os.PathLike[str],
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    parts: int,
    address: str | None = None,
    max_retries: int = 3,
    num_cpus: int = 1,
    work_dir: str | os.PathLike[str] | None = None,
    **options: Any,
) -> EncodedFiles:
    """Encode files to token files on the workers of a cluster, a task for each part.

    The parts hold what one process would have written, see `shard` of `BPETokenizer.encode_files`. A task whose worker
    is lost runs again and writes the same bytes.

    Args:
        tokenizer: a folder or file of a tokenizer.
        paths, output: as for `encode_files`. All these are on file systems that all workers see under these names.
        parts: the number of tasks; several for each core, so that none waits long for the last.
        address: as for `hf_bpe.distributed.count`.
        max_retries: how often a task is retried if its worker is lost.
        num_cpus: the cores of a task.
        work_dir: a folder for what is encoded, from which the same call resumes.
        options: those of `BPETokenizer.encode_files`, such as `format`.

    Returns:
        The files of all parts, after `merge_manifests`.

    Raises:
        ImportError: Ray is not installed.
        ray.exceptions.RayError: a task failed, or its worker was lost more often than it is retried.
    """
    ray = import_ray()
    checked = Parts.checked(tokenizer, paths, output, parts, work_dir, {**options, "num_workers": num_cpus})
    with connected(ray, address):
        task = ray.remote(num_cpus=num_cpus, max_retries=max_retries)(_encode_part)
        ray.get([task.remote(checked, part) for part in range(checked.number)])
    return checked.merge()


def _encode_part(parts: Parts, part: int) -> None:
    parts.encode(part)
