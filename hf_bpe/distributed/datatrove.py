"""Steps of datatrove's pipelines that write token files, as its DocumentTokenizer does, and merge their manifests.

LocalPipelineExecutor([JsonlReader("in"), …filters…, DocumentTokenizer("my-tokenizer", "out/c")], tasks=100)
LocalPipelineExecutor([DocumentTokenizerMerger("out/c")])
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hf_bpe._utils.arguments import check_flag
from hf_bpe._utils.paths import check_destination
from hf_bpe.counting._sources import Source, plan
from hf_bpe.distributed._parts import absolute
from hf_bpe.encoding._randomness import Randomness
from hf_bpe.token_files import EncodedFiles, merge_manifests
from hf_bpe.token_files._formats import FormatName
from hf_bpe.token_files._remote import Places
from hf_bpe.token_files._request import make_job
from hf_bpe.token_files._shares import Share
from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

try:
    from datatrove.pipeline.base import PipelineStep
except ImportError:
    PipelineStep = None

__all__ = ["DocumentTokenizer", "DocumentTokenizerMerger"]

_TYPE = "🔢 - TOKENIZER"
_NO_LOSS = "no_loss_ranges"
_Step: Any = object if PipelineStep is None else PipelineStep


class _WithStorageOptions:
    __slots__ = ("_storage_options",)  # not in __dict__, which executors write to executor.json
    _storage_options: dict[str, Any] | None


class _TokenizingStep(_WithStorageOptions, _Step):
    type = _TYPE

    def __init__(self, output: str | os.PathLike[str], storage_options: dict[str, Any] | None) -> None:
        if PipelineStep is None:
            raise ImportError("steps of datatrove need datatrove: pip install 'hf_bpe[datatrove]'")
        super().__init__()
        self._output = absolute(check_destination("output", output))
        self._storage_options = storage_options


class DocumentTokenizer(_TokenizingStep):
    """Encode the documents of each task, and write them to token files in the order in which they come.

    Task 7 of 100 writes `out/c-00007-of-00100.ds` and its manifest, which comes last. A task that runs twice writes the
    same bytes. Without filters the files of all tasks hold what `encode_files` writes for the documents of task 0, then
    those of task 1, and so on, as JSON lines: a separator inside a document is ordinary text. A task without text
    writes only a manifest.

    Args:
        tokenizer: a folder or file of a tokenizer, which all workers see under this name; or its URL.
        output: the path or URL of the files, as in `BPETokenizer.encode_files`.
        format: as in `encode_files`; datatrove's own by default, which its readers take.
        num_workers: the number of threads of a task.
        storage_options: what fsspec takes to reach URLs. Executors pickle them, and log tracebacks with the values of
            variables: credentials belong in the environment.
        options: others of `encode_files`: `separator`, `append_separator`, `begin_token`, `pack`, `pack_across`,
            `shard_tokens` and `copy_columns`. The columns are `id` and metadata of documents.
        save_loss_metadata: write loss masks by `no_loss_ranges` in the metadata of documents, as datatrove's step does;
            see `loss_mask` of `encode_files`.

    Raises:
        ImportError: datatrove is not installed.
        TypeError, ValueError: when a task begins: an option is invalid.
    """

    name = "✍️ hf_bpe"

    def __init__(
        self,
        tokenizer: str | os.PathLike[str],
        output: str | os.PathLike[str],
        *,
        format: FormatName = "datatrove",
        num_workers: int = 1,
        storage_options: dict[str, Any] | None = None,
        separator: str | None = None,
        append_separator: bool | None = None,
        begin_token: str | None = None,
        pack: int | None = None,
        pack_across: bool = True,
        shard_tokens: int | None = None,
        copy_columns: Sequence[str] = (),
        save_loss_metadata: bool = False,
    ) -> None:
        super().__init__(output, storage_options)
        self._tokenizer, self._num_workers = absolute(tokenizer), num_workers
        self._options: dict[str, Any] = {
            "format": format,
            "separator": separator,
            "append_separator": append_separator,
            "begin_token": begin_token,
            "pack": pack,
            "pack_across": pack_across,
            "shard_tokens": shard_tokens,
            "copy_columns": copy_columns,
            "loss_mask": _NO_LOSS if check_flag("save_loss_metadata", save_loss_metadata) else None,
        }

    def run(self, data: Iterable[Any] | None, rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        """Encode the documents of a task; called by an executor."""
        pipeline = BPETokenizer.convert_from(self._tokenizer, storage_options=self._storage_options).pipeline
        with Places(self._output, None, self._storage_options).opened() as places:
            job = make_job(
                pipeline,
                plan(Source(self._records(data or ()))),
                places.output,
                options=pipeline.options(None),
                random=Randomness(),
                threads=self._num_workers,
                documents_of=Share(rank, world_size),
                **self._options,
            )
            with self.track_time(unit="task"):
                written = places.encode(job, 1, False, True)
        self.stat_update("tokens", value=written.num_tokens)
        self.stat_update("documents", value=written.num_documents)
        return iter(())

    def _records(self, documents: Iterable[Any]) -> Iterator[Any]:
        """Yield the texts of documents, or records with the columns to copy."""
        if not self._options["copy_columns"] and self._options["loss_mask"] is None:
            return (document.text for document in documents)
        return (
            {_NO_LOSS: None, **document.metadata, "id": document.id, "text": document.text} for document in documents
        )


class DocumentTokenizerMerger(_TokenizingStep):
    """Check that all tasks have written their files, and write the manifest of the whole; see `merge_manifests`.

    The files stay as they are, so it takes as long as reading the manifests. It runs in one task after the others.

    Args:
        output: the `output` of `DocumentTokenizer`.
        storage_options: what fsspec takes to reach a URL; see `DocumentTokenizer` for credentials.
    """

    name = "🗃 hf_bpe"

    def __init__(self, output: str | os.PathLike[str], *, storage_options: dict[str, Any] | None = None) -> None:
        super().__init__(output, storage_options)

    def run(self, data: Iterable[Any] | None = None, rank: int = 0, world_size: int = 1) -> Iterator[Any]:
        """Merge the manifests; called by an executor."""
        if world_size != 1:
            raise ValueError(f"tasks: expected 1, got {world_size}; merging takes one task")
        merged: EncodedFiles = merge_manifests(self._output, overwrite=True, storage_options=self._storage_options)
        self.stat_update("tokens", value=merged.num_tokens)
        return iter(())
