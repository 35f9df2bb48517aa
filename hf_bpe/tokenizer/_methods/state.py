"""The state of a tokenizer: its model, its added tokens, and the pipeline that runs them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tokenizers import AddedToken

from hf_bpe._utils.arguments import check_flag, check_int, optional
from hf_bpe.core._arrays import WrittenVocab
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._encoder import Encoder
from hf_bpe.encoding._sessions.prefix_cache import PrefixCache
from hf_bpe.formats._added_tokens import AddedTokens
from hf_bpe.formats._definition import ENCODING_SETTINGS, encoding_options
from hf_bpe.formats._pipeline import PIPELINE_SETTINGS, Pipeline
from hf_bpe.formats._settings import CHECKS
from hf_bpe.tokenizer._other_names import OTHER_NAMES
from hf_bpe.tokenizer._self_types import OwnTokenizer

if TYPE_CHECKING:
    from typing_extensions import Self


class PipelineCache:
    """The pipeline of a tokenizer, for as long as the tokenizer does not change; each change replaces the cache.

    Attributes:
        pipeline: what was made of the attributes, or None until it is needed. A pipeline made of attributes that
            another thread was changing goes into a cache that is then replaced.
        before: the last pipeline made before the change, which the next one may share parts with.

    Pickles are empty, so the fingerprint that `datasets` takes of a tokenizer does not depend on what was called.
    """

    __slots__ = ("before", "pipeline")

    def __init__(self, before: Pipeline | None = None) -> None:
        self.before = before
        self.pipeline: Pipeline | None = None

    def next(self) -> PipelineCache:
        """Return an empty cache, for the tokenizer after a change or for a copy of it."""
        return PipelineCache(self.pipeline or self.before)

    def __reduce__(self) -> tuple[type[PipelineCache], tuple[()]]:
        return PipelineCache, ()


class UnpickledDict(dict[str, object]):
    """What was computed or warned about; excluded from pickles and fingerprints of the tokenizer."""

    def __reduce__(self) -> tuple[type[UnpickledDict], tuple[()]]:
        return UnpickledDict, ()


class StateMethods(OwnTokenizer):
    """The attributes of a tokenizer, which the constructor of BPETokenizer sets."""

    _base: Encoder  # of the model, without added tokens
    _vocab: WrittenVocab
    _pipeline_cache: PipelineCache
    _prefix_cache: PrefixCache | None = None

    # The model.

    @property
    def model(self) -> BPEModel:
        """The model: vocabulary, merges, special tokens and pattern, without added tokens."""
        return self._base.model

    @property
    def pipeline(self) -> Pipeline:
        """The encoder and decoder of this tokenizer as it is now; it does not change with the tokenizer."""
        return self._pipeline_cache.pipeline or self._make_pipeline()

    def _make_pipeline(self) -> Pipeline:
        # Made of the attributes when it is asked for, because a pipeline that each change replaced would lose the
        # changes that two threads make at once. A change replaces the cache when it is done; one that comes while the
        # attributes are read makes the result one that the next call does not take.
        cache = self._pipeline_cache
        attributes = self.__dict__
        current = {
            "base": self._base,
            "added_tokens": self._added_tokens_decoder,
            "template": self._template,
            "names": {name: str(token) for name, token in self.special_tokens_map.items()},
            "encoding": encoding_options(attributes),
            **{name: attributes[name] for name in PIPELINE_SETTINGS},
            "prefix_cache": self.prefix_cache,
        }
        made = Pipeline(**current) if cache.before is None else cache.before.with_changes(**current)
        cache.pipeline = made
        return made

    _pipeline = _decoding_pipeline = pipeline

    @property
    def prefix_cache(self) -> PrefixCache | None:
        """The cache of beginnings of texts: a text that begins like another is encoded from there on only.

        None, the default, for none. It is set to a `hf_bpe.encoding.PrefixCache`, which tokenizers may share, or to
        the memory of a new one: a number of bytes, or a str such as "256MB". Ids are the same with and without it.
        """
        return self._prefix_cache

    @prefix_cache.setter
    def prefix_cache(self, value: PrefixCache | int | str | None) -> None:
        cache = PrefixCache.of(value)
        if cache is not None:
            cache.encoder(self._base)  # or raise an error
        self.__dict__.update(_prefix_cache=cache, _pipeline_cache=self._pipeline_cache.next())

    @property
    def pattern(self) -> str | None:
        """The split pattern: a name, a regular expression, the JSON of a chain of stages, or None."""
        return self.model.pattern

    @property
    def normalizer(self) -> str | None:
        """The normalizer applied before text is split: "NFC", the JSON of another one, or None."""
        return self.model.normalizer

    @property
    def ignore_merges(self) -> bool:
        """True if a pre-token that is an ordinary token is encoded as that token, whatever the merges make of it."""
        return self.model.ignore_merges

    @property
    def drop_missing_bytes(self) -> bool:
        """True if bytes without a token are dropped."""
        return self.model.drop_missing_bytes

    @property
    def model_special_tokens(self) -> list[str]:
        """The special tokens of the model, without tokens that were made special later."""
        return [*self.model.special_tokens]

    @property
    def is_fast(self) -> bool:
        """True, because calls support offsets, words and overflowing windows, like those of fast tokenizers."""
        return True

    @property
    def bpe_ranks(self) -> dict[tuple[str, str], int]:
        """Printable pair → rank, as in GPT-2's Python tokenizer; transformers' converters read it."""
        shown = self.model.alphabet.printable
        return {(shown(first), shown(second)): rank for rank, (first, second) in enumerate(self.model.merges)}

    @property
    def vocab_size(self) -> int:
        """The highest id of the model plus one, without added tokens."""
        return len(self._vocab)

    @property
    def encoder(self) -> dict[str, int]:
        """Printable token → id of the model, with placeholders for its unused ids; do not change it."""
        return self._vocab.entries

    def get_vocab(self) -> dict[str, int]:
        """Return printable token → id, including added tokens, with placeholders for unused ids of the model."""
        return {**self.encoder, **self.added_tokens_encoder}

    # Added tokens. The dictionaries are replaced as a whole, so other threads see them before a change or after it.

    def __copy__(self) -> Self:
        """Return a tokenizer that shares the model but has its own added tokens."""
        other = type(self).__new__(type(self))
        for name, value in vars(self).copy().items():
            other.__dict__[name] = copy.copy(value) if isinstance(value, (dict, list)) else value
        other.__dict__["_pipeline_cache"] = self._pipeline_cache.next()
        return other

    def __getstate__(self) -> dict[str, object]:
        return vars(self).copy()  # a snapshot of the attributes

    if not TYPE_CHECKING:  # or type checkers would take any name

        def __getattr__(self, key: str) -> object:
            if key == "decoder":  # `encoder` the other way round; `datasets` would notice another attribute
                cache = self._decoder_cache
                if key not in cache:
                    cache[key] = dict(zip(self.encoder.values(), self.encoder, strict=True))
                return cache[key]
            try:
                return super().__getattr__(key)
            except AttributeError as error:
                if key not in OTHER_NAMES:
                    raise
                advice = f"in BPETokenizer it is {OTHER_NAMES[key]}"
                raise AttributeError(f"{error}; {advice}", name=key, obj=self) from None

        def __setattr__(self, key: str, value: object) -> None:
            if key.endswith("_token_id"):
                value = optional(check_int)(key, value)
            elif key in CHECKS:
                value = CHECKS[key](key, value)
            name = key.removesuffix("_ids").removesuffix("_id")
            is_special = name in self.SPECIAL_TOKENS_ATTRIBUTES or name == "extra_special_tokens"
            if is_special:
                self._special_tokens_map = {**self._special_tokens_map}  # transformers changes it in place
            super().__setattr__(key, value)
            if is_special or key in (*ENCODING_SETTINGS, *PIPELINE_SETTINGS, "_template"):
                self.__dict__["_pipeline_cache"] = self._pipeline_cache.next()

    @property
    def added_tokens_decoder(self) -> dict[int, AddedToken]:
        """Id → added token, in the order of the ids."""
        return dict(sorted(self._added_tokens_decoder.items()))

    @added_tokens_decoder.setter
    def added_tokens_decoder(self, value: Mapping[int, AddedToken]) -> None:
        self._replace_added_tokens(AddedTokens.from_tokens({**self._added_tokens_decoder, **value}, self._vocab))

    def add_special_tokens(self, *args: Any, **kwargs: Any) -> int:
        """Name special tokens and add missing ones to the vocabulary, as in transformers; return the number added."""
        # transformers changes several attributes one by one, so a copy is changed and then adopted as a whole.
        before, changed = vars(self).copy(), copy.copy(self)
        added: int = super(StateMethods, changed).add_special_tokens(*args, **kwargs)
        self.__dict__.update({name: value for name, value in vars(changed).items() if value is not before.get(name)})
        return added

    def _add_tokens(self, new_tokens: Sequence[str | AddedToken] | None, special_tokens: bool = False) -> int:
        special_tokens = check_flag("special_tokens", special_tokens)
        special = {*map(str, self._extra_special_tokens), *self.special_tokens_map.values()}
        # The constructor of transformers leaves total_vocab_size to the first call of `len`.
        before = AddedTokens(self._added_tokens_decoder, self._added_tokens_encoder, len(self))
        added = before.with_tokens(new_tokens or [], special_tokens, special, self._vocab, verbose=self.verbose)
        self._replace_added_tokens(added)
        return added.total - before.total

    def _update_total_vocab_size(self) -> None:
        self._replace_added_tokens(AddedTokens.from_tokens(self._added_tokens_decoder, self._vocab))

    def _update_trie(self, unique_no_split_tokens: list[str] | None = None) -> None:
        """Leave the trie of transformers empty, because it is not used here and a long token in it breaks pickle."""

    def _replace_added_tokens(self, added: AddedTokens) -> None:
        """Replace the added tokens in one step, so that other threads see them all or none."""
        self.__dict__.update(
            _added_tokens_decoder=added.tokens,
            _added_tokens_encoder=added.ids,
            _extra_special_tokens=[*self._extra_special_tokens, *added.newly_special],
            total_vocab_size=added.total,
            _pipeline_cache=self._pipeline_cache.next(),
        )
