"""The ids of the documents of sources: read, encoded and ended by a token, from any place on."""

from __future__ import annotations

import functools
import logging
import queue
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from typing import NamedTuple, TypeVar

import numpy as np

from hf_bpe.counting._error_policy import ErrorPolicy, Skipped
from hf_bpe.counting._file_formats import lines_before
from hf_bpe.counting._readers import as_bytes, follow_documents
from hf_bpe.counting._sources import Shard
from hf_bpe.encoding._cuts.safe import cut_into_blocks
from hf_bpe.encoding._encoder import AnyText, Encoder, Ids, Numbers, Options
from hf_bpe.encoding._prepared_encoder import normalized_size
from hf_bpe.encoding._randomness import Randomness
from hf_bpe.encoding._sessions.streams import BLOCK_BYTES
from hf_bpe.token_files._loss_masks import NoLossRanges, mark, with_ranges, without_ends, without_last_ids
from hf_bpe.token_files._options import TokenFileOptions
from hf_bpe.token_files._packing import Chunk

_Item = TypeVar("_Item")

logger = logging.getLogger(__name__)

_RECORD_BITS = 40  # of the number of a record as a text; the bits above are the number of its source
_RECORD_BYTES, _RANGE_BYTES = 1 << 7, 1 << 7  # what a record, and a range without loss, take in memory besides texts


class _Row(NamedTuple):
    """Facts about a record besides its text: the values of copied columns, and ranges without loss."""

    values: tuple[str | None, ...]
    no_loss: NoLossRanges = ()


class Framing(NamedTuple):
    """The ids that begin and end documents."""

    separator_id: int = -1  # the id that ends a document where it is found in a text file; -1 if there is none
    appends: bool = False  # whether it is appended to records, and to documents of text that do not end with it
    begin_id: int | None = None  # the id before each document, None if there is none


class Place(NamedTuple):
    """A place in a list of sources from which the same ids follow."""

    file: int = 0  # the index of the source
    done: int = 0  # how much of it is before the place: bytes of text, after decompression, or records
    is_open: bool = False  # whether the place is inside a document
    position: int = 0  # with dropout, the bytes of normalized text before the place


class EncodedChunk(NamedTuple):
    """A chunk, the place after it, the stored bytes read for it, and what was skipped in the sources before that place.

    What was skipped before the place in its own source is found again if encoding resumes there.
    """

    chunk: Chunk
    place: Place
    read: int
    skipped: Skipped


