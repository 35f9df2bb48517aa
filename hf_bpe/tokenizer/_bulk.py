"""The bulk methods of BPETokenizer: checks of their arguments, and what is more than a call of the encoder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
from tqdm import tqdm
from transformers.utils import logging, to_py_obj

from hf_bpe._utils.arguments import (
    MOST,
    Check,
    at_least,
    check_flag,
    check_int,
    check_path,
    check_sequence,
    check_str,
    optional,
    short_repr,
    wrong_type,
)
from hf_bpe._utils.files import staged_folder
from hf_bpe._utils.input_files import open_stream
from hf_bpe._utils.processes import default_threads
from hf_bpe.counting._readers import Skipped, read_documents
from hf_bpe.counting._sources import Shard, Source, plan
from hf_bpe.engine._encoder import AnyText, Encoder, Ids, Numbers, Options, Padding, is_skipped
from hf_bpe.engine._streaming import BLOCK_BYTES, NpyWriter, encode_blocks
from hf_bpe.tokenizer._batch_layout import MOST_IDS

if TYPE_CHECKING:
    from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

logger = logging.get_logger(__name__)

_BLOCK_BYTES = 1 << 20
_AT_MOST_THREADS = 1 << 16

PARSED, AS_TEXT = Options(), Options(split_special_tokens=True)

ODD_IDS = (KeyError, TypeError, OverflowError, ValueError)
"""The errors of engines for ids without a token and for values that are not ids."""

ARGUMENTS: dict[str, Check] = {
    "split_special_tokens": optional(check_flag),
    "num_workers": optional(at_least(1)),
    "length": optional(lambda name, value: check_int(name, value, 0, MOST_IDS)),
    "separator": optional(check_str),
    "output": check_path,
    "show_progress": check_flag,
}
"""Checks of the arguments of bulk methods."""


class EncodedFiles(NamedTuple):
    """The files that `encode_file` wrote.

    Attributes:
        ids: the path of the ids.
        offsets: the path of the offsets at which documents begin, with the end of the last one.
        num_tokens: number of ids.
        num_documents: number of documents.
    """

    ids: Path
    offsets: Path
    num_tokens: int
    num_documents: int


def encode_to_padded(
    encoder: Encoder, texts: list[AnyText], options: Options, threads: int, padding: Padding
) -> tuple[Numbers, Numbers]:
    """Return the ids of texts as rows of one length, and a mask; longer rows lose their last ids."""
    flat, offsets = encoder.encode_to_numpy(texts, options, threads)
    begins, ends = offsets[:-1], offsets[1:]
    if padding.length is not None:
        ends = np.minimum(ends, begins + padding.length)
    spans = np.stack([begins, ends], axis=1)
    return encoder.rows_to_arrays(flat, spans[:, None], [(), ()], padding)


def shards_of(paths: Any) -> list[Shard]:
    """Return the files that `encode_file` is given, each whole."""
    listed = [paths] if isinstance(paths, (str, os.PathLike, Source)) else check_sequence("paths", paths, "paths")
    sources = [
        path if isinstance(path, Source) else Source(os.fspath(check_path("paths", path)), errors="bytes")
        for path in listed
    ]
    for source in sources:
        if not isinstance(source.data, (str, os.PathLike)):
            raise TypeError(f"paths: expected a Source of a path, got one of {type(source.data).__name__}")
        if source.weight != 1 or source.max_document_bytes is not None:
            raise ValueError("paths: weight and max_document_bytes of a Source are only for counting")
    return plan(sources, shard_bytes=MOST) if sources else []


def _documents_of(
    encoder: Encoder, shard: Shard, options: Options, threads: int, bar: tqdm[Any]
) -> Iterator[tuple[Ids, Numbers]]:
    """Yield ids in parts, each with the positions in it at which documents end; the end of a file is not among them."""
    no_ends = np.empty(0, np.int64)
    if shard.format == "text":
        is_raw = shard.is_local and shard.compression is None and shard.source.errors == "bytes"
        with open_stream(Path(shard.name)) if is_raw else nullcontext() as source:
            blocks = _read_blocks(source, bar) if source is not None else read_documents(shard, Skipped())
            for ids in encode_blocks(encoder, blocks, options, threads):
                yield ids, no_ends
        return
    for texts in _in_batches(read_documents(shard, Skipped())):
        ids, offsets = encoder.encode_to_numpy(texts, options, threads)
        yield ids, offsets[1:]


def _in_batches(documents: Iterable[AnyText]) -> Iterator[list[AnyText]]:
    batch: list[AnyText] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document)
        if size >= BLOCK_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def encode_files(
    encoder: Encoder,
    shards: Sequence[Shard],
    target: Path,
    options: Options,
    threads: int,
    separator_id: int,
    highest_id: int,
    *,
    show_progress: bool,
) -> EncodedFiles:
    """Write the ids of files and the offsets of their documents; see `BPETokenizer.encode_file`."""
    total = sum(shard.size or 0 for shard in shards)
    dtype = np.uint16 if highest_id < 1 << 16 else np.uint32
    names = target.name, target.stem + ".offsets.npy"
    with (
        staged_folder(target.parent, last=names[:1]) as staging,
        NpyWriter(staging / names[0], dtype) as all_ids,
        NpyWriter(staging / names[1], np.int64) as offsets,
        tqdm(total=total, unit="B", unit_scale=True, disable=not show_progress) as bar,
    ):
        offsets.append(np.zeros(1, np.int64))
        for shard in shards:
            last = all_ids.size
            for ids, ends_of_records in _documents_of(encoder, shard, options, threads, bar):
                separators = np.flatnonzero(ids == separator_id) + 1
                ends = np.union1d(separators, ends_of_records) + all_ids.size
                ends = ends[ends > last]  # an empty record, or one that a separator has ended already
                offsets.append(ends)
                all_ids.append(ids)
                last = int(ends[-1]) if len(ends) else last
            if last != all_ids.size:
                offsets.append(np.array([all_ids.size]))
    return EncodedFiles(target, target.with_name(names[1]), all_ids.size, offsets.size - 1)


def decode_odd(tokenizer: BPETokenizer, name: str, ids: Any, skipped: bytes) -> bytes:
    """Return the bytes of ids of which the encoder does not know some, with `unk_token` outside the vocabulary."""
    if not isinstance(ids, (list, tuple)):
        raise wrong_type(name, "a row of ids", ids)
    encoder, unused = tokenizer._engine, {i: text for text, i in tokenizer.unused_tokens.items()}
    parts: list[bytes] = []
    known: list[int] = []
    for at, each in enumerate(ids):
        token_id = check_int(f"{name}[{at}]", each)
        if is_skipped(token_id, skipped):
            continue
        if token_id in tokenizer.model.vocab or token_id in tokenizer._added_tokens_decoder:
            known.append(token_id)
        elif token_id in unused:  # as `tokenizers` decodes a token that is not made of bytes
            parts += [encoder.decode(known, b""), unused[token_id].encode()]
            known = []
        elif (unknown := tokenizer.unk_token_id) is not None:
            known.append(unknown)  # not skipped, although it is a special token
        else:
            logger.warning("id %s is not in the vocabulary; it is skipped", short_repr(token_id))
    return b"".join([*parts, encoder.decode(known, b"")])


def as_lists(name: str, ids: Any) -> Any:
    """Return an id as int, several ids as a list or tuple, and rows of ids as a list of these.

    Args:
        name: the name of the argument, for messages.
        ids: an id, or a list, array or tensor of ids or of rows of ids; the ids in a list are not checked.

    Raises:
        TypeError: the value is none of these.
    """
    # transformers' `to_py_obj` converts lists id by id.
    if isinstance(ids, (list, tuple)):
        is_of_arrays = len(ids) > 0 and hasattr(ids[0], "ndim") and ids[0].ndim > 0
        return [as_lists(name, row) for row in ids] if is_of_arrays else ids
    if hasattr(ids, "ndim"):
        ids = to_py_obj(ids)
        return ids if isinstance(ids, list) else check_int(name, ids)
    if hasattr(type(ids), "__index__"):
        return check_int(name, ids)
    return [*check_sequence(name, ids, "ids")]


def check_text(name: str, value: Any) -> Any:
    """Return the value if it is a str or bytes."""
    if not isinstance(value, (str, bytes)):
        is_buffer = False
        got = type(value).__name__
        with suppress(TypeError):
            memoryview(value)  # a mutable buffer, which the native core would read while another thread changes it
            is_buffer = True
        if is_buffer:
            raise TypeError(f"{name}: expected str or bytes, got {got}, which can change; give bytes(text)")
        raise wrong_type(name, "str or bytes", value)
    return value


def check_texts(name: str, value: Any) -> list[AnyText]:
    """Return a copy of a list of texts, each str or bytes, because another thread may change the list."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name}: expected a list of texts, got a single {type(value).__name__}; write [text]")
    texts = [*value] if isinstance(value, (list, tuple)) else [*check_sequence(name, value, "a list of texts")]
    if not {*map(type, texts)} <= {str, bytes}:
        for at, text in enumerate(texts):
            check_text(f"{name}[{at}]", text)
    return texts


def threads_of(num_workers: int | None) -> int:
    """Return the number of threads for `num_workers`."""
    return default_threads() if num_workers is None else min(num_workers, _AT_MOST_THREADS)


def _read_blocks(file: BinaryIO, bar: tqdm[Any]) -> Iterator[bytes]:
    while block := file.read(_BLOCK_BYTES):
        yield block
        bar.update(len(block))
