"""The options of token files, each defined once; CONTRIBUTING.md says how to add one.

One that decides the ids of each text is a field of `TextOptions`, which engines take, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypedDict, get_args

from hf_bpe._utils.arguments import (
    at_least,
    check_flag,
    check_int,
    check_str,
    check_strs,
    one_of,
    option,
    optional,
    wrong_type,
)
from hf_bpe.encoding import _randomness as randomness

FormatName = Literal["npy", "megatron", "datatrove", "nanogpt", "llm.c", "mds", "parquet", "arrow"]

MAX_SHARES = 99_999  # numbers have five digits in names of files
_FILES = "Token files"  # the panel of `hf-bpe encode-files --help`


class Share(NamedTuple):
    """Part `part`, from 0 on, of the `parts` of a corpus."""

    part: int
    parts: int

    @property
    def name(self) -> str:
        """The part of a file name that tells this share from other shares.

        >>> Share(7, 100).name
        '00007-of-00100'
        """
        return f"{self.part:05}-of-{self.parts:05}"


def check_share(name: str, value: object) -> Share:
    """Return a pair of numbers as a share.

    >>> check_share("shard", (7, 7))
    Traceback (most recent call last):
    ValueError: shard: expected (0, 7) to (6, 7), got (7, 7)
    """
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise wrong_type(name, "two numbers (I, N), such as (0, 8)", value)
    count = check_int(f"{name}: N", value[1], 1, MAX_SHARES)
    index = check_int(f"{name}: I", value[0], 0)
    if index >= count:
        raise ValueError(f"{name}: expected (0, {count}) to ({count - 1}, {count}), got ({index}, {count})")
    return Share(index, count)


@dataclass(frozen=True)
class TextOptions:
    """The options that decide the ids of each text; `TokenFileOptions` explains them."""

    separator: str | None = option(None, optional(check_str), metavar="TOKEN", show_default="the tokenizer's eos_token")
    begin_token: str | None = option(None, optional(check_str), metavar="TOKEN", panel=_FILES)
    split_special_tokens: bool | None = option(
        None, optional(check_flag), names="--split-special-tokens", show_default=False, panel="Text"
    )
    dropout: float | None = option(None, randomness.ARGUMENTS["dropout"], metavar="P", min=0, max=1, panel=_FILES)
    seed: int | None = option(None, randomness.ARGUMENTS["seed"], metavar="SEED", min=0, max=2**64 - 1, panel=_FILES)


@dataclass(frozen=True)
class TokenFileOptions(TextOptions):
    """The options that decide what token files hold.

    Args:
        format: the format of the files: that of NumPy, or of what will read them. "npy": `.npy`, uint16 if all ids of
            the tokenizer fit, else uint32, and `.offsets.npy`, the int64 offsets at which documents begin, with the end
            of the last, both for `numpy.load`; "megatron": `.bin` and `.idx`; "datatrove": `.ds`, `.ds.index` and
            `.ds.metadata`; "nanogpt": `.bin`; "llm.c": `.bin` with a header; "mds": a folder for MosaicML Streaming
            with the column `tokens`; "parquet" or "arrow": files for datasets with the column `input_ids`.
            docs/how-to/tokenize-a-corpus.md has more.
        separator: the token that ends a document of a text file and is its last id; in a record it is ordinary text.
            The end of a file ends a document, too. Each record of JSON lines or Parquet is one. None for `eos_token`.
        append_separator: put the separator after documents that do not end with it. None to do so if there is one,
            which all formats but `npy` require.
        begin_token: put this token before each document. None for none.
        pack: write sequences of N ids instead of documents. They take the place of documents as rows of the files. None
            for documents of any length.
        pack_across: whether a sequence may hold ids of several documents; if so, the last ids that fill none are left
            out. Then all sequences have the full length. If not, the last sequence of each document may be shorter.
        shard_tokens: begin another file after the document or sequence that brings this one to N ids. None for a single
            one, or of `mds` for shards of 64 MiB.
        shard: encode part I of N, with I from 0 to N-1, for N jobs on the same sources. It is given as `(I, N)`. Files
            of JSON lines are cut between records, others stay whole. The name of the output gets both numbers:
            `corpus-00007-of-00100.bin`. In their order, the files of all parts hold what one job would have written,
            and `hf_bpe.token_files.merge_manifests` writes the manifest of the whole. No sequence of `pack` goes beyond
            a part, so the last ids of each part, which fill none, are left out. A part without text has only a
            manifest.
        copy_columns: copy columns of JSON lines or Parquet next to the ids, as text, in the formats parquet and arrow.
            A row must hold a single document. Values that are no strings become JSON, null stays null.
        loss_mask: write which ids are learned, in the formats datatrove, parquet and arrow: all but those of the ranges
            of characters, pairs [begin, end], in this column of JSON lines or Parquet. The ranges, such as prompts, are
            a list, or null for none, as `no_loss_ranges` in the metadata of datatrove's documents. For each id
            "datatrove" files have a byte in `.ds.loss`, and "parquet" and "arrow" files a number in the column
            `loss_mask`: 1 where it is learned, 0 where it is not. A range covers the ids from that with its first
            character on up to that with the first character after it. A character that normalization joins to the one
            before it, such as an accent, stands for the next one. As datatrove does, the format "datatrove" leaves out
            a range at the end of a document, with all ids after it. Other formats are refused.
        split_special_tokens: encode special tokens as ordinary text. None for the tokenizer's setting.
        dropout: encode at random by BPE-dropout: skip a merge with this probability each time it could be applied.
            Record r of source s, both counted from 0, is text 2⁴⁰·s + r of `encode_to_lists`; a file of text is text
            2⁴⁰·s.
        seed: the seed for dropout; the ids do not depend on the number of workers.
    """

    format: FormatName = option("npy", one_of(*get_args(FormatName)), names="--output-format --format")
    append_separator: bool | None = option(
        None, optional(check_flag), show_default="if there is a separator", panel=_FILES
    )
    pack: int | None = option(
        None, optional(at_least(1)), is_size=True, show_default="documents", more="N may be 2048 or 2Ki."
    )
    pack_across: bool = option(True, check_flag, panel=_FILES)
    shard_tokens: int | None = option(
        None, optional(at_least(1)), is_size=True, show_default="one file, 16Mi for mds", panel=_FILES
    )
    shard: tuple[int, int] | None = option(
        None,
        optional(check_share),
        kind=str,
        metavar="I/N",
        show_default="everything",
        panel="Machine",
        more="--merge checks that all parts are there.",
    )
    copy_columns: Sequence[str] = option(
        (),
        check_strs,
        names="--copy-column",
        kind=list[str],
        metavar="NAME",
        panel=_FILES,
        more="Give it once for each column.",
    )
    loss_mask: str | None = option(None, optional(check_str), metavar="COLUMN", panel=_FILES)

    @property
    def share(self) -> Share | None:
        """The part of the corpus that the files hold; None for all of it."""
        return None if self.shard is None else Share(*self.shard)


class TextKeywords(TypedDict, total=False):
    """The fields of `TextOptions`, by keyword."""

    separator: str | None
    begin_token: str | None
    split_special_tokens: bool | None
    dropout: float | None
    seed: int | None


class TokenFileKeywords(TextKeywords, total=False):
    """The fields of `TokenFileOptions`, by keyword."""

    format: FormatName
    append_separator: bool | None
    pack: int | None
    pack_across: bool
    shard_tokens: int | None
    shard: tuple[int, int] | None
    copy_columns: Sequence[str]
    loss_mask: str | None
