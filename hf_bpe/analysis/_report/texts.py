"""Groups of texts for reports, each counted once for each way in which the tokenizers split text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hf_bpe.counting._count import count
from hf_bpe.counting._readers import Skipped, read
from hf_bpe.counting._sources import Shard, Source, TextSource, plan
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.encoding._safe_cuts import cut_into_documents
from hf_bpe.normalizers._apply import get_normalizer

Texts = TextSource | WordCounts
"""Text as `hf_bpe.train` takes it, or counts of it."""

Group = WordCounts | list[Shard]

_MAX_FILES = 40  # that become groups by default
_PIECE = 1 << 20


class Cut(NamedTuple):
    """How a tokenizer splits text into pre-tokens, apart from special tokens."""

    pattern: str | None
    normalizer: str | None


class CountingOptions(NamedTuple):
    """Options of counting that change no figure, see `hf_bpe.count`."""

    num_workers: int | None = None
    max_memory: int | str | None = None
    show_progress: bool = False


def group_texts(texts: Texts | Mapping[str, Texts]) -> dict[str, Group]:
    """Return the groups of texts by their names.

    A mapping gives the groups; two to forty files are one group each; anything else is one group.

    Raises:
        OSError, TypeError, ValueError: see `plan`.
    """
    if isinstance(texts, Mapping):
        if not texts:
            raise ValueError("texts: expected at least one group, got an empty mapping")
        return {str(name): _group(part) for name, part in texts.items()}
    group = _group(texts)
    if isinstance(group, list):
        files: dict[str, Group] = {}
        for shard in group:
            shards = files.setdefault(shard.name, [])
            assert isinstance(shards, list)
            shards.append(shard)
        if 1 < len(files) <= _MAX_FILES and all(shard.is_file for shard in group):
            names = _short_names(files)
            return {names[name]: shards for name, shards in files.items()}
    return {"text": group}


def sizes_of_files(groups: Iterable[Group]) -> dict[str, int]:
    """Return the stored bytes of all files that are read, by their names, or by their paths if names are equal."""
    sizes: dict[str, int] = {}
    for shard in (shard for group in groups if isinstance(group, list) for shard in group if shard.is_file):
        sizes[shard.name] = sizes.get(shard.name, 0) + (shard.size or 0)
    names = _short_names(sizes)
    return {names[path]: size for path, size in sizes.items()}


def _short_names(paths: Iterable[str]) -> dict[str, str]:
    """Return a name for each path: its last part if these differ."""
    paths = [*paths]
    short = {path: Path(path).name for path in paths}
    return short if len({*short.values()}) == len(short) else {path: path for path in paths}


def _group(texts: Texts) -> Group:
    return texts if isinstance(texts, WordCounts) else plan(texts)


def count_group(
    name: str, group: Group, cuts: Sequence[Cut], specials: Sequence[str], options: CountingOptions
) -> list[WordCounts]:
    """Return the counts of a group for each way of splitting.

    Raises:
        ValueError: the counts have another pattern, or the texts can be read only once but there are several ways.
        OSError, TypeError, OverflowError, ChildProcessError: see `count`.
    """
    if isinstance(group, WordCounts):
        for cut in cuts:
            if cut.pattern != group.pattern:
                raise ValueError(
                    f"{name}: these counts have the pattern {group.pattern or 'none'!r}, but a tokenizer has "
                    f"{cut.pattern or 'none'!r}; give the text itself, or count it with that pattern"
                )
        return [group for _ in cuts]
    if len(cuts) > 1 and any(isinstance(shard.source.data, Iterator) for shard in group):
        raise ValueError(
            f"{name}: these texts can be read only once, but tokenizers split text in {len(cuts)} ways; give a list, "
            "or paths"
        )
    return [
        count(
            _normalized(group, cut, specials) if cut.normalizer else group,
            pattern=cut.pattern,
            special_tokens=specials,
            num_workers=options.num_workers,
            max_memory=options.max_memory,
            show_progress=options.show_progress,
        )
        for cut in cuts
    ]


def _normalized(group: list[Shard], cut: Cut, specials: Sequence[str]) -> list[Source]:
    """Return the normalized texts, without special tokens."""
    return [Source(_NormalizedTexts(shard, cut, specials), weight=shard.weight) for shard in group]


class _NormalizedTexts:
    def __init__(self, shard: Shard, cut: Cut, specials: Sequence[str]) -> None:
        self._arguments = shard, cut, specials

    def __iter__(self) -> Iterator[bytes]:
        shard, cut, specials = self._arguments
        skipped = Skipped()
        normalizer = get_normalizer(cut.normalizer or "NFC")
        # At a safe cut nothing composes with the text after it, because that is white space. But what strips or
        # replaces text must see all of it between two special tokens.
        pattern = cut.pattern if normalizer.is_local else None
        for batch in read(shard, pattern=pattern, special_tokens=specials, batch_bytes=_PIECE, skipped=skipped):
            for text in batch.texts:
                data = text.data.encode() if isinstance(text.data, str) else text.data
                for start, stop in cut_into_documents(data, text.start, text.stop, pattern, specials, _PIECE):
                    if text.must_be_utf8:
                        text.check_utf8(start, stop)
                    part = data[start:stop].decode("utf-8", "surrogateescape")
                    yield normalizer.apply(part).encode("utf-8", "surrogateescape")
