"""Sessions: text that grows at its end, and its ids, which are always those of encoding the whole text.

Ids can be appended, too, such as those that a model has sampled: they stay as they are. Appending encodes the tail,
which follows the blocks of a session (see `blocks`), with the new text.
"""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from hf_bpe._native_core import require_core
from hf_bpe._utils.arguments import as_lists, check_ids, check_int, check_str
from hf_bpe._utils.processes import default_threads
from hf_bpe.encoding._cuts.settled import SettledCuts
from hf_bpe.encoding._encoder import AddedTokenTuple, AnyText, Encoder, Ids, Numbers, Options
from hf_bpe.encoding._native_paths import as_prepared
from hf_bpe.encoding._preparation import tells_starts
from hf_bpe.encoding._sessions.blocks import BLOCK, Block, SessionState, blocks_until, common_size, joined, with_tail
from hf_bpe.encoding._token_bytes import byte_decoder, bytes_of_known
from hf_bpe.pretokenizers._byte_level import repair_surrogates

_MIN_UNCUT = 1 << 11  # characters without a safe cut from which on a settled one is searched for
_FOR_THREADS = 1 << 17  # characters from which on threads pay


class Change(NamedTuple):
    """The change of a session's ids.

    Attributes:
        removed: how many of the last ids are gone.
        ids: the ids that follow the others.
    """

    removed: int
    ids: list[int]


