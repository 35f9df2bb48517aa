"""Pipelines: a `Definition` made runnable, without transformers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

from tokenizers import AddedToken

from hf_bpe._utils.arguments import as_lists
from hf_bpe._utils.cached_property import cached_property
from hf_bpe._utils.processes import default_threads
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._encoder import AddedTokenTuple, AnyText, Encoder, Options, TemplateIds, as_tuples
from hf_bpe.encoding._factory import make_encoder, share_encoder
from hf_bpe.encoding._merge_trees import makes_all_tokens
from hf_bpe.encoding._native_paths import TextEncoder, encode_batch, lacks_bytes, text_encoder
from hf_bpe.encoding._sessions.prefix_cache import PrefixCache
from hf_bpe.formats._decoder import INVALID_ID_ERRORS, CharacterDecoder, Decoder, shows_normalized_contents
from hf_bpe.formats._definition import Definition, encoding_options
from hf_bpe.formats._settings import NAMED_TOKENS, SETTINGS
from hf_bpe.formats._template import Template, template_ids, warn_of_double_start

if TYPE_CHECKING:
    from typing_extensions import Self

    from hf_bpe.encoding._layout import Layout
    from hf_bpe.encoding._lazy_encodings import EncodedTexts, Encodings, ToTokens, TypeIds
    from hf_bpe.encoding._sessions.streams import DecodesBytes, DecodeStream


@dataclass(frozen=True, eq=False)
class Pipeline:
    """The encoder and decoder of a tokenizer: immutable, and picklable as what it is made of.

    What takes time is made on first use; two threads may then both make it.

    Args:
        base: the encoder of the model, without added tokens.
        added_tokens: id → token that is found in text before it is split; never changed.
        template: the special tokens that are added to sequences.
        names: names of special tokens, such as `unk_token` → their content.
        encoding: the settings of `BPETokenizer` that are options of encoding.
        trim_offsets, errors, unused_tokens, decoding: see `BPETokenizer`.
        prefix_cache: where beginnings of texts are looked up; None for nowhere.

    >>> from hf_bpe import train
    >>> pipeline = Pipeline.from_definition(Definition(train(["low lower"], vocab_size=258, special_tokens=["<s>"])))
    >>> ids = pipeline.encode(["low<s>"])
    >>> ids, pipeline.decode(ids), pipeline.decode(ids, skip_special_tokens=True)
    ([[108, 257, 256]], ['low<s>'], ['low'])
    """

    shows_matched: ClassVar[bool] = False
    """True if the tokens of a call show the white space that added tokens take."""
    names_are_special: ClassVar[bool] = True
    """True if named tokens are special, whatever their flags."""

    base: Encoder
    added_tokens: Mapping[int, AddedToken] = field(default_factory=dict)
    template: Template | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    encoding: Options = field(default_factory=Options)
    trim_offsets: bool | str = False
    errors: str = "replace"
    unused_tokens: dict[str, int] = field(default_factory=dict)
    decoding: str | None = None
    prefix_cache: PrefixCache | None = None

    @classmethod
    def from_definition(cls, definition: Definition) -> Self:
        """Return the pipeline of a definition.

        Its model has `ignore_merges` only if that has an effect.
        """
        return cls(
            _make_base(definition.model),
            definition.added_tokens,
            definition.template,
            {name: str(definition.setting(name)) for name in NAMED_TOKENS if definition.setting(name) is not None},
            encoding_options(definition.settings),
            **{name: definition.settings[name] for name in PIPELINE_SETTINGS if name in definition.settings},
        )

    def with_changes(self, **changes: Any) -> Self:
        """Return a pipeline with other values of some arguments, which shares what does not depend on them."""
        other = replace(self, **changes)
        if other.base is self.base and other.added_tokens is self.added_tokens:
            shared = ["_plain_encoder", "token_tuples", "ids", "shown_contents"]
            if (other.decoding, other.unused_tokens) == (self.decoding, self.unused_tokens):
                shared.append("decoder")
            vars(other).update({name: vars(self)[name] for name in shared if name in vars(self)})
        return other

    def __getstate__(self) -> dict[str, Any]:
        # `datasets` takes the pickle of a tokenizer as its fingerprint, so it must not depend on what was used.
        return {each.name: vars(self)[each.name] for each in fields(self)}

    @property
    def model(self) -> BPEModel:
        """The model, without added tokens."""
        return self.base.model

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder that finds the added tokens."""
        return self._plain_encoder if self.prefix_cache is None else self.prefix_cache.encoder(self._plain_encoder)

    @cached_property
    def _plain_encoder(self) -> Encoder:
        return self.base.with_added_tokens(self.token_tuples)

    @cached_property
    def token_tuples(self) -> tuple[AddedTokenTuple, ...]:
        """The added tokens in the form that encoders take."""
        return as_tuples(self.added_tokens.items())

    def encoder_without(self, is_left_out: Callable[[AddedToken], bool]) -> Encoder:
        """Return an encoder to which some added tokens are ordinary text."""
        kept = ((token_id, token) for token_id, token in self.added_tokens.items() if not is_left_out(token))
        return self.base.with_added_tokens(as_tuples(kept))

    @cached_property
    def ids(self) -> dict[str, int]:
        """The ids of added tokens, by content."""
        return {token.content: token_id for token_id, token in self.added_tokens.items()}

    def named_token_id(self, name: str, token: str | None) -> int | None:
        """Return the id of a special or added token, for an argument with this name; None for None."""
        if token is not None and token not in self.ids:
            raise ValueError(f"{name}: {token!r} is not a special or added token of this tokenizer")
        return None if token is None else self.ids[token]

    def id_of_name(self, name: str) -> int | None:
        """Return the id of a named token, such as `unk_token`; None if there is none."""
        content = self.names.get(name)
        if content is None:
            return None
        return self.ids[content] if content in self.ids else self.model.printable_vocab().get(content)

    @cached_property
    def _unknown_id(self) -> int | None:
        return self.id_of_name("unk_token")

    # Encoding.

    @cached_property
    def split_special_tokens(self) -> bool:
        """True if special tokens are encoded as ordinary text."""
        return self.encoding.split_special_tokens

    def options(self, split_special_tokens: bool | None = None) -> Options:
        """Return the options of encoding; None for what the definition says."""
        return self._options[self.split_special_tokens if split_special_tokens is None else split_special_tokens]

    @cached_property
    def _options(self) -> tuple[Options, Options]:
        options = self.encoding._replace(unknown_id=self._unknown_id if lacks_bytes(self.base) else None)
        return options._replace(split_special_tokens=False), options._replace(split_special_tokens=True)

    @cached_property
    def options_of_bytes(self) -> Options:
        """The options of encoding bytes, which get no prefix space."""
        return self.options().for_bytes()

    @cached_property
    def encode_text(self) -> TextEncoder:
        """The function that returns the ids of one text; see `text_encoder`."""
        template = self.template_ids(1)
        # Without `self`, which would never be freed: no garbage collector sees what the core holds.
        warn = partial(warn_of_double_start, self.to_tokens(template[0][:1])[0]) if template[0] else None
        return text_encoder(self.encoder, *self._options, template, warn)

    def template_ids(self, sequences: int, add_special_tokens: bool = True) -> TemplateIds:
        """Return the ids of the special tokens before the first of one or two sequences, and after each."""
        return self._templates[sequences - 1] if add_special_tokens else ((),) * (sequences + 1)

    @cached_property
    def _templates(self) -> tuple[TemplateIds, TemplateIds]:
        one, two = (template_ids(self.build, sequences, self.template is not None) for sequences in (1, 2))
        assert one is not None  # a template has its sequences in order
        assert two is not None
        return one, two

    def build(self, *sequences: list[int]) -> list[int]:
        """Return the ids of one or two sequences with the special tokens of the template."""
        if self.template is None:
            return [*chain.from_iterable(sequences)]
        return self.template.build(sequences, self._ids_of_template)

    @cached_property
    def _ids_of_template(self) -> dict[str, int]:
        """The ids of the template's tokens, which may be added tokens or tokens of the model alone."""
        tokens = [] if self.template is None else self.template.tokens
        return self.ids if all(token in self.ids for token in tokens) else {**self.model.printable_vocab(), **self.ids}

    def encode(self, texts: Sequence[AnyText], add_special_tokens: bool = False) -> list[list[int]]:
        """Return the ids of each text."""
        rows = encode_batch(self.encoder, [*texts], self.options(), default_threads())
        return [*map(self.build, rows)] if add_special_tokens and self.template is not None else rows

    def encodings(self, rows: Sequence[Sequence[str]], add_special_tokens: bool = False) -> Encodings:
        """Return ids, offsets and words of single texts, or of pairs.

        Args:
            rows: at least one; each of one text, or each of two.
            add_special_tokens: add the special tokens of the template.
        """
        from hf_bpe.encoding._lazy_encodings import EncodedTexts  # imports numpy

        per_row = len(rows[0])
        source = EncodedTexts(self.encoder, [text for row in rows for text in row], self.options(), None)
        layout = source.layout(per_row, self.template_ids(per_row, add_special_tokens))
        type_ids = partial(self.type_ids, add_special_tokens)
        return self.lazy_encodings(source, lambda: layout, type_ids, self.to_tokens)

    def lazy_encodings(
        self, source: EncodedTexts, layout: Callable[[], Layout], type_ids: TypeIds, to_tokens: ToTokens
    ) -> Encodings:
        """Return the encodings of texts with offsets as the definition asks for; see `Encodings`."""
        from hf_bpe.encoding._lazy_encodings import Encodings

        matched = partial(source.matched, self.added_tokens)
        shows = self._contents_of_template, self.shows_matched
        return Encodings(layout, source.places, type_ids, to_tokens, self.trim_offsets, matched, *shows)

    @cached_property
    def _contents_of_template(self) -> dict[int, str]:
        """Id → content of the added tokens that are shown normalized in a text, but not when a template adds them."""
        shown = self.shown_contents
        return {
            i: token.content for i, token in self.added_tokens.items() if shown.get(i, token.content) != token.content
        }

    def type_ids(self, add_special_tokens: bool, layout: Layout, row: int, pad_type_id: int = 0) -> list[int]:
        """Return the token type ids of a row by the template; 0 without one."""
        sizes: list[int] = layout.sequence_lengths[row].tolist()
        if self.template is None or not self.template.has_type_ids:
            return layout.filled_up([0] * (sum(sizes) + layout.num_special), pad_type_id)
        return layout.filled_up(self.template.type_ids(sizes, add_special_tokens), pad_type_id)

    def to_tokens(self, ids: Iterable[int]) -> list[str]:
        """Return the printable token of each id."""
        shown, vocab, printable = self.shown_contents, self.model.vocab, self.model.alphabet.printable
        return [shown[each] if each in shown else printable(vocab[each]) for each in ids]

    # Decoding.

    def skipped(self, skip_special_tokens: bool) -> bytes:
        """Return a byte for each id that is 1 if decoding skips it."""
        return self._special_ids if skip_special_tokens else b""

    @cached_property
    def _special_ids(self) -> bytes:
        # `tokenizers` looks the content that it shows up among the contents of special tokens.
        contents = {token.content for token in self.added_tokens.values() if token.special}
        shown = self.shown_contents
        flagged = (i for i, token in self.added_tokens.items() if token.special and shown[i] in contents)
        named = map(self.id_of_name, self.names if self.names_are_special else ())
        ids = {*flagged, *(token_id for token_id in named if token_id is not None)}
        is_special = bytearray(max(ids, default=-1) + 1)
        for token_id in ids:
            is_special[token_id] = 1
        return bytes(is_special)

    def decode(self, rows: Sequence[Any], skip_special_tokens: bool = False, *, name: str = "rows") -> list[str]:
        """Return the text of each row of ids; invalid UTF-8 is handled according to `errors`.

        Args:
            rows: lists of ids.
            skip_special_tokens: leave special tokens out.
            name: the name of the argument in messages.
        """
        skipped = self.skipped(skip_special_tokens)
        try:
            return self.decoder.texts(rows, skipped, self.errors)
        except INVALID_ID_ERRORS:
            known = [self.decoder.known_ids(name, row, skipped, self._unknown_id) for row in rows]
            return self.decoder.texts(known, b"", self.errors)

    def decode_bytes(self, ids: Any, skip_special_tokens: bool = False, *, name: str = "ids") -> bytes:
        """Return exactly the bytes of ids."""
        skipped = self.skipped(skip_special_tokens)
        try:
            return self.decoder.row_bytes(ids, skipped)
        except INVALID_ID_ERRORS:
            return self.decoder.row_bytes(self.decoder.known_ids(name, ids, skipped, self._unknown_id), b"")

    def decode_stream(self, decode_bytes: DecodesBytes, skips: bool = False, ids: object = ()) -> DecodeStream:
        """Return a streaming decoder; see `DecodeStream`."""
        skipped = self.skipped(skips)

        def to_ids(ids: object) -> list[int]:
            row = [ids] if type(ids) is int else as_lists("token_ids", ids)
            return self.decoder.known_ids("token_ids", row, skipped, self._unknown_id)

        return self.decoder.stream(decode_bytes, to_ids, self.errors, skips, ids)

    @cached_property
    def decoder(self) -> Decoder:
        """What turns ids into text and bytes."""
        unused = {token_id: text for text, token_id in self.unused_tokens.items()}
        if self.decoding is not None:
            return CharacterDecoder(self.decoding, self.model, self.shown_contents, unused)
        return Decoder(self._plain_encoder, self.shown_contents, unused)

    @cached_property
    def shown_contents(self) -> dict[int, str]:
        """The contents of added tokens as `tokenizers` shows and decodes them: normalized, if it searches them so."""
        tokens = self.added_tokens.items()
        if self.model.alphabet.is_bytes or self.model.normalizer is None or not shows_normalized_contents():
            return {token_id: token.content for token_id, token in tokens}
        apply = self.model.normalization.apply
        return {i: apply(token.content) if token.normalized else token.content for i, token in tokens}


PIPELINE_SETTINGS = tuple(each.name for each in fields(Pipeline) if each.name in SETTINGS and each.name != "template")
"""The settings that a pipeline takes as they are."""


def without_idle_ignore_merges(definition: Definition) -> Definition:
    """Return a definition with the model of its pipeline, because not every format can store `ignore_merges`."""
    return replace(definition, model=_make_base(definition.model).model)


def _make_base(model: BPEModel) -> Encoder:
    """Return the encoder of a model, in which `ignore_merges` is False if it has no effect: merges make every token."""
    encoder = make_encoder(model)
    if model.ignore_merges and makes_all_tokens(model):
        return share_encoder(encoder, model.with_checked(ignore_merges=False))
    return encoder
