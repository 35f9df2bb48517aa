"""Added tokens with the ids that `tokenizers` gives them.

Source of the rules: `added_vocabulary.rs` of tokenizers 0.23.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping

from tokenizers import AddedToken

from hf_bpe.encoding._added_tokens.rules import as_special


class AddedVocabulary:
    """The added tokens of a tokenizer.

    Args:
        vocab: printable token → id of the model.

    Attributes:
        tokens: id → added token, in the order in which they were added. A token that is special once stays special, as
            in `tokenizers`.
        ids: content → id.

    >>> added = AddedVocabulary({"a": 0, "b": 1})
    >>> added.add([AddedToken("<x>"), AddedToken("b", special=True)])
    >>> added.ids
    {'<x>': 2, 'b': 1}
    """

    def __init__(self, vocab: Mapping[str, int]) -> None:
        self._vocab = vocab
        self._highest = max(vocab.values(), default=-1)
        self.tokens: dict[int, AddedToken] = {}
        self.ids: dict[str, int] = {}

    def copy(self) -> AddedVocabulary:
        """Return one with the same tokens, to which others may be added."""
        copied = copy.copy(self)
        copied.tokens, copied.ids = {**self.tokens}, {**self.ids}
        return copied

    def add(self, tokens: Iterable[AddedToken]) -> None:
        """Add tokens like one call of `Tokenizer.add_tokens`.

        Tokens of the model and tokens added before keep their ids; others get the next ids. Empty tokens are ignored.

        Raises:
            ValueError: the next id is in use by the model, because its ids have gaps.
        """
        size = len(self._vocab)
        highest = max(self.tokens, default=-1)
        following = highest + 1 if highest >= size else size
        for token in tokens:
            if not token.content:
                continue
            token_id = self.ids.get(token.content, self._vocab.get(token.content))
            if token_id is None:
                token_id, following = following, following + 1
                # Never lower than the number of tokens; if the ids have gaps, it may be in use.
                if token_id <= self._highest and token_id in self._vocab.values():
                    taken = next(text for text, i in self._vocab.items() if i == token_id)
                    raise ValueError(
                        f"added_tokens: tokenizers gives {token.content!r:.80} the id {token_id}, which {taken!r:.80} "
                        "has, as the ids of the vocabulary have gaps; expected ids without gaps, or added tokens "
                        "that are in the vocabulary"
                    )
            before = self.tokens.get(token_id)
            is_special = token.special or (before is not None and before.special)
            self.tokens[token_id] = as_special(token) if is_special else token
            self.ids[token.content] = token_id

    def id_of(self, token: str) -> int | None:
        """Return the id of an added token or of a token of the model; None if there is no such token."""
        return self.ids.get(token, self._vocab.get(token))
