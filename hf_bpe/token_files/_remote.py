"""Token files on object stores: written to a local folder, then uploaded, the manifest last.

Readers of a store find the files of one run, or no manifest. Nothing is locked there: the same job may run twice at
once, and writes the same bytes, but two jobs must not write to one output at once.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from hf_bpe._utils.input_files import parse_json
from hf_bpe._utils.messages import without_credentials
from hf_bpe._utils.object_stores import (
    StorageOptions,
    download,
    exists,
    join,
    parent_and_name,
    remove,
    sizes,
    transfer,
    upload,
)
from hf_bpe._utils.paths import is_url
from hf_bpe.token_files._job import Job
from hf_bpe.token_files._manifest import EncodedFiles, with_urls
from hf_bpe.token_files._resume.record import LOG
from hf_bpe.token_files._resume.replacement import names_in
from hf_bpe.token_files._run_job import run_job

_OUTPUT = "output"  # the folder of the files in a work folder
_RECORD = ".uploading"  # after the name of the manifest, while files are uploaded; lists of files leave it out

logger = logging.getLogger(__name__)


class Places:
    """The folders of a run: local ones, and what they stand for."""

    def __init__(
        self, output: str | os.PathLike[str], work_dir: str | os.PathLike[str] | None, options: StorageOptions | None
    ) -> None:
        self._destination, self._options = os.fspath(output), options
        self.output = Path(output)
        self.work = None if work_dir is None else Path(work_dir)

    @contextmanager
    def opened(self) -> Iterator[Places]:
        """Make the local folder that stands for a URL; outside of a work folder, it is deleted afterwards."""
        with ExitStack() as stack:
            if is_url(self._destination):
                if self.work is None:
                    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hf_bpe-")))
                else:
                    folder = self.work / _OUTPUT
                self.output = folder / parent_and_name(self._destination)[1]
            yield self

    def encode(self, job: Job, workers: int, show_progress: bool, overwrite: bool) -> EncodedFiles:
        """Encode what a job reads, whose target is the local output, and upload its files."""
        if not is_url(self._destination):
            return run_job(job, workers, self.work, show_progress, overwrite)
        folder, _ = parent_and_name(self._destination)
        store = _Store(folder, self.output.parent, self._options)
        manifest = store.url(job.target.manifest)
        job = job._replace(destination=without_credentials(manifest))
        written_names = {store.url(path) for path in job.target.single_shard_paths()}
        if replaced := [
            source.name for source in job.sources if source.is_file and os.fspath(source.source.data) in written_names
        ]:
            raise ValueError(f"output: {replaced[0]} is a source; choose another output")
        old = store.manifest(job.target.manifest)
        run = _digest(job)
        if not overwrite:
            is_begun = self.work is not None and (self.work / LOG).exists()  # else its first run has found nothing
            store.check_free(job, old, run, is_begun)
        written = run_job(job, workers, self.work, show_progress, overwrite)
        store.publish(written, job, old, overwrite, run)
        return with_urls(written, store.url)


class _Store:
    """The folder of an output on a store, and the local one that stands for it."""

    def __init__(self, folder: str, local: Path, options: StorageOptions | None) -> None:
        self._folder, self._local, self._options = folder, local, options

    def url(self, path: Path) -> str:
        """Return the URL of a local path."""
        return join(self._folder, path.relative_to(self._local).as_posix())

    def manifest(self, path: Path) -> object:
        """Return the content of the manifest on the store; None if there is none, or not one of ours."""
        data = self._content(self.url(path))
        try:
            return None if data is None else parse_json(path, data.decode())
        except ValueError:
            return {}

    def _content(self, url: str) -> bytes | None:
        """Return what is at a URL; None if nothing is."""
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, "copy")
            try:
                download(copy, url, self._options)
            except FileNotFoundError:
                return None
            return copy.read_bytes()

    def check_free(self, job: Job, old: object, run: str | None, is_begun: bool) -> None:
        """Raise a FileExistsError for what another run has written; a run begins its log only if the output is free."""
        target = job.target
        # The settings of a part name the versions of all sources; those of a whole corpus do not.
        is_known = is_begun or job.options.shard is not None
        if old is not None and is_known and _is_same_run(old, job):
            return
        # What identifies a run whose upload has begun and has not ended.
        if run is not None and self._content(self.url(target.manifest) + _RECORD) == run.encode():
            return
        if old is not None:
            existing = [self.url(target.manifest)]
        elif is_begun:
            return
        elif target.shard_tokens is None:
            urls = [self.url(path) for path in target.single_shard_paths()]
            existing = [url for url in urls if exists(url, self._options)]
        else:
            existing = [join(self._parent(target.folder), name) for name in self._existing_shards(job)]
        if existing:
            raise FileExistsError(
                f"{existing[0]} is of another run; delete its files, choose another output, or replace them "
                "(overwrite=True, --force)"
            )

    def _existing_shards(self, job: Job) -> list[str]:
        """Return the names of files with ids and their indices that this output has on the store."""
        there = sizes(self._parent(job.target.folder), self._options)
        return sorted(n for n in there if "/" not in n and job.target.has_name(n) and not n.endswith(".json"))

    def _begin(self, manifest: Path, run: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            record = Path(folder, "record")
            record.write_text(run, encoding="utf-8")
            upload(record, self.url(manifest) + _RECORD, self._options)

    def publish(self, written: EncodedFiles, job: Job, old: object, overwrite: bool, run: str | None) -> None:
        """Upload all files, the manifest last, and with `overwrite` delete other shards of this output."""
        target = job.target
        new = [Path(path) for path in written.files]
        manifests = [path for path in reversed(target.manifest_files) if path.exists()]
        names = {path.name for path in new}
        replaced = {*names_in(old)} - names if overwrite else set()
        if target.shard_tokens is not None:
            shards = {*self._existing_shards(job)} - names
            if overwrite:
                replaced |= shards  # also what an interrupted run has left
            elif shards:
                url = join(self._parent(target.folder), min(shards))
                raise FileExistsError(f"{url} is a shard of another run; delete its shards, or give overwrite=True")
        if run is not None:
            self._begin(target.manifest, run)
        for path in target.manifest_files if old is not None else ():  # also one that says the same of other bytes
            remove(self.url(path), self._options)
        transfer(upload, ((path, self.url(path)) for path in new), self._options)
        for name in sorted(replaced):
            if target.has_name(name):
                remove(join(self._parent(target.folder), name), self._options)
        for path in manifests:
            upload(path, self.url(path), self._options)
        if run is not None:
            remove(self.url(target.manifest) + _RECORD, self._options)
        logger.info("uploaded %d files to %s", len(new) + len(manifests), self._folder)

    def _parent(self, folder: Path) -> str:
        return self._folder if folder == self._local else self.url(folder)


def _digest(job: Job) -> str | None:
    """Return what differs for runs that write other bytes; None if a source can be read only once."""
    if any(source.version is None for source in job.sources):
        return None
    run = [job.settings, job.target.shard_tokens, job.key]
    return hashlib.sha256(json.dumps(run, sort_keys=True).encode()).hexdigest()


def _is_same_run(manifest: object, job: Job) -> bool:
    """Return whether a manifest is of the same settings, which include the plan of the sources of a part."""
    settings: Mapping[str, object] = {**job.settings, "shard_tokens": job.target.shard_tokens}
    names = [source["name"] for source in job.described_sources]
    return (
        isinstance(manifest, dict)
        and all(manifest.get(name) == value for name, value in settings.items())
        and [source.get("name") for source in manifest.get("sources", [])] == names
    )
