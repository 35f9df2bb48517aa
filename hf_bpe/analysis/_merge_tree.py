"""Display of merge trees: the merges that make a token, down to the bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hf_bpe._utils.cached_property import cached_property
from hf_bpe._utils.visible import LIGHT, fold, fragment, html_in_color, page, pieces, plain
from hf_bpe.analysis._tokenizers import AnyTokenizer, as_pipeline
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._encoder import Options
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.encoding._merge_trees import last_pair
from hf_bpe.pretokenizers._byte_level import from_printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

_SHOWN = 12  # tokens in an error


@dataclass(frozen=True, repr=False)
class MergeTree:
    """A node of a merge tree: a token and its parts; returned by `merge_tree`.

    Attributes:
        id: the id of the token.
        data: the bytes of the token.
        kind: "merge 7" if the merge of rank 7 makes it from its parts, "byte", "character", "special token",
            "added token", or "unreachable: merges make these" if it never occurs, or occurs only as a whole pre-token.
        parts: trees of the two tokens that are merged last, or, if unreachable, of the tokens that its bytes become.
    """

    id: int
    data: bytes
    kind: str
    parts: tuple[MergeTree, ...] = ()

    def __str__(self) -> str:
        return "\n".join(f"{guide}{plain(node.data)}  {node.id}  {node.kind}" for guide, node, _ in self._walk())

    __repr__ = __str__

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.style import Style  # slow to import, and only colors need it
        from rich.text import Text

        for guide, node, color in self._walk():
            style = Style(color="black", bgcolor=LIGHT[color])
            label = f"  {node.id}  {node.kind}"
            yield Text.assemble((guide, Style(dim=True)), (plain(node.data), style), (label, Style(dim=True)))

    def to_html(self, title: str = "") -> str:
        """Return a self-contained HTML page, with the token on top and its bytes at the bottom.

        Args:
            title: the title and heading; the token by default.
        """
        explained = "<p>Below each token are the two tokens that are merged into it, down to the bytes.</p>\n"
        return page(title or self.title, explained + self._html())

    @property
    def title(self) -> str:
        """The token with its id, as a title."""
        shown = "".join(piece.text for piece in fold(pieces(self.data)))
        return f"Token {shown} (id {self.id:,})"

    def _repr_html_(self) -> str:
        return fragment(self._html())

    def _html(self) -> str:
        # Without recursion, because a tree may be as deep as its token is long.
        html: list[str] = []
        left: list[tuple[MergeTree, int] | str] = [(self, 0)]
        while left:
            node = left.pop()
            if isinstance(node, str):
                html.append(node)
                continue
            tree, color = node
            label = f"{html_in_color(pieces(tree.data), color)}<small>{tree.id}</small><small>{tree.kind}</small>"
            html.append(f'<li><div class="box c{color}">{label}</div>')
            left.append("</li>")
            if tree.parts:
                html.append("<ul>")
                left.append("</ul>")
                left += [(part, _color(color, number)) for number, part in reversed([*enumerate(tree.parts)])]
        return f'<div class="tree" tabindex="0"><ul>{"".join(html)}</ul></div>'

    def _walk(self) -> Iterator[tuple[str, MergeTree, int]]:
        """Yield the tree lines before each token, the token and its color, in the order of a printed tree."""
        left = [("", self, 0)]
        while left:
            guide, node, color = left.pop()
            yield guide, node, color
            below = guide.replace("└── ", "    ").replace("├── ", "│   ")
            for number, part in reversed([*enumerate(node.parts)]):
                branch = "└── " if number == len(node.parts) - 1 else "├── "
                left.append((below + branch, part, _color(color, number)))


def merge_tree(tokenizer: AnyTokenizer, token: int | str | bytes) -> MergeTree:
    """Return the merge tree of a token, down to the bytes.

    Wherever the token occurs in text, exactly these merges have made it.

    Args:
        tokenizer: as in `hf_bpe.analysis.show`.
        token: the id, the bytes, or the text of the token, or its printable form in `vocab.json` (`Ġthe`).

    Raises:
        TypeError: the token is none of these.
        ValueError: there is no such token; the message shows the tokens that the text is encoded as.

    >>> from hf_bpe import train
    >>> model = train(["low low low lower lowest"], vocab_size=262, special_tokens=["<|endoftext|>"])
    >>> merge_tree(model, " low")
    ·low  259  merge 2
    ├── ·  32  byte
    └── low  258  merge 1
        ├── l  108  byte
        └── ow  257  merge 0
            ├── o  111  byte
            └── w  119  byte
    >>> merge_tree(model, "<|endoftext|>")
    <|endoftext|>  256  special token
    """
    pipeline = as_pipeline(tokenizer)
    model, added = pipeline.model, pipeline.added_tokens
    tokens = {**{token_id: token.content.encode() for token_id, token in added.items()}, **model.vocab}
    token_id = _find(tokens, token, model)
    if token_id not in model.vocab:
        return MergeTree(token_id, tokens[token_id], "added token")
    return MergeTrees(model).tree(token_id)


class MergeTrees:
    """The merge trees of a model's tokens, each made when it is asked for.

    The index of all merges is made on first use, in a second or less; `parts_of_tokens` takes several times as long.

    >>> from hf_bpe import train
    >>> trees = MergeTrees(train(["low low low lower lowest"], vocab_size=260))
    >>> trees.rank(258), trees.rank(32)
    (2, None)
    """

    def __init__(self, model: BPEModel) -> None:
        self._model = model
        self._special_ids = {*model.special_ids().values()}

    def tree(self, token_id: int) -> MergeTree:
        """Return the merge tree of a token of the vocabulary."""
        vocab, special = self._model.vocab, token_id in self._special_ids
        children: dict[int, tuple[int, ...]] = {}
        kinds = {token_id: "special token"} if special else {}
        needed = [token_id]
        for each in needed:  # grows during the loop
            rank, kind = None if special else self.rank(each, is_part=each != token_id), self._symbol_kind(vocab[each])
            if rank is not None:
                first, second = self._model.merges[rank]
                kinds[each], children[each] = f"merge {rank}", (self._ids[first], self._ids[second])
            elif kind is not None:
                kinds.setdefault(each, kind)
            elif each == token_id and not special:
                kinds[each], children[each] = self._unreachable(each)
            needed += {*children.get(each, ())} - {*needed}
        trees: dict[int, MergeTree] = {}
        for each in sorted(needed, key=lambda each: len(vocab[each])):  # parts are shorter than their result
            made_of = tuple(trees[part] for part in children.get(each, ()))
            trees[each] = MergeTree(each, vocab[each], kinds[each], made_of)
        return trees[token_id]

    def rank(self, token_id: int, *, is_part: bool = False) -> int | None:
        """Return the rank of the last merge that makes a token from its bytes; None if no merges make it.

        Whatever is a part of another token's tree, merges make.
        """
        token = self._model.vocab[token_id]
        ranks = self._ranks_by_result.get(token)
        if ranks is None or token_id in self._special_ids:
            return None
        if is_part and len(ranks) == 1:
            return ranks[0]
        pair = last_pair(self._model.alphabet.symbols(token), self._rank_of)
        return None if pair is None else self._rank_of(*pair)

    def _rank_of(self, first: bytes, second: bytes) -> int | None:
        ranks = self._ranks_by_result.get(first + second, ())
        return next((rank for rank in ranks if self._model.merges[rank] == (first, second)), None)

    def _symbol_kind(self, token: bytes) -> str | None:
        """Return the kind of a token that merges begin with; None for other tokens."""
        if token in self._model.alphabet.byte_tokens:
            return "byte"
        return "character" if len(self._model.alphabet.symbols(token)) == 1 else None

    def _unreachable(self, token_id: int) -> tuple[str, tuple[int, ...]]:
        """Return the kind of a token that no merges make, and the tokens that merges make from its bytes."""
        model = self._model
        occurrence = "only as a whole pre-token" if model.ignore_merges else "unreachable"
        encoder = make_encoder(replace(model, pattern=None, ignore_merges=False, normalizer=None))
        try:
            return f"{occurrence}: merges make these", tuple(encoder.encode(model.vocab[token_id], Options()))
        except ValueError:
            return f"{occurrence}: the vocabulary is missing a byte of it", ()

    @cached_property
    def _ids(self) -> dict[bytes, int]:
        return {token: token_id for token_id, token in self._model.vocab.items()}

    @cached_property
    def _ranks_by_result(self) -> dict[bytes, list[int]]:
        ranks: dict[bytes, list[int]] = {}
        for rank, (first, second) in enumerate(self._model.merges):
            ranks.setdefault(first + second, []).append(rank)
        return ranks


def _find(tokens: Mapping[int, bytes], token: int | str | bytes, model: BPEModel) -> int:
    """Return the id of a token that is given by id, bytes or text."""
    if not isinstance(token, (int, str, bytes)) or isinstance(token, bool):
        raise TypeError(f"token: expected an id, the bytes or the text of a token, got {token!r}")
    if isinstance(token, int):
        if token in tokens:
            return token
        raise ValueError(f"there is no token with the id {token}")
    text = token if isinstance(token, bytes) else token.encode("utf-8", "surrogatepass")
    names = [text] if isinstance(token, bytes) else [text, from_printable(token)]
    by_data = {data: token_id for token_id, data in tokens.items()}
    for name in names:
        if name in by_data:
            return by_data[name]
    try:
        ids = make_encoder(replace(model, normalizer=None)).encode(text, Options())
    except ValueError:  # a byte of it is missing
        raise ValueError(f"there is no token {token!r}; give the text of a token, or its form in vocab.json") from None
    parts = "|".join(plain(tokens[each]) for each in ids[:_SHOWN]) + "|…" * (len(ids) > _SHOWN)
    raise ValueError(f"{token!r} is not one token; it is encoded as {parts or 'no tokens'}")


def _color(of_parent: int, number: int) -> int:
    """Return a color for a part other than the colors of its parent and of the preceding part."""
    return (of_parent + 1 + number % (len(LIGHT) - 1)) % len(LIGHT)
