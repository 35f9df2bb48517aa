"""Places where a pattern lets tokens begin and end, for all tokens of a vocabulary at once.

Named patterns tell characters apart by a few classes, and never cut inside a run of letters or signs of one class. So
tokens fall into groups of equal classes, and so do ends of texts. One member of a group is split after one text of each
kind, with all kinds of text that may follow; the result holds for all others and is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import regex

from hf_bpe.canonical._character_classes import (
    SUFFIXES,
    class_array,
    class_list,
    class_members,
    completions,
    counted_classes,
)
from hf_bpe.canonical._neighbors import Bits
from hf_bpe.canonical._token_texts import TokenTexts, decode_beginning
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._encoder import Options
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.pretokenizers._pattern import Pattern
from hf_bpe.pretokenizers._regex.newer_characters import hide_newer

_CAP = 3  # characters of a class that are kept of a run
_SPECIFIC = 1 << 20  # above all classes: a letter that stands for itself
_CONTEXTS = 1 << 10  # results that are kept
_FOLLOWUP_SAMPLES = {
    "letter": ("", "z", "Z", "\u4e2d", "\u0301", "\u30fc"),
    "suffix": ("", "z", "Z", "\u4e2d", "\u0301", "l", "e", "s"),
    "number": ("", "1", "11"),
    "space": ("", "z", "1", "!", "\u0301", " ", "  ", "\n", " \n", " z"),
    "sign": ("", "z", "zz", "Z", "\u4e2d", "!", "/", "\n", " "),
    "apostrophe": ("", "z", "Z", "!", "'", "\n", "s", "d", "l", "ll", "v", "ve", "r", "re", "S", "LL"),
}
_FEWER_SAMPLES = {**_FOLLOWUP_SAMPLES, "letter": ("", "z"), "number": ("",), "sign": ("", "!", "\n")}
_MANY_RUNS = 3


class Context(NamedTuple):
    """The end of a text, as far as it decides how the text may go on."""

    sample: bytes  # a text of the same kind, as bytes
    # The places in the sample at which it may be cut: each with whether a token ends there, and whether that token and
    # the next one may stand in one pre-token
    ends: tuple[tuple[int, bool, bool], ...]
    # Begins and ends of stretches of the sample that are no pre-token, because they would be one token
    words: tuple[tuple[int, int], ...]


class NextTokens(NamedTuple):
    """The tokens that may follow a text, split by whether a pre-token ends before them."""

    apart: Bits  # tokens before which a pre-token may end
    joined: Bits  # tokens that may continue the last pre-token
    is_complete: bool  # whether the text may end here


class Continuations:
    """Answers which of some tokens a pattern, named or none, allows after a text, as `size` bits."""

    def __init__(self, pattern: Pattern, tokens: TokenTexts, size: int) -> None:
        self._splitter = make_encoder(BPEModel.of({i: bytes([i]) for i in range(256)}, [], (), pattern))
        self._groups = lru_cache(2)(lambda after_apostrophe: _Groups.from_tokens(tokens, size, after_apostrophe))
        self.after = lru_cache(_CONTEXTS)(self._find_next)

    def _find_next(self, context: Context) -> NextTokens:
        """Find the tokens that may follow a text of a kind, by splitting one text for each group of tokens."""
        groups = self._groups(b"'" in context.sample[-4:])
        decoded = decode_beginning(context.sample)
        assert decoded is not None
        following = groups.complete(context.sample, decoded[1]) if decoded[1] else groups.following
        allowed = np.zeros((2, len(groups.samples) + 1), bool)
        if following.texts:
            texts = [context.sample + text for text in following.texts]
            joined, is_possible = self._split(texts, len(context.sample), following.sizes, context)
            for way in (0, 1):
                allowed[way, following.owners[is_possible & (joined == bool(way))]] = True
        is_known = groups.of_token >= 0
        apart, within = (np.packbits(row[groups.of_token] & is_known) for row in allowed)
        return NextTokens(apart, within, bool(allowed[:, -1].any()))

    def _split(
        self, texts: list[bytes], before: int, sizes: npt.NDArray[np.int64], context: Context
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Return whether the token of each text continues the pre-token before it, and whether the text is possible."""
        _, offsets, places = self._splitter.encode_with_offsets([*texts], Options())
        parts = np.append(places[:, 2], 0)  # the number of the pre-token of each byte
        starts = offsets[:-1]  # of each text

        def is_cut(place: int) -> npt.NDArray[np.bool_]:
            cut: npt.NDArray[np.bool_] = parts[starts + place - 1] != parts[starts + place]
            return cut

        last = np.where(sizes > 0, before + sizes - 1, max(before - 1, 0))  # the last byte of each token
        first = np.minimum(before, last)
        is_possible = parts[starts + first] == parts[starts + last]  # the token is in one pre-token
        number = np.zeros(len(texts), np.int64)  # of cuts at places in `context.ends`
        for place, is_end, is_stable in context.ends:
            cut = is_cut(place)
            number += cut
            if not is_end:
                is_possible &= ~cut  # no token has a cut inside
            elif not is_stable:
                is_possible &= cut  # in one pre-token merges would make other tokens of these two
        for start, stop in context.words:  # none may be a pre-token of its own
            is_one = parts[starts + start] == parts[starts + stop - 1]
            if start > 0:
                is_one &= is_cut(start)
            is_possible &= ~(is_one & ((sizes == 0) | is_cut(stop) if stop == before else is_cut(stop)))
        if before > 0:
            is_possible &= parts[starts + before - 1] - parts[starts] == number  # no other cut
            joined = (sizes > 0) & ~is_cut(before)
        else:
            joined = np.zeros(len(texts), bool)
        return joined, is_possible


