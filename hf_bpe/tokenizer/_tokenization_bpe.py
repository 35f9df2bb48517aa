"""BPETokenizer: the `PreTrainedTokenizer` of this package.

Here are the ways to make one: the constructor, training and loading. Its other methods come from mix-ins, one for each
idea: `DirectMethods` answers usual calls, and in `_methods` is what users and transformers call besides.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenizers import AddedToken

from hf_bpe._utils.arguments import check_mapping, check_path, checked, each, optional, refuse_unknown, short_repr
from hf_bpe.core._model import BPEModel
from hf_bpe.counting._normalized_texts import NormalizedTexts
from hf_bpe.counting._sources import TextSource
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.encoding._added_tokens.rules import as_special, special_tokens_in
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.formats._construction import BOS_EOS_FLAGS, PERSISTENT, assemble, loading_call
from hf_bpe.formats._decoder import default_decoding
from hf_bpe.formats._folder.consistency import check_complete
from hf_bpe.formats._folder.files import CONFIG_FILE, check_config, needs_conversion
from hf_bpe.formats._settings import CHECKS, Settings, check_special_tokens, check_token
from hf_bpe.normalizers._normalizer import AnyNormalizer
from hf_bpe.pretokenizers._pattern import AnyPattern
from hf_bpe.tokenizer._calls.direct import DirectMethods
from hf_bpe.tokenizer._hub import HUB_ARGUMENTS, check_repository, repository_to_convert
from hf_bpe.tokenizer._inherited import CONSTRUCTOR, InheritedMethods
from hf_bpe.tokenizer._methods.bulk import BulkMethods
from hf_bpe.tokenizer._methods.conversion import ConversionMethods
from hf_bpe.tokenizer._methods.decoding import DecodingMethods
from hf_bpe.tokenizer._methods.editing import EditingMethods
from hf_bpe.tokenizer._methods.files import FileMethods
from hf_bpe.tokenizer._methods.saving import SavingMethods
from hf_bpe.tokenizer._methods.shared import SharedMethods
from hf_bpe.tokenizer._methods.state import PipelineCache, StateMethods, UnpickledDict
from hf_bpe.tokenizer._methods.template import TemplateMethods
from hf_bpe.tokenizer._methods.transformers_hooks import HookMethods
from hf_bpe.tokenizer._options import (
    RESTORED,
    LoadingOptions,
    TrainerOptions,
    check_loading,
    check_settings,
    check_training,
    hint_at_roles,
    with_options_from,
)
from hf_bpe.tokenizer._other_names import TokenizerType
from hf_bpe.training._initial_alphabet import learns_characters
from hf_bpe.training._train import TrainingOptions, train

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from hf_bpe.playground import Playground
    from hf_bpe.tokenizer._transformers_types import PreTrainedTokenizer
else:
    from transformers.tokenization_python import PreTrainedTokenizer


class BPETokenizer(
    # What users call; what the first does not answer it leaves to `super()`, the next base with the method.
    DirectMethods,
    BulkMethods,
    FileMethods,
    SharedMethods,
    EditingMethods,
    ConversionMethods,
    SavingMethods,
    # What transformers calls.
    HookMethods,
    DecodingMethods,
    TemplateMethods,
    StateMethods,
    InheritedMethods,  # directly before the class whose methods it wraps
    PreTrainedTokenizer,
    metaclass=TokenizerType,
    backend="python",
):
    """A BPE tokenizer for transformers, of bytes or of characters, from a `BPEModel` or from GPT-2's two files.

    Args:
        vocab_file: the path of `vocab.json`.
        merges_file: the path of `merges.txt`.
        model: the model, instead of files.
        pattern: with files, how text is cut into pre-tokens, as `hf_bpe.pretokenizers.Pattern.parse` takes
            it: a name, a regular expression, a chain of stages or None.
        normalizer: with files, what is done to text before it is split: "NFC", or what else
            `hf_bpe.normalizers.Normalizer.parse` takes, or None.
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
        decoding: how tokens of characters become text: the decoder of a `tokenizer.json`, as JSON or parsed; None for
            tokens of bytes, which are joined.
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

    @checked(**CONSTRUCTOR)
    def __init__(
        self,
        vocab_file: str | os.PathLike[str] | None = None,
        merges_file: str | os.PathLike[str] | None = None,
        *,
        model: BPEModel | None = None,
        pattern: AnyPattern = "gpt2",
        normalizer: AnyNormalizer = None,
        ignore_merges: bool = False,
        model_special_tokens: Sequence[str] | None = None,
        drop_missing_bytes: bool = False,
        signature: str | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        arguments = {
            **{"vocab_file": vocab_file, "merges_file": merges_file, "model": model},
            **{"pattern": pattern, "normalizer": normalizer, "ignore_merges": ignore_merges, "signature": signature},
            **{"model_special_tokens": model_special_tokens, "drop_missing_bytes": drop_missing_bytes},
        }
        parts = assemble({**arguments, **check_settings(settings)})
        self._pipeline_cache = PipelineCache()
        self._base = make_encoder(parts.model)
        self._template = parts.template
        for name, value in parts.own.items():
            setattr(self, name, value)
        self._vocab, self._decoder_cache = parts.vocab, UnpickledDict()
        self.total_vocab_size = len(parts.vocab)  # transformers 5.0 and 5.1 add tokens before counting them
        kwargs = {"token_type_ids_pattern": "all_zeros", **parts.settings, "added_tokens_decoder": parts.added.tokens}
        super().__init__(**kwargs, special_tokens_pattern=None)  # transformers 5.0 and 5.1 default to BERT's
        self._replace_added_tokens(parts.added)
        # save_pretrained drops add_bos_token and add_eos_token; the saved template contains both.
        persistent = (*PERSISTENT, *BOS_EOS_FLAGS)
        # The model stands for the files, but each parameter of the constructor has to be present.
        kept = {"signature": signature, "model": parts.model}
        self.init_kwargs.update({name: getattr(self, name) for name in persistent} | kept)
        self.deprecation_warnings = UnpickledDict()
        self.backend = "tokenizers"  # transformers checks this for support of offsets and words
        # Settings of this loading or class: without hf_bpe another backend reads the same settings.
        for name in ("is_local", "local_files_only", "backend"):
            self.init_kwargs.pop(name, None)

    @classmethod
    @with_options_from(train)
    @checked(special_tokens=check_special_tokens, **CHECKS)
    def train(
        cls,
        input: TextSource | WordCounts,
        vocab_size: int | None = None,
        special_tokens: Sequence[str | AddedToken] = (),
        **kwargs: Unpack[TrainerOptions],
    ) -> Self:
        """Train a tokenizer on paths, an iterable of texts, or counts.

        Args:
            input, vocab_size, special_tokens: as in `hf_bpe.train`, but for one size. A token given as `bos_token`,
                `eos_token`, `unk_token`, `pad_token` and so on is also a special token and need not be listed. If there
                are no special tokens at all, those of the counts are used.
            kwargs: options of `hf_bpe.train` (`pattern`, `normalizer`, `tie_break`, …) and settings of the constructor.

        Raises, warns: see `hf_bpe.train`. A TypeError names an unknown option.
        """
        settings = check_training(cls, BPETokenizer, kwargs)
        # Of bytes, unk_token is only a setting of the tokenizer.
        names = TrainingOptions.__annotations__.keys() - {"unk_token"}
        options = {name: settings.pop(name) for name in names if name in settings}
        if learns_characters(options) and settings.get("unk_token") is not None and options.get("initial") is None:
            options["unk_token"] = str(settings["unk_token"])
        for name, size in {"vocab_size": vocab_size, "num_merges": options.get("num_merges")}.items():
            if isinstance(size, (list, tuple, range)):
                raise TypeError(f"{name}: expected one size, got {short_repr(size)}; hf_bpe.train gives several models")
        listed = [*special_tokens, *special_tokens_in(settings)]
        added = {str(token): token for token in reversed(listed)}  # the first occurrence decides the flags
        specials = [*dict.fromkeys(map(str, listed))]
        model = train(input, vocab_size, specials or None, **options)
        if settings.get("decoding") is None:
            settings["decoding"] = default_decoding(model)
        flags = {model.special_ids()[text]: token for text, token in added.items() if isinstance(token, AddedToken)}
        flags |= settings.pop("added_tokens_decoder", {})
        tokenizer = cls(model=model, added_tokens_decoder=flags, **settings)
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
        **kwargs: object,
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
        allowed = TrainingOptions.__annotations__.keys() - {"normalizer"}  # this tokenizer's
        refuse_unknown(f"{type(self).__name__}.train_new_from_iterator", kwargs, allowed)
        added, settings = _arguments_to_retrain(self, new_special_tokens or [], special_tokens_map or {})
        if self.normalizer is not None:
            text_iterator = NormalizedTexts(text_iterator, [*map(str, added)], self.normalizer)
        options = {"pattern": self.model.pre_tokenizer, **kwargs, **settings}
        return type(self).train(text_iterator, vocab_size, added, **options)

    def _repr_html_(self) -> str:
        from hf_bpe.core._notebook import html_of_tokenizer  # only needed in notebooks

        names = {name: str(token) for name, token in self.special_tokens_map.items()}
        later = {token_id: token.content for token_id, token in self.definition.tokens_added_later.items()}
        return html_of_tokenizer(self.model, names, later)

    def playground(self, text: str = "", *, port: int = 0) -> Playground:
        """Serve a page on this machine where one types and sees the tokens; a notebook shows it in a frame.

        The page is there until `close()` of the result, or until Python ends. Only browsers on the machine that runs
        Python reach it. `hf_bpe.playground.Playground` shows several tokenizers side by side.

        Args:
            text: the text that the page begins with.
            port: the port to listen on; 0 for a free one.

        Raises:
            OSError: the port is in use.

        >>> tokenizer = BPETokenizer.train(["low lower"], vocab_size=258)
        >>> page = tokenizer.playground("lower")  # at the end of a cell without `page =`, to see it
        >>> page.close()
        """
        from hf_bpe.playground import Playground  # only needed when somebody looks

        name = Path(self.name_or_path or type(self).__name__).name
        return Playground({name: self}, text=text, port=port)

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

        >>> _ = BPETokenizer.train(["low lower"], vocab_size=258).save_pretrained("my-tokenizer")
        >>> BPETokenizer.from_pretrained("my-tokenizer", padding_side="left").encode("low")
        [257]
        """
        check_loading(cls, BPETokenizer, kwargs)
        if Path(pretrained_model_name_or_path).is_file():
            raise ValueError(
                f"from_pretrained: expected a folder or a name of the Hub, got the file "
                f"{os.fspath(pretrained_model_name_or_path)!r}; write {loading_call(pretrained_model_name_or_path)}"
            )
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
                to_convert, **{name: value for name, value in options.items() if name not in HUB_ARGUMENTS}
            )
        loaded: Self = super().from_pretrained(pretrained_model_name_or_path, *init_inputs, **options)
        return loaded


def _arguments_to_retrain(
    tokenizer: BPETokenizer, new_special_tokens: Sequence[str | AddedToken], names: Mapping[str, str]
) -> tuple[list[str | AddedToken], dict[str, Any]]:
    """Return special tokens and settings to train another tokenizer with; `names` renames special tokens."""
    definition = tokenizer.definition
    special = [token for token in definition.added_tokens.values() if token.special]
    named = {name: definition.setting(name) for name in tokenizer.SPECIAL_TOKENS_ATTRIBUTES}
    extra = [names.get(token, token) for token in tokenizer.extra_special_tokens]
    settings = {
        **definition.settings,
        **{name: names.get(token, token) for name, token in named.items()},
        "template": definition.template and definition.template.renamed(names),
        "normalizer": tokenizer.normalizer,
        "unused_tokens": None,
        "extra_special_tokens": [*extra, *map(str, new_special_tokens)],
        RESTORED: True,
    }
    alphabet = tokenizer.model.alphabet
    if not alphabet.is_bytes:
        settings |= {"byte_fallback": alphabet.byte_fallback, "fuse_unk": alphabet.fuse_unk}
    if alphabet.unk_token is not None:
        settings["unk_token"] = names.get(alphabet.unk_token, alphabet.unk_token)
    return [*(as_special(token, names.get(token.content)) for token in special), *new_special_tokens], settings
