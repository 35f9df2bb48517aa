"""Files of text to files of ids."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hf_bpe._utils.arguments import at_least, check_flag, check_mapping, checked, checks_of, optional, with_options
from hf_bpe._utils.object_stores import StorageOptions
from hf_bpe._utils.paths import check_destination, check_output
from hf_bpe._utils.processes import threads_of
from hf_bpe.token_files._options import TokenFileKeywords, TokenFileOptions
from hf_bpe.tokenizer._self_types import OwnTokenizer

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from hf_bpe.counting._sources import Source
    from hf_bpe.token_files._manifest import EncodedFiles


class FileMethods(OwnTokenizer):
    """The methods that write files of ids."""

    @checked(
        **checks_of(TokenFileOptions),
        output=check_destination,
        num_workers=optional(at_least(1)),
        work_dir=optional(check_output),
        storage_options=optional(check_mapping),
        show_progress=check_flag,
    )
    @with_options(TokenFileOptions)
    def encode_files(
        self,
        paths: str | os.PathLike[str] | Source | Sequence[str | os.PathLike[str] | Source],
        output: str | os.PathLike[str],
        *,
        num_workers: int | None = None,
        work_dir: str | os.PathLike[str] | None = None,
        storage_options: StorageOptions | None = None,
        overwrite: bool = False,
        show_progress: bool = False,
        **options: Unpack[TokenFileKeywords],
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
            options: those of `TokenFileOptions`, each by its name.
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
        from hf_bpe.token_files._job import as_shards, make_job
        from hf_bpe.token_files._remote import Places  # these are many modules

        with Places(output, work_dir, storage_options).opened() as places:
            shards = as_shards(paths, storage_options)
            job = make_job(self.pipeline, shards, places.output, TokenFileOptions(**options), workers)
            return places.encode(job, workers, show_progress, overwrite)
