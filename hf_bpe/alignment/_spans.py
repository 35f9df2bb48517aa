"""Bytes and characters of the decoded text that each of some ids stands for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hf_bpe._utils.arguments import check_flag, check_int
from hf_bpe.alignment._token_table import Flags, TokenTable, token_table
from hf_bpe.encoding._encoder import Numbers
from hf_bpe.pretokenizers._byte_level import is_utf8

Bytes = npt.NDArray[np.uint8]


class TokenBytes(NamedTuple):
    """The bytes of all tokens of a vocabulary.

    Attributes:
        data: uint8, of shape (number of bytes).
        offsets: int64, of shape (number of ids + 1): the bytes of id i are `data[offsets[i] : offsets[i + 1]]`.
    """

    data: Bytes
    offsets: Numbers


class Spans(NamedTuple):
    """The place of each id in the text.

    Attributes:
        bytes: int64, of shape (number of ids, 2): begin and end in the UTF-8 of the text; each begins where the one
            before it ends.
        characters: the same in the characters of the text; an id with some bytes of a character covers the whole.
    """

    bytes: Numbers
    characters: Numbers


class RowText(NamedTuple):
    """The text of a row of ids."""

    data: bytes
    # Where the text of each id begins and ends, in bytes
    begins: Numbers
    ends: Numbers
    is_kept: Flags  # which ids have text; the others are left out


def token_bytes(tokenizer: object, *, size: int | None = None) -> TokenBytes:
    """Return the bytes that each id stands for.

    Joined, they are the bytes of a text: `tokenizer.decode_bytes(ids)`. In a vocabulary of characters `▁` is a space if
    the tokenizer decodes it so, and a token such as `<0x0A>` is its byte; what decoding does at the beginning of a text
    only, removing a space, is not in them. Special and added tokens stand for their content. Ids without a token are
    empty.

    Args:
        tokenizer: a tokenizer of hf_bpe, or a fast tokenizer of transformers with byte-level tokens or a decoder that
            turns each token into text by itself, as tokenizers with byte fallback have.
        size: the number of ids, if the model has more than the tokenizer, as padded embeddings do.

    Returns:
        The bytes of all ids in one array, and where those of each id begin; the arrays are read-only.

    Raises:
        TypeError: it is no such tokenizer.
        ValueError: its decoder makes text of several tokens at once; or `size` is below the number of ids.

    >>> from hf_bpe import BPETokenizer
    >>> tokenizer = BPETokenizer.train(["low low"], vocab_size=258, special_tokens=["<|end|>"])
    >>> data, offsets = token_bytes(tokenizer, size=260)
    >>> [bytes(data[offsets[i] : offsets[i + 1]]) for i in (108, 256, 257, 258)], len(offsets)
    ([b'l', b'<|end|>', b'ow', b''], 261)
    """
    table = token_table(tokenizer)
    offsets = table.offsets
    if size is not None:
        added = check_int("size", size, minimum=table.size) - table.size
        offsets = np.concatenate([offsets, np.full(added, offsets[-1])])
        offsets.flags.writeable = False
    return TokenBytes(np.frombuffer(table.data, np.uint8), offsets)


def spans(tokenizer: object, ids: object, *, skip_special_tokens: bool = False, continued: bool = False) -> Spans:
    """Return the bytes and characters that each of some ids stands for, whether encoding would give these ids or not.

    Positions are in the text that the ids decode to: `tokenizer.decode(ids, skip_special_tokens=…)`, without cleaning
    up of spaces, and its bytes, `tokenizer.decode_bytes(ids)`. That is the encoded text if no normalizer changed it;
    ids say nothing of text before normalization, for which there is `return_offsets_mapping`. Special and added tokens
    have their content. Bytes that are not UTF-8 are as many characters U+FFFD as in the decoded text with
    `errors="replace"`. An id with some bytes of a character covers the whole character, so character spans overlap
    where a character has several ids. It takes time in proportion to the ids.

    Args:
        tokenizer: see `token_bytes`.
        ids: a row of ids: a list, an array or a tensor.
        skip_special_tokens: give special tokens no text: empty spans.
        continued: the ids follow others in their text, so that nothing is removed from their beginning.

    Raises:
        TypeError: the ids are no row of ints.
        ValueError: an id has no token.

    >>> from hf_bpe import BPETokenizer
    >>> tokenizer = BPETokenizer.train(["low low"], vocab_size=257)
    >>> found = spans(tokenizer, [108, 256, *"é!".encode()])
    >>> found.bytes.tolist()
    [[0, 1], [1, 3], [3, 4], [4, 5], [5, 6]]
    >>> found.characters.tolist()
    [[0, 1], [1, 3], [3, 4], [3, 4], [4, 5]]
    """
    table = token_table(tokenizer)
    row = table.checked("ids", ids)
    skips, continues = check_flag("skip_special_tokens", skip_special_tokens), check_flag("continued", continued)
    text = row_text(table, row, skips, continues)
    return Spans(np.stack([text.begins, text.ends], axis=1), _characters(table, row, text))


def row_text(table: TokenTable, row: Numbers, skips_special: bool, is_continued: bool) -> RowText:
    """Return the text of a row of ids, which are checked."""
    sizes = table.sizes[row]
    is_kept = ~table.is_special[row] if skips_special else np.ones(len(row), bool)
    ids = row
    if not is_kept.all():
        ids = row[is_kept]
        sizes[~is_kept] = 0
    data, removed = table.join(ids), 0
    if not is_continued and len(ids) > 0:
        if table.decoder.marks_first:
            first = int(is_kept.argmax())
            written, _ = table.decoder.token_bytes(int(row[first]), is_first=True)
            data = written + data[sizes[first] :]
            sizes[first] = len(written)
        if table.decoder.max_stripped:
            after_bytes = int(np.append(~table.is_byte[ids], True).argmax())
            removed = table.decoder.removed(ids[: after_bytes + 1].tolist(), data)
    ends = np.cumsum(sizes)
    begins = ends - sizes
    if removed:
        data = data[removed:]
        begins, ends = np.maximum(begins - removed, 0), np.maximum(ends - removed, 0)
    return RowText(data, begins, ends, is_kept)


def _characters(table: TokenTable, row: Numbers, text: RowText) -> Numbers:
    """Return the character spans of ids, given their text."""
    if not (table.is_text[row[text.is_kept]].all() or is_utf8(text.data)):
        return _characters_with_replacements(table, row, text)
    counts, is_inside = table.characters[row], table.begins_inside[row]
    is_other = text.ends - text.begins != table.sizes[row]
    if is_other.any():
        counts[is_other], is_inside[is_other] = 0, False
        for at in np.flatnonzero(is_other & text.is_kept).tolist():  # at the beginning, if decoding changes that
            counts[at] = len(text.data[text.begins[at] : text.ends[at]].decode())
    ends = np.cumsum(counts)
    return np.stack([ends - counts - is_inside, ends], axis=1)


def _characters_with_replacements(table: TokenTable, row: Numbers, text: RowText) -> Numbers:
    is_begin = _beginnings(text.data, _byte_runs(table, row, text) if table.is_byte[row].any() else None)
    before = np.concatenate([[0], np.cumsum(is_begin)])  # characters that begin before each byte
    starts, ends = before[text.begins], before[text.ends]
    is_some = text.begins < text.ends
    starts[is_some] -= ~is_begin[text.begins[is_some]]
    return np.stack([starts, ends], axis=1)


def _byte_runs(table: TokenTable, row: Numbers, text: RowText) -> Numbers:
    """Return for each byte of a text the number of the run of byte tokens that it is in; -1 outside."""
    is_byte = table.is_byte[row[text.is_kept]]
    is_first = is_byte & ~np.concatenate([[False], is_byte[:-1]])
    runs = np.where(is_byte, np.cumsum(is_first) - 1, -1)
    of_bytes: Numbers = np.repeat(runs, (text.ends - text.begins)[text.is_kept])
    return of_bytes


def _beginnings(data: bytes, runs: Numbers | None) -> Flags:
    """Return for each byte whether a character of the decoded text begins with it.

    Bytes that are not UTF-8 become one U+FFFD for each longest beginning of a character among them, as Unicode
    recommends and Python does; in a run of byte tokens, if it is not UTF-8 as a whole, one for each byte.
    """
    raw = np.frombuffer(data, np.uint8)
    # Decoded so that each byte that is not UTF-8 is one character, which no valid text has.
    decoded = data.decode("utf-8", "surrogateescape").encode("utf-32-le", "surrogatepass")
    points = np.frombuffer(decoded, "<u4")
    is_escaped = (points >= 0xDC80) & (points <= 0xDCFF)
    widths = 1 + ((points >= 0x80) & ~is_escaped) + ((points >= 0x800) & ~is_escaped) + (points >= 0x10000)
    starts = np.cumsum(widths) - widths
    is_begin: Flags = np.zeros(len(raw), bool)
    is_begin[starts] = True
    is_invalid: Flags = np.zeros(len(raw), bool)
    is_invalid[starts[is_escaped]] = True
    if runs is not None:
        damaged = np.unique(runs[is_invalid])
        inside = np.isin(runs, damaged[damaged >= 0])
        is_begin |= inside
        is_invalid &= ~inside
    return is_begin & ~_continues_incomplete(raw, is_invalid)


def _continues_incomplete(raw: Bytes, is_invalid: Flags) -> Flags:
    """Say for each byte that is not UTF-8 whether it continues an incomplete character before it.

    Source: table 3-7 of the Unicode standard, well-formed UTF-8 byte sequences.
    """
    first, second = raw[:-1], raw[1:]
    lowest = np.select([first == 0xE0, first == 0xF0], [0xA0, 0x90], 0x80)
    highest = np.select([first == 0xED, first == 0xF4], [0x9F, 0x8F], 0xBF)
    is_lead = (first >= 0xE0) & (first <= 0xF4)
    continues: Flags = np.zeros(len(raw), bool)
    continues[1:] = is_lead & (second >= lowest) & (second <= highest) & is_invalid[:-1] & is_invalid[1:]
    if len(raw) > 2:
        is_third = continues[1:-1] & (raw[:-2] >= 0xF0) & (raw[2:] & 0xC0 == 0x80) & is_invalid[2:]
        continues[2:] |= is_third
    return continues
