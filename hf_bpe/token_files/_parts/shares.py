"""The parts of a corpus that several machines encode: consecutive, of about equal size, and the same for everyone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hf_bpe.counting._sources import Shard, is_splittable
from hf_bpe.token_files._options import Share


def plan_digest(sources: Sequence[Shard], *, cuts_lines: bool) -> str:
    """Return a digest that all shares of the same corpus have, however many they are.

    Raises:
        ValueError: a source can be read only once.
    """
    for source in sources:
        if source.version is None:
            raise ValueError(f"shard: {source.name} can be read only once, so no other job reads the same; use a file")
    return hashlib.sha256(json.dumps([cuts_lines, *(source.key for source in sources)]).encode()).hexdigest()


def sources_of_share(sources: Sequence[Shard], share: Share, *, cuts_lines: bool) -> tuple[int, list[Shard]]:
    """Return the number of the first source of a share, and its sources: files, or ranges of files of JSON lines.

    Those of all shares in their order are the corpus.
    """
    chosen = [*_chosen(sources, share, cuts_lines)]
    return chosen[0][0] if chosen else 0, [source for _, source in chosen]


def _chosen(sources: Sequence[Shard], share: Share, cuts_lines: bool) -> Iterator[tuple[int, Shard]]:
    """Yield the number of each source of a share, and the source or a range of it.

    The corpus is a line of as many bytes as its files have, of which each share has its part. A file of JSON lines is
    cut where a part ends; any other belongs to the share that has its middle.
    """
    sizes = [1 if source.size is None else source.size for source in sources]
    total = sum(sizes)
    begin, end = (total * part // share.parts for part in (share.part, share.part + 1))
    is_last = share.part == share.parts - 1
    place = 0
    for number, (source, size) in enumerate(zip(sources, sizes, strict=True)):
        if cuts_lines and source.format == "jsonl" and source.size and is_splittable(source):
            start, stop = max(begin - place, 0), min(end - place, size)
            if start < stop:
                is_end = stop == size
                yield number, replace(source, start=start, stop=None if is_end else stop, size=stop - start)
        elif begin <= place + size // 2 and (is_last or place + size // 2 < end):
            yield number, source
        place += size
