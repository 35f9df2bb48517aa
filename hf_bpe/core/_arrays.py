"""The tokens and merges of a model as arrays, of which objects are made when somebody asks for them."""

from __future__ import annotations

import json
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from json.encoder import encode_basestring
from typing import Literal, NamedTuple, TypeVar

from hf_bpe._native_core import native_core
from hf_bpe._utils.cached_property import cached_property
from hf_bpe.pretokenizers._byte_level import from_printable_all, to_printable

Text = TypeVar("Text")


class MergeIds(bytes):
    """The ids of both parts and of the result of each merge, as native 32-bit numbers.

    Who makes them has checked that the merges are distinct, and of ordinary tokens, none of which stands for bytes or
    unknown characters.
    """

    def pairs(self, vocab: Mapping[int, Text]) -> list[tuple[Text, Text]]:
        """Return the merges as pairs of the tokens of a vocabulary."""
        ids = memoryview(self).cast("I")
        firsts, seconds = (map(vocab.__getitem__, ids[place::3]) for place in range(2))
        return list(zip(firsts, seconds, strict=True))


class TokenArrays(NamedTuple):
    """Tokens and their ids; those of a model are distinct, not empty and in the order of the ids."""

    data: bytes = b""  # of all tokens
    sizes: bytes = b""  # of each in bytes, as native 32-bit numbers, as the ids are
    ids: bytes = b""

    @classmethod
    def of(cls, vocab: Mapping[int, bytes]) -> TokenArrays:
        """Return the arrays of id → token, in that order."""
        sizes, ids = array("I", map(len, vocab.values())), array("I", vocab)
        return cls(b"".join(vocab.values()), sizes.tobytes(), ids.tobytes())

    @property
    def lengths(self) -> list[int]:
        """The number of bytes of each token."""
        return memoryview(self.sizes).cast("I").tolist()

    @property
    def numbers(self) -> list[int]:
        """The id of each token."""
        return memoryview(self.ids).cast("I").tolist()

    def to_dict(self, step: int = 1) -> dict[int, bytes]:
        """Return id → token, of the tokens at regular intervals."""
        bounds = [*accumulate(self.lengths, initial=0)]
        places = map(slice, bounds[:-1:step], bounds[1::step])
        return dict(zip(self.numbers[::step], map(self.data.__getitem__, places), strict=True))

    def write(
        self,
        form: Literal["plain", "json", "repr"],
        text_ids: Collection[int] | None,
        around: tuple[str, str, str],
        merges: MergeIds | None = None,
    ) -> bytes:
        """Return each token and its id in UTF-8 or, if merges are given, both parts of each merge.

        Args:
            form: "plain"; "json", escaped as in a string; or "repr", as Python shows bytes.
            text_ids: the tokens written as text, None for all; each byte of others is a printable character.
            around: what stands before, between and after the two.
        """
        if (native := native_core()) is not None:  # many merges in Python are as many waits for memory
            ids = None if text_ids is None else array("I", text_ids).tobytes()
            written: bytes | None = native.write_tokens(self, form, ids, merges, around)
            if written is not None:
                return written

        def text_of(token_id: int, token: bytes) -> str:
            if form == "repr":
                return repr(token)
            text = token.decode() if text_ids is None or token_id in text_ids else to_printable(token)
            return text if form == "plain" else encode_basestring(text)[1:-1]

        (before, between, after), texts = around, {i: text_of(i, token) for i, token in self.to_dict().items()}
        pairs: Iterable[tuple[object, object]] = zip(texts.values(), texts, strict=True)
        if merges is not None:
            pairs = merges.pairs(texts)
        return "".join(f"{before}{first}{between}{second}{after}" for first, second in pairs).encode()

    def with_character(self, old: bytes, new: bytes) -> TokenArrays:
        """Return the arrays of tokens that are text and not empty, with a shorter character for another one."""
        import numpy as np

        kept = np.frombuffer(self.data.replace(old, new.ljust(len(old), b"\xff")), np.uint8) != 0xFF
        begins = np.cumsum([0, *self.lengths[:-1]])
        return TokenArrays(self.data.replace(old, new), np.add.reduceat(kept, begins, dtype="u4").tobytes(), self.ids)


Tokens = TokenArrays | Mapping[int, bytes]


