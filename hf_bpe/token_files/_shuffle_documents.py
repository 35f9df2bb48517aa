"""Token files with the documents of others in a random order."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hf_bpe._utils.arguments import at_least, check_flag, check_mapping, check_path, checked, optional
from hf_bpe._utils.paths import check_destination
from hf_bpe.encoding._randomness import check_seed
from hf_bpe.token_files._formats import Target
from hf_bpe.token_files._job import Job, Order, Packing
from hf_bpe.token_files._manifest import EncodedFiles, settings_of
from hf_bpe.token_files._remote import Places
from hf_bpe.token_files._shares import Share, check_share
from hf_bpe.token_files._written import TokenFiles

_REFUSED = {
    "loss_mask": "masks are shuffled only where the text is encoded (shuffle of encode_files)",
    "pack": "sequences are made of shuffled documents (pack of shuffle_documents)",
    "shard": "the order depends on the documents of all parts: merge the manifests, and give the one of the whole",
}


@checked(
    tokens=check_path,
    output=check_destination,
    seed=check_seed,
    pack=optional(at_least(1)),
    pack_across=check_flag,
    shard_tokens=optional(at_least(1)),
    shard=optional(check_share),
    work_dir=optional(check_destination),
    storage_options=optional(check_mapping),
    overwrite=check_flag,
    show_progress=check_flag,
)
def shuffle_documents(
    tokens: str | os.PathLike[str],
    output: str | os.PathLike[str],
    seed: int,
    *,
    pack: int | None = None,
    pack_across: bool = True,
    shard_tokens: int | None = None,
    shard: tuple[int, int] | None = None,
    work_dir: str | os.PathLike[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    show_progress: bool = False,
) -> EncodedFiles:
    r"""Write the documents of token files in a random order, in bounded memory.

    The files equal the output of `BPETokenizer.encode_files` with `shuffle=seed`, byte for byte, into how many parts
    the corpus was divided for encoding. No text is read.

    Args:
        tokens: the `output` that `encode_files` was given, or the manifest that it or `merge_manifests` wrote; of any
            format that says where documents end, not packed.
        output: the path or URL of the new files, as in `encode_files`. They have the format of `tokens`.
        seed: 0 to 2⁶⁴ - 1. docs/how-to/tokenize-a-corpus.md defines the order.
        pack, pack_across, shard_tokens: as in `encode_files`: sequences and shards are made of shuffled documents.
        shard: `(I, N)`, with I from 0: write part I of N of the shuffled documents, for N jobs. In their order, the
            files of all parts hold what one job would have written, and `merge_manifests` writes the manifest of the
            whole. Each job reads where all documents are, and the pages with ids of its own; of `mds`, `parquet` and
            `arrow`, or of fewer than eight parts, all ids.
        work_dir: a folder from which the same call resumes after an interruption, as in `encode_files`. It needs as
            much room as the ids; without one, there must be that much next to the output.
        storage_options: what fsspec takes to reach the URLs `output` and `work_dir`.
        overwrite: replace the shards of an earlier run, as in `encode_files`.
        show_progress: show bars of the ids on standard error.

    Raises:
        OSError: a file cannot be read or written, or there are shards of another run.
        ValueError: the files do not say where documents end; or they are packed, shuffled, a part, or damaged.

    >>> from hf_bpe import BPETokenizer
    >>> tokenizer = BPETokenizer.train(["low"], vocab_size=257, special_tokens=["<|endoftext|>"])
    >>> _ = Path("abc.jsonl").write_text("\n".join(f'{{"text": "{letter}"}}' for letter in "abcde"))
    >>> _ = tokenizer.encode_files("abc.jsonl", "abc.npy", append_separator=False)
    >>> tokenizer.decode(np.load(shuffle_documents("abc.npy", "shuffled.npy", seed=0).ids))
    'baced'
    """
    files = TokenFiles.find(Path(tokens))
    files.check_rows(_REFUSED)
    content = files.content
    if "shuffle" in content:  # the seed may be 0
        raise ValueError(
            f"{files.path}: expected documents in the order of the sources, got shuffled ones; encode again"
        )
    with Places(output, work_dir, storage_options).opened() as places:
        share = None if shard is None else Share(*shard)
        target = Target(content["format"], places.output, share, files.columns)
        if not target.format.keeps_rows:
            raise ValueError(
                f"{files.path}: format {content['format']!r} does not say where documents end; encode the text again "
                "with shuffle, or in another format"
            )
        if pack is None and not pack_across:
            raise ValueError("pack_across: False is only for packed sequences; give pack")
        if files.columns and pack is not None and pack_across:
            raise ValueError("pack: a packed sequence may hold several documents; give pack_across=False as well")
        settings = settings_of(content)
        settings |= {"pack": pack, "pack_across": None if pack is None else pack_across, "shuffle": seed}
        if share is not None:
            plan = hashlib.sha256(json.dumps([files.key, content["sources"]]).encode()).hexdigest()
            settings |= {"shard": [*share], "plan": plan}
        job = Job(
            [],
            target,
            files,
            np.dtype(content["dtype"]),
            None if pack is None else Packing(pack, pack_across),
            target.format.shard_tokens if shard_tokens is None else shard_tokens,
            settings,
            order=Order(seed) if share is None else Order(seed, share),
        )
        return places.encode(job, 1, show_progress, overwrite)
