"""Count groups of texts, and measure how a tokenizer encodes each distinct pre-token, times its occurrences.

Texts are counted once for each way in which the tokenizers split text. Only sums are kept, so memory does not grow with
the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import regex

from hf_bpe.counting._count import CountingKeywords, count
from hf_bpe.counting._error_policy import Skipped
from hf_bpe.counting._readers import read
from hf_bpe.counting._settings import CountSettings
from hf_bpe.counting._sources import Shard, Source, TextSource, plan
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.encoding._encoder import Options
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.normalizers._normalizer import Normalizer
from hf_bpe.pretokenizers._pattern import Pattern
from hf_bpe.pretokenizers._regex.newer_characters import hide_newer

Sums = npt.NDArray[np.float64]

Texts = TextSource | WordCounts
"""Text as `hf_bpe.train` takes it, or counts of it."""

Group = WordCounts | list[Shard]

_MAX_FILES = 40  # that become groups by default
_PIECE = 1 << 20

# The columns of the sums.
BYTES, CHARACTERS, TOKENS, WORDS, WORD_TOKENS, ONE_TOKEN = range(6)

# The scripts in wide or limited modern use, by Unicode Standard Annex 31. Letters of all other scripts count as "other
# scripts".
_USED = (  # noqa: SIM905  # a list of strings would take a page
    "Latin Greek Cyrillic Armenian Hebrew Arabic Syriac Thaana Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu "
    "Kannada Malayalam Sinhala Thai Lao Tibetan Myanmar Georgian Hangul Ethiopic Cherokee Canadian_Aboriginal Khmer "
    "Mongolian Hiragana Katakana Bopomofo Han Yi Nko Samaritan Mandaic Limbu Tai_Le New_Tai_Lue Tai_Tham Balinese "
    "Sundanese Batak Lepcha Ol_Chiki Tifinagh Lisu Vai Bamum Syloti_Nagri Saurashtra Kayah_Li Javanese Cham Tai_Viet "
    "Meetei_Mayek Chakma Newa Osage Adlam Hanifi_Rohingya Miao Wancho Nyiakeng_Puachue_Hmong"
).split()
UNNAMED = ("other scripts", "no letter")
"""The names of groups that are not a script."""

SCRIPTS = (UNNAMED[1], *(script.replace("_", " ") for script in _USED), UNNAMED[0])
"""The names of the scripts by their numbers."""

LATIN = SCRIPTS.index("Latin")
_OTHER = len(SCRIPTS) - 1
_SCRIPT = regex.compile("|".join(rf"(\p{{Script={script}}})" for script in _USED))
_LETTER = regex.compile(r"\p{L}")
_LETTER_OR_NUMBER = regex.compile(r"[\p{L}\p{N}]")


class Cut(NamedTuple):
    """The splitting of text into pre-tokens by a tokenizer, apart from special tokens."""

    pattern: Pattern
    normalizer: Normalizer


class Totals(NamedTuple):
    """Sums over a group of texts for one tokenizer, in float64, which is exact for integers up to 2**53.

    Attributes:
        sums: a row for each of `SCRIPTS`, and a column for each summed quantity.
        usage: how often each token occurs, in the order of the ids; the last element counts bytes without a token.
    """

    sums: Sums
    usage: Sums


class Measure:
    """What a tokenizer makes of groups of texts, and the fingerprints of their counts; measured in several threads."""

    def __init__(self, pipeline: Pipeline, groups: Iterable[str], threads: int) -> None:
        self.pipeline, model = pipeline, pipeline.model
        self.cut = Cut(model.pre_tokenizer, model.normalization)
        self.totals = {group: Totals(np.zeros((len(SCRIPTS), 6)), np.zeros(model.vocab_size + 1)) for group in groups}
        self.fingerprints: list[str] = []
        # Text was already split and normalized for counting.
        self._encoder = make_encoder(replace(model, pattern=None, normalizer=None))
        self._ids = np.array([*model.vocab], np.int64)
        self._unknown = max(model.vocab, default=-1) + 1
        self._threads = threads

    def add(self, group: str, words: Sequence[bytes], counts: Sums, kinds: npt.NDArray[np.int64]) -> None:
        """Add the encodings of words, of these kinds, times their counts to the totals of a group."""
        ids, offsets = self._encoder.encode_to_numpy([*words], Options(unknown_id=self._unknown), self._threads)
        lengths = np.diff(offsets)
        places = np.searchsorted(self._ids, ids.astype(np.int64))
        sums, usage = self.totals[group]
        usage += np.bincount(places, np.repeat(counts, lengths), len(usage))
        size, characters, is_word, script = kinds.T
        for column, values in enumerate(
            (size, characters, lengths, is_word, is_word * lengths, is_word * (lengths == 1))
        ):
            sums[:, column] += np.bincount(script, values * counts, len(SCRIPTS))


def measure(group: str, counts: WordCounts, measures: Sequence[Measure]) -> None:
    """Add the counts of a group to each measure; properties of the words are computed once for all of them."""
    for each in measures:
        each.fingerprints.append(counts.fingerprint)
    for words, numbers in counts.batches():
        weights = np.array(numbers, np.float64) / counts.scale
        kinds = np.array([*map(kind_of_word, words)], np.int64).reshape(-1, 4)
        for each in measures:
            each.add(group, words, weights, kinds)


def kind_of_word(word: bytes) -> tuple[int, int, bool, int]:
    r"""Return the bytes and characters of a pre-token, whether it has a letter or number, and its script in `SCRIPTS`.

    A byte that is not UTF-8 counts as a character. The script is that of the first letter.

    >>> kind_of_word(" caf\xe9".encode()), kind_of_word(b" 42")
    ((6, 5, True, 1), (3, 3, True, 0))
    """
    if word.isascii():
        has_letter = word.upper() != word.lower()
        is_word = has_letter or _LETTER_OR_NUMBER.search(word.decode()) is not None
        return len(word), len(word), is_word, LATIN if has_letter else 0
    text = word.decode("utf-8", "surrogateescape")
    seen = hide_newer(text)
    letter = _LETTER.search(seen)
    is_word = letter is not None or _LETTER_OR_NUMBER.search(seen) is not None
    return len(word), len(text), is_word, 0 if letter is None else _script_index(letter[0])


@lru_cache(maxsize=1 << 16)
def _script_index(letter: str) -> int:
    match = _SCRIPT.match(letter)
    return _OTHER if match is None else match.lastindex


# Groups of texts.


def group_texts(texts: Texts | Mapping[str, Texts]) -> dict[str, Group]:
    """Return the groups of texts by their names.

    A mapping gives the groups; two to forty files are one group each; anything else is one group.
    """
    if isinstance(texts, Mapping):
        if not texts:
            raise ValueError("texts: expected at least one group, got an empty mapping")
        return {str(name): part if isinstance(part, WordCounts) else plan(part) for name, part in texts.items()}
    if isinstance(texts, WordCounts):
        return {"text": texts}
    group = plan(texts)
    files: dict[str, list[Shard]] = {}
    for shard in group:
        files.setdefault(shard.name, []).append(shard)
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


def count_group(
    name: str, group: Group, cuts: Sequence[Cut], specials: Sequence[str], options: CountingKeywords
) -> list[WordCounts]:
    """Return the counts of a group for each way of splitting."""
    if isinstance(group, WordCounts):
        for cut in cuts:
            if cut.pattern != group.settings.pattern:
                raise ValueError(
                    f"{name}: these counts have the pattern {group.pattern or 'none'!r}, but a tokenizer has "
                    f"{cut.pattern.canonical or 'none'!r}; give the text itself, or count it with that pattern"
                )
        return [group for _ in cuts]
    if len(cuts) > 1 and any(isinstance(shard.source.data, Iterator) for shard in group):
        raise ValueError(
            f"{name}: these texts can be read only once, but tokenizers split text in {len(cuts)} ways; give a list, "
            "or paths"
        )
    return [
        count(
            group
            if cut.normalizer.is_identity
            else [Source(_NormalizedDocuments(shard, cut, specials), weight=shard.weight) for shard in group],
            pattern=cut.pattern,
            special_tokens=specials,
            **options,
        )
        for cut in cuts
    ]


class _NormalizedDocuments:
    """The normalized texts of a shard, without special tokens."""

    def __init__(self, shard: Shard, cut: Cut, specials: Sequence[str]) -> None:
        self._arguments = shard, cut, specials

    def __iter__(self) -> Iterator[bytes]:
        shard, cut, specials = self._arguments
        skipped = Skipped()
        # At a safe cut nothing composes with the text after it, because that is white space. But what strips or
        # replaces text must see all of it between two special tokens.
        pattern = cut.pattern if cut.normalizer.is_local else Pattern(None)
        for batch in read(shard, CountSettings(pattern, tuple(specials)), _PIECE, skipped):
            for text in batch.texts:
                for part in text.documents(pattern, specials):
                    normalized = cut.normalizer.apply(part.decode("utf-8", "surrogateescape"))
                    yield normalized.encode("utf-8", "surrogateescape")