class DocumentEncoder(NamedTuple):
    """The settings by which documents become ids."""

    encoder: Encoder  # what encodes text files
    record_encoder: Encoder  # what encodes records, to which the separator is ordinary text
    separator: str  # the text of the separator, empty if there is none or if `encoder` does not find it
    options: Options
    framing: Framing  # the tokens that begin and end documents
    threads: int
    random: Randomness = Randomness()  # how texts are encoded at random; `first_text` is not used
    # The options of the files, which name the columns of records to copy and that of the loss mask
    files: TokenFileOptions = TokenFileOptions()

    def encode(
        self, sources: Sequence[Shard], place: Place, skipped: Skipped, first_source: int = 0
    ) -> Iterator[EncodedChunk]:
        """Yield the ids of sources from a place on; `skipped` is what was skipped in the sources before."""
        for file in range(place.file, len(sources)):
            here = place if file == place.file else Place(file)
            mask = () if self.files.loss_mask is None else (self.files.loss_mask,)
            policy = ErrorPolicy(sources[file], Skipped(), copied=(*self.files.copy_columns, *mask))
            is_text = sources[file].is_file and sources[file].format == "text"
            read = 0
            read_source = self._text if is_text else self._records
            for chunk, after in read_source(policy, here, first_source + file):
                yield EncodedChunk(chunk, after, policy.position - read, skipped)
                read = policy.position
            skipped += policy.skipped
            unread = (sources[file].size or policy.position) - read
            nothing = Chunk(np.empty(0, np.uint32), np.empty(0, np.int64))
            yield EncodedChunk(nothing, Place(file + 1), max(unread, 0), skipped)

    def _text(self, policy: ErrorPolicy, place: Place, number: int) -> Iterator[tuple[Chunk, Place]]:
        """Yield the ids of a text, which is cut where it changes no id."""
        pieces = _without_first(follow_documents(policy), place.done)
        blocks = cut_into_blocks(pieces, lambda data: self.encoder.find_last_cut(data, self.options), BLOCK_BYTES)
        done, is_open, position = place.done, place.is_open, place.position
        nothing = np.empty(0, np.int64)
        first_text = number << _RECORD_BITS
        with closing(self._ahead(blocks)) as ahead:
            for block in ahead:
                random = self.random._replace(first_text=first_text)
                options = random.options(self.options, 1)._replace(continued=done > 0)
                if options.dropout is not None:
                    options = options._replace(dropout=options.dropout.at((first_text, position)))
                    position += normalized_size(self.encoder, block, options)
                ids, _ = self.encoder.encode_to_numpy([block], options, self.threads)
                chunk, is_open = frame(ids, nothing, is_open, self.framing)
                done += len(block)
                yield chunk, Place(place.file, done, is_open, position)
        if is_open:
            chunk, _ = frame(np.empty(0, np.uint32), np.zeros(1, np.int64), is_open, self.framing)
            yield chunk, Place(place.file, done, False)

    def _records(self, policy: ErrorPolicy, place: Place, number: int) -> Iterator[tuple[Chunk, Place]]:
        done = place.done
        has_values, has_ranges = bool(self.files.copy_columns), self.files.loss_mask is not None
        drops_ends = self.files.format == "datatrove"  # what its own writer does with ids without loss
        with closing(self._ahead(_in_batches(policy, done, has_ranges=has_ranges))) as ahead:
            for texts, rows in ahead:
                random = self.random._replace(first_text=(number << _RECORD_BITS) + done)
                options = random.options(self.options, len(texts))
                if self.separator and any(_holds(text, self.separator) for text in texts):
                    _log_separators(self.separator)
                kept = None
                if any(row.no_loss for row in rows):
                    ids, offsets, places = self.record_encoder.encode_with_offsets(texts, options)
                    kept = mark(ids, offsets, places, [row.no_loss for row in rows])
                else:
                    ids, offsets = self.record_encoder.encode_to_numpy(texts, options, self.threads)
                if kept is not None and drops_ends:
                    is_cut = kept < np.diff(offsets)
                    ids, offsets = without_ends(ids, offsets, kept)
                done += len(texts)
                chunk, _ = frame(ids, offsets[1:], False, self.framing, are_records=True)
                documents = np.flatnonzero(np.diff(offsets))
                if kept is not None and drops_ends and self.framing.appends:
                    chunk = without_last_ids(chunk, is_cut[documents])
                if has_values:
                    chunk = chunk._replace(values=[rows[each].values for each in documents])
                yield chunk, Place(place.file, done, False)

    def _ahead(self, items: Iterator[_Item]) -> Generator[_Item, None, None]:
        """Yield items, each read while the one before is used, if there is a thread for it."""
        return _read_ahead(items) if self.threads > 1 else (item for item in items)


def _holds(text: AnyText, separator: str) -> bool:
    return separator in text if isinstance(text, str) else separator.encode() in text


@functools.cache
def _log_separators(separator: str) -> None:
    """Log once that records hold the separator."""
    logger.warning(
        "a record holds the separator %r: there it is ordinary text, because each record is one document", separator
    )


