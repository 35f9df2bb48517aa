"""Files of text to files of ids."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hf_bpe._utils.arguments import check_str, checked, optional
from hf_bpe.encoding._randomness import Randomness
from hf_bpe.token_files._shares import Share
from hf_bpe.tokenizer import _bulk as bulk
from hf_bpe.tokenizer._bulk import threads_of
from hf_bpe.tokenizer._methods.conversion import ConversionMethods

if TYPE_CHECKING:
    from hf_bpe.counting._sources import Source
    from hf_bpe.token_files._formats import FormatName
    from hf_bpe.token_files._manifest import EncodedFiles


class FileMethods(ConversionMethods):
    """The methods that write files of ids."""

    @checked(**bulk.ARGUMENTS, loss_mask=optional(check_str))
    def encode_files(
        self,
        paths: str | os.PathLike[str] | Source | Sequence[str | os.PathLike[str] | Source],
        output: str | os.PathLike[str],
        *,
        format: FormatName = "npy",
        separator: str | None = None,
        append_separator: bool | None = None,
        begin_token: str | None = None,
        pack: int | None = None,
        pack_across: bool = True,
        shard_tokens: int | None = None,
        shard: tuple[int, int] | None = None,
        copy_columns: Sequence[str] = (),
        loss_mask: str | None = None,
        split_special_tokens: bool | None = None,
        dropout: float | None = None,
        seed: int | None = None,
        num_workers: int | None = None,
        work_dir: str | os.PathLike[str] | None = None,
        storage_options: Mapping[str, Any] | None = None,
        overwrite: bool = False,
        show_progress: bool = False,
    ) -> EncodedFiles:
        """Encode text files to files of token ids for training models, in bounded memory.

        The files depend on sources and options only: never on the number of workers or on interruptions. Each shard is
        put in place when it is whole, and the manifest, a JSON file with all files, sources and options, when all are.

        Args:
            paths: files, directories, globs, URLs or `Source` objects, in the order in which to encode them. Each
                file of text, UTF-8 or not, is encoded whole; each record of JSON lines or Parquet is a document. Files
                that end in .gz or .zst are decompressed. Empty documents are left out.
            output: the path of the file of ids, with or without its suffix; for `mds`, of the folder. Shards have
                numbers before the suffix: `corpus-00000.bin`. It may be a URL, such as `s3://bucket/corpus`. Then the
                files are written to `work_dir`, or to the temporary folder, and uploaded at the end, so there must be
                room for them; split large corpora by `shard`.
            format: "npy": `.npy`, uint16 if all ids of the tokenizer fit, else uint32, and `.offsets.npy`, the int64
                offsets at which documents begin, with the end of the last, both for `numpy.load`; "megatron": `.bin`
                and `.idx`; "datatrove": `.ds`, `.ds.index` and `.ds.metadata`; "nanogpt": `.bin`; "llm.c": `.bin` with
                a header; "mds": a folder for MosaicML Streaming with the column `tokens`; "parquet" or "arrow": files
                for datasets with the column `input_ids`. docs/how-to/at-any-scale.md has more.
            separator: the token that ends a document of a text file, as the end of the file does, and is its last
                token; None for `eos_token`. Each record of JSON lines or Parquet is a document; a separator in it is
                encoded as ordinary text.
            append_separator: append the separator to documents that do not end with it; None to do so if there is one,
                which all formats but `npy` require.
            begin_token: a token to put before each document; None for none.
            pack: the number of ids of a sequence, which takes the place of a document as a row of the files; None for
                documents of any length.
            pack_across: let a sequence hold ids of several documents. Then all sequences have the full length, and the
                last ids of all, which fill none, are left out. If not, the last sequence of each document may be
                shorter.
            shard_tokens: end a shard with the row that brings it to this number of ids; None for a single one, or of
                `mds` for shards of 64 MiB.
            shard: `(I, N)`, with I from 0: encode part I of N, for N jobs that share the work. Files of JSON lines are
                cut between records, others stay whole. The name of the output gets both numbers:
                `corpus-00007-of-00100.bin`. In their order, the files of all parts hold what one job would have
                written, and `hf_bpe.token_files.merge_manifests` writes the manifest of the whole. No sequence of
                `pack` goes beyond a part, so the last ids of each part, which fill none, are left out. A part without
                text has only a manifest.
            copy_columns: columns of JSON lines or Parquet to copy next to the ids, for "parquet" and "arrow", and for
                rows that hold a single document. They become strings: other values as JSON, null stays null.
            loss_mask: the column of JSON lines or Parquet with the ranges of characters that are not learned, such as
                prompts: a list of pairs `[begin, end]`, or null for none, as `no_loss_ranges` in the metadata of
                datatrove's documents. For each id "datatrove" files have a byte in `.ds.loss`, and "parquet" and
                "arrow" files a number in the column `loss_mask`: 1 where it is learned, 0 where it is not. A range
                covers the ids from that with its first character on up to that with the first character after it.
                A character that normalization joins to the one before it, such as an accent, stands for the next one.
                As datatrove does, the format "datatrove" leaves out a range at the end of a document, with all ids
                after it. Other formats are refused.
            dropout, seed: see `encode_to_lists`. Record r of source s, both counted from 0, is text 2⁴⁰·s + r; a file
                of text is text 2⁴⁰·s.
            num_workers: number of threads, or of processes where each gets its share of files; None for one per core.
            work_dir: a folder for what is encoded, from which the same call resumes after an interruption. It needs as
                much room as the files of ids if there is a single shard, less otherwise. It may be deleted afterwards.
            storage_options: what fsspec takes to reach the URLs among `paths` and `output`, as in `Source`.
            overwrite: replace the shards that the manifest of an earlier run lists. The old files stay until all new
                ones are whole, so there must be room for both. A file of a single shard is always replaced so, but at a
                URL nothing of another run is replaced without this.
            show_progress: show a bar of the bytes read, with the number of tokens, on standard error.

        Raises:
            OSError: a file cannot be read or written, or there are shards of another run.
            ValueError: `output` has a wrong suffix; a token is not one of the tokenizer; the ids do not fit the format;
                a file is malformed; `work_dir` belongs to another run.
            ImportError: a package for the format or for a URL is not installed.

        >>> from hf_bpe import BPETokenizer
        >>> tokenizer = BPETokenizer.train(["low"], vocab_size=257, special_tokens=["<|endoftext|>"])
        >>> from pathlib import Path
        >>> _ = Path("corpus.txt").write_text("low<|endoftext|>lo<|endoftext|>")
        >>> tokenizer.encode_files("corpus.txt", "tokens.npy").num_documents
        2
        >>> import numpy as np
        >>> np.load("tokens.npy").tolist(), np.load("tokens.offsets.npy").tolist()
        ([108, 111, 119, 256, 108, 111, 256], [0, 4, 7])
        >>> written = tokenizer.encode_files("corpus.txt", "corpus", format="megatron")
        >>> [path.name for path in written.files]
        ['corpus.bin', 'corpus.idx']
        """
        workers = threads_of(num_workers)
        from hf_bpe.token_files._remote import Places
        from hf_bpe.token_files._request import as_shards, make_job  # these are many modules

        with Places(output, work_dir, storage_options).opened() as places:
            job = make_job(
                self.pipeline,
                as_shards(paths, storage_options),
                places.output,
                format=format,
                separator=separator,
                append_separator=append_separator,
                begin_token=begin_token,
                pack=pack,
                pack_across=pack_across,
                shard_tokens=shard_tokens,
                copy_columns=copy_columns,
                loss_mask=loss_mask,
                options=self.pipeline.options(split_special_tokens),
                random=Randomness.of(dropout, seed),
                threads=workers,
                share=None if shard is None else Share(*shard),
            )
            return places.encode(job, workers, show_progress, overwrite)
