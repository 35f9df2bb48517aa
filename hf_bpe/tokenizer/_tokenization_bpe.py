"""BPETokenizer: the `PreTrainedTokenizer` of this package.

The class holds what transformers and users call. The work is done by the pipeline, which is made of its attributes, and
by functions over values in the modules next to it: `_calls`, `_bulk`, `_added_vocabulary`, `_saving`, `_converting`.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenizers import AddedToken, Tokenizer
from transformers.tokenization_utils_base import BatchEncoding, TruncationStrategy

from hf_bpe._utils.arguments import (
    check_choice,
    check_flag,
    check_ids,
    check_int,
    check_keywords,
    check_mapping,
    check_path,
    check_sequence,
    check_str,
    check_strs,
    checked,
    each,
    optional,
    refuse_unknown,
    short_repr,
)
from hf_bpe._utils.panics import panics_as_errors
from hf_bpe._utils.paths import check_output
from hf_bpe.canonical._canonical import CanonicalIds
from hf_bpe.core._model import BPEModel, with_placeholders
from hf_bpe.counting._normalized_texts import NormalizedTexts, with_normalizer
from hf_bpe.counting._sources import Source, TextSource
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.editing._edited_definition import edited as edited_definition
from hf_bpe.editing._remap import Remap
from hf_bpe.encoding._added_tokens import as_special, check_added_ids, special_tokens_in
from hf_bpe.encoding._batch_layout import truncated_ids
from hf_bpe.encoding._decode_stream import DecodeStream
from hf_bpe.encoding._encoder import AnyText, Ids, Numbers, Options, Padding, TemplateIds, is_skipped
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.encoding._ids import as_lists
from hf_bpe.encoding._lazy_encodings import Source as EncodedTexts
from hf_bpe.encoding._randomness import Randomness, options_of_call
from hf_bpe.encoding._session import Session
from hf_bpe.encoding._streaming import encode_blocks
from hf_bpe.formats._definition import END_OF_TEXT, Definition
from hf_bpe.formats._integrity import check_complete, check_digests
from hf_bpe.formats._pipeline import PIPELINE_SETTINGS, Pipeline
from hf_bpe.formats._setting_checks import check_special_tokens, check_token
from hf_bpe.formats._settings import CHECKS, SETTINGS, Owner, Settings, names_of
from hf_bpe.formats._template import (
    BOS_EOS_OF_PATTERN,
    PATTERN_OF_BOS_EOS,
    Template,
    as_template,
    template_ids,
)
from hf_bpe.formats._tokenizer_config import CONFIG_FILE, DIGESTS, check_config
from hf_bpe.formats._tokenizer_json import check_prefix_space, render_tokenizer_json
from hf_bpe.formats._vocab_and_merges import write_gpt2
from hf_bpe.normalizers._names import canonical_normalizer
from hf_bpe.pretokenizers._byte_level import from_printable, repair_surrogates, to_printable
from hf_bpe.pretokenizers._patterns import AnyPattern, canonical_pattern, stored_pattern
from hf_bpe.token_files._encoding import EncodedFiles, encode_sources
from hf_bpe.token_files._jobs import job_of, shards_of
from hf_bpe.tokenizer import _allowed_special as allowed_special
from hf_bpe.tokenizer import _bulk as bulk
from hf_bpe.tokenizer import _converting as converting
from hf_bpe.tokenizer._added_vocabulary import add_tokens, with_unused
from hf_bpe.tokenizer._bulk import (
    are_rows_of_ids,
    are_several_rows,
    check_text,
    check_texts,
    threads_of,
)
from hf_bpe.tokenizer._calls import (
    WarningsGiven,
    check_call_options,
    check_inherited_call,
    checked_inputs,
    encode_call,
    plain_ids,
)
from hf_bpe.tokenizer._hub import check_repository, repository_to_convert
from hf_bpe.tokenizer._inherited import (
    ARGUMENTS,
    CONSTRUCTOR,
    CheckedTokenizer,
)
from hf_bpe.tokenizer._options import (
    RESTORED,
    LoadingOptions,
    TrainerOptions,
    check_decoding,
    check_loading,
    check_saving,
    check_settings,
    check_training,
    hint_at_roles,
    with_options_of,
)
from hf_bpe.tokenizer._pipeline_cache import PipelineCache
from hf_bpe.tokenizer._saving.auto_tokenizer import warn_of_another_class
from hf_bpe.tokenizer._saving.folders import OF_REPOSITORIES, Folder, needs_conversion
from hf_bpe.tokenizer._saving.save import check_auto_class, errors_of_files, is_copied, model_of, save
from hf_bpe.tokenizer._transformers_compat import clean_up_tokenization
from hf_bpe.training._normalizing import normalized_training
from hf_bpe.training._train import TrainingOptions, train

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from hf_bpe.editing._edits import Edited

_ADDED = ("add_bos_token", "add_eos_token")


class BPETokenizer(CheckedTokenizer):
    """A byte-level BPE tokenizer for transformers, from a `BPEModel` or from GPT-2's two files.

    Args:
        vocab_file: the path of `vocab.json`.
        merges_file: the path of `merges.txt`.
        model: the model, instead of files.
        pattern: with files, how text is cut into pre-tokens, as `hf_bpe.pretokenizers.canonical_pattern` takes
            it: a name, a regular expression, a chain of stages or None.
        normalizer: with files, what is done to text before it is split: "NFC", or what else
            `hf_bpe.normalizers.canonical_normalizer` takes, or None.
        ignore_merges: with files, whether a pre-token that is an ordinary token is encoded as that token.
        model_special_tokens: with files, the special tokens of the model. None for the special tokens in
            `added_tokens_decoder` or, if there are none, for the tokens that are in no merge.
        drop_missing_bytes: with files, whether to drop bytes without a token.
        signature: with files, the `BPEModel.signature` of the model that they were written from.
        errors: the handling of invalid UTF-8 in decoding, as in `bytes.decode`.
        add_prefix_space: put a space before each segment of text that does not begin with one. Only for the patterns
            "gpt2" and None.
        trim_offsets: leave white space at the ends of tokens out of their offsets, as a `tokenizer.json` may ask;
            "prefix" keeps one space at the beginning of a text.
        template: the special tokens that are added to sequences: a `hf_bpe.formats.Template` or its JSON form, or
            None.
        unused_tokens: token → id of entries that no text is encoded to, because they are not made of bytes or empty,
            as some files have; their ids decode to the token.
        add_bos_token: begin each sequence with `bos_token`; None to leave that to the template.
        add_eos_token: end each sequence with `eos_token`; None to leave that to the template. If this or
            `add_bos_token` is True or False, they replace the template, and the one that is not given is False.
        settings: arguments of `PreTrainedTokenizer`: `bos_token`, `eos_token`, `unk_token`, `pad_token`,
            `extra_special_tokens`, `model_max_length`, `padding_side` and so on. If the vocabulary has `<|endoftext|>`,
            it is the default of `bos_token` and `eos_token`; None disables them.

    A byte without a token becomes `unk_token`, or raises a ValueError if there is none, unless the model drops such
    bytes.

    Raises:
        OSError: a file cannot be read.
        ValueError: a file is malformed, the files contradict each other, an added token has the id of another token, or
            the template has an unknown token.

    >>> tokenizer = BPETokenizer.train(["low lower lowest newest"], vocab_size=262, special_tokens=["<|endoftext|>"])
    >>> tokenizer("lowest low<|endoftext|>")["input_ids"]
    [258, 260, 261, 119, 256]
    >>> tokenizer.decode([258, 260, 261, 119, 256], skip_special_tokens=True)
    'lowest low'
    """

    vocab_files_names = {  # noqa: RUF012 - as transformers has it
        "vocab_file": "vocab.json",
        "merges_file": "merges.txt",
    }
    model_input_names = ["input_ids", "attention_mask"]  # noqa: RUF012
    _registered_for_auto_class = False
    _special_tokens_map: dict[str, Any]  # of PreTrainedTokenizer, which is not typed

    @checked(**CONSTRUCTOR)
    def __init__(
        self,
        vocab_file: str | os.PathLike[str] | None = None,
        merges_file: str | os.PathLike[str] | None = None,
        *,
        model: BPEModel | None = None,
        pattern: AnyPattern = "gpt2",
        normalizer: str | Mapping[str, Any] | None = None,
        ignore_merges: bool = False,
        model_special_tokens: Sequence[str] | None = None,
        drop_missing_bytes: bool = False,
        signature: str | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        kwargs = check_settings(settings)
        added_tokens = kwargs.get("added_tokens_decoder", {})
        how_split = canonical_pattern(pattern), canonical_normalizer(normalizer)
        of_model = *how_split, ignore_merges, drop_missing_bytes, model_special_tokens, signature
        model, printable_vocab = model_of(model, (vocab_file, merges_file), of_model, added_tokens.values())
        own = {name: kwargs.pop(name) for name in names_of(Owner.OURS) if name in kwargs}
        template, adds_bos, adds_eos = own.pop("template", None), *(kwargs.pop(name, None) for name in _ADDED)
        check_prefix_space(model.pattern, own.get("add_prefix_space", False))
        empty_id = printable_vocab.pop("", None)  # of vocab.json
        own["unused_tokens"] = ({} if empty_id is None else {"": empty_id}) | dict(own.get("unused_tokens") or {})
        printable_vocab = with_unused(printable_vocab, own["unused_tokens"])
        self._pipeline_cache = PipelineCache()
        self._base = make_encoder(model)
        self._template: Template | None = None
        for name in names_of(Owner.OURS):
            if name != "template":  # its tokens are not known yet
                setattr(self, name, own.get(name, SETTINGS[name].default))
        # transformers uses the number of entries as the id of a new token and as the size of models, so with a gap in
        # the ids both would be wrong. An added token may have the id of a hole, as files of others have them.
        names = {token_id: str(token) for token_id, token in added_tokens.items()}
        self.decoder = dict(zip(printable_vocab.values(), printable_vocab, strict=True))
        check_added_ids(names, printable_vocab, self.decoder)
        self.encoder = with_placeholders(printable_vocab, names)
        if self.encoder is not printable_vocab:
            self.decoder = dict(zip(self.encoder.values(), self.encoder, strict=True))
        self.total_vocab_size = len(self.encoder)  # transformers 5.0 and 5.1 add tokens before counting them

        if END_OF_TEXT in model.special_tokens:
            kwargs.setdefault("bos_token", END_OF_TEXT)
            kwargs.setdefault("eos_token", END_OF_TEXT)
        kwargs.setdefault("token_type_ids_pattern", "all_zeros")
        special_tokens_pattern = kwargs.pop("special_tokens_pattern", None)
        kwargs["special_tokens_pattern"] = None  # transformers 5.0 and 5.1 default to BERT's
        super().__init__(**kwargs)
        given = [token for token in special_tokens_in(kwargs) if isinstance(token, AddedToken)]
        flags = {self._added_tokens_encoder[token.content]: as_special(token) for token in given}
        self._take({**self._added_tokens_decoder, **flags})  # transformers drops the flags
        # If the unnamed special tokens are given, added tokens need no other mark.
        known = {*self.all_special_tokens, *(self._added_tokens_encoder if "extra_special_tokens" in kwargs else ())}
        rest = [each for each in model.special_tokens if each not in known]
        if rest:
            self._add_tokens(rest, True)
        self.template = template
        self.special_tokens_pattern = special_tokens_pattern
        if adds_bos is not None or adds_eos is not None:  # as fast tokenizers take one without the other
            self._set_bos_eos(adds_bos or False, adds_eos or False)
        # save_pretrained drops add_bos_token and add_eos_token; the saved template contains both.
        persistent = (*converting.PERSISTENT, *_ADDED)
        # The model stands for the files, but each parameter of the constructor has to be present.
        kept = {"signature": signature, "model": model}
        self.init_kwargs.update({name: getattr(self, name) for name in persistent} | kept)
        self.deprecation_warnings = WarningsGiven()
        self.backend = "tokenizers"  # transformers checks this for support of offsets and words
        # Settings of this loading or class: without hf_bpe another backend reads the same settings.
        for name in ("is_local", "local_files_only", "backend"):
            self.init_kwargs.pop(name, None)

    @classmethod
    @with_options_of(train)
    @checked(special_tokens=check_special_tokens, **CHECKS)
    def train(
        cls,
        input: TextSource | WordCounts,
        vocab_size: int | None = None,
        special_tokens: Sequence[str | AddedToken] = (),
        **given: Unpack[TrainerOptions],
    ) -> Self:
        """Train a tokenizer on paths, an iterable of texts, or counts.

        Args:
            input, vocab_size, special_tokens: as in `hf_bpe.train`, but for one size. A token given as `bos_token`,
                `eos_token`, `unk_token`, `pad_token` and so on is also a special token and need not be listed. If there
                are no special tokens at all, those of the counts are used.
            given: options of `hf_bpe.train` (`pattern`, `tie_break`, `num_workers`, …), and settings
                of the constructor. With a `normalizer`, text is normalized first, except for special tokens;
                `hf_bpe.counting.NormalizedTexts` of the same normalizer are taken as they are.

        Raises, warns: see `hf_bpe.train`. A TypeError names an unknown option.
        """
        kwargs = check_training(cls, BPETokenizer, given)
        options = {name: kwargs.pop(name) for name in TrainingOptions.__annotations__ if name in kwargs}
        normalizer = canonical_normalizer(kwargs.pop("normalizer", None))
        for name, size in {"vocab_size": vocab_size, "num_merges": options.get("num_merges")}.items():
            if isinstance(size, (list, tuple, range)):
                raise TypeError(f"{name}: expected one size, got {short_repr(size)}; hf_bpe.train gives several models")
        listed = [*special_tokens, *special_tokens_in(kwargs)]
        added = {str(token): token for token in reversed(listed)}  # the first occurrence decides the flags
        specials = [*dict.fromkeys(map(str, listed))]
        input, options = normalized_training(input, options, specials, normalizer)
        model = train(input, vocab_size, specials or None, **options)
        model = with_normalizer(model, normalizer)
        flags = {model.special_ids()[text]: token for text, token in added.items() if isinstance(token, AddedToken)}
        tokenizer = cls(model=model, added_tokens_decoder={**flags, **kwargs.pop("added_tokens_decoder", {})}, **kwargs)
        hint_at_roles(tokenizer)
        return tokenizer

    @checked(new_special_tokens=optional(each(check_token)), special_tokens_map=optional(check_mapping))
    def train_new_from_iterator(
        self,
        text_iterator: Iterable[str] | Iterable[list[str]],
        vocab_size: int,
        length: int | None = None,
        new_special_tokens: Sequence[str | AddedToken] | None = None,
        special_tokens_map: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Train a tokenizer with the same settings and special tokens on other text.

        The function signature is that of fast tokenizers. If there is a normalizer, texts are normalized first.

        Args:
            text_iterator: texts, or lists of texts.
            vocab_size: total number of tokens, including special tokens.
            length: ignored; fast tokenizers show it in their progress bar.
            new_special_tokens: special tokens to add to those of this tokenizer.
            special_tokens_map: old → new name of special tokens to rename.
            kwargs: options of `hf_bpe.train`.

        Raises, warns: see `hf_bpe.train`.
        """
        refuse_unknown(f"{type(self).__name__}.train_new_from_iterator", kwargs, TrainingOptions.__annotations__)
        added, settings = converting.arguments_to_retrain(self, new_special_tokens or [], special_tokens_map or {})
        if self.normalizer is not None:
            text_iterator = NormalizedTexts(text_iterator, [*map(str, added)], self.normalizer)
        return type(self).train(text_iterator, vocab_size, added, **{"pattern": self.pattern, **kwargs, **settings})

    # The model.

    @property
    def model(self) -> BPEModel:
        """The model: vocabulary, merges, special tokens and pattern, without added tokens."""
        return self._base.model

    @property
    def pipeline(self) -> Pipeline:
        """What encodes and decodes for this tokenizer as it is now; it does not change with the tokenizer."""
        # Made of the attributes when it is asked for, because a pipeline that each change replaced would lose the
        # changes that two threads make at once. A change replaces the cache when it is done; one that comes while the
        # attributes are read makes the result one that the next call does not take.
        cache = self._pipeline_cache
        if cache.pipeline is not None:
            return cache.pipeline
        attributes = self.__dict__
        current = {
            "base": self._base,
            "added_tokens": self._added_tokens_decoder,
            "template": self._template,
            "names": {name: str(token) for name, token in self.special_tokens_map.items()},
            **{name: attributes[name] for name in PIPELINE_SETTINGS},
        }
        made = Pipeline(**current) if cache.before is None else cache.before.with_changes(**current)
        cache.pipeline = made
        return made

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
        """Whether a pre-token that is an ordinary token is encoded as that token, whatever the merges make of it."""
        return self.model.ignore_merges

    @property
    def drop_missing_bytes(self) -> bool:
        """Whether bytes without a token are dropped."""
        return self.model.drop_missing_bytes

    @property
    def model_special_tokens(self) -> list[str]:
        """The special tokens of the model, without tokens that were made special later."""
        return [*self.model.special_tokens]

    def _repr_html_(self) -> str:
        from hf_bpe.analysis._notebook import html_of_tokenizer  # only needed in notebooks

        return html_of_tokenizer(self)

    @property
    def is_fast(self) -> bool:
        """True, because calls support offsets, words and overflowing windows, like those of fast tokenizers."""
        return True

    @property
    def bpe_ranks(self) -> dict[tuple[str, str], int]:
        """Printable pair → rank, as in GPT-2's Python tokenizer; transformers' converters read it."""
        return {
            (to_printable(first), to_printable(second)): rank for rank, (first, second) in enumerate(self.model.merges)
        }

    @property
    def vocab_size(self) -> int:
        """The highest id of the model plus one, without added tokens."""
        return len(self.encoder)

    def get_vocab(self) -> dict[str, int]:
        """Return printable token → id, including added tokens, with placeholders for unused ids of the model."""
        return {**self.encoder, **self.added_tokens_encoder}

    # Added tokens. The dictionaries are replaced as a whole, so other threads see them before a change or after it.

    def __copy__(self) -> Self:
        """Return a tokenizer that shares the model but has its own added tokens."""
        other = type(self).__new__(type(self))
        shared = ("encoder", "decoder")  # of the model; these never change
        for name, value in vars(self).copy().items():
            is_own = isinstance(value, (dict, list)) and name not in shared
            other.__dict__[name] = copy.copy(value) if is_own else value
        other.__dict__["_pipeline_cache"] = self._pipeline_cache.next()
        return other

    def __getstate__(self) -> dict[str, Any]:
        return vars(self).copy()  # a snapshot of the attributes

    if not TYPE_CHECKING:  # or type checkers would take any name

        def __setattr__(self, key: str, value: Any) -> None:
            if key.endswith("_token_id"):
                value = optional(check_int)(key, value)
            elif key in CHECKS:
                value = CHECKS[key](key, value)
            name = key.removesuffix("_ids").removesuffix("_id")
            is_special = name in self.SPECIAL_TOKENS_ATTRIBUTES or name == "extra_special_tokens"
            if is_special:
                self._special_tokens_map = {**self._special_tokens_map}  # transformers changes it in place
            super().__setattr__(key, value)
            if is_special or key in PIPELINE_SETTINGS or key == "_template":
                self.__dict__["_pipeline_cache"] = self._pipeline_cache.next()

    @property
    def added_tokens_decoder(self) -> dict[int, AddedToken]:
        """Id → added token, in the order of the ids."""
        return dict(sorted(self._added_tokens_decoder.items()))

    @added_tokens_decoder.setter
    def added_tokens_decoder(self, value: Mapping[int, AddedToken]) -> None:
        self._take({**self._added_tokens_decoder, **value})

    def add_special_tokens(self, *args: Any, **kwargs: Any) -> int:
        """Name special tokens and add missing ones to the vocabulary, as in transformers; return the number added."""
        # transformers changes several attributes one by one, so a copy is changed and then adopted as a whole.
        before, changed = vars(self).copy(), copy.copy(self)
        added: int = super(BPETokenizer, changed).add_special_tokens(*args, **kwargs)
        self.__dict__.update({name: value for name, value in vars(changed).items() if value is not before.get(name)})
        return added

    def _add_tokens(self, new_tokens: Sequence[str | AddedToken] | None, special_tokens: bool = False) -> int:
        special_tokens = check_flag("special_tokens", special_tokens)
        special = {*map(str, self._extra_special_tokens), *self.special_tokens_map.values()}
        known = (self._added_tokens_decoder, self._added_tokens_encoder), self.encoder, len(self)
        tokens, ids, extra, number = add_tokens(new_tokens or [], special_tokens, special, *known, verbose=self.verbose)
        self._take(tokens, ids, extra, self.total_vocab_size + number)
        return number

    def _update_total_vocab_size(self) -> None:
        self._take(self._added_tokens_decoder)

    def _update_trie(self, unique_no_split_tokens: list[str] | None = None) -> None:
        """Leave the trie of transformers empty, because it is not used here and a long token in it breaks pickle."""

    def _take(
        self,
        tokens: dict[int, Any],
        ids: dict[str, int] | None = None,
        extra: Iterable[Any] = (),
        total: int | None = None,
    ) -> None:
        """Replace the added tokens atomically for other threads; other arguments default to derived values."""
        if ids is None:
            ids = {token.content: token_id for token_id, token in tokens.items()}
        if total is None:  # the number of keys in `get_vocab()`
            total = len(self.encoder) + len(ids.keys() - self.encoder.keys())
        self.__dict__.update(
            _added_tokens_decoder=tokens,
            _added_tokens_encoder=ids,
            _extra_special_tokens=[*self._extra_special_tokens, *extra],
            total_vocab_size=total,
            _pipeline_cache=self._pipeline_cache.next(),
        )

    # The template.

    @property
    def template(self) -> Template | None:
        """The template of special tokens added to sequences, or None; set it to a Template or its JSON form."""
        return self._template

    @template.setter
    def template(self, value: Template | Mapping[str, Any] | None) -> None:
        template = as_template(value)
        if missing := [
            token for token in (template.tokens if template else []) if token not in self._added_tokens_encoder
        ]:
            raise ValueError(
                f"template: {missing[0]!r} is not a special or added token of this tokenizer; add it first"
            )
        self._template = template

    @property
    def add_bos_token(self) -> bool:
        """Whether `bos_token` begins each sequence; setting it replaces the template."""
        return self._template is not None and self.bos_token in self._template.special_tokens(1)[0]

    @add_bos_token.setter
    def add_bos_token(self, value: bool) -> None:
        self._set_bos_eos(value, None)

    @property
    def add_eos_token(self) -> bool:
        """Whether `eos_token` ends each sequence; setting it replaces the template."""
        return self._template is not None and self.eos_token in self._template.special_tokens(1)[1]

    @add_eos_token.setter
    def add_eos_token(self, value: bool) -> None:
        self._set_bos_eos(None, value)

    @property
    def special_tokens_pattern(self) -> str:
        """Which of `bos_token` and `eos_token` are added, as in transformers: "none", "bos", "eos" or "bos_eos"."""
        return PATTERN_OF_BOS_EOS[self.add_bos_token, self.add_eos_token]

    @special_tokens_pattern.setter
    def special_tokens_pattern(self, value: str | None) -> None:
        if value is None:  # set by transformers, which does not know the template
            return
        if value not in BOS_EOS_OF_PATTERN:
            raise ValueError(f"special_tokens_pattern: expected one of {[*BOS_EOS_OF_PATTERN]}, got {value!r}")
        self._set_bos_eos(*BOS_EOS_OF_PATTERN[value])

    def _set_bos_eos(self, add_bos: bool | None, add_eos: bool | None) -> None:
        """Replace the template by one of `bos_token` and `eos_token`; None keeps the current value."""
        if add_bos is None and add_eos is None:
            return
        bos = self.add_bos_token if add_bos is None else check_flag("add_bos_token", add_bos)
        eos = self.add_eos_token if add_eos is None else check_flag("add_eos_token", add_eos)
        tokens = {name: getattr(self, name) for name, wanted in (("bos_token", bos), ("eos_token", eos)) if wanted}
        if missing := [name for name, token in tokens.items() if token is None]:
            raise ValueError(f"add_{missing[0]}=True needs a {missing[0]}; none is set")
        self.template = Template.of_bos_eos(tokens.get("bos_token"), tokens.get("eos_token"))

    @checked(token_ids_0=check_ids, token_ids_1=optional(check_ids))
    def build_inputs_with_special_tokens(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None
    ) -> list[int]:
        """Return the ids of a sequence or of a pair with the special tokens that the template adds."""
        if token_ids_1 is None:
            return token_ids_0 if self._template is None else self.pipeline.build(token_ids_0)
        return self.pipeline.build(token_ids_0, token_ids_1)

    def _template_ids(self, sequences: int, add_special_tokens: bool) -> TemplateIds | None:
        """Return the special-token ids around sequences; None if a subclass adds tokens elsewhere."""
        build = self.build_inputs_with_special_tokens
        if getattr(build, "__func__", None) is _BUILD_INPUTS:
            return self.pipeline.template_ids(sequences, add_special_tokens)
        return template_ids(build, sequences, add_special_tokens)

    @checked(token_ids_0=check_ids, token_ids_1=optional(check_ids), already_has_special_tokens=check_flag)
    def get_special_tokens_mask(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None, already_has_special_tokens: bool = False
    ) -> list[int]:
        """Return 1 for each special token of a sequence or a pair, and 0 for each other id."""
        if already_has_special_tokens:
            mask: list[int] = super().get_special_tokens_mask(token_ids_0, token_ids_1, True)
            return mask
        marks = [[-1] * len(ids) for ids in (token_ids_0, token_ids_1) if ids is not None]
        return [int(token_id >= 0) for token_id in self.build_inputs_with_special_tokens(*marks)]

    # Calls. transformers routes every `__call__`, and `encode` but for the common case, to `_encode_plus`.

    def _switch_to_input_mode(self) -> None:
        """Do nothing: there is one mode. Without this method every call would look for it in all base classes."""

    def _encode_plus(self, text: Any, text_pair: Any = None, **given: Any) -> BatchEncoding:
        inputs = checked_inputs(text, text_pair, given)
        template = None
        pipeline = self.pipeline
        encoder, as_text = pipeline.encoder, given.get("split_special_tokens")
        if not given.keys().isdisjoint(allowed_special.NAMES):
            if inputs is None:
                raise ValueError("allowed_special, disallowed_special: expected texts, not ids")
            encoder, as_text = allowed_special.encoder_for(pipeline, inputs.texts, given)
        if inputs is not None:
            add_special_tokens = given.get("add_special_tokens", True)
            template = self._template_ids(inputs.per_row, add_special_tokens)
        if inputs is None or template is None:
            options_of_call(Options(), given, 0)
            check_inherited_call(text, text_pair, given)
            encoded: BatchEncoding = super()._encode_plus(text, text_pair, **given)
            return encoded
        options = options_of_call(pipeline.options(as_text), given, len(inputs.texts))
        source = EncodedTexts(encoder, inputs.texts, options, inputs.bounds)
        has_own_type_ids = self.token_type_ids_pattern != "all_zeros"
        make_type_ids = self.create_token_type_ids_from_sequences if has_own_type_ids else None
        return encode_call(self, pipeline, source, inputs, template, given, make_type_ids)

    def encode(
        self, text: Any, text_pair: Any = None, add_special_tokens: bool = True, *args: Any, **kwargs: Any
    ) -> Any:
        """Return the ids of a text; the arguments are those of transformers' `encode`, and two of tiktoken's.

        Args:
            text, text_pair: the text, and the second of a pair.
            add_special_tokens: add the special tokens of the template.
            args, kwargs: as in transformers. As in tiktoken, and in calls of the tokenizer, too,
                `allowed_special` is a set of the special tokens that are encoded as such, or "all", and
                `disallowed_special` those that raise a ValueError, "all" for all that are not allowed. Other special
                tokens in the text are encoded as ordinary text. If one of the two is given, the default of the other is
                tiktoken's: no allowed tokens, all disallowed.

        >>> tokenizer = BPETokenizer.train(["low"], vocab_size=257, special_tokens=["<|x|>"])
        >>> tokenizer.encode("l<|x|>"), len(tokenizer.encode("l<|x|>", disallowed_special=()))
        ([108, 256], 6)
        """
        if not args and not kwargs and text_pair is None and isinstance(text, str):
            # The common case, in which the path through transformers takes longer than encoding.
            flag = check_flag("add_special_tokens", add_special_tokens)
            template = self._template_ids(1, flag)
            if template is not None:
                ids = plain_ids(self.pipeline.encoder, text, self.pipeline.options(), template)
                self._eventual_warn_about_too_long_sequence(ids, None, True)
                return ids
        return super().encode(text, text_pair, add_special_tokens, *args, **kwargs)

    @checked(**ARGUMENTS)
    def truncate_sequences(
        self,
        ids: list[int],
        pair_ids: list[int] | None = None,
        num_tokens_to_remove: int = 0,
        truncation_strategy: str | TruncationStrategy = "longest_first",
        stride: int = 0,
    ) -> tuple[list[int], list[int] | None, list[int]]:
        """Truncate ids as calls truncate texts; transformers calls this for given ids.

        Returns:
            Both truncated sequences, and the overflowing ids, with `stride` ids of overlap.

        Raises:
            ValueError: the sequence to truncate is missing or too short.
        """
        strategy = TruncationStrategy(truncation_strategy)
        if num_tokens_to_remove <= 0 or strategy == TruncationStrategy.DO_NOT_TRUNCATE:
            return ids, pair_ids, []
        from_left = self.truncation_side == "left"
        return truncated_ids(ids, pair_ids, num_tokens_to_remove, strategy.value, stride, from_left=from_left)

    def tokenize(
        self, text: str, pair: str | None = None, add_special_tokens: bool = False, **kwargs: Any
    ) -> list[str]:
        """Return the tokens of a text in printable form, added tokens unchanged.

        Args:
            text, pair: the text, and the second of a pair.
            add_special_tokens: add the special tokens of the template.
            kwargs: other options of calls, as in transformers, which does not truncate here.
        """
        if pair is not None or check_flag("add_special_tokens", add_special_tokens) or "is_split_into_words" in kwargs:
            return [*self._encode_plus(text, pair, add_special_tokens=add_special_tokens, **kwargs).tokens()]
        check_call_options(kwargs)  # transformers' own calls pass theirs
        text, _ = self.prepare_for_tokenization(text)
        pipeline = self.pipeline
        encoder, as_text = pipeline.encoder, kwargs.get("split_special_tokens")
        if not kwargs.keys().isdisjoint(allowed_special.NAMES):
            encoder, as_text = allowed_special.encoder_for(pipeline, [text], kwargs)
        ids = encoder.encode(text, options_of_call(pipeline.options(as_text), kwargs, 1))
        return [*self.convert_ids_to_tokens(ids)]

    def prepare_for_tokenization(
        self, text: str, is_split_into_words: bool = False, **kwargs: Any
    ) -> tuple[str, dict[str, Any]]:
        """Repair lone surrogates, as tiktoken does."""
        return repair_surrogates(check_str("text", text)), kwargs

    def _tokenize(self, text: str, **kwargs: Any) -> list[str]:
        ids = self.pipeline.base.encode(text, self.pipeline.options(add_prefix_space=False))
        return [self.decoder[token_id] for token_id in ids]

    def convert_tokens_to_ids(self, tokens: Any) -> Any:
        """Return the id of a printable token, or the ids of several; unknown tokens give the id of `unk_token`."""
        if isinstance(tokens, str):
            return super().convert_tokens_to_ids(tokens)
        tokens = check_strs("tokens", tokens)
        added, known = self._added_tokens_encoder, self.encoder
        return [
            added[token] if token in added else known[token] if token in known else self._convert_token_to_id(token)
            for token in tokens
        ]

    def _convert_token_to_id(self, token: str) -> int | None:
        token_id = self.encoder.get(token)
        if token_id is None and token != self.unk_token:  # unk_token itself is unknown before it is added
            token_id = self.unk_token_id
        return token_id

    def _encode_without_added_tokens(self, text: str) -> list[int]:
        """Encode text without finding added tokens; called by the sanitizing of chats."""
        return self.pipeline.base.encode(text, self.pipeline.options())

    # The bulk API: plain ids in arrays, lists and files, at the speed of the engine. No special tokens are added, and
    # nothing is padded or truncated by default; special tokens in the text are found.

    def encode_bytes(self, data: AnyText, *, split_special_tokens: bool | None = None) -> list[int]:
        r"""Encode bytes, UTF-8 or not, so that `decode_bytes` returns them exactly.

        Special tokens are found in the bytes; no special tokens and no prefix space are added. (Added tokens whose
        flags strip white space lose it, as usual; and a tokenizer with a normalizer normalizes valid UTF-8, so that
        `decode_bytes` returns the normalized text.)

        Args:
            data: bytes, or a str; a byte outside valid UTF-8 sequences belongs to no character class.
            split_special_tokens: encode special tokens as ordinary text; None for the tokenizer's own setting.

        Raises:
            ValueError: a byte has no token, and there is no `unk_token`.

        >>> tokenizer = BPETokenizer.train(["low"], vocab_size=256)
        >>> tokenizer.encode_bytes(b"\xff low")
        [255, 32, 108, 111, 119]
        """
        pipeline = self.pipeline
        if type(data) is not bytes or split_special_tokens is not None:
            check_text("data", data)
            as_text = optional(check_flag)("split_special_tokens", split_special_tokens)
            return pipeline.encoder.encode(data, pipeline.options(as_text, add_prefix_space=False))
        return pipeline.encoder.encode(data, pipeline.options_of_bytes)

    @checked(**bulk.ARGUMENTS)
    def encode_to_lists(
        self,
        texts: Sequence[AnyText],
        *,
        split_special_tokens: bool | None = None,
        num_workers: int | None = None,
        dropout: float | None = None,
        stochastok: float | None = None,
        seed: int | None = None,
        first_text: int | Sequence[int] | None = None,
    ) -> list[list[int]]:
        """Return a list of ids for each text.

        Args:
            texts: str or bytes.
            split_special_tokens: encode special tokens as ordinary text; None for the tokenizer's own setting.
            num_workers: number of threads, None for one per core; no result depends on it. These two arguments are the
                same in all bulk methods.
            dropout: encode at random for training: the probability with which BPE-dropout skips a merge each time it
                could be applied. docs/how-to/randomized-tokens.md defines it, and the next three.
            stochastok: the proportion of tokens that StochasTok tries to split in two.
            seed: the seed of these; the ids depend on it, the text and the number of the text.
            first_text: the number of the first text, by default 0; the others follow. Or a list with that of each.

        Raises:
            TypeError: the argument is a single text, or an element is neither str nor bytes.
            ValueError: a byte has no token, and there is no `unk_token`; also in the methods below.

        >>> BPETokenizer.train(["low"], vocab_size=256).encode_to_lists(["lo", "", b"w"])
        [[108, 111], [], [119]]
        """
        pipeline, random = self.pipeline, Randomness.of(dropout, stochastok, seed, first_text)
        texts, threads = check_texts("texts", texts), threads_of(num_workers)
        return pipeline.encode_to_lists(texts, pipeline.options(split_special_tokens), threads, random)

    @checked(**bulk.ARGUMENTS)
    def encode_to_numpy(
        self,
        texts: Sequence[AnyText],
        *,
        split_special_tokens: bool | None = None,
        num_workers: int | None = None,
        dropout: float | None = None,
        stochastok: float | None = None,
        seed: int | None = None,
        first_text: int | Sequence[int] | None = None,
    ) -> tuple[Ids, Numbers]:
        """Return the ids of all texts in one array; for the arguments see `encode_to_lists`.

        Returns:
            ids: uint32, of shape (number of ids).
            offsets: int64, of shape (number of texts + 1): the ids of text i are `ids[offsets[i] : offsets[i + 1]]`.

        >>> ids, offsets = BPETokenizer.train(["low"], vocab_size=256).encode_to_numpy(["lo", "", b"w"])
        >>> ids.tolist(), offsets.tolist()
        ([108, 111, 119], [0, 2, 2, 3])
        """
        pipeline, random = self.pipeline, Randomness.of(dropout, stochastok, seed, first_text)
        texts, threads = check_texts("texts", texts), threads_of(num_workers)
        return pipeline.encode_to_numpy(texts, pipeline.options(split_special_tokens), threads, random)

    @checked(**bulk.ARGUMENTS)
    def encode_to_padded(
        self,
        texts: Sequence[AnyText],
        *,
        length: int | None = None,
        split_special_tokens: bool | None = None,
        num_workers: int | None = None,
        dropout: float | None = None,
        stochastok: float | None = None,
        seed: int | None = None,
        first_text: int | Sequence[int] | None = None,
    ) -> tuple[Numbers, Numbers]:
        """Return the ids of texts as rows of one length, padded with `pad_token` on the `padding_side`.

        Args:
            length: the length of each row; longer rows lose their last ids. None for the length of the longest.
            dropout, stochastok, seed, first_text: see `encode_to_lists`.

        Returns:
            ids and mask, both int64 of shape (number of texts, length); the mask is 1 for ids and 0 for padding.

        Raises:
            ValueError: rows need padding, but there is no `pad_token`; the length is negative.

        >>> tokenizer = BPETokenizer.train(["low"], vocab_size=257, special_tokens=["<|endoftext|>"])
        >>> tokenizer.pad_token = "<|endoftext|>"
        >>> ids, mask = tokenizer.encode_to_padded(["low", "lo"])
        >>> ids.tolist(), mask.tolist()
        ([[108, 111, 119], [108, 111, 256]], [[1, 1, 1], [1, 1, 0]])
        """
        check_choice("padding_side", self.padding_side, ("left", "right"))
        pad_id = self.pad_token_id
        padding = Padding(length, -1 if pad_id is None else pad_id, self.padding_side == "left")
        pipeline, random = self.pipeline, Randomness.of(dropout, stochastok, seed, first_text)
        texts, threads = check_texts("texts", texts), threads_of(num_workers)
        encoded = pipeline.encode_to_numpy(texts, pipeline.options(split_special_tokens), threads, random)
        ids, mask = bulk.to_padded(pipeline.encoder, *encoded, padding)
        if pad_id is None and not mask.all():
            raise ValueError(
                "rows of different length need a pad_token, but there is none; set one of the special tokens, such as "
                "tokenizer.pad_token = tokenizer.eos_token, or train with pad_token='<pad>'"
            )
        return ids, mask

    @checked(**bulk.ARGUMENTS)
    def count_tokens(
        self, texts: Sequence[AnyText], *, split_special_tokens: bool | None = None, num_workers: int | None = None
    ) -> list[int]:
        """Return the number of ids of each text, without storing the ids.

        >>> BPETokenizer.train(["low"], vocab_size=256).count_tokens(["lo", "", b"w"])
        [2, 0, 1]
        """
        options = self.pipeline.options(split_special_tokens)
        return self.pipeline.encoder.count_tokens(check_texts("texts", texts), options, threads_of(num_workers))

    @checked(**bulk.ARGUMENTS)
    def encode_iterable(
        self, pieces: Iterable[AnyText], *, split_special_tokens: bool | None = None, num_workers: int | None = None
    ) -> Iterator[int]:
        """Yield the ids of the concatenation of pieces, exactly as if it were encoded whole.

        Pieces, str or bytes, may end anywhere: inside a word, a special token or (in bytes) a character. About 16 MB
        are held at a time, or the text up to the next safe cut if that is longer: one word, or everything if the
        pattern is None or a regular expression and there is no special token.

        >>> tokenizer = BPETokenizer.train(["low lower lowest"], vocab_size=258)
        >>> list(tokenizer.encode_iterable(["lo", "w lo", "w"])) == tokenizer.encode("low low")
        True
        """
        pipeline = self.pipeline
        options = pipeline.options(split_special_tokens)
        for ids in encode_blocks(pipeline.encoder, pieces, options, threads_of(num_workers)):
            yield from ids.tolist()

    @checked(text=check_str, split_special_tokens=optional(check_flag))
    def session(self, text: str = "", *, split_special_tokens: bool | None = None) -> Session:
        """Return a session: text that grows at its end, with the ids of the whole, encoding only what is new.

        Args:
            text: the first text.
            split_special_tokens: encode special tokens as ordinary text; None for the tokenizer's own setting.

        >>> session = BPETokenizer.train(["low lower lowest"], vocab_size=260).session("low lo")
        >>> session.append("wer"), session.ids
        (Change(removed=3, ids=[259, 114]), [257, 259, 114])
        """
        pipeline = self.pipeline
        session = Session(pipeline.encoder, pipeline.token_tuples, pipeline.options(split_special_tokens))
        session.append(text)
        return session

    def canonical_ids(self) -> CanonicalIds:
        """Return an object that checks and repairs ids, heals prompts, and masks the tokens that may not follow.

        >>> canonical = BPETokenizer.train(["low lower lowest"], vocab_size=260).canonical_ids()
        >>> canonical.is_canonical([108, 111, 119]), canonical.recanonicalize([108, 111, 119])
        (False, [257])
        """
        return CanonicalIds(self.pipeline.encoder, self.pipeline.token_tuples, self.pipeline.options())

    @checked(**bulk.ARGUMENTS)
    def encode_file(
        self,
        paths: str | os.PathLike[str] | Source | Sequence[str | os.PathLike[str] | Source],
        output: str | os.PathLike[str],
        *,
        format: str = "npy",
        separator: str | None = None,
        append_separator: bool | None = None,
        begin_token: str | None = None,
        pack: int | None = None,
        pack_across: bool = True,
        shard_tokens: int | None = None,
        copy_columns: Sequence[str] = (),
        split_special_tokens: bool | None = None,
        dropout: float | None = None,
        stochastok: float | None = None,
        seed: int | None = None,
        num_workers: int | None = None,
        work_dir: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
        show_progress: bool = False,
    ) -> EncodedFiles:
        """Encode text files to files of token ids for training models, in bounded memory.

        The files depend on sources and options only: never on the number of workers or on interruptions. Each shard is
        put in place when it is whole, and the manifest, a JSON file with all files, sources and options, when all are.

        Args:
            paths: files, directories, globs, URLs or `Source` objects, in the order in which to encode them. Each
                file of text, UTF-8 or not, is encoded whole; each record of JSON lines or Parquet is a document. Files
                that end in .gz or .zst are decompressed. Empty documents are left out.
            output: the path of the file of ids, with or without its suffix; for `mds`, of the folder. Shards have
                numbers before the suffix: `corpus-00000.bin`.
            format: "npy": `.npy`, uint16 if all ids of the tokenizer fit, else uint32, and `.offsets.npy`, the int64
                offsets at which documents begin, with the end of the last, both for `numpy.load`; "megatron": `.bin`
                and `.idx`; "datatrove": `.ds`, `.ds.index` and `.ds.metadata`; "nanogpt": `.bin`; "llm.c": `.bin` with
                a header; "mds": a folder for MosaicML Streaming with the column `tokens`; "parquet" or "arrow": files
                for datasets with the column `input_ids`. docs/how-to/prepare-training-data.md has more.
            separator: the token that ends a document of a text file, as the end of the file does, and is its last
                token; None for `eos_token`. Each record of JSON lines or Parquet is a document; a separator in it is
                encoded as ordinary text.
            append_separator: append the separator to documents that do not end with it; None to do so in all formats
                but `npy`.
            begin_token: a token to put before each document; None for none.
            pack: the number of ids of a sequence, which takes the place of a document as a row of the files; None for
                documents of any length.
            pack_across: let a sequence hold ids of several documents. Then all sequences have the full length, and the
                last ids of all, which fill none, are left out. If not, the last sequence of each document may be
                shorter.
            shard_tokens: end a shard with the row that brings it to this number of ids; None for a single one, or of
                `mds` for shards of 64 MiB.
            copy_columns: columns of JSON lines or Parquet to copy next to the ids, for "parquet" and "arrow" and for
                rows that hold a single document. They become strings: other values as JSON, null stays null.
            dropout, stochastok, seed: see `encode_to_lists`. Record r of source s, both counted from 0, is text
                2⁴⁰·s + r; a file of text is text 2⁴⁰·s. StochasTok is only for records, because it needs whole texts.
            num_workers: number of threads, or of processes where each gets its share of files; None for one per core.
            work_dir: a folder for what is encoded, from which the same call resumes after an interruption. It needs as
                much room as the files of ids if there is a single shard, less otherwise. It may be deleted afterwards.
            overwrite: replace the shards that the manifest of an earlier run lists. The old files stay until all new
                ones are whole, so there must be room for both. A file of a single shard is always replaced so.
            show_progress: show a bar of the bytes read, with the number of tokens, on standard error.

        Raises:
            OSError: a file cannot be read or written, or there are shards of another run.
            ValueError: `output` has a wrong suffix; a token is not one of the tokenizer; the ids do not fit the format;
                a file is malformed; `work_dir` belongs to another run.
            ImportError: a package for the format is not installed.

        >>> tokenizer = BPETokenizer.train(["low"], vocab_size=257, special_tokens=["<|endoftext|>"])
        >>> _ = Path("corpus.txt").write_text("low<|endoftext|>lo<|endoftext|>")
        >>> tokenizer.encode_file("corpus.txt", "tokens.npy").num_documents
        2
        >>> import numpy as np
        >>> np.load("tokens.npy").tolist(), np.load("tokens.offsets.npy").tolist()
        ([108, 111, 119, 256, 108, 111, 256], [0, 4, 7])
        >>> written = tokenizer.encode_file("corpus.txt", "corpus", format="megatron")
        >>> [path.name for path in written.files]
        ['corpus.bin', 'corpus.idx']
        """
        workers = threads_of(num_workers)
        job = job_of(
            self.pipeline,
            shards_of(paths),
            Path(output),
            format=format,
            separator=separator,
            append_separator=append_separator,
            begin_token=begin_token,
            pack=pack,
            pack_across=pack_across,
            shard_tokens=shard_tokens,
            copy_columns=copy_columns,
            options=self.pipeline.options(split_special_tokens),
            random=Randomness.of(dropout, stochastok, seed),
            threads=workers,
        )
        return encode_sources(job, workers, None if work_dir is None else Path(work_dir), show_progress, overwrite)

    # Ids to text.

    def decode(self, token_ids: Any, skip_special_tokens: bool = False, **kwargs: Any) -> str | list[str]:
        """Return the text of ids, or a list of texts of several rows of ids.

        Args:
            token_ids: an id, a sequence of ids, or several sequences of ids; lists, arrays or tensors.
            skip_special_tokens: leave special tokens out.
            kwargs: `clean_up_tokenization_spaces`, as in transformers; it damages the text of byte-level BPE and is
                only available per call.
        """
        check_decoding(kwargs)
        token_ids = as_lists("token_ids", token_ids)
        if isinstance(token_ids, (list, tuple)) and len(token_ids) > 0 and isinstance(token_ids[0], (list, tuple)):
            texts = self.decode_to_texts(token_ids, skip_special_tokens=skip_special_tokens)
            is_cleaned = check_flag("clean_up_tokenization_spaces", kwargs.get("clean_up_tokenization_spaces"))
            return [clean_up_tokenization(self, text) for text in texts] if is_cleaned else texts
        return self._decode(token_ids, skip_special_tokens, **kwargs)

    def batch_decode(self, sequences: Any, skip_special_tokens: bool = False, *args: Any, **kwargs: Any) -> list[str]:
        """Return the texts of several rows of ids, as in transformers."""
        if not args and are_several_rows(sequences):
            # transformers would first walk through all ids in Python.
            return [*self.decode(sequences, skip_special_tokens, **kwargs)]
        texts: list[str] = super().batch_decode(sequences, skip_special_tokens, *args, **kwargs)
        return texts

    def _decode(
        self,
        token_ids: int | list[int],
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        **kwargs: Any,
    ) -> str:
        is_cleaned = check_flag("clean_up_tokenization_spaces", clean_up_tokenization_spaces)
        text = self.decode_bytes(token_ids, skip_special_tokens=skip_special_tokens).decode("utf-8", self.errors)
        return clean_up_tokenization(self, text) if is_cleaned else text

    def decode_stream(self, *, skip_special_tokens: bool = False) -> DecodeStream:
        """Return a streaming decoder, which returns text as soon as its UTF-8 is complete; see `DecodeStream`."""
        return DecodeStream(self.decode_bytes, self.errors, skip_special_tokens)

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """Return the text of printable tokens."""
        added, known, vocab = self._added_tokens_encoder, self.encoder, self.model.vocab
        pieces = []
        for token in check_strs("tokens", tokens):
            data = vocab.get(added[token] if token in added else known.get(token, -1))
            if data is None and token not in added:
                data = from_printable(token)
            pieces.append(repair_surrogates(token).encode() if data is None else data)
        return b"".join(pieces).decode("utf-8", self.errors)

    def convert_ids_to_tokens(self, ids: Any, skip_special_tokens: bool = False) -> Any:
        """Return the printable token of an id, or those of several; `unk_token` for an id without a token."""
        added, known, unknown = self._added_tokens_decoder, self.decoder, self.unk_token
        ids = as_lists("ids", ids)
        if isinstance(ids, int):
            return added[ids].content if ids in added else known.get(ids, unknown)
        skipped = self.pipeline.skipped(check_flag("skip_special_tokens", skip_special_tokens))
        return [
            added[token_id].content if token_id in added else known.get(token_id, unknown)
            for token_id in check_ids("ids", ids)
            if not is_skipped(token_id, skipped)
        ]

    def _convert_id_to_token(self, index: int) -> str | None:
        token: str | None = self.convert_ids_to_tokens(index)
        return token

    def decode_bytes(self, token_ids: Any, *, skip_special_tokens: bool = False) -> bytes:
        """Return exactly the bytes of ids.

        Args:
            token_ids: an id, or a sequence of ids (list, array or tensor of one dimension).
            skip_special_tokens: leave special tokens out.

        An id outside the vocabulary is decoded as `unk_token`, or without one skipped with a warning in the log.
        """
        ids = [token_ids] if type(token_ids) is int else as_lists("token_ids", token_ids)
        ids = [ids] if isinstance(ids, int) else ids
        skips = check_flag("skip_special_tokens", skip_special_tokens)
        return self.pipeline.decode_bytes(ids, skips, name="token_ids")

    def decode_to_texts(self, sequences: Sequence[Sequence[int]], *, skip_special_tokens: bool = False) -> list[str]:
        """Return the text of each sequence of ids; invalid UTF-8 is handled according to `errors`.

        >>> BPETokenizer.train(["low"], vocab_size=256).decode_to_texts([[108, 111], [], [119]])
        ['lo', '', 'w']
        """
        rows: list[Any] = [*check_sequence("sequences", sequences, "rows of ids", 2)]
        if not are_rows_of_ids(rows):
            rows = [as_lists("sequences", row) for row in rows]
        skips = check_flag("skip_special_tokens", skip_special_tokens)
        return self.pipeline.decode(rows, skips, name="sequences")

    # Loading.

    @classmethod
    @checked(pretrained_model_name_or_path=check_path, subfolder=optional(check_path))
    def from_pretrained(
        cls, pretrained_model_name_or_path: str | os.PathLike[str], *init_inputs: Any, **kwargs: Unpack[LoadingOptions]
    ) -> Self:
        """Load a folder or a repository of the Hub, like other tokenizers of transformers.

        Args:
            pretrained_model_name_or_path: a folder that holds `vocab.json` and `merges.txt`, or `tokenizer.json`, or
                one that only `convert_from` reads, with Mistral's `tekken.json` or tiktoken's ranks; or the name of a
                repository that holds these. A folder that BPETokenizer did not save, which names no pattern in
                `tokenizer_config.json`, is loaded from its `tokenizer.json`, with the result of
                `PreTrainedTokenizerFast.from_pretrained`; without that file the pattern is GPT-2's.
            init_inputs, kwargs: as in transformers; settings given here override those of the folder.

        Raises:
            OSError: the folder or repository does not exist, or a file cannot be read.
            ValueError: a file is damaged or missing, the files contradict each other, or a file was not saved together
                with the others.

        Warns:
            UserWarning: `AutoTokenizer` loads the `tokenizer.json` as a class that gives other ids.

        >>> _ = BPETokenizer.train(["low lower"], vocab_size=258).save_pretrained("my-tokenizer")
        >>> BPETokenizer.from_pretrained("my-tokenizer", padding_side="left").encode("low")
        [257]
        """
        check_loading(cls, BPETokenizer, kwargs)
        folder = Path(pretrained_model_name_or_path, kwargs.get("subfolder") or "")
        # Checked here, because transformers reads it in several places with different errors.
        if (folder / CONFIG_FILE).is_file():
            check_config(folder / CONFIG_FILE)
        check_complete(folder)
        options: dict[str, Any] = {**kwargs}
        to_convert = folder if needs_conversion(folder, kwargs) else None
        if to_convert is None:
            options = check_repository(pretrained_model_name_or_path, kwargs)
            to_convert = repository_to_convert(pretrained_model_name_or_path, options)
        if to_convert is not None:
            return cls.convert_from(
                to_convert, **{name: value for name, value in options.items() if name not in OF_REPOSITORIES}
            )
        # What AutoTokenizer loads as this class it does not load as another.
        compares = {} if options.get("_from_auto") else {"_compares_classes": True}
        loaded: Self = super().from_pretrained(pretrained_model_name_or_path, *init_inputs, **options, **compares)
        return loaded

    @classmethod
    def _from_pretrained(cls, files: dict[str, str | None], name: str, *args: Any, **kwargs: Any) -> Self:
        compares_classes = kwargs.pop("_compares_classes", False)
        folder = Folder.of(name, files, kwargs)  # files of a repository are in the cache
        checked_files = {key: path for key, path in files.items() if kwargs.get(key) is None}
        # Before 5.13 transformers opens a path in the file; arguments passed here override it.
        settings = {key: files.get(key) for key in ("vocab_file", "merges_file", "tokenizer_file")} | kwargs
        settings |= folder.listed_tokens(files)
        with errors_of_files(folder, checked_files, kwargs):
            tokenizer: Self = super()._from_pretrained(files, name, *args, _folder=folder, **settings)
        # Checked last, because a save may replace the files meanwhile.
        check_digests(folder.config, checked_files, tokenizer.model)
        if compares_classes and folder.has_ids_of_file:
            warn_of_another_class(Path(folder.tokenizer_json).parent, folder.content or {})
        return tokenizer

    @classmethod
    @checked(tokenizer_file=optional(check_path))
    def convert_to_native_format(cls, **kwargs: Any) -> dict[str, Any]:
        """Convert the `tokenizer.json` of other libraries; called by from_pretrained."""
        folder: Folder | None = kwargs.pop("_folder", None)
        kwargs.pop(DIGESTS, None)
        if folder is not None and "pattern" in kwargs and kwargs["pattern"] == folder.config.get("pattern"):
            kwargs["pattern"] = stored_pattern(kwargs["pattern"])
        return {**(kwargs if folder is None else folder.settings(kwargs)), RESTORED: True}

    @classmethod
    def convert_added_tokens(cls, obj: Any, save: bool = False, add_type_field: bool = True) -> Any:
        """Convert settings to JSON values or back; called by save_pretrained and from_pretrained."""
        if isinstance(obj, BPEModel):  # stored in the vocabulary files
            return None
        if isinstance(obj, Template):
            return obj.to_json()
        return super().convert_added_tokens(obj, save=save, add_type_field=add_type_field)

    # Saving.

    @checked(save_directory=check_output, filename_prefix=optional(check_path))
    def save_vocabulary(self, save_directory: str, filename_prefix: str | None = None) -> tuple[str, ...]:
        """Write `vocab.json` and `merges.txt`; return their paths."""
        prefix = f"{filename_prefix}-" if filename_prefix else ""
        return tuple(map(str, write_gpt2(self.model, save_directory, prefix=prefix)))

    @checked(save_directory=check_output, filename_prefix=optional(check_path), portable=check_flag, verify=check_flag)
    def save_pretrained(
        self,
        save_directory: str | os.PathLike[str],
        legacy_format: bool | None = None,
        filename_prefix: str | None = None,
        push_to_hub: bool = False,
        *,
        portable: bool = False,
        verify: bool = True,
        **kwargs: Any,
    ) -> tuple[str, ...]:
        """Save all files for from_pretrained, and a `tokenizer.json` for users without hf_bpe.

        Files are written to a staging folder, loaded to verify their ids, and then moved into place; if anything fails
        the old files stay, as do files that are not written again. If the process is killed, the folder holds the old
        tokenizer or the new one, or loading it raises an error.

        Args:
            save_directory: the folder; created if needed.
            legacy_format: as in transformers; False is refused.
            filename_prefix: put before each file's name, with a hyphen.
            push_to_hub: call `push_to_hub` afterwards, with `repo_id` (default: the folder's name) and its other
                arguments in `kwargs`.
            portable: make AutoTokenizer load `PreTrainedTokenizerFast` (transformers 4 and 5), whether hf_bpe is
                installed or not; `BPETokenizer.from_pretrained` still loads the folder.
            verify: load the files with BPETokenizer, `tokenizers` and PreTrainedTokenizerFast, and verify vocabulary
                and ids. Takes about a second for GPT-2's vocabulary.
            kwargs: as in transformers.

        Returns:
            The paths written.

        Raises:
            OSError: the files cannot be written.
            ValueError: the verification found a difference, or `portable` is combined with `push_to_hub`.

        Warns:
            UserWarning: a `config.json` in the folder makes AutoTokenizer choose a class that gives different ids (a
                file that is added later cannot be checked); or the folder holds an old chat template, which loading
                would add to this tokenizer.

        >>> from transformers import AutoTokenizer, PreTrainedTokenizerFast
        >>> tokenizer = BPETokenizer.train(["low lower"], vocab_size=258)
        >>> _ = tokenizer.save_pretrained("for-everybody", portable=True)
        >>> isinstance(AutoTokenizer.from_pretrained("for-everybody"), PreTrainedTokenizerFast)
        True
        """
        if portable and push_to_hub:
            raise ValueError(
                "portable=True with push_to_hub=True: transformers would save again for the upload, not portable; save "
                "without push_to_hub, and upload the folder with huggingface_hub.upload_folder"
            )
        check_saving(kwargs)
        hub_names = ("commit_message", "commit_description", "private", "token", "revision", "create_pr", "tags")
        hub_options = {name: kwargs.pop(name) for name in hub_names if name in kwargs}
        repo_id = kwargs.pop("repo_id", Path(save_directory).name)
        prefix = f"{filename_prefix}-" if filename_prefix else ""
        snapshot = self._with_named_tokens()  # for all files, because another thread may add tokens
        write = partial(super(BPETokenizer, snapshot).save_pretrained, legacy_format=legacy_format, **kwargs)
        written = save(snapshot, write, save_directory, prefix, portable=portable, verify=verify)
        if push_to_hub:
            snapshot.push_to_hub(repo_id, **hub_options)
        return written

    def _with_named_tokens(self) -> Self:
        """Return a copy in which every named token is a special token, as whoever loads the saved folder makes it."""
        other = copy.copy(self)
        named = [*other._special_tokens_map.values(), *other._extra_special_tokens]
        if missing := [token for token in named if token is not None and str(token) not in other._added_tokens_encoder]:
            other._add_tokens(missing, True)
            ids = {str(token): other._added_tokens_encoder[str(token)] for token in missing}
            bulk.logger.warning("these named tokens are special tokens, with ids, once the folder is loaded: %s", ids)
        return other

    @classmethod
    def register_for_auto_class(cls, auto_class: str | type = "AutoTokenizer") -> None:
        """Make AutoTokenizer load this class from folders that are saved from now on, whatever their `config.json`.

        Such folders hold an `auto_map` and `tokenization_hf_bpe.py`, one line that imports the installed class.
        AutoTokenizer loads them as this class if hf_bpe is already imported, and otherwise with
        `trust_remote_code=True`. Without trust it loads `tokenizer.json`, with the same ids, if transformers has a
        tokenizer for the `config.json` in the folder, and otherwise refuses the folder. A tokenizer loaded from such a
        folder is saved the same way.

        Args:
            auto_class: "AutoTokenizer", the only choice for tokenizers.

        Register each subclass separately. Its module must be importable where the folder is loaded.

        Raises:
            ValueError: `auto_class` has another value, or the class cannot be imported, such as one in `__main__`.
        """
        check_auto_class(cls, auto_class)
        if is_copied(cls):
            super().register_for_auto_class(auto_class)
        else:
            cls._registered_for_auto_class = True

    @property
    def backend_tokenizer(self) -> Tokenizer:
        """The `tokenizers.Tokenizer` of our `tokenizer.json`, built on each access, for code that inspects it."""
        with panics_as_errors():
            return Tokenizer.from_str(render_tokenizer_json(self.definition))

    # Conversion.

    @property
    def definition(self) -> Definition:
        """The definition of this tokenizer: model, added tokens and settings that are not the default."""
        return Definition(self.model, self._added_tokens_decoder, converting.settings_of(self))

    @classmethod
    @checked(definition=converting.check_definition)
    def from_definition(cls, definition: Definition, **kwargs: Any) -> Self:
        """Create a tokenizer from a definition; `kwargs` override its settings."""
        pipeline = Pipeline.of(definition)  # whose encoder the constructor shares as long as it is here
        return cls(**converting.arguments_of(definition, pipeline.model, check_settings(kwargs)))

    @checked(edited=converting.check_edited)
    def with_model(self, edited: Edited) -> tuple[Self, Remap]:
        """Return this tokenizer with an edited model, and the remap of all ids, including those of added tokens.

        Settings, flags and added tokens stay. Added tokens outside the model keep their ids, or, if tokens of the model
        were removed or moved, get the ids directly after the model's.

        Args:
            edited: the result of a function of `hf_bpe.editing` for this tokenizer's model.

        Raises:
            ValueError: the edit is of another model, or a new token has the id or the content of an added token.

        >>> from hf_bpe.editing import truncate
        >>> tokenizer = BPETokenizer.train(["low lower"], vocab_size=259, pad_token="<pad>")
        >>> smaller, remap = tokenizer.with_model(truncate(tokenizer.model, 258))
        >>> smaller.pad_token, smaller.encode("low"), remap.removed
        ('<pad>', [108, 257], (258,))
        """
        definition, remap = edited_definition(self.definition, *edited)
        return self.from_definition(definition), remap

    @classmethod
    @checked(format=optional(check_str), pattern=converting.check_pattern, special_tokens=optional(check_keywords))
    def convert_from(
        cls,
        source: Any,
        *,
        format: str | None = None,
        pattern: AnyPattern = "auto",
        special_tokens: Mapping[str, int] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Create a tokenizer from one of another kind, with the same ids.

        Args:
            source: a file or folder of any format that `hf_bpe.conversion` reads (GPT-2's two files, `tokenizer.json`,
                a `.tiktoken` file, minbpe's `.model`, a GGUF file, the text form, a saved folder), a
                `tiktoken.Encoding`, a fast tokenizer of transformers, a `tokenizers.Tokenizer`, or a `BPEModel`. Also
                Mistral's `tekken.json`, and a folder with tiktoken's ranks and `tokenizer_config.json`; code in such
                a folder is not run.
            format: the name of the file's format; None to detect it.
            pattern: the split pattern, for files that do not store it, such as `.tiktoken`.
            special_tokens: content → id, for files that do not store them.
            kwargs: settings of the new tokenizer, which override those of the source.

        Raises:
            OSError: the file cannot be read.
            TypeError: the source is of another kind.
            ValueError: the source is damaged, or BPETokenizer cannot represent it; the message names the feature.

        >>> from tokenizers import Tokenizer, decoders, models, pre_tokenizers
        >>> other = Tokenizer(models.BPE(vocab={"l": 0, "o": 1, "lo": 2}, merges=[("l", "o")]))
        >>> other.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        >>> other.decoder = decoders.ByteLevel()
        >>> BPETokenizer.convert_from(other).encode("lolo")
        [2, 2]
        """
        from hf_bpe.conversion import definition_of

        definition = definition_of(source, format=format, pattern=pattern, special_tokens=special_tokens)
        return cls.from_definition(definition, **kwargs)

    @checked(path=check_output, format=optional(check_str), drop=check_strs, verify=check_flag)
    def convert_to(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        drop: Iterable[str] = (),
        verify: bool = True,
    ) -> tuple[str, ...]:
        """Write this tokenizer in another format, with the same ids.

        The files are written to a staging folder, and read back (with the library of the format if that is installed)
        to verify their ids; only then are they moved into place.

        Args:
            path: the file, or the folder for formats of several files; created if needed. A name that ends in a dot
                and a word that begins with a letter is a file's; others, such as llama-3.1, are a folder's.
            format: a name of `hf_bpe.conversion.FORMATS`; None to tell it by the suffix of a file. A folder is for hf.
            drop: names of `hf_bpe.conversion.FEATURES` that may be dropped although ids depend on them.
            verify: verify that the files, read back, give the same ids.

        Returns:
            The paths of the written files.

        Raises:
            OSError: the files cannot be written.
            ValueError: the suffix is that of no format or not of the one given; the format cannot carry a feature of
                this tokenizer, which the message names; or the ids differ.

        Warns:
            UserWarning: the format does not carry a feature that decides no ids.

        >>> tokenizer = BPETokenizer.train(["low lower"], vocab_size=258)
        >>> tokenizer.convert_to("low.tiktoken")
        ('low.tiktoken', 'low.tiktoken.json')
        >>> BPETokenizer.convert_from("low.tiktoken").model == tokenizer.model
        True
        """
        from hf_bpe.conversion import write

        return tuple(map(str, write(self.definition, path, format=format, drop=drop, verify=verify)))


_BUILD_INPUTS = BPETokenizer.build_inputs_with_special_tokens
