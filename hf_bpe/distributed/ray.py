"""Encode datasets and token files on the workers of a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hf_bpe._utils.arguments import check_int
from hf_bpe._utils.paths import check_output, is_url
from hf_bpe.distributed._arrow import ArrowEncoder
from hf_bpe.distributed._ray import connected, import_ray
from hf_bpe.token_files import EncodedFiles, merge_manifests
from hf_bpe.token_files._shares import MAX_SHARES, Share
from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

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
        tokenizer, paths, output: as for `encode_files`, on file systems that all workers see under these names.
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
    parts = check_int("parts", parts, 1, MAX_SHARES)
    path = Path(check_output("output", output)).absolute()
    named = [paths] if isinstance(paths, (str, os.PathLike)) else [*paths]
    options |= {"num_workers": num_cpus}
    with connected(ray, address):
        task = ray.remote(num_cpus=num_cpus, max_retries=max_retries)(_encode_part)
        work = None if work_dir is None else Path(check_output("work_dir", work_dir)).absolute()
        arguments = (
            str(Path(tokenizer).absolute()),
            [str(Path(each).absolute()) if not is_url(str(each)) else str(each) for each in named],
            path,
            work,
            options,
        )
        ray.get([task.remote(*arguments, Share(part, parts)) for part in range(parts)])
    return merge_manifests(path, overwrite=True)


def _encode_part(
    tokenizer: str, paths: list[str], output: Path, work: Path | None, options: dict[str, Any], share: Share
) -> None:
    work_dir = None if work is None else work / share.name
    BPETokenizer.convert_from(tokenizer).encode_files(paths, output, shard=share, work_dir=work_dir, **options)
