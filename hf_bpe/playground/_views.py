"""A tokenizer as the page sees it: ids of a text in chunks that are drawn one by one, and facts about single tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hf_bpe._utils.cached_property import cached_property
from hf_bpe._utils.visible import pieces
from hf_bpe.analysis._merge_tree import MergeTree, MergeTrees
from hf_bpe.analysis._tokenizers import AnyTokenizer, as_pipeline
from hf_bpe.encoding._encoder import Ids, as_str
from hf_bpe.encoding._token_bytes import token_bytes
from hf_bpe.formats._pipeline import Pipeline

_CHUNK = 120  # tokens after which a chunk ends at the next line break
_AROUND_CARET = 32  # tokens before and after the caret that are described together with the ids
_MAX_CHUNK = 1000  # tokens after which it ends anyway
_MAX_NODES = 1000  # of a merge tree that are sent


class Turn(NamedTuple):
    """A turn of a chat: its heading, and its first character in the text."""

    name: str
    start: int


@dataclass(frozen=True)
class TokenizedText:
    """The ids of a text; it is exact if the ids outside the template decode to it."""

    ids: Ids
    num_bytes: int
    is_exact: bool
    parts: tuple[tuple[str, int], ...]  # (name, index of its first id) of each part
    # (index after the last id, bytes, line breaks) of each chunk; no chunk crosses the beginning of a part
    chunks: list[tuple[int, int, int]]
    near: list[dict[str, object]]  # what is shown of the tokens around the caret

    def as_json(self) -> dict[str, object]:
        """Return all but the ids, as JSON."""
        return {
            "tokens": len(self.ids),
            "bytes": self.num_bytes,
            "exact": self.is_exact,
            "parts": self.parts,
            "chunks": self.chunks,
            "near": self.near,
        }


class View:
    """A tokenizer with a name, and the tables that the page needs; methods may run in several threads.

    The pipeline of a tokenizer is asked for in each call, so tokens that are added meanwhile are found.

    >>> from hf_bpe import train
    >>> view = View("low", train(["low low low"], vocab_size=258))
    >>> view.encode("low lower").ids.tolist()
    [257, 32, 257, 101, 114]
    >>> view.tokens([257])
    [{'id': 257, 'bytes': '6c6f77', 'name': 'low', 'added': False, 'pieces': [VisiblePart(text='low', is_sign=False)]}]
    """

    def __init__(self, name: str, tokenizer: AnyTokenizer) -> None:
        self.name = name
        self.tokenizer = tokenizer
        self._tables = _Tables(as_pipeline(tokenizer))

    def _current(self) -> _Tables:
        """Return the tables of the pipeline as it is now."""
        tables = self._tables
        pipeline = getattr(self.tokenizer, "pipeline", tables.pipeline)
        if tables.pipeline is not pipeline:  # two threads may both make them, with the same result
            tables = self._tables = _Tables(pipeline)
        return tables

    def describe(self) -> dict[str, object]:
        """Return what the page shows before any text, as JSON."""
        return {"name": self.name, "adds": any(self._current().pipeline.template_ids(1))}

    def encode(
        self,
        text: str,
        parts: Sequence[Turn] = (),
        *,
        split_special_tokens: bool | None = None,
        add_special_tokens: bool = False,
        caret: int = 0,
    ) -> TokenizedText:
        """Encode a text; a ValueError if a byte has no token.

        If it has parts, in their order, all tokens are in one of them. The caret is about where the text was changed;
        tokens there are described at once.
        """
        tables = self._current()
        pipeline = tables.pipeline
        options = pipeline.options(split_special_tokens)
        if len(parts) > 1:
            ids, _, places = pipeline.encoder.encode_with_offsets([text], options)
            starts = np.searchsorted(places[:, 0], [part.start for part in parts]).tolist()
        else:
            ids, _ = pipeline.encoder.encode_to_numpy([text], options, 1)
            starts = [0] * len(parts)
        data = as_str(text).encode()
        is_exact = pipeline.decode_bytes(ids) == data
        if add_special_tokens:
            before, after = pipeline.template_ids(1)
            ids = np.concatenate([np.array(before, np.uint32), ids, np.array(after, np.uint32)])
        named = tuple((part.name, start) for part, start in zip(parts, starts, strict=True))
        near = tables.find(ids, len(text[:caret].encode("utf-8", "surrogatepass")))
        changed = sorted({*ids[max(0, near - _AROUND_CARET) : near + _AROUND_CARET].tolist()})
        return TokenizedText(ids, len(data), is_exact, named, tables.chunks(ids, starts), self.tokens(changed))

    def tokens(self, ids: Sequence[int]) -> list[dict[str, object]]:
        """Return what is shown of tokens: bytes in hexadecimal, the form in vocab.json, and the visible pieces."""
        tables = self._current()
        return [tables.token(token_id) for token_id in ids]

    def tree(self, token_id: int) -> dict[str, object]:
        """Return the merge tree of a token as a list of nodes with depths, each followed by its parts."""
        tables = self._current()
        if token_id in tables.pipeline.model.vocab:
            tree = tables.trees.tree(token_id)
        else:
            tree = MergeTree(token_id, tables.get_bytes(token_id), "added token")
        nodes: list[dict[str, object]] = []
        left = [(0, tree)]
        while left and len(nodes) < _MAX_NODES:
            depth, node = left.pop()
            nodes.append({"depth": depth, "id": node.id, "kind": node.kind, "pieces": pieces(node.data)})
            left += [(depth + 1, part) for part in reversed(node.parts)]
        return {"nodes": nodes, "cut": bool(left)}


class _Tables:
    """Values made once of a pipeline."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline

    @cached_property
    def trees(self) -> MergeTrees:
        return MergeTrees(self.pipeline.model)

    def get_bytes(self, token_id: int) -> bytes:
        """Return the bytes of a token."""
        token = self._bytes.get(token_id)
        if token is not None:
            return token
        if token_id not in self.pipeline.added_tokens:
            raise ValueError(f"there is no token with the id {token_id}")
        return self.pipeline.added_tokens[token_id].content.encode()

    @cached_property
    def _bytes(self) -> dict[int, bytes]:
        return token_bytes(self.pipeline.model)

    def token(self, token_id: int) -> dict[str, object]:
        """Return what is shown of a token."""
        data, added, model = self.get_bytes(token_id), self.pipeline.added_tokens, self.pipeline.model
        is_added = token_id in added
        name = added[token_id].content if is_added else model.alphabet.printable(model.vocab[token_id])
        return {"id": token_id, "bytes": data.hex(), "name": name, "added": is_added, "pieces": pieces(data)}

    @cached_property
    def _sizes_and_ends(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """The number of bytes of each id, and whether it ends a line."""
        added = {token_id: token.content.encode() for token_id, token in self.pipeline.added_tokens.items()}
        tokens = {**added, **self._bytes}
        sizes = np.zeros(max(tokens, default=0) + 1, np.int64)
        ends = np.zeros(len(sizes), np.bool_)
        ids = np.fromiter(tokens, np.int64, len(tokens))
        sizes[ids] = np.fromiter(map(len, tokens.values()), np.int64, len(tokens))
        ends[ids] = np.fromiter((token.endswith(b"\n") for token in tokens.values()), np.bool_, len(tokens))
        return sizes, ends

    def find(self, ids: Ids, place: int) -> int:
        """Return the index of the token that holds a byte of the text."""
        return int(np.searchsorted(np.cumsum(self._sizes_and_ends[0][ids]), place))

    def chunks(self, ids: Ids, starts: Sequence[int]) -> list[tuple[int, int, int]]:
        """Return the chunks of ids, see `TokenizedText`; a chunk begins at each of `starts`."""
        if len(ids) == 0:
            return []
        sizes, ends = self._sizes_and_ends
        line_ends = np.flatnonzero(ends[ids]) + 1
        bounds = [0]
        for limit in [*sorted({*starts} - {0, len(ids)}), len(ids)]:
            while bounds[-1] < limit:
                at = np.searchsorted(line_ends, bounds[-1] + _CHUNK)
                end = int(line_ends[at]) if at < len(line_ends) else len(ids)
                bounds.append(min(end, bounds[-1] + _MAX_CHUNK, limit))
        num_bytes = np.add.reduceat(sizes[ids], bounds[:-1])
        num_lines = np.diff(np.searchsorted(line_ends, bounds, "right"))
        return [*zip(bounds[1:], num_bytes.tolist(), num_lines.tolist(), strict=True)]