class _TestTexts(NamedTuple):
    """Texts to be split after a context, some for each group of tokens."""

    texts: list[bytes]  # a token of each group, with each kind of text after it
    sizes: npt.NDArray[np.int64]  # the number of bytes of each token
    owners: npt.NDArray[np.int64]  # the number of its group


class _Groups(NamedTuple):
    """Groups of tokens."""

    of_token: npt.NDArray[np.int64]  # the group of each id, -1 for none
    samples: list[bytes]  # a token of each group
    # After a text that does not end inside a character; the last group is that of no token
    following: _TestTexts

    @classmethod
    def from_tokens(cls, tokens: TokenTexts, size: int, after_apostrophe: bool) -> _Groups:
        """Group tokens; `after_apostrophe` says whether a contraction may have begun before a token."""
        numbers: dict[object, int] = {}
        of_token = np.full(size, -1, np.int64)
        samples: list[bytes] = []
        keys = _class_signatures(tokens, after_apostrophe)
        groups = []
        for token, key in zip(tokens.tokens, keys, strict=True):
            number = -1 if key is None else numbers.setdefault(key, len(numbers))
            if number == len(samples):
                samples.append(token)
            groups.append(number)
        of_token[tokens.ids] = groups
        starts = [(number, b"", token) for number, token in enumerate(samples) if not _begins_inside_character(token)]
        return cls(of_token, samples, _make_test_texts([*starts, (len(samples), b"", b"")], after_apostrophe))

    def complete(self, text: bytes, partial: bytes) -> _TestTexts:
        """Make the test texts after a text that ends with a part of a character."""
        samples = enumerate(self.samples)
        tokens = [(number, partial, token) for number, token in samples if _begins_inside_character(token)]
        return _make_test_texts(tokens, b"'" in text[-4:])


def _make_test_texts(tokens: Iterable[tuple[int, bytes, bytes]], after_apostrophe: bool) -> _TestTexts:
    texts, sizes, owners = [], [], []
    for number, partial, token in tokens:
        decoded = decode_beginning(partial + token)
        if decoded is None:
            continue
        for more in _sample_followups(*decoded, after_apostrophe) if token else [b""]:
            texts.append(token + more)
            sizes.append(len(token))
            owners.append(number)
    return _TestTexts(texts, np.array(sizes, np.int64), np.array(owners, np.int64))


