"""GPT-2's two files: `vocab.json`, printable token → id, and `merges.txt`, one merge per line in rank order.

The format carries ids, merges and special tokens, but no pattern, which the reader must give.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain, compress, starmap
from operator import add, itemgetter, not_
from pathlib import Path
from typing import cast

from hf_bpe._utils.files import staged_folder
from hf_bpe._utils.input_files import parse_json
from hf_bpe.core._byte_level import from_printable, to_printable
from hf_bpe.core._model import BPEModel, CheckedMerges
from hf_bpe.engine._dispatch import from_printable_all, read_merges
from hf_bpe.tokenizer._files.definition import END_OF_TEXT, Definition, Format, Hints, Peer
from hf_bpe.tokenizer._files.reading import check_ids, decode, parse_json_object, read_bytes

VOCAB_FILE = "vocab.json"
MERGES_FILE = "merges.txt"
_HEADER = "#version: 0.2"


def read_gpt2(
    vocab_file: str | os.PathLike[str],
    merges_file: str | os.PathLike[str],
    *,
    special_tokens: Iterable[str] | None = None,
    pattern: str | None = "gpt2",
) -> BPEModel:
    """Read `vocab.json` and `merges.txt`, with ids in any order and with gaps.

    Args:
        vocab_file: a JSON object of printable token → id.
        merges_file: two printable tokens per line, separated by a space. The header `#version: …` is optional, line
            ends may be CRLF, empty lines are skipped.
        special_tokens: the special tokens of the vocabulary; others are ignored. None for every token that is neither a
            byte nor in any merge, which is right for GPT-2. In both cases a token with a character that stands for no
            byte is a special token.
        pattern: the split pattern, which the files do not carry.

    Raises:
        OSError: a file cannot be read.
        ValueError: a file is malformed, with the location; or the model is not valid.
    """
    return read_gpt2_with_vocab(vocab_file, merges_file, special_tokens=special_tokens, pattern=pattern)[0]


def read_gpt2_with_vocab(
    vocab_file: str | os.PathLike[str],
    merges_file: str | os.PathLike[str],
    *,
    special_tokens: Iterable[str] | None = None,
    pattern: str | None = "gpt2",
    leave_out_ordinary: bool = False,
) -> tuple[BPEModel, dict[str, int]]:
    """Read a model like `read_gpt2`, and also return its `printable_vocab()`, which is the content of `vocab.json`.

    Args:
        vocab_file, merges_file, special_tokens, pattern: see `read_gpt2`.
        leave_out_ordinary: treat those of `special_tokens` that are bytes or in merges as ordinary tokens instead of
            refusing them; transformers makes any token special without removing it from the model.
    """
    entries = _read_vocab(Path(vocab_file))
    # Lists, because allocating a dict or set of this size takes longer than everything else here.
    texts = [*entries]
    tokens = from_printable_all(texts)
    specials = {text for text, token in zip(texts, tokens, strict=True) if token is None}
    ordinary = [text for text in texts if text not in specials] if specials else texts
    merges, is_used = _read_merges(Path(merges_file), ordinary, [token for token in tokens if token is not None])
    if special_tokens is None:
        specials |= {text for text in compress(ordinary, map(not_, is_used)) if len(text) != 1}
    elif isinstance(special_tokens, str):
        raise TypeError(f"special_tokens: expected a list of str, got {special_tokens!r}; write [{special_tokens!r}]")
    else:
        chosen = {*special_tokens} & entries.keys()
        merged = chosen.intersection(compress(ordinary, is_used))
        if leave_out_ordinary:
            chosen -= merged | {text for text in chosen if len(text) == 1 and text not in specials}
        elif merged:
            merges = [*merges]  # not checked for special tokens
        specials |= chosen
    written = (
        text.encode("utf-8", "surrogatepass") if text in specials else token
        for text, token in zip(texts, tokens, strict=True)
    )
    vocab = cast("dict[int, bytes]", dict(zip(entries.values(), written, strict=True)))  # no None remains
    try:
        model = BPEModel(vocab, merges, tuple(specials), pattern)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{vocab_file}, {merges_file}: {error}") from error
    if [*model.vocab] != [*entries.values()]:
        entries = dict(sorted(entries.items(), key=itemgetter(1)))
    return model, entries


def write_gpt2(model: BPEModel, folder: str | os.PathLike[str], *, prefix: str = "") -> tuple[Path, Path]:
    """Write `vocab.json` and `merges.txt` into a folder atomically; return their paths.

    The pattern is not written, because the format cannot hold it: readers assume GPT-2's.

    Raises:
        OSError: the files cannot be written.
    """
    vocab, merges = render_gpt2(model)
    names = prefix + VOCAB_FILE, prefix + MERGES_FILE
    with staged_folder(folder, last=names[:1]) as staging:
        (staging / names[0]).write_text(vocab, encoding="utf-8", newline="\n")
        (staging / names[1]).write_text(merges, encoding="utf-8", newline="\n")
    return Path(folder, names[0]), Path(folder, names[1])


def render_gpt2(model: BPEModel) -> tuple[str, str]:
    """Return the content of `vocab.json` and of `merges.txt`."""
    # A blank line would break the Rust reader; there is none, as no token is empty and no printable form has a space.
    lines = [_HEADER, *(f"{to_printable(first)} {to_printable(second)}" for first, second in model.merges)]
    return json.dumps(model.printable_vocab(), ensure_ascii=False), "\n".join(lines) + "\n"


def _read_vocab(path: Path) -> dict[str, int]:
    content = read_bytes(path)
    text = decode(path, content)
    with suppress(ValueError):
        entries = parse_json(path, text)
        if isinstance(entries, dict) and {*map(type, entries.values())} <= {int}:
            ids = {*entries.values()}
            # Only keys are strings here, so more strings than entries means that a key occurs twice. Parsing with pairs
            # would allocate a pair for each key, which triggers the garbage collector.
            if (
                _count_strings(content) == len(entries) == len(ids)
                and 0 <= min(ids, default=0) <= max(ids, default=0) < 2**32
            ):
                return entries
    return _read_odd_vocab(path, text)


def _count_strings(content: bytes) -> int:
    """Return the number of strings in valid JSON: half of the quotes that no backslash escapes."""
    if rb"\\" in content:
        content = content.replace(rb"\\", b"")
    quotes = len(content) - len(content.translate(None, b'"'))  # faster than counting them
    return (quotes - content.count(rb"\"")) // 2


def _read_odd_vocab(path: Path, text: str) -> dict[str, int]:
    """Read an irregular vocabulary and name its first error; return a vocabulary that only the model can refuse."""
    entries = parse_json_object(path, text)
    check_ids(entries, str(path))
    return entries


def _read_merges(path: Path, texts: list[str], tokens: list[bytes]) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Return merges made of the objects in `tokens`, and a byte for each token: 1 if a merge has or makes it."""
    content = read_bytes(path)
    read = read_merges(content, tokens)
    if read is not None:
        return CheckedMerges(read[0]), read[1]
    merges = _read_odd_merges(path, decode(path, content), dict(zip(texts, tokens, strict=True)))
    used = {*starmap(add, merges), *chain.from_iterable(merges)}
    return merges, bytes(token in used for token in tokens)


