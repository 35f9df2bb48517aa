"""BPEModel: a BPE model of bytes or of characters, independent of any file format and library.

Training makes one, `BPETokenizer` uses one, every converter reads or writes one. It is validated when it is created, so
any function that takes a BPEModel may rely on it.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from hf_bpe._utils.arguments import check_str, short_repr, wrong_type
from hf_bpe._utils.cached_property import cached_property
from hf_bpe.core._alphabet import BYTES, Alphabet
from hf_bpe.core._arrays import MergeIds, TokenArrays, Tokens, WrittenVocab, find_tokens
from hf_bpe.core._checks import (
    MAX_TOKEN_BYTES,
    check_special_tokens,
    check_special_tokens_in,
    checked_ids,
    checked_merges,
)
from hf_bpe.core._provenance import Origin, make_signature, origin_of_first, parse_origin
from hf_bpe.normalizers._normalizer import Normalizer
from hf_bpe.pretokenizers._byte_level import from_printable
from hf_bpe.pretokenizers._pattern import GPT2, UNICODE_VERSION, Pattern

Merge = tuple[bytes, bytes]
"""The two parts that become one token."""

MODEL_OPTIONS = ("ignore_merges", "normalizer", "drop_missing_bytes")
"""The fields that decide ids besides tokens, merges and pattern, and are rarely set."""


@dataclass(frozen=True, repr=False)
class BPEModel:
    """A BPE model, of bytes or of characters: a frozen value, valid by construction.

    Args:
        vocab: id → bytes of every token, special tokens included (as UTF-8). Ids may have any order and gaps. All
            tokens together have at most `MAX_TOKEN_BYTES` bytes. With a `CharacterAlphabet` these are the UTF-8 of the
            tokens' text, in which `▁` stands for a space, and `<0x0A>` for a byte.
        merges: the merged pairs in the order of their ranks. Two pairs may make the same token.
        special_tokens: tokens that are never split and never made by a merge; stored in the order of their ids.
        pattern: how text is cut into pre-tokens, as `hf_bpe.pretokenizers.Pattern.parse` takes it; stored in its
            canonical form: a name, a regular expression, the JSON of a chain of stages, or None for no split.
        ignore_merges: encode a pre-token that is an ordinary token as that token, whatever the merges make of it; so
            tokens that no merges make can still occur. tiktoken encodes this way, and `tokenizers` with the option of
            this name.
        normalizer: what is done to text before it is split, as `hf_bpe.normalizers.Normalizer.parse` takes it; stored
            in its canonical form: "NFC", the JSON of another normalizer, or None.
        alphabet: what merges begin with: a `hf_bpe.core.ByteAlphabet`, or the `CharacterAlphabet` of a model in the
            manner of SentencePiece, whose pattern is None or a `hf_bpe.pretokenizers.Metaspace`.
        drop_missing_bytes: drop bytes that have no token, as `tokenizers` does for a model without `unk_token`; the
            bytes on either side become neighbors. False for a vocabulary that has all bytes.
        origin: how the merges were learned, as recorded by `train` for `signature`. Models that differ only in it are
            equal.

    The arguments are copied. Do not change `vocab` or `merges` afterwards; `dataclasses.replace` makes a new model.
    A vocabulary need not hold all 256 bytes, nor need every token be reachable by the merges: real files differ.

    Raises:
        TypeError: an id that is not an int, a token that is not bytes, a special token that is not str.
        ValueError: an argument is invalid; the message names the first offending element.

    >>> model = BPEModel({97: b"a", 98: b"b", 256: b"ab"}, [(b"a", b"b")])
    >>> model
    BPEModel(vocab_size=3, merges=1, special_tokens=[], pattern='gpt2', fingerprint='772f4a2a40d0')
    >>> BPEModel({97: b"a"}, [(b"a", b"b")])
    Traceback (most recent call last):
    ValueError: merge 0, (b'a', b'b'): its second part is not a token of the vocabulary
    """

    vocab: dict[int, bytes]
    merges: list[Merge]
    special_tokens: tuple[str, ...] = ()
    pattern: str | None = "gpt2"
    ignore_merges: bool = False
    normalizer: str | None = None
    drop_missing_bytes: bool = False
    alphabet: Alphabet = BYTES
    origin: Origin = field(default=(), compare=False)
    # `replace` gives it with the pattern: one from a file may be an expression that `Pattern.parse` refuses.
    _pre_tokenizer: Pattern = field(default_factory=lambda: GPT2, repr=False, compare=False)
    _special_ids: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        vocab: Tokens = self.vocab
        are_checked = isinstance(self.merges, MergeIds)
        if isinstance(vocab, TokenArrays) and not (are_checked and len(vocab.data) <= MAX_TOKEN_BYTES):
            vocab = vocab.to_dict()  # to be checked
        ids = {} if isinstance(vocab, TokenArrays) else checked_ids(vocab)
        if not isinstance(self.alphabet, Alphabet):
            raise wrong_type("alphabet", "a ByteAlphabet or CharacterAlphabet", self.alphabet)
        are_bytes = self.alphabet.is_bytes
        specials = check_special_tokens(self.special_tokens, are_bytes=are_bytes)
        encoded = {special.encode() for special in specials}
        if isinstance(vocab, TokenArrays):
            twins = filter(None, map(from_printable, specials))
            ids = find_tokens(vocab, {*encoded, *twins, *self.alphabet.stand_ins, *BYTES.stand_ins})
            vars(self)["token_arrays"] = vars(self).pop("vocab")
        else:
            is_in_order = [*vocab] == [*ids.values()]
            vars(self)["vocab"] = dict(vocab if is_in_order else zip(ids.values(), ids, strict=True))
        specials = sorted(specials, key=lambda special: ids.get(special.encode(), -1))
        check_special_tokens_in(specials, ids, are_bytes=are_bytes)
        set_field = object.__setattr__  # the only way to set a field of a frozen dataclass
        if are_checked:
            vars(self)["merge_ids"] = vars(self).pop("merges")
        else:
            set_field(self, "merges", checked_merges(self.merges, ids, encoded))
        set_field(self, "special_tokens", tuple(specials))
        set_field(self, "_special_ids", {special: ids[special.encode()] for special in specials})
        if not isinstance(self.pattern, str | None) or self.pattern != self._pre_tokenizer.canonical:
            set_field(self, "_pre_tokenizer", Pattern.parse(self.pattern))
        set_field(self, "pattern", self.pre_tokenizer.canonical)
        self.alphabet.check(self.pre_tokenizer, ids, () if are_checked else self.merges)
        for name in ("ignore_merges", "drop_missing_bytes"):
            if not isinstance(getattr(self, name), bool):
                raise wrong_type(name, "True or False", getattr(self, name))
        if self.ignore_merges and not are_bytes:  # `tokenizers` would take "<0x0A>" in a text for a line break
            raise ValueError("ignore_merges: expected False, as the model has characters")
        if self.drop_missing_bytes:
            set_field(self, "drop_missing_bytes", self.lacks_bytes)
        set_field(self, "normalizer", Normalizer.parse(self.normalizer).canonical)

    @classmethod
    def of(
        cls, vocab: Tokens, merges: list[Merge] | MergeIds, specials: Iterable[str], pattern: Pattern, **options: Any
    ) -> BPEModel:
        """Return the model with a `Pattern`, whose expression the constructor might refuse as a user's."""
        vocab, pairs = cast("dict[int, bytes]", vocab), cast("list[Merge]", merges)
        return cls(vocab, pairs, tuple(specials), pattern.canonical, _pre_tokenizer=pattern, **options)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            if name == "vocab" and "token_arrays" in vars(self):  # the many objects are made when somebody asks
                vars(self)[name] = self.token_arrays.to_dict()
            elif name == "merges" and "merge_ids" in vars(self):
                vars(self)[name] = self.merge_ids.pairs(self.vocab)
            return object.__getattribute__(self, name)

        def __dir__(self) -> list[str]:
            return [*{*super().__dir__(), "vocab", "merges"}]

    @cached_property
    def token_arrays(self) -> TokenArrays:
        """The vocabulary as arrays."""
        return TokenArrays.of(self.vocab)

    @cached_property
    def merge_ids(self) -> MergeIds:
        """The merges by the ids of their tokens."""
        ids = {token: token_id for token_id, token in self.vocab.items()}
        tokens = chain.from_iterable((first, second, first + second) for first, second in self.merges)
        return MergeIds(array("I", map(ids.__getitem__, tokens)))

    @property
    def vocab_size(self) -> int:
        """Number of tokens, special tokens included."""
        return len(self.token_arrays.ids) // 4

    @property
    def pre_tokenizer(self) -> Pattern:
        """The pattern as a value, with what follows from it."""
        return self._pre_tokenizer

    @property
    def normalization(self) -> Normalizer:
        """The normalizer as a value, with what follows from it."""
        return Normalizer.parse(self.normalizer)

    @property
    def options(self) -> dict[str, bool | str | None]:
        """The values of `MODEL_OPTIONS`, by name, for what stores or compares them all."""
        return {name: getattr(self, name) for name in MODEL_OPTIONS}

    @property
    def lacks_bytes(self) -> bool:
        """True if the vocabulary is missing tokens for some bytes; never with an alphabet of characters."""
        return self.alphabet.is_bytes and self.token_arrays.lengths.count(1) < 256

    @property
    def refuses_bytes(self) -> bool:
        """True if some bytes have no token and are not dropped, so that text with them needs an `unk_token`."""
        return not self.drop_missing_bytes and self.lacks_bytes

    @property
    def fingerprint(self) -> str:
        """SHA-256, in hex, of everything that decides ids: equal fingerprints mean equal ids for every text."""
        content = {
            "vocab": [[token_id, token.hex()] for token_id, token in self.vocab.items()],
            "merges": [[first.hex(), second.hex()] for first, second in self.merges],
            "special_tokens": self.special_tokens,
            "pattern": self.pattern,
            "unicode": UNICODE_VERSION,
            # Options are hashed only if they are set, so that the fingerprints of other models never change.
            **{name: value for name, value in self.options.items() if value},
            **({} if self.alphabet.is_bytes else {"characters": vars(self.alphabet)}),
        }
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    @property
    def signature(self) -> str:
        """A line that identifies the model and the provenance of its merges; equal signatures mean equal merges.

        It holds the versions of hf_bpe and Unicode, the pattern, the number of tokens and of special tokens, and a
        digest of the merges. For a model made by `train` it also holds the tie-breaking rule, options that are not the
        default, and `counts`, the beginning of the fingerprint of the training counts (see `WordCounts`). Saving keeps
        these; they are left out if the merges are not the learned ones. Digests are the first 64 bits of a
        SHA-256.

        >>> from hf_bpe import train
        >>> train(["low lower"], vocab_size=258).signature.split("|")[:5]
        ['hf_bpe 0.1', 'unicode=16.0', 'pattern=gpt2', 'vocab=258', 'ties=lexicographic']
        """
        return make_signature(self)

    def with_signature(self, signature: str | None) -> BPEModel:
        """Return the model with the provenance from a signature, for readers of files.

        The signature is ignored if its digest is of other merges.
        """
        if signature is None or not check_str("signature", signature) or self.origin:
            return self
        return self.with_checked(origin=parse_origin(signature, MODEL_OPTIONS))

    def with_checked(self, **fields: object) -> BPEModel:
        """Return the model with other fields, except vocabulary, merges and special tokens; they are not checked.

        For callers that have valid values in canonical form; `dataclasses.replace` checks all fields. Bytes are dropped
        only if some are missing.
        """
        model = object.__new__(type(self))
        values = {**vars(self), **fields}
        if "pattern" in fields:
            values["_pre_tokenizer"] = Pattern.read(values["pattern"])
        vars(model).update(values, drop_missing_bytes=values["drop_missing_bytes"] and self.lacks_bytes)
        return model

    def special_ids(self) -> dict[str, int]:
        """Return a mapping of special token to id, in the order of the ids."""
        return dict(self._special_ids)

    def whole_words(self) -> dict[bytes, int]:
        """Return the tokens, with their ids, that match a whole pre-token before any merge is applied.

        >>> model = BPEModel({97: b"a", 98: b"b", 256: b"ba"}, [])
        >>> model.whole_words(), replace(model, ignore_merges=True).whole_words()
        ({}, {b'a': 97, b'b': 98, b'ba': 256})
        """
        if not self.ignore_merges:
            return {}
        specials = {special.encode() for special in self.special_tokens}
        return {token: token_id for token_id, token in self.vocab.items() if token not in specials}

    def truncate(self, vocab_size: int, *, reserved: Collection[int] = ()) -> BPEModel:
        """Return a smaller model with only the first merges; the remaining tokens keep their ids.

        The result for a trained model equals training to that size. Bytes, special tokens and all other tokens that no
        merge makes stay, so ids may have gaps if special tokens come after the merges.

        Args:
            vocab_size: the number of tokens to keep.
            reserved: ids that are in use outside the model, such as ids of added tokens; `vocab_size` counts them.

        Raises:
            ValueError: `vocab_size` is larger than the vocabulary, or smaller than the number of tokens that no merge
                makes.

        >>> model = BPEModel({97: b"a", 98: b"b", 99: b"ab", 100: b"abb"}, [(b"a", b"b"), (b"ab", b"b")])
        >>> model.truncate(3).vocab
        {97: b'a', 98: b'b', 99: b'ab'}
        """
        made_by: dict[bytes, tuple[int, int]] = {}  # token → the rank of the last merge that it needs, and its length
        for rank, (first, second) in sorted(enumerate(self.merges), key=lambda merge: len(b"".join(merge[1]))):
            token = first + second
            last = max(rank, *(made_by[part][0] for part in (first, second) if part in made_by), 0)
            made_by[token] = min(made_by.get(token, (last, len(token))), (last, len(token)))
        made = [token for token in self.vocab.values() if token in made_by]
        size = self.vocab_size + len({*reserved} - self.vocab.keys())
        unmade = size - len(made)
        if not isinstance(vocab_size, int) or not unmade <= vocab_size <= size:
            raise ValueError(f"vocab_size: expected {unmade} to {size}, got {short_repr(vocab_size)}")
        gone = {*sorted(made, key=made_by.__getitem__)[vocab_size - unmade :]}
        vocab = {token_id: token for token_id, token in self.vocab.items() if token not in gone}
        merges = [merge for merge in self.merges if gone.isdisjoint((*merge, b"".join(merge)))]
        return replace(self, vocab=vocab, merges=merges, origin=origin_of_first(merges, self))

    def printable_vocab(self) -> dict[str, int]:
        """Return the content of `vocab.json`: printable form of each token (special tokens unchanged) → id.

        With an alphabet of characters that is the text of each token.

        >>> BPEModel({0: b"a", 2: b" "}, []).printable_vocab()
        {'a': 0, 'Ġ': 2}
        """
        return WrittenVocab(self.token_arrays, not self.alphabet.is_bytes, self._special_ids, {}).entries

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        as_arrays = {"vocab": "token_arrays", "merges": "merge_ids"}  # whose many objects need not be made
        names = (as_arrays.get(each.name, each.name) for each in fields(self) if each.compare)
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __getstate__(self) -> dict[str, object]:
        # Equal models have equal pickles, which are fingerprints for `datasets`.
        arrays = {"token_arrays": self.token_arrays, "merge_ids": self.merge_ids}
        state = {**vars(self), **arrays}
        return {name: state[name] for name in sorted(state) if name not in ("vocab", "merges")}

    def __deepcopy__(self, memo: object) -> BPEModel:
        return self  # immutable, and too large to copy without need

    def __repr__(self) -> str:
        specials = [*self.special_tokens[:3], *(["…"] if len(self.special_tokens) > 3 else [])]
        options = "".join(f"{name}={value!r}, " for name, value in self.options.items() if value)
        options += "" if self.alphabet.is_bytes else f"alphabet={self.alphabet!r}, "
        return (
            f"BPEModel(vocab_size={self.vocab_size}, merges={len(self.merges)}, special_tokens={specials}, "
            f"pattern={self.pattern!r}, {options}fingerprint={self.fingerprint[:12]!r})"
        )

    def _repr_html_(self) -> str:
        from hf_bpe.core._notebook import html_of_model  # only needed in notebooks

        return html_of_model(self)


def check_model(name: str, value: object) -> BPEModel:
    """Return the value if it is a BPEModel."""
    if not isinstance(value, BPEModel):
        error = wrong_type(name, "a BPEModel", value)
        if isinstance(getattr(value, "model", None), BPEModel):  # a BPETokenizer, or an edited model
            raise TypeError(f"{error}; give its .model")
        raise error
    return value