def _begins_inside_character(token: bytes) -> bool:
    return token[0] & 0xC0 == 0x80


def find_context(
    text: bytes, ends: Sequence[tuple[int, bool]], words: Sequence[tuple[int, int]] = ()
) -> Context | None:
    """Return the kind of a text, which may end inside a character; None if nothing makes its tokens canonical.

    Given are the places within the text at which tokens end, in order, and whether that token and the next may stand
    in one pre-token; `words` are those of `Context`.
    """
    decoded = decode_beginning(text)
    if decoded is None:
        return None
    whole, partial = decoded
    is_stable = dict(ends)
    sample, places = bytearray(), []
    in_sample = {0: 0}  # place in the text → place in the sample, where it may be cut
    at = 0
    for _, begin, end, is_counted in _class_runs(whole, False):
        kept = end if is_counted else min(end, begin + _CAP)  # longer runs are split alike
        typical = _typical(whole, begin)
        for index in range(begin, end):
            data = whole[index].encode()
            if index < kept:
                if sample and (index == begin or is_counted):
                    places.append((len(sample), at in is_stable, is_stable.get(at, False)))
                    in_sample[at] = len(sample)
                elif not is_stable.get(at, True):
                    return None
                sample += typical
            elif not is_stable.get(at, True):  # no pattern cuts here, so no text has these two tokens
                return None
            if any(not is_stable.get(at + inside, True) for inside in range(1, len(data))):
                return None
            at += len(data)
    if partial:
        if sample:
            places.append((len(sample), at in is_stable, is_stable.get(at, False)))
        if any(not is_stable.get(at + inside, True) for inside in range(1, len(partial))):
            return None
        sample += partial
    in_sample[len(text)] = len(sample)
    spans = ((in_sample.get(start), in_sample.get(stop)) for start, stop in words)
    pairs = tuple((start, stop) for start, stop in spans if start is not None and stop is not None)
    return Context(bytes(sample), tuple(places), pairs)


def _class_signature(token: bytes, after_apostrophe: bool) -> object:
    """Return the signature of a token, equal for tokens that patterns do not tell apart; None if no text has it."""
    inside = 0
    while inside < len(token) and token[inside] & 0xC0 == 0x80:
        inside += 1
    decoded = decode_beginning(token[inside:])
    if decoded is None or inside > 3:
        return None
    whole, partial = decoded
    runs = tuple(
        (kind, end - begin if is_counted else min(end - begin, _CAP))
        for kind, begin, end, is_counted in _class_runs(whole, after_apostrophe)
    )
    return token[:inside], runs, partial


