"""A text as short documents, and these dealt out, so that every round of a measurement meets text it has not seen."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice

from benchmarks.job import read_documents

SHORTEST, LONGEST = 1_000, 9_000  # bytes


def read_slices(files: tuple[str, ...], count: int, size: int = 0) -> list[dict[str, str]]:
    """Return the texts in slices of about equal size: name → text, the same names whatever the number of slices.

    The texts have 1 to 9 kB, or `size` bytes if it is given, of which three more may end a character.

    Whole documents are dealt out, each to the slice that is smallest so far: the slices are of the same kind of text,
    and no two have parts of one document, which would repeat its words.

    Raises:
        ValueError: there are fewer documents than slices.
    """
    slices: list[dict[str, str]] = [{} for _ in range(count)]
    sizes = [0] * count
    lengths = random.Random(0)
    number = 0
    for document in read_documents(files):
        smallest = sizes.index(min(sizes))
        for text in _cut_evenly(document.encode(), size) if size else _cut(document.encode(), lengths):
            number += 1
            slices[smallest][f"text {number}, {text[:40]!r}"] = text
        sizes[smallest] += len(document)
    if not all(slices):
        raise ValueError(f"{', '.join(files)}: fewer documents than the {count} slices of the rounds and the first one")
    return slices


def read_batches(files: tuple[str, ...], count: int, texts: int, size: int) -> list[list[str]]:
    """Return batches of as many texts as asked for, each of `size` bytes, or up to three more to end its character.

    Whole documents are dealt out here, too. What is too short for one more text is left out.

    Raises:
        ValueError: there is not enough text.
    """
    batches: list[list[str]] = [[] for _ in range(count)]
    for document in read_documents(files):
        batch = min(batches, key=len)
        batch += islice(_cut_evenly(document.encode(), size), texts - len(batch))
        if all(len(batch) == texts for batch in batches):
            return batches
    raise ValueError(
        f"{', '.join(files)}: too little text for the {count} batches of the rounds and those before, each of {texts} "
        f"texts of {size} bytes; give more files, fewer texts or fewer repeats"
    )


def _cut_evenly(document: bytes, size: int) -> Iterator[str]:
    start = 0
    while (end := start + size) <= len(document):
        while end < len(document) and document[end] & 0xC0 == 0x80:
            end += 1
        yield document[start:end].decode()
        start = end


def _cut(document: bytes, lengths: random.Random) -> Iterator[str]:
    """Yield a document in texts of 1 to 9 kB that end where a line ends; the last may be shorter."""
    start = 0
    while start < len(document):
        end = start + lengths.randint(SHORTEST, LONGEST)
        if end < len(document):
            line_end = document.rfind(b"\n", start + SHORTEST, end) + 1
            while not line_end and document[end] & 0xC0 == 0x80:  # a line without an end: between two characters
                end -= 1
            end = line_end or end
        yield document[start:end].decode()
        start = end
