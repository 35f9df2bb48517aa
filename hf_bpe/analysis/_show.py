"""Display of a text as its tokens: in colors in a terminal or a notebook, as a page, or as plain text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Literal, NamedTuple

from hf_bpe._utils.arguments import check_int, wrong_type
from hf_bpe._utils.cached_property import cached_property
from hf_bpe._utils.visible import LIGHT, fragment, html_of_pieces, legend, page, pieces, plain, with_noun
from hf_bpe.analysis._merge_tree import MergeTrees
from hf_bpe.analysis._tokenizers import AnyTokenizer, as_pipeline
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._added_tokens.rules import AddedTokenSplitter
from hf_bpe.encoding._encoder import AnyText, as_str
from hf_bpe.encoding._splitting import pre_tokenize

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.text import Text

_ANSI = ("cyan", "yellow", "magenta", "green")  # for terminals with 16 colors, which the terminal defines


class ShownToken(NamedTuple):
    """A token of a text.

    Attributes:
        id: the id of the token.
        data: the bytes of the token.
        is_added: whether it is a special or added token, found before the text is split.
    """

    id: int
    data: bytes
    is_added: bool


def show(
    tokenizer: AnyTokenizer,
    text: AnyText,
    *,
    ids: bool = False,
    pre_tokens: bool = False,
    max_tokens: int = 5000,
) -> Shown:
    r"""Show a text as its tokens.

    The result prints as plain text with `|` between tokens. `rich.print` and notebooks show colors instead;
    `to_html()` is a page. A space is `·`, a tab `→`, a newline `↵`, a byte of a partial character `<e4>`, and any other
    invisible character its code point, `<U+200B>`.

    The text shown is what the tokens decode to: normalized text if the tokenizer normalizes, with its prefix space,
    without the white space that added tokens strip. A note says so if that differs from the given text.

    Args:
        tokenizer: a BPETokenizer, a `hf_bpe.formats.Pipeline`, a `hf_bpe.conversion.Definition`, or a model, whose
            special tokens are found in the text.
        text: a str is encoded as in a call with `add_special_tokens=False`; bytes, UTF-8 or not, as by `encode_bytes`.
        ids: also show the id of each token.
        pre_tokens: show the pre-tokens that the pattern cuts, which no token crosses, instead of the tokens. Not with
            `ids`.
        max_tokens: the most tokens, or pre-tokens, to show; all are counted.

    Raises:
        TypeError: the tokenizer or the text has the wrong type.
        ValueError: a byte of the text has no token; `max_tokens` is below 1; both `ids` and `pre_tokens` are given, or
            the latter for a tokenizer that finds added tokens in normalized text.

    >>> from hf_bpe import train
    >>> model = train(["low low low lower lowest"], vocab_size=262, special_tokens=["<|endoftext|>"])
    >>> show(model, "lowest low\nné<|endoftext|>")
    low|e|st|·low|↵|
    n|<c3>|<a9>|<|endoftext|>
    9 tokens, 27 bytes, 3.00 bytes a token
    >>> show(model, b"low\xff", ids=True)
    low 258|<ff> 255
    2 tokens, 4 bytes, 2.00 bytes a token
    >>> show(model, "lowest low", pre_tokens=True)
    lowest|·low
    2 pre-tokens, 10 bytes, 5.00 bytes a pre-token
    """
    max_tokens = check_int("max_tokens", max_tokens, 1)
    if pre_tokens:
        if ids:
            raise ValueError("ids: pre-tokens have no ids; give one of ids and pre_tokens")
        return _show_pre_tokens(tokenizer, text, max_tokens)
    pipeline = as_pipeline(tokenizer)
    if not isinstance(text, (str, bytes)):
        raise wrong_type("text", "str or bytes", text)
    model, added = pipeline.model, pipeline.added_tokens
    options = pipeline.options() if isinstance(text, str) else pipeline.options_of_bytes
    encoded = pipeline.encoder.encode(text, options)
    decoded = pipeline.decode_bytes(encoded)
    tokens = tuple(
        ShownToken(token_id, model.vocab.get(token_id) or added[token_id].content.encode(), token_id in added)
        for token_id in encoded[:max_tokens]
    )
    data = as_str(text).encode("utf-8", "surrogateescape")
    return Shown(tokens, len(encoded), len(data), decoded == data, ids, model)


def _show_pre_tokens(tokenizer: AnyTokenizer, text: AnyText, maximum: int) -> Shown:
    pipeline = as_pipeline(tokenizer)
    model, added = pipeline.model, pipeline.added_tokens
    text = as_str(text)
    if model.normalizer is not None and any(token.normalized for token in added.values()):
        raise ValueError("pre_tokens: not shown if added tokens are found in normalized text")
    tokens: list[ShownToken] = []
    for part in AddedTokenSplitter(added).split(text):
        if isinstance(part, int):
            tokens.append(ShownToken(part, added[part].content.encode(), True))
            continue
        data = pipeline.options().segment(model.normalization.apply(part).encode("utf-8", "surrogateescape"))
        tokens += [ShownToken(-1, word, False) for word in pre_tokenize(data, model.pre_tokenizer) if word]
    data = text.encode("utf-8", "surrogateescape")
    is_exact = b"".join(token.data for token in tokens) == data
    return Shown(tuple(tokens[:maximum]), len(tokens), len(data), is_exact, False, model, unit="pre-token")


@dataclass(frozen=True, repr=False)
class Shown:
    """A text as its tokens, or pre-tokens; returned by `show`.

    Attributes:
        tokens: the tokens, or pre-tokens, shown.
        num_tokens: their number in the text.
        num_bytes: number of bytes of the text.
        is_exact: whether the tokens decode exactly to the given text.
        has_ids: whether ids are shown.
        unit: "token" or "pre-token", which have the id -1 unless they are added tokens.
    """

    tokens: tuple[ShownToken, ...]
    num_tokens: int
    num_bytes: int
    is_exact: bool
    has_ids: bool
    _model: BPEModel = field(compare=False)
    unit: Literal["token", "pre-token"] = "token"

    @property
    def summary(self) -> str:
        """The numbers of tokens and bytes, and notes about the display."""
        rate = f", {self.num_bytes / self.num_tokens:.2f} bytes a {self.unit}" if self.num_tokens else ""
        cut = f"; the first {len(self.tokens)} {self.unit}s are shown" if len(self.tokens) < self.num_tokens else ""
        other = "" if self.is_exact else "; the decoded text is shown, which differs from the given text"
        return f"{with_noun(self.num_tokens, self.unit)}, {with_noun(self.num_bytes, 'byte')}{rate}{cut}{other}"

    @property
    def marked(self) -> str:
        """The tokens as plain text, with `|` between them and the line breaks of the text."""
        lines = [*map(self._plain, self.tokens)]
        ended = [f"{line[:-1]}|\n" if line.endswith("\n") else f"{line}|" for line in lines[:-1]]
        return "".join([*ended, *lines[-1:]]).removesuffix("\n")

    def _plain(self, token: ShownToken) -> str:
        if self.has_ids:
            return f"{plain(token.data)} {token.id}" + "\n" * (b"\n" in token.data)
        return "".join(piece.text + "\n" * piece.ends_line for piece in pieces(token.data))

    def __str__(self) -> str:
        return f"{self.marked}\n{self.summary}" if self.tokens else self.summary

    __repr__ = __str__

    def colored(self, color_system: str | None = "truecolor") -> Text:
        """Return the tokens in colors, for a terminal with a `color_system` of rich."""
        from rich.style import Style  # here and below, because rich is slow to import, and only colors need it
        from rich.text import Text

        faint = Style(color="grey37")
        palette = _ANSI if color_system in ("standard", "windows") else LIGHT
        text = Text(overflow="fold")
        for number, token in enumerate(self.tokens):
            color = palette[number % len(palette)]
            style = Style(color="black", bgcolor=color, bold=token.is_added, underline=token.is_added)
            for piece in pieces(token.data):
                text.append(piece.text, style + faint if piece.is_sign else style)
                if piece.ends_line and not self.has_ids:
                    text.append("\n")
            if self.has_ids:
                text.append(f"{token.id}", Style(dim=True))
                text.append("\n" if b"\n" in token.data else " ")
        if text.plain.endswith(("\n", " ")):  # a separator after the last token; spaces of the text are shown as signs
            text.right_crop(1)
        return text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        yield self.colored(console.color_system)
        yield Text(self.summary, "dim")

    def to_html(self, title: str = "Tokens") -> str:
        """Return a self-contained HTML page that describes each token when it is pointed at, tapped or focused."""
        return page(title, self._html())

    def _repr_html_(self) -> str:
        return fragment(self._html())

    def _html(self) -> str:
        data = b"".join(token.data for token in self.tokens)
        spans, end = [], 0
        for number, token in enumerate(self.tokens):
            begin, end = end, end + len(token.data)
            text = html_of_pieces(pieces(token.data), has_breaks=not self.has_ids)
            text += f"<small>{token.id}</small>" if self.has_ids else ""
            kind = f"c{number % len(LIGHT)}{' added' if token.is_added else ''}"
            spans.append(
                f'<bdi class="{kind}" tabindex="0" title="{escape(self._title(token, data, begin, end))}">{text}</bdi>'
            )
            spans.append("<br>" if b"\n" in (token.data if self.has_ids else token.data[-1:]) else "<wbr>")
        kind = ' class="ids"' if self.has_ids else ""
        facts = "id, bytes and merge" if self.unit == "token" else "bytes"
        hint = f" Point at a {self.unit}, tap it, or press Tab, to see its {facts}." if self.tokens else ""
        return f"<p>{escape(self.summary)}.{hint}</p>\n{self._legend()}<div{kind}>{''.join(spans)}</div>"

    def _legend(self) -> str:
        """Return the meanings of the signs that are shown, as HTML."""
        signs = (piece.text for token in self.tokens for piece in pieces(token.data) if piece.is_sign)
        entries = [f"<span><i>{escape(sign)}</i>{meaning}</span>" for sign, meaning in legend(signs).items()]
        if any(token.is_added for token in self.tokens):
            entries.append("<span>outlined: special or added token</span>")
        return f'<p class="legend">{" ".join(entries)}</p>\n' if entries else ""

    def _title(self, token: ShownToken, data: bytes, begin: int, end: int) -> str:
        """Return the description of a token, including the characters of which it has only a part."""
        facts = [f"id {token.id}"] if token.id >= 0 else []
        facts += [f"{with_noun(len(token.data), 'byte')} {token.data.hex(' ')}"]
        whole = _whole_characters(data, begin, end)
        facts += [f"of {plain(whole)}"] if whole != token.data else []
        facts += ["added token"] if token.is_added else []
        is_of_model = self.unit == "token" and token.id in self._model.vocab
        rank = self._merge_trees.rank(token.id) if is_of_model else None
        facts += [] if rank is None else [f"merge {rank}"]
        return ", ".join(facts)

    @cached_property
    def _merge_trees(self) -> MergeTrees:
        return MergeTrees(self._model)


def page_of_several(parts: Iterable[tuple[str, Shown]], title: str) -> str:
    """Return a self-contained HTML page with the tokens of several texts or tokenizers, each with a heading."""
    return page(title, "\n".join(f"<h2>{escape(heading)}</h2>\n{shown._html()}" for heading, shown in parts))


def _whole_characters(data: bytes, begin: int, end: int) -> bytes:
    """Return a range of bytes, extended to whole characters."""
    bounds = begin, end  # 0b10…… are the bytes of a character after its first
    while 0 < begin < len(data) and bounds[0] - begin < 3 and data[begin] & 0xC0 == 0x80:
        begin -= 1
    while end < len(data) and end - bounds[1] < 3 and data[end] & 0xC0 == 0x80:
        end += 1
    return data[begin:end]
