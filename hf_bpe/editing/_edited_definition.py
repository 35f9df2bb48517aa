"""Apply an edit of the model to a whole tokenizer: its added tokens and their ids."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from hf_bpe.core._model import BPEModel
from hf_bpe.editing._remap import Remap
from hf_bpe.formats._definition import Definition


def edited(definition: Definition, model: BPEModel, remap: Remap) -> tuple[Definition, Remap]:
    """Return a definition with an edited model, and the remap of all its ids.

    Added tokens stay, whether the model has them or not: at their ids, or, if tokens of the model were removed or
    moved, directly after the new model. An added token that is a special token of the new model has its id there.
    `unused_tokens` are dropped.

    Args:
        definition: the tokenizer.
        model: the new model.
        remap: the remap from the ids of the old model, without added tokens, to the ids of the new model.

    Raises:
        ValueError: the remap is of another model, or a new token has the id or the content of an added token.

    >>> from hf_bpe.editing import prune
    >>> from tokenizers import AddedToken
    >>> tokenizer = Definition(BPEModel({3: b"a", 4: b"b", 5: b"aa"}, [(b"a", b"a")]), {9: AddedToken("<x>")})
    >>> definition, remap = edited(tokenizer, *prune(tokenizer.model, keep=[]))
    >>> definition.added_tokens
    {2: AddedToken("<x>", rstrip=False, lstrip=False, single_word=False, normalized=True, special=False)}
    >>> remap
    Remap(new_ids={3: 0, 4: 1, 9: 2}, added={}, removed=(5,))
    """
    old = definition.model
    if remap.old_ids != old.vocab.keys() or remap.sources.keys() != model.vocab.keys():
        raise ValueError(
            "the remap is not one from the model of this tokenizer to the new model; edit tokenizer.model, and give "
            "what that returns"
        )
    specials, vocab, before = model.special_ids(), model.printable_vocab(), old.printable_vocab()
    is_moved, following = remap.moves or remap.removed, count(max(model.vocab, default=-1) + 1)
    outside: dict[int, int] = {}  # ids of added tokens that the new model does not take from the old one
    for token_id, token in definition.added_tokens.items():
        if token_id in remap.new_ids:
            continue
        content = token.content
        new_id = specials[content] if content in specials else next(following) if is_moved else token_id
        outside[token_id] = new_id
        if content not in specials and new_id in model.vocab:
            raise ValueError(
                f"token {token_id}, {content!r}, was added to the tokenizer, but a new token of the model has its id; "
                "edit the model with reserved=tokenizer.added_tokens_decoder"
            )
        if vocab.get(content, new_id) != new_id and content not in before:
            raise ValueError(
                f"token {token_id}, {content!r}, was added to the tokenizer, but a new token of the model, "
                f"{vocab[content]}, is the same; first make it a special token of the model, by "
                f"hf_bpe.editing.add_special_tokens(model, {{{content!r}: {token_id}}})"
            )
    new_ids = {**remap.new_ids, **outside}
    added = {new: sources for new, sources in remap.added.items() if new not in outside.values()}
    removed = tuple(token_id for token_id in remap.removed if token_id not in outside)
    tokens = {new_ids[token_id]: token for token_id, token in definition.added_tokens.items()}
    # Entries that no text is encoded to are not worth a place in the new vocabulary.
    settings = {name: value for name, value in definition.settings.items() if name != "unused_tokens"}
    return replace(definition, model=model, added_tokens=tokens, settings=settings), Remap(new_ids, added, removed)
