"""The file `boundless.json`: a whole model with supermerges, which no format of other libraries can hold.

It takes the place of `vocab.json`, `merges.txt` and `tokenizer.json` in a saved folder, so that no other library loads
part of the model. Tokens are in the printable form of `vocab.json`.
"""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

from hf_bpe._utils.files import write_atomically
from hf_bpe.core._model import BPEModel
from hf_bpe.core.pretokenizers import stored_pattern
from hf_bpe.engine._dispatch import from_printable_all, printable_vocab
from hf_bpe.tokenizer._files.reading import decode, parse_json_object, read_bytes

BOUNDLESS_FILE = "boundless.json"
_FORMAT = "hf_bpe boundless 1"
_FLAGS = ("ignore_merges", "drop_missing_bytes")


def render_boundless(model: BPEModel) -> str:
    """Return the content of `boundless.json`, with a line for each token and merge."""
    names = printable_vocab(model)
    printable = dict(zip(model.vocab.values(), names, strict=True))

    def lines(rows: list[Any]) -> str:
        return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]" if rows else "[]"

    content = {
        "format": json.dumps(_FORMAT),
        "pattern": json.dumps(model.pattern, ensure_ascii=False),
        "normalizer": json.dumps(model.normalizer, ensure_ascii=False),
        **{flag: json.dumps(getattr(model, flag)) for flag in _FLAGS},
        "special_tokens": json.dumps(model.special_tokens, ensure_ascii=False),
        "vocab": lines([[token_id, name] for name, token_id in names.items()]),
        "merges": lines([[printable[part] for part in merge] for merge in model.merges]),
        "supermerges": lines([[printable[part] for part in merge] for merge in model.supermerges]),
    }
    return "{\n" + ",\n".join(f'"{name}": {value}' for name, value in content.items()) + "\n}\n"


def read_boundless(path: Path) -> BPEModel:
    """Read the model of a `boundless.json`.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged; the message names the location.
    """
    content = parse_json_object(path, decode(path, read_bytes(path)))
    if content.get("format") != _FORMAT:
        raise ValueError(f"{path}: format: expected {_FORMAT!r}, got {content.get('format')!r:.80}")
    try:
        specials = {*content["special_tokens"]}
        ids, names = [row[0] for row in content["vocab"]], [row[1] for row in content["vocab"]]
        known: dict[str, bytes] = {}
        for name, token in zip(names, from_printable_all(names), strict=True):
            if name not in specials and token is None:
                raise ValueError(f"vocab: {name!r:.80} is not the printable form of bytes")
            known[name] = name.encode() if token is None or name in specials else token
        kinds = content["merges"], content["supermerges"]
        if lacking := next((part for pair in chain(*kinds) for part in pair if part not in known), None):
            raise ValueError(f"merges: {lacking!r:.80} is not a token of the vocabulary")
        merges, supermerges = ([(known[first], known[second]) for first, second in kind] for kind in kinds)
        if len({*ids}) < len(ids):
            raise ValueError("vocab: an id is given twice")
        return BPEModel(
            dict(zip(ids, map(known.__getitem__, names), strict=True)),
            merges,
            tuple(content["special_tokens"]),
            stored_pattern(content["pattern"]),
            normalizer=content["normalizer"],
            supermerges=supermerges,
            **{flag: content[flag] for flag in _FLAGS},
        )
    except KeyError as error:
        raise ValueError(f"{path}: expected {error}") from None
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from None


def write_boundless(model: BPEModel, folder: Path, name: str = BOUNDLESS_FILE) -> Path:
    """Write the file into a folder atomically, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / name, render_boundless(model))
    return folder / name
