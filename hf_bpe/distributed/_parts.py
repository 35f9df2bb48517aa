"""The parts of a corpus as tasks: what one worker of any engine does to write token files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hf_bpe._utils.arguments import check_int
from hf_bpe._utils.paths import check_destination, check_output, is_url
from hf_bpe.token_files import EncodedFiles, merge_manifests
from hf_bpe.token_files._shares import MAX_SHARES, Share
from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

Path_ = str | os.PathLike[str]


class Parts(NamedTuple):
    """The parts of a corpus; it pickles as the names of files.

    Attributes:
        tokenizer, paths, output, work_dir: absolute paths or URLs.
        number: the number of parts.
        options: those of `BPETokenizer.encode_files`.
    """

    tokenizer: str
    paths: list[str]
    output: str
    work_dir: str | None
    number: int
    options: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"Parts({self.output!r}, number={self.number})"  # without storage options, which may be secret

    @classmethod
    def checked(
        cls,
        tokenizer: Path_,
        paths: Path_ | Sequence[Path_],
        output: Path_,
        number: int,
        work_dir: Path_ | None,
        options: Mapping[str, Any],
    ) -> Parts:
        """Return the parts for the arguments of a call."""
        named = [paths] if isinstance(paths, (str, os.PathLike)) else [*paths]
        return cls(
            absolute(tokenizer),
            [*map(absolute, named)],
            absolute(check_destination("output", output)),
            None if work_dir is None else absolute(check_output("work_dir", work_dir)),
            check_int("parts", number, 1, MAX_SHARES),
            options,
        )

    def encode(self, part: int) -> None:
        """Encode a part; a task that runs again writes the same bytes."""
        share = Share(part, self.number)
        work_dir = None if self.work_dir is None else f"{self.work_dir}/{share.name}"
        tokenizer = BPETokenizer.convert_from(self.tokenizer, storage_options=self.options.get("storage_options"))
        tokenizer.encode_files(self.paths, self.output, shard=share, work_dir=work_dir, **self.options)

    def merge(self) -> EncodedFiles:
        """Merge the manifests of all parts; another manifest of the whole is replaced only with `overwrite`."""
        given = {name: self.options[name] for name in ("overwrite", "storage_options") if name in self.options}
        return merge_manifests(self.output, **given)


def absolute(path: Path_) -> str:
    """Return a path as one that does not depend on the working folder, and a URL as it is."""
    return os.fspath(path) if is_url(os.fspath(path)) else str(Path(path).absolute())