def _class_signatures(tokens: TokenTexts, after_apostrophe: bool) -> list[object]:
    """Return what `_class_signature` returns for each token, but most of them in one pass over all characters."""
    classes = class_array()[tokens.codes]
    is_counted = np.zeros(256, bool)
    is_counted[[*counted_classes()]] = True
    # A character is left out after _CAP of its class, as patterns tell no longer runs apart, unless lengths count.
    is_first = np.zeros(len(classes), bool)
    is_first[tokens.begins[tokens.begins < len(classes)]] = True
    is_run = np.zeros(len(classes), np.int64)
    changes = np.flatnonzero(is_first | np.r_[True, classes[1:] != classes[:-1]][: len(classes)])
    is_run[changes] = np.diff(changes, prepend=0)  # so that the sums are the places where runs begin
    place_in_run = np.arange(len(classes)) - np.cumsum(is_run)
    is_kept = (place_in_run < _CAP) | is_counted[classes]
    ends = np.cumsum(is_kept)
    kept = classes[is_kept].tobytes()
    stops = np.r_[0, ends][tokens.begins + tokens.sizes].tolist()
    starts = np.r_[0, ends][tokens.begins].tolist()
    # The signature of plain text: the classes of its characters, a byte each, in runs of at most _CAP.
    keys: list[object] = [kept[start:stop] for start, stop in zip(starts, stops, strict=True)]
    is_apart = tokens.have(ord("'")) | ~tokens.are_text  # tokens that classes alone do not describe
    for number in np.flatnonzero(is_apart).tolist():
        keys[number] = _class_signature(tokens.tokens[number], after_apostrophe)
    if after_apostrophe:  # then tokens that may end a contraction also differ by their first letters
        groups: dict[tuple[bytes, bytes], object] = {}
        is_suffix = np.isin(tokens.codes, [*map(ord, SUFFIXES)])
        begins_so = np.zeros(len(keys), bool)
        begins_so[tokens.sizes > 0] = is_suffix[tokens.begins[tokens.sizes > 0]]
        for number in np.flatnonzero(begins_so & ~is_apart).tolist():
            begin, size = int(tokens.begins[number]), int(tokens.sizes[number])
            letters = tokens.codes[begin : begin + (2 if size > 1 and is_suffix[begin + 1] else 1)]
            shape = classes[begin : begin + size].tobytes(), letters.tobytes()
            if shape not in groups:
                groups[shape] = _class_signature(tokens.tokens[number], after_apostrophe)
            keys[number] = groups[shape]
    return keys


def _class_runs(text: str, after_apostrophe: bool) -> list[tuple[int, int, int, bool]]:
    """Return class, begin and end of runs of one class, and whether their lengths count."""
    table, counted = class_list(), counted_classes()
    runs = []
    begin, kind = 0, -1
    for index, char in enumerate(text):
        new = _SPECIFIC + ord(char) if _is_specific(text, index, after_apostrophe) else table[ord(char)]
        if new != kind:
            if index:
                runs.append((kind, begin, index, kind >= _SPECIFIC or kind in counted))
            begin, kind = index, new
    if text:
        runs.append((kind, begin, len(text), kind >= _SPECIFIC or kind in counted))
    return runs


def _typical(text: str, index: int) -> bytes:
    """Return a character that stands for all of its class."""
    if _is_specific(text, index, False):
        return text[index].encode()
    return class_members()[class_list()[ord(text[index])]]


def _is_specific(text: str, index: int, after_apostrophe: bool) -> bool:
    """Say whether a letter may belong to a contraction, with `after_apostrophe` of an apostrophe before the text."""
    if text[index] not in SUFFIXES:
        return False
    is_early = index == 0 or (index == 1 and text[0] in SUFFIXES)  # contractions have one letter or two
    return "'" in text[max(index - 2, 0) : index] or (after_apostrophe and is_early)


def _sample_followups(text: str, partial: bytes, after_apostrophe: bool) -> list[bytes]:
    """Return a text of each kind that may follow."""
    after = _FEWER_SAMPLES if len(_class_runs(text, after_apostrophe)) >= _MANY_RUNS else _FOLLOWUP_SAMPLES
    if not partial:
        return [more.encode() for more in after[_ending(text, after_apostrophe)]]
    completed = []
    for done in completions(partial):
        kind = _ending((partial + done).decode(), after_apostrophe)
        completed += [done + more.encode() for more in after[kind]]
    return completed


@lru_cache(maxsize=1 << 12)
def _ending_class(char: str) -> str:
    char = hide_newer(char)
    if char == "'":
        return "apostrophe"
    kinds = {"letter": r"[\p{L}\p{M}]", "number": r"\p{N}", "space": r"\s"}
    return next((kind for kind, expression in kinds.items() if regex.match(expression, char)), "sign")


def _ending(text: str, after_apostrophe: bool) -> str:
    kind = _ending_class(text[-1])
    return "suffix" if kind == "letter" and (after_apostrophe or "'" in text[-3:-1]) else kind