def _read_odd_merges(path: Path, text: str, tokens: dict[str, bytes]) -> list[tuple[bytes, bytes]]:
    """Read irregular merges and name the first malformed line; return merges that only the model can refuse."""
    # Only these end a line: str.splitlines would also split at characters that occur in merges of other vocabularies.
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].startswith("#version"):  # only there, because merges may begin with #, too
        lines[0] = ""
    # A line of one part has an empty second part; a line of three has a space in the second, which stands for no byte.
    parts = (line.partition(" ") for line in lines if line)
    merges = [
        (tokens.get(first) or from_printable(first), tokens.get(second) or from_printable(second))
        for first, _, second in parts
    ]
    if not all(chain.from_iterable(merges)):
        line = next(line for line, merge in zip(filter(None, lines), merges, strict=True) if not all(merge))
        raise ValueError(
            f"{path}: line {lines.index(line) + 1}: expected two printable tokens and a space, got {line[:80]!r}"
        )
    return cast("list[tuple[bytes, bytes]]", merges)


def _matches(path: Path, head: bytes) -> bool:
    return path.is_dir() and (path / VOCAB_FILE).is_file() and (path / MERGES_FILE).is_file()


def _read(path: Path, hints: Hints) -> Definition:
    pattern = "gpt2" if hints.pattern == "auto" else hints.pattern
    special_tokens = None if hints.special_tokens is None else [*hints.special_tokens]
    model = read_gpt2(path / VOCAB_FILE, path / MERGES_FILE, special_tokens=special_tokens, pattern=pattern)
    if hints.special_tokens is not None and model.special_ids() != dict(hints.special_tokens):
        raise ValueError(f"{path}: its special tokens are {model.special_ids()}, not {dict(hints.special_tokens)}")
    return Definition(model)


def _write(definition: Definition, path: Path) -> None:
    model = definition.model
    made = {first + second for first, second in model.merges}
    specials = {special.encode() for special in model.special_tokens}
    for token_id, token in model.vocab.items():
        if len(token) > 1 and token not in made and token not in specials:
            raise ValueError(
                f"no merge makes token {token_id}, {token!r}, and GPT-2's files cannot say that it is not a special "
                "token, so readers would find it in text"
            )
    write_gpt2(model, path)


def _peer(path: Path, definition: Definition) -> Peer | None:
    if definition.model.pattern != "gpt2":
        return None  # no other library has this option
    import transformers

    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    specials = [*definition.model.special_tokens]
    # By default it would add <|endoftext|> to a vocabulary that has none.
    names = {} if END_OF_TEXT in specials else dict.fromkeys(("bos_token", "eos_token", "unk_token"))
    tokenizer = transformers.GPT2Tokenizer(
        vocab=str(path / VOCAB_FILE), merges=str(path / MERGES_FILE), extra_special_tokens=specials, **names
    )
    encode = tokenizer._tokenizer.encode_batch_fast
    return Peer(
        f"GPT2Tokenizer of transformers {transformers.__version__}",
        lambda texts, added: [encoding.ids for encoding in encode(texts, add_special_tokens=False)],
    )


FORMAT = Format(
    name="gpt2",
    what="GPT-2's vocab.json and merges.txt",
    is_file=False,
    carries=frozenset({"special_tokens"}),
    patterns=frozenset({"gpt2"}),
    matches=_matches,
    read=_read,
    write=_write,
    peer=_peer,
    last=(VOCAB_FILE,),
)
