"""Arguments of BPETokenizer's constructor as a model and the printable vocabulary."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import fields
from operator import itemgetter
from pathlib import Path
from typing import Any

from tokenizers import AddedToken

from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._added_tokens import check_added_ids
from hf_bpe.formats._settings import Owner, setting_names
from hf_bpe.formats._tokenizer_json_writing import with_placeholders
from hf_bpe.formats._vocab_and_merges import read_gpt2_with_vocab

# What BPETokenizer assumes of a model where its settings are not given.
_DEFAULTS = {field.name: field.default for field in fields(BPEModel) if field.name in setting_names(Owner.MODEL)}


def find_model(
    model: BPEModel | None,
    files: tuple[str | os.PathLike[str] | None, ...],
    settings: Mapping[str, Any],
    added_tokens: Iterable[AddedToken],
    tokenizer_file: str | os.PathLike[str] | None = None,
) -> tuple[BPEModel, dict[str, int]]:
    """Return the model that `BPETokenizer` is given or reads from its files, and its printable vocabulary.

    Settings are those of the model, canonical, by name. Unless they name special tokens, those of a file are the added
    tokens that are special. `tokenizer_file` is what classes of transformers take instead, for the message.
    """
    vocab_file, merges_file = files
    arguments = dict(settings)
    signature = arguments.pop("signature")
    if model is not None:
        specials = arguments["model_special_tokens"]
        arguments["pattern"] = arguments["pattern"].canonical
        if (
            any(file is not None for file in files)
            or any(arguments[name] not in (default, getattr(model, name)) for name, default in _DEFAULTS.items())
            or (specials is not None and {*specials} != {*model.special_tokens})
        ):
            got = ", ".join(f"{name}={value!r:.80}" for name, value in arguments.items())
            raise ValueError(
                "BPETokenizer takes either a model, or files and their settings; got "
                f"{model}, {vocab_file=}, {merges_file=}, {got}"
            )
        model = model.with_signature(signature)
        return model, model.printable_vocab()
    if vocab_file is not None and merges_file is None:
        raise ValueError(
            "BPETokenizer takes vocab_file, a vocab.json, and merges_file; got only "
            f"{os.fspath(vocab_file)!r}: write {loading_call(vocab_file)}"
        )
    if vocab_file is None and tokenizer_file is not None:
        raise ValueError(
            "BPETokenizer takes a model, or vocab_file and merges_file; got only "
            f"tokenizer_file={os.fspath(tokenizer_file)!r}: write {loading_call(tokenizer_file)}"
        )
    if vocab_file is None or merges_file is None:
        raise ValueError(
            f"BPETokenizer needs a model, or vocab_file and merges_file; got {vocab_file=}, {merges_file=}"
        )
    specials = arguments.pop("model_special_tokens")
    if specials is None:
        specials = [token.content for token in added_tokens if token.special] or None
    pattern = arguments.pop("pattern")
    model, printable_vocab = read_gpt2_with_vocab(
        vocab_file, merges_file, special_tokens=specials, pattern=pattern, leave_out_ordinary=True
    )
    return model.with_checked(**arguments).with_signature(signature), printable_vocab


def loading_call(path: str | os.PathLike[str]) -> str:
    """Return the call that loads a folder, a name of the Hub, or a file."""
    file = Path(path)
    if file.is_dir() or not file.suffix or not (file.is_file() or file.suffix == ".json"):
        return f"BPETokenizer.from_pretrained({os.fspath(path)!r})"
    if file.suffix == ".json":  # of a folder that has the settings, too
        return f"BPETokenizer.from_pretrained({str(file.parent)!r})"
    return f"BPETokenizer.convert_from({os.fspath(path)!r})"


def make_vocabulary(
    vocab: dict[str, int], unused: Mapping[str, int], added: Mapping[int, str]
) -> tuple[dict[str, int], dict[int, str]]:
    """Return printable token → id for all ids of a tokenizer, without gaps, and id → printable token.

    Given are the tokens of the model, tokens to which no text is encoded, and id → content of added tokens.

    Raises:
        ValueError: a token or an id is in use by another, or there are far more ids than tokens.
    """
    vocab = _with_unused(vocab, unused)
    tokens = dict(zip(vocab.values(), vocab, strict=True))
    check_added_ids(added, vocab, tokens)
    # transformers uses the number of entries as the id of a new token and as the size of models, so with a gap in the
    # ids both would be wrong. An added token may have the id of a hole, as files of others have them.
    filled = with_placeholders(vocab, added)
    return filled, tokens if filled is vocab else dict(zip(filled.values(), filled, strict=True))


def _with_unused(vocab: dict[str, int], unused: Mapping[str, int]) -> dict[str, int]:
    if not unused:
        return vocab
    taken = {token_id: token for token, token_id in vocab.items()}
    for token, token_id in unused.items():
        if token in vocab or token_id in taken:
            other = f"{taken.get(token_id, token)!r} {vocab.get(token, token_id)}"
            raise ValueError(f"unused_tokens: {token!r:.80} {token_id}: the vocabulary has {other}")
    return dict(sorted({**vocab, **unused}.items(), key=itemgetter(1)))
