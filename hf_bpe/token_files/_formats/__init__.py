"""The formats of token files by name: their suffixes, types of ids and writers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from hf_bpe.token_files._formats import arrow, binary, datatrove, mds, megatron
from hf_bpe.token_files._options import FormatName
from hf_bpe.token_files._packing import Details, Dtype


class TokenFormat(NamedTuple):
    """A format of token files."""

    suffixes: tuple[str, ...]  # the ends of the names of a shard's files. The first is that of the file with the ids
    # Writes files with these names, given rows and the type of ids, and returns what the index says of them
    write: Callable[..., Details]
    dtype: Callable[[int], Dtype]  # returns the type of ids, given the highest id
    keeps_rows: bool = True  # whether the files say where rows end
    needs_separator: bool = True  # whether a tokenizer without a separator is refused unless the caller wants none
    max_ids: int | None = None  # the most ids of a file
    is_folder: bool = False  # whether the output is a folder, with fixed names of files
    shard_tokens: int | None = None  # the default size of a shard; None for one file
    # Returns the content of a JSON file about all shards, given what `write` returned for each
    make_index: Callable[[Sequence[Details]], Details] | None = None
    holds_columns: bool = False  # whether `write` takes the names of other columns, whose values the rows bring
    # The end of the name of the file with the loss mask, "" if it is a column; None if no place is for one
    mask_suffix: str | None = None


def _smallest(highest_id: int) -> Dtype:
    return np.dtype("<u2" if highest_id < 1 << 16 else "<u4")


def _32_bits(highest_id: int) -> Dtype:
    return np.dtype("<u4")


def _only_16_bits(highest_id: int) -> Dtype:
    if highest_id >= 1 << 16:
        raise ValueError(
            f"format: nanogpt files hold ids below {1 << 16}, got a tokenizer with the id {highest_id}; "
            "use 'llm.c', 'megatron' or another format"
        )
    return np.dtype("<u2")


FORMATS: dict[FormatName, TokenFormat] = {
    "npy": TokenFormat((".npy", ".offsets.npy"), binary.write_npy, _smallest, needs_separator=False),
    "megatron": TokenFormat((".bin", ".idx"), megatron.write_megatron, megatron.megatron_dtype),
    "datatrove": TokenFormat(
        (".ds", ".ds.index", ".ds.metadata"), datatrove.write_datatrove, _smallest, mask_suffix=".ds.loss"
    ),
    "nanogpt": TokenFormat((".bin",), binary.write_ids, _only_16_bits, keeps_rows=False),
    "llm.c": TokenFormat((".bin",), binary.write_llmc, _smallest, keeps_rows=False, max_ids=binary.MAX_LLMC_IDS),
    "mds": TokenFormat(
        (".mds",), mds.write_mds, _32_bits, is_folder=True, shard_tokens=1 << 24, make_index=mds.make_index
    ),
    "parquet": TokenFormat((".parquet",), arrow.write_columns, _32_bits, holds_columns=True, mask_suffix=""),
    "arrow": TokenFormat((".arrow",), arrow.write_columns, _32_bits, holds_columns=True, mask_suffix=""),
}
"""Name → format."""
