"""BPETokenizer: the `PreTrainedTokenizer` of this package."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tokenizers import AddedToken, Tokenizer

from hf_bpe._utils.arguments import (
    check_flag,
    check_ids,
    check_mapping,
    check_str,
    check_strs,
    checked,
    each,
    optional,
    short_repr,
)
from hf_bpe.core._byte_level import from_printable, repair_surrogates, to_printable
from hf_bpe.core._model import BPEModel, with_placeholders
from hf_bpe.counting._sources import TextSource
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.engine._added_tokens import as_special, check_added_ids, special_tokens_in
from hf_bpe.engine._decode_stream import DecodeStream
from hf_bpe.engine._dispatch import make_encoder
from hf_bpe.engine._encoder import is_skipped
from hf_bpe.engine._normalizers import NormalizedTexts, checked_normalizer, with_normalizer
from hf_bpe.tokenizer._added_vocabulary import Derived
from hf_bpe.tokenizer._bulk import as_lists
from hf_bpe.tokenizer._calls import Calls, WarningsGiven
from hf_bpe.tokenizer._converting import PERSISTENT
from hf_bpe.tokenizer._files.definition import END_OF_TEXT
from hf_bpe.tokenizer._files.panics import panics_as_errors
from hf_bpe.tokenizer._files.tokenizer_json import check_prefix_space
from hf_bpe.tokenizer._inherited import CONSTRUCTOR, SETTINGS, check_token
from hf_bpe.tokenizer._saving import NotInFiles, Saving, read_model
from hf_bpe.tokenizer._special_tokens import SpecialTokens
from hf_bpe.tokenizer._template import Template
from hf_bpe.tokenizer._transformers_compat import clean_up_tokenization
from hf_bpe.training._train import TrainingOptions, train

if TYPE_CHECKING:
    from typing_extensions import Self


class BPETokenizer(Saving, SpecialTokens, Calls):
    """A byte-level BPE tokenizer for transformers, from a `BPEModel` or from GPT-2's two files.

    Args:
        vocab_file: the path of `vocab.json`.
        merges_file: the path of `merges.txt`.
        model: the model, instead of the two files.
        pattern: with files, their split pattern: a name of `hf_bpe.core.pretokenizers.PATTERNS`, a regular
            expression or None.
        normalizer: with files, "NFC" to normalize text before it is split, or None.
        ignore_merges: with files, whether to encode a pre-token that is an ordinary token as that token, whatever the
            merges make of it.
        model_special_tokens: with files, the special tokens of the model. None for the special ones in
            `added_tokens_decoder` or, if there are none, for the tokens that are in no merge.
        drop_missing_bytes: with files, whether to drop bytes without a token.
        signature: with files, the `BPEModel.signature` of the model that they were written from.
        errors: the handling of invalid UTF-8 in decoding, as in `bytes.decode`.
        add_prefix_space: put a space before each segment of text that does not begin with one. Only for the patterns
            "gpt2" and None.
        template: the special tokens that are added to sequences: a `hf_bpe.tokenizer.Template` or its JSON form, or
            None.
        add_bos_token: begin each sequence with `bos_token`; None to leave that to the template.
        add_eos_token: end each sequence with `eos_token`; None to leave that to the template. If this or
            `add_bos_token` is True or False, they replace the template, and the one that is not given is False.
        kwargs: arguments of `PreTrainedTokenizer`: `bos_token`, `eos_token`, `unk_token`, `pad_token`,
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

    vocab_files_names = {"vocab_file": "vocab.json", "merges_file": "merges.txt"}  # noqa: RUF012 - as transformers has it
    model_input_names = ["input_ids", "attention_mask"]  # noqa: RUF012

    @checked(**CONSTRUCTOR)
    def __init__(
        self,
        vocab_file: str | os.PathLike[str] | None = None,
        merges_file: str | os.PathLike[str] | None = None,
        *,
        model: BPEModel | None = None,
        pattern: str | None = "gpt2",
        normalizer: str | None = None,
        ignore_merges: bool = False,
        model_special_tokens: Sequence[str] | None = None,
        drop_missing_bytes: bool = False,
        signature: str | None = None,
        errors: str = "replace",
        add_prefix_space: bool = False,
        template: Template | Mapping[str, Any] | None = None,
        add_bos_token: bool | None = None,
        add_eos_token: bool | None = None,
        **kwargs: Any,
    ) -> None:
        if model is None:
            stored = NotInFiles(pattern, normalizer, ignore_merges, drop_missing_bytes, model_special_tokens, signature)
            model, printable_vocab = read_model(vocab_file, merges_file, stored, kwargs)
        elif (
            (vocab_file, merges_file) != (None, None)
            or pattern not in ("gpt2", model.pattern)
            or normalizer not in (None, model.normalizer)
            or ignore_merges not in (False, model.ignore_merges)
            or drop_missing_bytes not in (False, model.drop_missing_bytes)
            or (model_special_tokens is not None and {*model_special_tokens} != {*model.special_tokens})
        ):
            raise ValueError(
                "BPETokenizer takes either a model, or files and their settings; got "
                f"{model}, {vocab_file=}, {merges_file=}, {pattern=}, {normalizer=}, {ignore_merges=}, "
                f"{drop_missing_bytes=}, {model_special_tokens=}"
            )
        else:
            model = model.with_signature(signature)
            printable_vocab = model.printable_vocab()
        check_prefix_space(model.pattern, add_prefix_space)
        self._derived = Derived(make_encoder(model), {})
        self.errors = errors
        self.add_prefix_space = add_prefix_space
        # transformers uses the number of entries as the id of a new token and as the size of models, so with a gap in
        # the ids both would be wrong. An added token may have the id of a hole, as files of others have them.
        names = {token_id: str(token) for token_id, token in kwargs.get("added_tokens_decoder", {}).items()}
        check_added_ids(names, printable_vocab)
        self.encoder = with_placeholders(printable_vocab, names)
        self.decoder = dict(zip(self.encoder.values(), self.encoder, strict=True))
        self.total_vocab_size = len(self.encoder)  # transformers 5.0 and 5.1 add tokens before counting them
        self._template: Template | None = None

        if END_OF_TEXT in model.special_tokens:
            kwargs.setdefault("bos_token", END_OF_TEXT)
            kwargs.setdefault("eos_token", END_OF_TEXT)
        kwargs.setdefault("token_type_ids_pattern", "all_zeros")
        special_tokens_pattern = kwargs.pop("special_tokens_pattern", None)
        kwargs["special_tokens_pattern"] = None  # transformers 5.0 and 5.1 default to BERT's
        super().__init__(**kwargs)
        self._keep_flags(kwargs)
        # If the unnamed special tokens are given, added tokens need no other mark.
        known = self._added_tokens_encoder if "extra_special_tokens" in kwargs else {}
        rest = [each for each in model.special_tokens if each not in self.all_special_tokens and each not in known]
        if rest:
            self._add_tokens(rest, True)
        self.template = template
        self.special_tokens_pattern = special_tokens_pattern
        if add_bos_token is not None or add_eos_token is not None:  # as fast tokenizers take one without the other
            self._set_bos_eos(add_bos_token or False, add_eos_token or False)
        # save_pretrained drops add_bos_token and add_eos_token; the saved template contains both.
        persistent = (*PERSISTENT, "add_bos_token", "add_eos_token")
        self.init_kwargs.update({name: getattr(self, name) for name in persistent}, signature=signature, model=model)
        self.deprecation_warnings = WarningsGiven()
        self.backend = "tokenizers"  # transformers checks this for support of offsets and words
        # Settings of this loading or class, not of the tokenizer: without hf_bpe another backend reads the same
        # settings.
        for name in ("is_local", "local_files_only", "backend"):
            self.init_kwargs.pop(name, None)

    @classmethod
    @checked(special_tokens=each(check_token), **SETTINGS)
    def train(
        cls,
        input: TextSource | WordCounts,
        vocab_size: int | None = None,
        special_tokens: Sequence[str | AddedToken] = (),
        **kwargs: Any,
    ) -> Self:
        """Train a tokenizer on paths, an iterable of texts, or counts.

        Args:
            input, vocab_size, special_tokens: as in `hf_bpe.train`, but for one size. A token given as `bos_token`,
                `eos_token`, `unk_token`, `pad_token` and so on is also a special token and need not be listed. If there
                are no special tokens at all, those of the counts are used.
            kwargs: options of `hf_bpe.train` (`pattern`, `tie_break`, `min_frequency`, `num_workers`, …); all others
                go to the constructor. `normalizer="NFC"` needs texts that are `hf_bpe.engine.NormalizedTexts`.

        Raises, warns: see `hf_bpe.train`.
        """
        options = {name: kwargs.pop(name) for name in TrainingOptions.__annotations__ if name in kwargs}
        normalizer = checked_normalizer(kwargs.pop("normalizer", None), input)
        for name, size in {"vocab_size": vocab_size, "num_merges": options.get("num_merges")}.items():
            if isinstance(size, (list, tuple, range)):
                raise TypeError(f"{name}: expected one size, got {short_repr(size)}; hf_bpe.train gives several models")
        listed = [*special_tokens, *special_tokens_in(kwargs)]
        added = {str(token): token for token in reversed(listed)}  # the first occurrence decides the flags
        model = train(input, vocab_size, list(dict.fromkeys(map(str, listed))) or None, **options)
        model = with_normalizer(model, normalizer)
        flags = {model.special_ids()[text]: token for text, token in added.items() if isinstance(token, AddedToken)}
        return cls(model=model, added_tokens_decoder={**flags, **kwargs.pop("added_tokens_decoder", {})}, **kwargs)

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
        names, definition = special_tokens_map or {}, self.definition
        special = [token for token in definition.added_tokens.values() if token.special]
        added = [as_special(token, names.get(token.content)) for token in special]
        named = {name: definition.setting(name) for name in self.SPECIAL_TOKENS_ATTRIBUTES}
        settings = {
            **definition.settings,
            **{name: names.get(token, token) for name, token in named.items()},
            "template": definition.template and definition.template.renamed(names),
            "normalizer": self.normalizer,
            "extra_special_tokens": [
                *(names.get(token, token) for token in self.extra_special_tokens),
                *map(str, new_special_tokens or []),
            ],
        }
        options = {"pattern": self.pattern, **kwargs}
        special_tokens = [*added, *(new_special_tokens or [])]
        if self.normalizer is not None:
            text_iterator = NormalizedTexts(text_iterator, [*map(str, special_tokens)])
        return type(self).train(text_iterator, vocab_size, special_tokens, **options, **settings)

    # The model.

    @property
    def model(self) -> BPEModel:
        """The model: vocabulary, merges, special tokens and pattern, without added tokens."""
        return self._derived.base.model

    @property
    def pattern(self) -> str | None:
        """The split pattern: a name, a regular expression, or None."""
        return self.model.pattern

    @property
    def normalizer(self) -> str | None:
        """The normalization form applied before text is split: "NFC" or None."""
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
        from hf_bpe.tokenizer._notebook import html_of_tokenizer  # only needed in notebooks

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

    # Text to ids.

    def tokenize(self, text: str, **kwargs: Any) -> list[str]:
        """Return the tokens of a text in printable form, added tokens unchanged."""
        split_special_tokens = optional(check_flag)("split_special_tokens", kwargs.pop("split_special_tokens", None))
        text, _ = self.prepare_for_tokenization(text, **kwargs)
        ids = self._engine.encode(text, self._options(split_special_tokens))
        tokens: list[str] = self.convert_ids_to_tokens(ids)
        return tokens

    def prepare_for_tokenization(
        self, text: str, is_split_into_words: bool = False, **kwargs: Any
    ) -> tuple[str, dict[str, Any]]:
        """Repair lone surrogates, as tiktoken does."""
        return repair_surrogates(check_str("text", text)), kwargs

    def _tokenize(self, text: str, **kwargs: Any) -> list[str]:
        ids = self._derived.base.encode(text, self._options(None, add_prefix_space=False))
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
        return self._derived.base.encode(text, self._options(None))

    @property
    def backend_tokenizer(self) -> Tokenizer:
        """The `tokenizers.Tokenizer` of our `tokenizer.json`, built on each access; changes to it have no effect here.

        Other code inspects it to detect byte-level tokenizers, such as `generate(stop_strings=…)`.
        """
        with panics_as_errors():
            return Tokenizer.from_str(self._tokenizer_json())

    # Ids to text.

    def decode(self, token_ids: Any, skip_special_tokens: bool = False, **kwargs: Any) -> str | list[str]:
        """Return the text of ids, or a list of texts of several rows of ids.

        Args:
            token_ids: an id, a sequence of ids, or several sequences of ids; lists, arrays or tensors.
            skip_special_tokens: leave special tokens out.
            kwargs: `clean_up_tokenization_spaces`, as in transformers; it damages the text of byte-level BPE and is
                only available per call. Others are ignored.
        """
        token_ids = as_lists("token_ids", token_ids)
        if isinstance(token_ids, (list, tuple)) and len(token_ids) > 0 and isinstance(token_ids[0], (list, tuple)):
            texts = self.decode_to_texts(token_ids, skip_special_tokens=skip_special_tokens)
            is_cleaned = check_flag("clean_up_tokenization_spaces", kwargs.get("clean_up_tokenization_spaces"))
            return [clean_up_tokenization(self, text) for text in texts] if is_cleaned else texts
        return self._decode(token_ids, skip_special_tokens, **kwargs)

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
        skipped = self._skipped_ids(skip_special_tokens)
        return [
            added[token_id].content if token_id in added else known.get(token_id, unknown)
            for token_id in check_ids("ids", ids)
            if not is_skipped(token_id, skipped)
        ]

    def _convert_id_to_token(self, index: int) -> str | None:
        token: str | None = self.convert_ids_to_tokens(index)
        return token