def frame(ids: Ids, ends: Numbers, is_open: bool, framing: Framing, *, are_records: bool = False) -> tuple[Chunk, bool]:
    """Return ids as documents with the tokens that begin and end them, and whether the last document is open.

    Records or files end at `ends`, documents of a text file at separators, too. With `is_open` the ids continue one.

    >>> chunk, is_open = frame(np.array([7, 0, 8]), np.array([3, 3]), False, Framing(0, appends=True, begin_id=1))
    >>> chunk.ids.tolist(), chunk.ends.tolist(), is_open
    ([1, 7, 0, 1, 8, 0], [3, 6], False)
    """
    separators = np.flatnonzero(ids == framing.separator_id) + 1 if not are_records else np.empty(0, np.int64)
    ends = np.union1d(separators, ends).astype(np.int64)
    ends = ends if is_open else ends[ends > 0]  # documents that are empty are left out
    stays_open = bool(len(ids) > ends[-1]) if len(ends) else is_open or len(ids) > 0
    ended = np.zeros(len(ends), bool) if not framing.appends else ~np.isin(ends, separators)
    starts = np.empty(0, np.int64)
    if framing.begin_id is not None:
        starts = np.concatenate([[] if is_open else [0], ends])
        starts = starts[starts < len(ids)].astype(np.int64)
    if not (len(starts) or ended.any()):
        return Chunk(ids, ends), stays_open
    appended = ends[ended]
    places = np.concatenate([appended, starts])
    values = np.repeat([framing.separator_id, framing.begin_id or 0], [len(appended), len(starts)])
    order = np.argsort(places, kind="stable")  # a document ends before the next one begins
    framed = np.insert(ids, places[order], values[order].astype(ids.dtype))
    return Chunk(framed, ends + np.cumsum(ended) + np.searchsorted(starts, ends)), stays_open


def _without_first(pieces: Iterable[AnyText], size: int) -> Iterator[bytes]:
    """Yield pieces of text without the first bytes."""
    for piece in pieces:
        data = as_bytes(piece)
        yield data[size:] if size else data
        size = max(size - len(data), 0)


def _with_row(policy: ErrorPolicy, document: AnyText, has_ranges: bool) -> tuple[AnyText, _Row] | None:
    """Return the document that was read last, and what is known of its record; None if its ranges are wrong."""
    if not has_ranges:
        return document, _Row(policy.values)
    *values, written = policy.values
    try:
        text, ranges = with_ranges(document, written)
    except (ValueError, RecursionError) as error:
        policy.leave_out(f"record {lines_before(policy.shard) + policy.record}", str(error))
        return None
    return text, _Row(tuple(values), ranges)


def _in_batches(policy: ErrorPolicy, passed: int, *, has_ranges: bool) -> Iterator[tuple[list[AnyText], list[_Row]]]:
    """Yield documents of a source in lists, without the first ones, and what is known of their records, if anything is.

    With `has_ranges` the last of the copied columns has the ranges without loss.
    """
    batch: list[AnyText] = []
    rows: list[_Row] = []
    size = number = 0
    for document in follow_documents(policy):
        row = None  # made only where it is needed, for records may be short and many
        if policy.copied:
            read = _with_row(policy, document, has_ranges)
            if read is None:
                continue
            document, row = read
        number += 1
        if number <= passed:
            continue
        batch.append(document)
        size += len(document) + _RECORD_BYTES  # there may be many of empty records
        if row is not None:
            rows.append(row)
            size += sum(map(len, filter(None, row.values))) + _RANGE_BYTES * len(row.no_loss)
        if size >= BLOCK_BYTES:
            yield batch, rows
            batch, rows, size = [], [], 0
    if batch:
        yield batch, rows


def _read_ahead(items: Iterator[_Item]) -> Generator[_Item, None, None]:
    """Yield items while a thread reads the next one.

    An executor takes nothing after the main thread's end.
    """
    ready: queue.Queue[tuple[_Item | None, BaseException | None]] = queue.Queue(1)
    is_closed = threading.Event()

    def put(item: _Item | None, error: BaseException | None) -> None:
        while not is_closed.is_set():
            try:
                return ready.put((item, error), timeout=0.1)
            except queue.Full:
                continue

    def read() -> None:
        try:
            for item in items:
                put(item, None)
                if is_closed.is_set():
                    return
            put(None, StopIteration())
        except BaseException as error:
            put(None, error)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    try:
        while True:
            item, error = ready.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item  # type: ignore[misc]  # None comes with an error only
    finally:
        is_closed.set()
        thread.join()