class _NonBlockingLock:
    """A lock that is never waited for, so that no process that is forked while it is held waits for ever."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError("another thread is changing this session; give each thread a fork() of its own")

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class Session:
    """Text that grows at its end, with its ids; what `BPETokenizer.session` returns.

    Ids are always those of `tokenizer.encode(session.text, add_special_tokens=False)`. Added tokens in the text are
    found, also those that two appended parts make together. The special tokens of a template are not added: append
    them as text, or give `ids` to `build_inputs_with_special_tokens`. Tokens that are added to the tokenizer later are
    not found.

    Ids that are appended by `append_ids` stay as they are, whatever encoding would make of their text. What is appended
    after them is encoded by itself, as after a special token, and what was appended before them no longer changes; a
    model with characters puts a space before it only where it would after their last token.

    Appending takes the time of encoding the new text and the end of the old text from the last place where it is known
    that text may be cut, usually some words.

    Forks share all that they have in common, and may be used in different threads. One session is changed by one thread
    at a time; a second one gets a RuntimeError.

    Args:
        encoder: the encoder with added tokens.
        added_tokens: these tokens.
        options: the options of encoding.

    >>> from hf_bpe import BPETokenizer
    >>> tokenizer = BPETokenizer.train(["low lower lowest newest"], vocab_size=262)
    >>> session = tokenizer.session()
    >>> session.append("low lowe"), session.append("st")
    (Change(removed=0, ids=[257, 119, 260, 256]), Change(removed=1, ids=[259]))
    >>> session.ids == tokenizer.encode("low lowest")
    True
    """

    __slots__ = (
        *("__weakref__", "_added_tokens", "_continued", "_decoder", "_encoder", "_options"),
        *("_settled_cuts", "_state", "_lock"),
    )

    def __init__(self, encoder: Encoder, added_tokens: tuple[AddedTokenTuple, ...], options: Options) -> None:
        require_core("sessions")
        self._encoder, self._added_tokens, self._options = encoder, added_tokens, options
        self._decoder, self._continued = byte_decoder(encoder), options._replace(continued=True)
        self._settled_cuts = SettledCuts(encoder, added_tokens, options)
        self._state = SessionState()
        self._lock = _NonBlockingLock()

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (self._encoder, self._added_tokens, self._options, self._parts_appended())

    def __copy__(self) -> Session:
        return self.fork()

    def __repr__(self) -> str:
        return f"<Session of {self.num_characters} characters and {self.num_ids} ids>"

    @property
    def num_characters(self) -> int:
        """The number of characters of the text, known without joining it."""
        return self._state.last.characters + len(self._state.tail)

    @property
    def num_ids(self) -> int:
        """The number of ids, known without joining them."""
        return self._state.last.num_ids + len(self._state.tail_ids)

    @property
    def text(self) -> str:
        """The whole text, in which surrogate pairs are one character, and lone surrogates U+FFFD; joined on access.

        The text of appended ids is not in it: `tokenizer.decode(session.ids)` has it.
        """
        return repair_surrogates(self._text())

    @property
    def ids(self) -> list[int]:
        """All ids; joined on access."""
        ids: list[int] = self.to_numpy().tolist()
        return ids

    def to_numpy(self) -> Ids:
        """Return all ids as a new array of uint32."""
        state = self._state
        return np.concatenate([*(block.ids for block in blocks_until(state.last)), state.tail_ids])

    def append(self, text: str) -> Change:
        """Append text.

        Args:
            text: any text; it may end anywhere, within a word or a special token.

        Returns:
            The change of the ids: `ids[len(ids) - change.removed :] = change.ids` makes the new ids of the old ones.

        Raises:
            RuntimeError: another thread is changing this session.
            ValueError: a byte has no token, and there is no `unk_token`; the session is unchanged.
        """
        check_str("text", text)
        with self._lock:
            last, tail, old_ids = self._state
            self._state, new_ids = self._extended(last, tail + text)
            return _change(old_ids, new_ids)

    def append_ids(self, ids: Any) -> Change:
        """Append ids as they are, such as those that a model has sampled; return the change of the ids.

        Args:
            ids: a row of ids: a list, an array or a tensor.

        Raises:
            TypeError: they are no row of ints.
            ValueError: an id has no token; the session is unchanged.

        >>> from hf_bpe import BPETokenizer
        >>> session = BPETokenizer.train(["low lower lowest"], vocab_size=260).session("low l")
        >>> _ = session.append_ids([111, 119]), session.append("er")
        >>> session.ids
        [257, 32, 108, 111, 119, 101, 114]
        """
        new_ids = [*check_ids("ids", as_lists("ids", ids))]
        if self._puts_spaces:
            raise ValueError(
                "append_ids: this tokenizer puts a space before whatever it encodes (add_prefix_space, or a normalizer "
                "with Prepend), so text cannot continue ids; encode text and ids by themselves and join the ids"
            )
        bytes_of_known(self._decoder, new_ids)
        with self._lock:
            last = with_tail(self._state)
            if new_ids:
                row = np.array(new_ids, np.uint32)
                num_ids = last.num_ids + len(row)
                last = Block(last, "", row, last.characters, num_ids, last.num_deciding, is_text=False)
                self._state = SessionState(last)
            return Change(0, new_ids)

    def truncate(self, num_characters: int) -> Change:
        """Keep the first characters of the text; return the change of the ids, see `append`.

        Ids that were appended after a character which is removed are removed with it. It takes the time of going back
        over what is removed, and of encoding some words.

        Args:
            num_characters: how many characters to keep, at most the `num_characters` of the session.

        >>> from hf_bpe import BPETokenizer
        >>> session = BPETokenizer.train(["low lower lowest"], vocab_size=260).session("low lowest")
        >>> session.truncate(6), session.text
        (Change(removed=3, ids=[32, 108, 111]), 'low lo')
        """
        with self._lock:
            size = check_int("num_characters", num_characters, 0, self.num_characters)
            return self._keep(size, "")

    def update(self, text: str) -> Change:
        """Replace the text, and encode only what follows the common beginning of both; return the change of the ids.

        This makes the text of a chat template, which is rendered as a whole, follow a growing conversation. Comparing
        takes time in proportion to the text, tens of milliseconds for 4 million characters.

        >>> from hf_bpe import BPETokenizer
        >>> session = BPETokenizer.train(["low lower lowest"], vocab_size=260).session("low lowest")
        >>> session.update("low lower"), session.text
        (Change(removed=2, ids=[114]), 'low lower')
        """
        text = _repaired(check_str("text", text))
        with self._lock:
            size = common_size(self._state, text)
            return self._keep(size, text[size:])

    def fork(self) -> Session:
        """Return another session with the same text, in constant time; each can then be changed by itself."""
        other = object.__new__(Session)
        other._encoder, other._added_tokens, other._options = self._encoder, self._added_tokens, self._options
        other._continued, other._decoder = self._continued, self._decoder
        other._settled_cuts, other._state = self._settled_cuts, self._state
        other._lock = _NonBlockingLock()
        return other

    def _text(self) -> str:
        state = self._state
        return "".join([*(block.text for block in blocks_until(state.last)), state.tail])

    def _parts_appended(self) -> list[str | list[int]]:
        """Return texts and ids that make this session when they are appended."""
        state = self._state
        parts: list[str | list[int]] = [b.text if b.is_text else b.ids.tolist() for b in blocks_until(state.last)]
        return [*parts, state.tail]

    def _keep(self, size: int, text: str) -> Change:
        """Keep the first `size` characters, and append text."""
        state = self._state
        last, texts, ids = state.last, [state.tail], [state.tail_ids]
        while last.before is not None and last.num_deciding > size:  # text that goes may have decided its cut
            texts.append(last.text)
            ids.append(last.ids)
            last = last.before
        kept = "".join(reversed(texts))[: size - last.characters]
        self._state, new_ids = self._extended(last, kept + text)
        return _change(np.concatenate(ids[::-1]), new_ids)

    def _extended(self, last: Block, text: str) -> tuple[SessionState, Ids]:
        """Return the state with some text after a block, and the ids of this text."""
        text = _repaired(text)
        start = last.characters  # of the text before
        parts, deciding = self._parts(text)
        threads = default_threads() if len(text) >= _FOR_THREADS else 1
        ids, offsets = self._encode([*parts], self._continues(last), threads)
        tail = parts.pop()
        for part, place, (begin, end) in zip(parts, deciding, pairwise(offsets.tolist()), strict=False):
            last = joined(last, part, ids[begin:end], start + place)
        # `ids` would be kept as a whole by a part of it.
        return SessionState(last, tail, ids[offsets[-2] :].copy()), ids

    @property
    def _puts_spaces(self) -> bool:
        """True if a space is put before text even where it continues other text."""
        model, prepared = self._encoder.model, as_prepared(self._encoder)
        by_model = model.alphabet.is_bytes and bool(model.normalization.prepended)
        return self._options.changes_segments or by_model or (prepared is not None and prepared.preparation.prepends)

    @property
    def _ids_before_segments(self) -> set[int]:
        """The added tokens after which a model with characters puts a space before text."""
        return set() if tells_starts(self._encoder.model) else {token.id for token in self._added_tokens}

    def _continues(self, last: Block) -> bool:
        """Say whether what follows a block continues a segment of text."""
        if last.is_text or last.num_ids == 0:
            return last.before is not None
        return int(last.ids[-1]) not in self._ids_before_segments

    def _encode(self, parts: list[AnyText], are_continued: bool, threads: int) -> tuple[Ids, Numbers]:
        """Return the ids of parts that follow one another, and where the ids of each part begin."""
        if are_continued:
            return self._encoder.encode_to_numpy(parts, self._continued, threads)
        if self._encoder.model.alphabet.is_bytes or len(parts) == 1:
            return self._encoder.encode_to_numpy(parts, self._options, threads)
        first, offsets = self._encoder.encode_to_numpy(parts[:1], self._options, threads)
        later, later_offsets = self._encoder.encode_to_numpy(parts[1:], self._continued, threads)
        return np.concatenate([first, later]), np.concatenate([offsets, later_offsets[1:] + len(first)])

    def _parts(self, text: str) -> tuple[list[str], list[int]]:
        """Cut text; return the parts, the last one not complete, and how many characters decided each cut."""
        parts, deciding = [], []
        start, width = 0, BLOCK
        while start < len(text):
            stop = min(start + width, len(text))
            cut = self._find_cut(text[start:stop])
            if cut > 0:
                parts.append(text[start : start + cut])
                deciding.append(stop)
                start, width = start + cut, BLOCK
            else:
                width *= 2  # a cut may be known from more text
            if stop == len(text):
                break
        return [*parts, text[start:]], deciding

    def _find_cut(self, text: str) -> int:
        """Return the last position at which text may be cut, whatever follows; 0 if none is known."""
        data = repair_surrogates(text).encode()
        cut = self._encoder.find_last_cut(data, self._options)
        if cut > 0 and len(data) > len(text):
            cut = len(data[:cut].decode())  # in characters
        if len(text) - cut > _MIN_UNCUT:
            cut += self._settled_cuts.find_last(repair_surrogates(text[cut:]))
        return cut


def _restored(
    encoder: Encoder, added_tokens: tuple[AddedTokenTuple, ...], options: Options, parts: list[str | list[int]]
) -> Session:
    session = Session(encoder, added_tokens, options)
    for part in parts:
        if isinstance(part, str):
            session.append(part)
        else:
            session.append_ids(part)
    return session


def _repaired(text: str) -> str:
    """Return text with repaired surrogates, except for a last one whose other half may follow."""
    if text[-1:] < "\ud800" or text[-1:] > "\udbff":
        return repair_surrogates(text)
    return repair_surrogates(text[:-1]) + text[-1]


def _change(old: Ids, new: Ids) -> Change:
    size = min(len(old), len(new))
    unequal = np.flatnonzero(old[:size] != new[:size])
    same = int(unequal[0]) if len(unequal) else size
    return Change(len(old) - same, new[same:].tolist())
