"""Templates: special tokens that are added before, between and after sequences.

A template corresponds to TemplateProcessing in `tokenizers`. It names its tokens itself: changing `bos_token` or
`eos_token` of a tokenizer does not change the template.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tokenizers import AddedToken

from hf_bpe.encoding._encoder import AnyText, Options, TemplateIds

logger = logging.getLogger(__name__)

# transformers' special_tokens_pattern → (add_bos_token, add_eos_token).
BOS_EOS_OF_PATTERN = {"none": (False, False), "bos": (True, False), "eos": (False, True), "bos_eos": (True, True)}
PATTERN_OF_BOS_EOS = {flags: name for name, flags in BOS_EOS_OF_PATTERN.items()}
_NO_TOKENS: TemplateIds = ((), (), ())
_warned: set[str] = set()


class TemplatePiece(NamedTuple):
    """A piece of a template: a special token or a sequence.

    Attributes:
        name: the content of a special token; "A" or "B" for a sequence.
        is_sequence: whether it is a sequence.
        type_id: the token type id of the piece.
    """

    name: str
    is_sequence: bool = False
    type_id: int = 0


@dataclass(frozen=True)
class Template:
    """The special tokens of a single sequence and of a pair.

    Args:
        single: the pieces for one sequence, with the sequence "A".
        pair: the pieces for a pair, with the sequence "A" and later "B".

    Raises:
        ValueError: sequences are missing, repeated or in the wrong order.

    >>> template = Template.of_bos_eos("<s>", "</s>")
    >>> template.special_tokens(1), template.special_tokens(2)
    ([['<s>'], ['</s>']], [['<s>'], ['</s>'], ['</s>']])
    >>> Template.from_json(template.to_json()) == template
    True
    """

    single: tuple[TemplatePiece, ...]
    pair: tuple[TemplatePiece, ...]

    def __post_init__(self) -> None:
        for name, pieces, expected in (("single", self.single, ["A"]), ("pair", self.pair, ["A", "B"])):
            sequences = [piece.name for piece in pieces if piece.is_sequence]
            if sequences != expected:
                raise ValueError(f"template: {name}: expected the sequences {expected}, got {sequences}")

    @classmethod
    def of_bos_eos(cls, bos: str | None, eos: str | None) -> Template | None:
        """Return the template that adds `bos` before and `eos` after each sequence; None without both.

        A pair with both is `bos A eos B eos`, as with `special_tokens_pattern` in transformers.
        """
        if bos is None and eos is None:
            return None
        before = () if bos is None else (TemplatePiece(bos),)
        after = () if eos is None else (TemplatePiece(eos),)
        single = *before, TemplatePiece("A", True), *after
        second = *(() if after else before), TemplatePiece("B", True), *after
        return cls(single, (*single, *second))

    @classmethod
    def of_names(cls, names: Mapping[str, str | None], adds_bos: bool, adds_eos: bool) -> Template | None:
        """Return the template that adds the named `bos_token` and `eos_token`; a ValueError without such a token."""
        tokens = {name: names.get(name) for name, adds in (("bos_token", adds_bos), ("eos_token", adds_eos)) if adds}
        if missing := [name for name, token in tokens.items() if token is None]:
            raise ValueError(f"add_{missing[0]}=True needs a {missing[0]}; none is set")
        return cls.of_bos_eos(tokens.get("bos_token"), tokens.get("eos_token"))

    @classmethod
    def from_json(cls, content: Any) -> Template:
        """Return a template from its JSON form: `single` and `pair`, as in TemplateProcessing of `tokenizer.json`.

        Raises:
            ValueError: the content has a different form.
        """
        try:
            single, pair = (tuple(map(_piece, content[name])) for name in ("single", "pair"))
        except (LookupError, TypeError, AttributeError, ValueError):
            raise ValueError(
                "template: expected single and pair, each a list of "
                '{"SpecialToken": {"id": "<s>", "type_id": 0}} and {"Sequence": {"id": "A", "type_id": 0}}, '
                f"got {content!r:.200}"
            ) from None
        return cls(single, pair)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form for `from_json`."""
        return {
            name: [
                {"Sequence" if piece.is_sequence else "SpecialToken": {"id": piece.name, "type_id": piece.type_id}}
                for piece in pieces
            ]
            for name, pieces in (("single", self.single), ("pair", self.pair))
        }

    def __str__(self) -> str:
        """Return the pieces of a single sequence and of a pair, each with its type id if any is not 0.

        >>> print(Template.of_bos_eos("<s>", "</s>"))
        <s> A </s>; pair <s> A </s> B </s>
        """
        single, pair = (
            " ".join(f"{piece.name}:{piece.type_id}" if self.has_type_ids else piece.name for piece in pieces)
            for pieces in (self.single, self.pair)
        )
        return f"{single}; pair {pair}"

    @property
    def tokens(self) -> list[str]:
        """The distinct special tokens."""
        return [*dict.fromkeys(piece.name for piece in (*self.single, *self.pair) if not piece.is_sequence)]

    @property
    def has_type_ids(self) -> bool:
        """True if a piece has a type id other than 0."""
        return any(piece.type_id for piece in (*self.single, *self.pair))

    def type_ids(self, sizes: Sequence[int], add_special_tokens: bool = True) -> list[int]:
        """Return the type ids of one or two sequences with these numbers of ids.

        >>> a, b, end = TemplatePiece("A", True), TemplatePiece("B", True), TemplatePiece("</s>", type_id=1)
        >>> Template((a, end), (a, b)).type_ids([2])
        [0, 0, 1]
        """
        left, values = [*sizes][::-1], []
        for piece in self.single if len(sizes) == 1 else self.pair:
            if piece.is_sequence:
                values += [piece.type_id] * left.pop()
            elif add_special_tokens:
                values.append(piece.type_id)
        return values

    def special_tokens(self, sequences: int) -> list[list[str]]:
        """Return the special tokens before the first of one or two sequences, and after each sequence."""
        parts: list[list[str]] = [[]]
        for piece in self.single if sequences == 1 else self.pair:
            if piece.is_sequence:
                parts.append([])
            else:
                parts[-1].append(piece.name)
        return parts

    def build(self, sequences: Sequence[Sequence[int]], ids: Mapping[str, int]) -> list[int]:
        """Return the ids of one or two sequences with the special tokens, given the ids of the sequences."""
        row, *after = ([ids[token] for token in tokens] for tokens in self.special_tokens(len(sequences)))
        for sequence, tokens in zip(sequences, after, strict=True):
            row += [*sequence, *tokens]
        return row

    def renamed(self, names: Mapping[str, str]) -> Template:
        """Return the template with some tokens replaced by others."""
        single, pair = (
            tuple(each if each.is_sequence else each._replace(name=names.get(each.name, each.name)) for each in pieces)
            for pieces in (self.single, self.pair)
        )
        return Template(single, pair)

    def bos_eos(self, bos: str | None, eos: str | None) -> tuple[bool, bool] | None:
        """Return whether the template adds `bos` before and `eos` after each sequence; None if it adds other tokens.

        >>> Template.of_bos_eos("<s>", None).bos_eos("<s>", "</s>")
        (True, False)
        """
        for adds_bos, adds_eos in BOS_EOS_OF_PATTERN.values():
            simple = Template.of_bos_eos(bos if adds_bos else None, eos if adds_eos else None)
            if simple is not None and all(simple.special_tokens(n) == self.special_tokens(n) for n in (1, 2)):
                return adds_bos, adds_eos
        return None


