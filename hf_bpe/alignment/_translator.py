"""Ids of one vocabulary as the canonical ids of another, while they arrive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hf_bpe._utils.arguments import check_flag, check_int, check_mapping, short_repr
from hf_bpe.alignment._token_table import TokenTable, token_table
from hf_bpe.encoding._encoder import Ids
from hf_bpe.encoding._sessions.session import Change
from hf_bpe.formats._pipeline import Pipeline

_NAMES = ("bos_token", "eos_token", "pad_token")
_LEFT_OUT = ("bos_token", "pad_token")  # which say nothing that a vocabulary without them lacks


class Translator:
    """Ids of one tokenizer, which arrive a few at a time, as the ids that another one gives for the same text.

    After ordinary ids, `translator.ids` are the result of `b.encode(a.decode(ids), add_special_tokens=False)`, but for
    the bytes of a last character that is not complete, which wait. Characters of byte tokens are translated
    when they are complete, as a `decode_stream` returns them: where other byte tokens directly after them are not
    UTF-8, `decode` writes U+FFFD for them, too. A step takes the time of encoding its text and the end of the text
    before it, as in a `Session`.

    Special tokens are translated as such, and never through text: what ordinary tokens of `a` spell does not become a
    special token of `b`. One of `a` is that of `b` with the same content, or else that of the same name (`bos_token`,
    `eos_token`, `pad_token`); a `bos_token` or `pad_token` that `b` has not is left out, and other special tokens raise
    a ValueError unless `special` says what they become. Text after a special token is encoded by itself.

    Args:
        a: the tokenizer of the ids: one of hf_bpe or a fast tokenizer of transformers.
        b: the tokenizer of the translation: one of hf_bpe; `hf_bpe.accelerate` makes one of a fast tokenizer.
        add_special_tokens: begin with the special tokens that `b` puts before a text. The ones that `a` puts there are
            then left out at the beginning, so that nothing begins twice.
        special: id of a special token of `a` → id of `b`, or None to leave it out.

    >>> from hf_bpe import BPETokenizer
    >>> a = BPETokenizer.train(["the slow newest, the newest slow"] * 2, vocab_size=263)
    >>> b = BPETokenizer.train(["slow lower lowest"] * 2, vocab_size=263)
    >>> translator = Translator(a, b)
    >>> [translator.step(token_id) for token_id in a.encode("lowest")]  # "l", "o", "west"
    [Change(removed=0, ids=[108]), Change(removed=0, ids=[111]), Change(removed=2, ids=[258, 260])]
    >>> translator.ids == b.encode("lowest")
    True
    """

    def __init__(
        self, a: object, b: object, *, add_special_tokens: bool = False, special: Mapping[int, int | None] | None = None
    ) -> None:
        if not hasattr(b, "session"):
            raise TypeError(
                f"b: expected a tokenizer of hf_bpe, got {type(b).__name__}; hf_bpe.accelerate makes one of a fast one"
            )
        self._table = table = token_table(a)
        self._special = _special_tokens(a, table, b) | _checked(special, table, token_table(b))
        self._session = b.session(split_special_tokens=True)
        self._stream = table.decoder.stream(
            lambda token_ids, **_: table.join(np.array(token_ids, np.int64)), lambda ids: ids, "replace", False, ()
        )
        self._dropped: list[int] = []  # what may still be left out at the beginning
        if check_flag("add_special_tokens", add_special_tokens):
            self._session.append_ids(_ids_before(b))
            self._dropped = _ids_before(a)

    @property
    def ids(self) -> list[int]:
        """The ids of `b` so far."""
        ids: list[int] = self._session.ids
        return ids

    def to_numpy(self) -> Ids:
        """Return the ids of `b` so far, as an array of uint32."""
        ids: Ids = self._session.to_numpy()
        return ids

    def step(self, ids: object) -> Change:
        """Translate the next id, or the next few; return the change of the ids of `b`, see `Session.append`.

        Args:
            ids: an id, or a row of ids: a list, an array or a tensor.

        Raises:
            TypeError: they are no ints.
            ValueError: an id has no token, or is that of a special token for which `b` has none; nothing is translated.
        """
        row = self._table.checked("ids", np.atleast_1d(np.asarray(ids)))
        special = np.flatnonzero(self._table.is_special[row]).tolist()
        for token_id in row[special].tolist():
            if token_id not in self._special and token_id not in self._dropped:
                raise self._untranslated(token_id)
        changes, start = [], 0
        for place in [*special, len(row)]:
            if start < place:
                self._dropped = []
                changes.append(self._session.append(self._stream.step(row[start:place].tolist())))
            if place < len(row):
                changes += self._step_special(int(row[place]))
            start = place + 1
        return _joined(changes)

    def finish(self) -> Change:
        """Translate the bytes of a last character that is not complete, as U+FFFD; return the change of the ids."""
        return _joined([self._session.append(self._stream.finish())])

    def _step_special(self, token_id: int) -> list[Change]:
        if self._dropped and token_id == self._dropped[0]:
            self._dropped = self._dropped[1:]
            return []
        self._dropped = []
        if token_id not in self._special:
            raise self._untranslated(token_id)
        translated = self._special[token_id]
        if translated is None:
            return []
        return [self._session.append(self._stream.flush()), self._session.append_ids([translated])]

    def _untranslated(self, token_id: int) -> ValueError:
        content = self._table.token(token_id).decode("utf-8", "replace")
        return ValueError(
            f"ids: the other vocabulary has no token for the special token {short_repr(content)} ({token_id}); give "
            f"special={{{token_id}: …}}, an id or None to leave it out"
        )


def _special_tokens(a: object, table: TokenTable, b: object) -> dict[int, int | None]:
    """Return the ids of special tokens of `a` with what they become."""
    other = token_table(b)
    by_content = {other.token(token_id): token_id for token_id in np.flatnonzero(other.is_special).tolist()}
    by_name = {getattr(a, f"{name}_id", None): name for name in reversed(_NAMES)}
    translated: dict[int, int | None] = {}
    for token_id in np.flatnonzero(table.is_special).tolist():
        name = by_name.get(token_id)
        of_name = None if name is None else getattr(b, f"{name}_id", None)
        if table.token(token_id) in by_content:
            translated[token_id] = by_content[table.token(token_id)]
        elif of_name is not None or name in _LEFT_OUT:
            translated[token_id] = of_name
    return translated


def _checked(special: Mapping[int, int | None] | None, table: TokenTable, other: TokenTable) -> dict[int, int | None]:
    if special is None:
        return {}
    for token_id, translated in check_mapping("special", special).items():
        for name, value, tokens in ((short_repr(token_id), token_id, table), ("value", translated, other)):
            if value is not None:
                tokens.checked(f"special: {name}", [check_int(f"special: {name}", value)])
    return dict(special)


def _ids_before(tokenizer: Any) -> list[int]:
    """Return the ids of the special tokens that a tokenizer puts before a text."""
    pipeline = getattr(tokenizer, "_pipeline", None)
    if isinstance(pipeline, Pipeline):
        return [*pipeline.template_ids(1)[0]]
    ids: Sequence[int] = tokenizer("")["input_ids"]
    bos = getattr(tokenizer, "bos_token_id", None)
    return [*ids[:1]] if bos is not None and ids[:1] == [bos] else []


def _joined(changes: list[Change]) -> Change:
    """Return several changes, one after the other, as one."""
    removed = 0
    ids: list[int] = []
    for change in changes:
        kept = len(ids) - change.removed
        removed += max(-kept, 0)
        ids = [*ids[: max(kept, 0)], *change.ids]
    return Change(removed, ids)