def change_tokens(tokens: TokenArrays | Mapping[int, bytes | None], changes: Mapping[int, bytes | None]) -> Tokens:
    """Return the tokens of a file with other bytes for some ids, or with none, which no model has."""
    if isinstance(tokens, TokenArrays):
        return TokenArrays(*native_core().change_tokens(tokens, changes))  # type: ignore[union-attr]
    return {token_id: token for token_id, token in {**tokens, **changes}.items() if token is not None}


def find_tokens(tokens: TokenArrays | Mapping[int, bytes | None], wanted: Iterable[bytes]) -> dict[bytes, int]:
    """Return the ids of the wanted tokens that exist."""
    wanted = {*wanted}
    if isinstance(tokens, TokenArrays):
        found: dict[bytes, int] = native_core().find_tokens(tokens, [*wanted])  # type: ignore[union-attr]
        return found
    return {token: token_id for token_id, token in tokens.items() if token in wanted}


@dataclass(eq=False, repr=False)
class WrittenVocab(Mapping[str, int]):
    """Token as files write it → id: `find` looks tokens up in arrays, `entries` is a dictionary made on first use."""

    tokens: TokenArrays = field(default_factory=TokenArrays)
    as_text: bool = False  # they are written as text, and not each byte as a printable character
    special: dict[str, int] = field(default_factory=dict)  # text → id of special tokens, which are text in any case
    more: dict[str, int] = field(default_factory=dict)  # text → id of what is not among the tokens

    @cached_property
    def entries(self) -> dict[str, int]:
        """The dictionary of all."""
        text_ids, names = None if self.as_text else (), {token_id: text for text, token_id in self.special.items()}
        written = self.tokens.write("json", text_ids, ('"', '", ', ", "))
        flat = json.loads(f"[{written.decode().removesuffix(', ')}]")
        return {names.get(i, text): i for text, i in zip(flat[::2], flat[1::2], strict=True)} | self.more

    @cached_property
    def _found(self) -> dict[str, int | None]:
        return {**self.special, **self.more}

    def find(self, texts: Iterable[str]) -> dict[str, int]:
        """Return the ids of those texts that are there, and keep them for look-ups, without a dictionary of all."""
        texts = [*texts]
        looked_up = self._found  # read once: another thread may be making the property, too
        known: Mapping[str, int | None] = looked_up
        if "entries" in vars(self) or native_core() is None or len(looked_up) > len(self):
            known = self.entries
        elif wanted := [*{*texts}.difference(looked_up)]:
            as_utf8 = (text.encode(errors="surrogatepass") for text in wanted)
            written = [*as_utf8] if self.as_text else from_printable_all(wanted)
            ids, taken = find_tokens(self.tokens, filter(None, written)), {*self.special.values()}
            found = (ids.get(token or b"") for token in written)
            looked_up.update(zip(wanted, (None if i in taken else i for i in found), strict=True))
        return {text: token_id for text in texts if (token_id := known.get(text)) is not None}

    def with_more(self, more: Mapping[str, int]) -> WrittenVocab:
        """Return it with other entries, which may be among them."""
        known = self.find(more)
        return replace(self, more=self.more | {text: i for text, i in more.items() if known.get(text) != i})

    def equals(self, other: WrittenVocab) -> bool:
        """Return whether both have the same entries, by the native core, or False where it would take Python."""
        names = {**other.special, **other.more}
        if len(self) != len(other) or self.find(names) != names:
            return False
        without = dict.fromkeys(names.values())
        return change_tokens(self.tokens, without) == change_tokens(other.tokens, without)

    @property
    def ids(self) -> list[int]:
        """The ids of all."""
        return [*self.tokens.numbers, *self.more.values()]

    def __getitem__(self, text: str) -> int:
        token_id = self._found[text] if text in self._found else self.entries.get(text)
        if token_id is None:
            raise KeyError(text)
        return token_id

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.tokens.ids) // 4 + len(self.more)

    def __deepcopy__(self, memo: object) -> WrittenVocab:
        return self

    def __reduce__(self) -> tuple[type[WrittenVocab], tuple[object, ...]]:
        return WrittenVocab, (self.tokens, self.as_text, self.special, self.more)  # whatever was looked up