def as_template(value: Template | Mapping[str, Any] | None) -> Template | None:
    """Return the template of a setting, which may be its JSON form; None for a template without tokens."""
    template = value if value is None or isinstance(value, Template) else Template.from_json(value)
    return template if template is not None and template.tokens else None


def check_tokens(template: Template | None, ids: Mapping[str, int]) -> None:
    """Raise a ValueError if a template has a token that is none of a tokenizer; `ids` has the ids of all."""
    if missing := [token for token in (template.tokens if template else []) if token not in ids]:
        raise ValueError(f"template: {missing[0]!r} is not a token of this tokenizer; add it first")


def template_ids(build: Callable[..., list[int]], sequences: int, add_special_tokens: bool) -> TemplateIds | None:
    """Return the special-token ids around one or two sequences, as `build` adds them; None if it adds more."""
    if not add_special_tokens:
        return _NO_TOKENS[: sequences + 1]
    marks = [[-1, -2], [-3, -4]][:sequences]
    row = build(*map(list, marks))
    template = []
    for mark in marks:
        at = row.index(mark[0]) if mark[0] in row else 0
        if row[at : at + 2] != mark:
            return None
        template.append(row[:at])
        row = row[at + 2 :]
    return [*template, row]


def _piece(content: Mapping[str, Any]) -> TemplatePiece:
    ((kind, piece),) = content.items()
    if kind not in ("Sequence", "SpecialToken") or type(piece["id"]) is not str or type(piece["type_id"]) is not int:
        raise TypeError
    return TemplatePiece(piece["id"], kind == "Sequence", piece["type_id"])


def warn_of_double_start(content: str) -> None:
    """Log, once for each token in a process, that a text begins with a special token that is added to it, too."""
    if content not in _warned:
        _warned.add(content)
        logger.warning(
            "a text begins with %r, and the tokenizer puts this token before each text, so that it is there twice; "
            "give add_special_tokens=False for text that a chat template rendered",
            content,
        )


def check_start(text: AnyText, template: TemplateIds, added_tokens: Mapping[int, AddedToken], options: Options) -> None:
    """Warn of a text that begins with the first token of the ids which are put around it.

    It is the first of the texts of a call: whoever makes this mistake makes it in all.
    """
    first = added_tokens.get(template[0][0]) if template[0] else None
    if first is None or options.split_special_tokens or type(text) is not str:
        return
    if text.startswith(first.content):
        warn_of_double_start(first.content)
